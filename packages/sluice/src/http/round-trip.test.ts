import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { parseRateLimitHeaders } from '../protect/rate-limit-headers/parse-rate-limit-headers.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { policyName } from './policy-name.ts';
import { type HeaderDialect, rateLimitHeaders } from './rate-limit-headers.ts';

const nowMs = 1_750_000_000_000;
const longest = 10_000_000;

const decision = fc
  .record({
    rule: fc.string({ maxLength: 40, unit: 'grapheme' }),
    quota: fc.integer({ min: 1, max: 1_000_000 }),
    windowSeconds: fc.integer({ min: 1, max: longest }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    allowed: fc.boolean(),
    resetAfterMs: fc.integer({ min: 0, max: longest * 1000 }),
    retryAfterMs: fc.oneof(fc.integer({ min: 1, max: longest * 1000 }), fc.constant(Number.POSITIVE_INFINITY)),
  })
  .map(({ rule, quota, windowSeconds, share, allowed, resetAfterMs, retryAfterMs }): Decision => {
    return {
      allowed,
      limit: quota,
      remaining: allowed ? Math.floor(quota * share) : 0,
      retryAfterMs: allowed ? 0 : retryAfterMs,
      resetAfterMs,
      delayMs: 0,
      rule,
      policy: fixedWindow({ limit: quota, window: windowSeconds * 1000 }),
      ...(!allowed && { reason: 'limit' }),
    };
  });

const dialects: readonly (readonly HeaderDialect[])[] = [
  ['x-ratelimit'],
  ['draft-6'],
  ['draft-7'],
  ['draft-8'],
  ['x-ratelimit', 'draft-8'],
  ['draft-7', 'x-ratelimit'],
];

/** Whole seconds, as the wire has them. */
const onTheWire = (ms: number) => Math.ceil(ms / 1000) * 1000;

describe('what is written is read back', () => {
  it.each(dialects.map((dialect) => [dialect.join(' and '), dialect] as const))('in %s', (_, dialect) => {
    fc.assert(
      fc.property(decision, fc.constantFrom('epoch', 'delta'), (answered, reset) => {
        const { allowed, retryAfterMs, resetAfterMs, limit, remaining, policy } = answered;
        const parsed = parseRateLimitHeaders(rateLimitHeaders(answered, { dialect, nowMs, reset }), { nowMs });
        const isWait = !allowed && retryAfterMs < Number.POSITIVE_INFINITY;
        const isDraft = dialect.some((one) => one !== 'x-ratelimit');
        expect(parsed.policies).toEqual([
          {
            name: dialect.includes('draft-8') ? policyName(answered.rule) : 'default',
            limit,
            remaining,
            // On a refusal the drafts' effective window is the wait itself.
            resetAfterMs: onTheWire(isDraft && isWait ? retryAfterMs : resetAfterMs),
            ...(isDraft && { windowMs: policy.window }),
          },
        ]);
        expect(parsed.tightest).toEqual(parsed.policies[0]);
        expect(parsed.retryAfterMs).toBe(isWait ? onTheWire(retryAfterMs) : undefined);
      }),
    );
  });

  it('for many rules at once: every limit, and what is left of the tightest', () => {
    const many = fc.uniqueArray(decision, { minLength: 1, maxLength: 16, selector: ({ rule }) => policyName(rule) });
    fc.assert(
      fc.property(many, (answered) => {
        const headers = new Headers(rateLimitHeaders(answered, { dialect: 'draft-8' }));
        const { policies } = parseRateLimitHeaders(headers, { nowMs });
        expect(policies.map(({ name }) => name)).toEqual(answered.map(({ rule }) => policyName(rule)));
        expect(policies.map(({ limit, windowMs }) => [limit, windowMs])).toEqual(
          answered.map(({ policy }) => [policy.limit, policy.window]),
        );
        expect(policies.filter(({ remaining }) => remaining !== undefined)).toHaveLength(1);
      }),
    );
  });

  it('for places in flight, which have no window', () => {
    const policy = concurrency({ limit: 10 });
    const answered = {
      allowed: true,
      limit: 10,
      remaining: 3,
      retryAfterMs: 0,
      resetAfterMs: 60_000,
      delayMs: 0,
      rule: 'in-flight',
      policy,
    };
    const { policies, waitMs } = parseRateLimitHeaders(rateLimitHeaders(answered), { nowMs });
    expect(policies).toEqual([{ name: 'in-flight', limit: 10, unit: 'concurrent-requests', remaining: 3 }]);
    expect(waitMs).toBe(0);
  });
});
