import { type Check, gcra, slidingLog } from 'sluice';
import { expect, it } from 'vitest';
import { SentChecks, timedChecks } from './sent-checks.ts';

const policy = gcra({ limit: 10, window: '1m' });
const checkOf = (more: Partial<Check>): Check => ({ name: 'name', key: 'key', policy, cost: 1, ...more });

it('takes a bounded number of names; those that it took stay', () => {
  const sent = new SentChecks();
  for (let i = 0; i < 10_000; i += 1) sent.admit([checkOf({ name: `name ${i}` })]);
  expect(() => sent.admit([checkOf({ name: 'one more' })])).toThrow('10000 different names');
  sent.admit([checkOf({ name: 'name 7' }), checkOf({ name: 'name 8' })]);
});

it('counts the names of an earlier run, but not policies that are names', () => {
  const sent = new SentChecks();
  sent.restore(['{"algorithm":"gcra"}', ...Array.from({ length: 10_000 }, (_, i) => `name ${i}`)]);
  expect(() => sent.admit([checkOf({ name: 'one more' })])).toThrow('10000 different names');
  sent.admit([checkOf({ name: 'name 7' })]);
});

it('takes a bounded number of policies, equal ones once', () => {
  const sent = new SentChecks();
  for (let i = 1; i <= 10_000; i += 1) sent.admit([checkOf({ policy: gcra({ limit: i, window: '1m' }) })]);
  expect(() => sent.admit([checkOf({ policy: gcra({ limit: 10_001, window: '1m' }) })])).toThrow('10000 different');
  sent.admit([checkOf({ policy: gcra({ limit: 10_000, window: '1m' }) })]);
});

it('takes no policy whose keys need much room', () => {
  const large = slidingLog({ limit: 1001, window: '1m' });
  expect(() => new SentChecks().admit([checkOf({}), checkOf({ policy: large })])).toThrow('limit must be at most 1000');
});

it('turns how long ago something was into times of its own clock', () => {
  const plain = [checkOf({})];
  expect(timedChecks(plain, () => 1000)).toBe(plain);
  expect(timedChecks([...plain, { ...checkOf({}), idleMs: 300, changedAgoMs: 20 }], () => 1000)).toEqual([
    checkOf({}),
    checkOf({ sinceMs: 700, changedMs: 980 }),
  ]);
});
