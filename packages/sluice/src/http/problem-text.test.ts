import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import type { Decision, Reason } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { problemBody } from './problem-body.ts';
import { problemText } from './problem-text.ts';

function refusal(policy: Policy, rule: string, retryAfterMs: number, reason: Reason = 'limit'): Decision {
  const numbers = { limit: policy.limit, remaining: 0, retryAfterMs, resetAfterMs: 60_000, delayMs: 0 };
  return { allowed: false, ...numbers, rule, policy, reason };
}

const perMinute = gcra({ limit: 100, window: '1m' });
const policies = [perMinute, gcra({ limit: 7.5, window: 250 }), concurrency({ limit: 3 })];
const reasons: Reason[] = ['limit', 'blocked', 'store-full', 'store-failure', 'quarantine'];
const rules = ['', 'api', 'Try again in 5 s.', '"detail":"x"', 'quoted "\\"', 'übrigens ☂', '\ud800'];

describe('problemText', () => {
  it('is the problem as JSON, whatever was refused and however it is called', () => {
    for (const policy of policies)
      for (const reason of reasons)
        for (const rule of rules)
          for (const retryAfterMs of [1, 999, 1000, 1001, 61_500, 9_999_999, Number.POSITIVE_INFINITY]) {
            const decision = refusal(policy, rule, retryAfterMs, reason);
            expect(problemText(decision)).toBe(JSON.stringify(problemBody(decision)));
          }
  });

  it('is the same for a result of rules, of one and of several', () => {
    const first = refusal(perMinute, 'first', 1500);
    const second = refusal(perMinute, 'second', 700);
    for (const decisions of [[first], [first, second], [second, { ...first, allowed: true }]]) {
      const result = { allowed: false, tightest: decisions[0], decisions };
      expect(problemText(result)).toBe(JSON.stringify(problemBody(result)));
    }
  });

  it('is of the rule that refused where two share a policy', () => {
    const texts = ['a', 'b', 'a'].map((rule) => problemText(refusal(perMinute, rule, 2000)));
    expect(texts.map((text) => JSON.parse(text)['violated-policies'])).toEqual([['a'], ['b'], ['a']]);
  });

  it('is the problem as JSON for any name and any wait', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.double({ min: 0.001, max: 1e12, noNaN: true }),
        (rule, retryAfterMs) => {
          const decision = refusal(perMinute, rule, retryAfterMs);
          return problemText(decision) === JSON.stringify(problemBody(decision));
        },
      ),
    );
  });
});
