import { type Check, gcra, memoryStore, slidingLog } from 'sluice';
import { expect, test } from 'vitest';
import { decisionOfWire, PolicyTexts, wireOfCheck, wireOfDecision } from './wire-check.ts';

const policy = gcra({ limit: 5, window: '1s' });

test('a check comes back from its way, with one policy for equal texts', () => {
  const texts = new PolicyTexts();
  const check: Check = { name: 'rule', key: 'größe', policy, cost: 2, operation: 'reserve', shadow: true };
  const sent = () => JSON.parse(JSON.stringify(wireOfCheck(check)));
  const [one, other] = [texts.checkOf(sent()), texts.checkOf(sent())];
  expect(one).toEqual(check);
  expect(one.policy).toBe(other.policy);
});

test('nothing travels that was not asked', () => {
  const check = { name: 'rule', key: 'k', policy, cost: 1, sinceMs: 5, changedMs: 6, owned: { policy } };
  expect(Object.keys(JSON.parse(JSON.stringify(wireOfCheck(check))))).toEqual(['name', 'key', 'policy', 'cost']);
});

test('a policy that is none is refused with a sentence', () => {
  const texts = new PolicyTexts();
  const check = { name: 'rule', key: 'k', cost: 1 };
  expect(() => texts.checkOf({ ...check, policy: 'nonsense' })).toThrow('policy must be JSON, got nonsense');
  expect(() => texts.checkOf({ ...check, policy: '{"algorithm":"none"}' })).toThrow(/algorithm/);
});

test('a decision comes back from its way, also one that says never', () => {
  const never = slidingLog({ limit: 1, window: 1000 });
  const [decision] = memoryStore().apply([{ name: 'rule', key: 'k', policy: never, cost: 2 }]);
  expect(decision!.retryAfterMs).toBe(Number.POSITIVE_INFINITY);
  expect(decisionOfWire(JSON.parse(JSON.stringify(wireOfDecision(decision!))), never)).toEqual(decision);
});
