import { gcra } from 'sluice';
import { expect, it } from 'vitest';
import { AdHocPolicies } from './ad-hoc-policies.ts';

const policyOf = (limit: number) => gcra({ limit, window: '1m' });

it('takes so many policies of requests, those of an earlier run among them', () => {
  const before = new AdHocPolicies();
  const names = Array.from({ length: 10_000 }, (_, i) => before.nameOf(policyOf(i + 1)));
  expect(() => before.nameOf(policyOf(10_001))).toThrow('There are 10000 different policies');

  const after = new AdHocPolicies();
  // The names of rules are not of requests.
  after.restore(['per-user', 'cl.throttle', ...names.slice(1)]);
  expect(after.nameOf(policyOf(10_000))).toBe(names.at(-1));
  expect(after.nameOf(policyOf(20_000))).toContain('20000');
  expect(() => after.nameOf(policyOf(1))).toThrow('There are 10000 different policies');
});
