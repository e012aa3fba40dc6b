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

it('has names forgotten that count for nothing any more, once there are so many, and looks at a few for each newcomer', () => {
  const spent = new Set<string>();
  let looks = 0;
  const policies = new AdHocPolicies((name) => {
    looks += 1;
    return spent.has(name);
  });
  const names = Array.from({ length: 10_000 }, (_, i) => policies.nameOf(policyOf(i + 1)));
  expect(looks).toBe(0);
  spent.add(names[150]!);
  expect(() => policies.nameOf(policyOf(20_000))).toThrow('There are 10000 different policies');
  expect(looks).toBe(100);
  expect(policies.nameOf(policyOf(20_000))).toContain('20000');
  // What was forgotten counts as new, and what was not is known still.
  expect(policies.nameOf(policyOf(150))).toBe(names[149]);
  expect(() => policies.nameOf(policyOf(151))).toThrow('There are 10000 different policies');
});
