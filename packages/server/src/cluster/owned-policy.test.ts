import fc from 'fast-check';
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  type Policy,
  slidingLog,
  slidingSlots,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'sluice';
import { audit } from 'sluice/testing';
import { describe, expect, it, test } from 'vitest';
import { allFences } from './fences.ts';
import { OwnedPolicies } from './owned-policy.ts';

const graceMs = 10;
const policies = new OwnedPolicies({ graceMs, unreplicated: 10, durableFromMs: 3_600_000 }, allFences);

describe('a policy at its owner', () => {
  const rows: [policy: Policy, applied: Partial<Policy & { lease: number }>, reason: string][] = [
    [
      slidingLog({ limit: 100, window: '1m' }),
      { window: 60_010 * 1.002 },
      'the window is wider by what a grant may age',
    ],
    [slidingSlots({ limit: 100, window: '1m' }), { window: 60_010 * 1.002 }, 'likewise'],
    [gcra({ limit: 1000, window: '1s', burst: 100 }), { window: 1002, burst: 90 }, 'ten drain in ten milliseconds'],
    [gcra({ limit: 100, window: '1m', burst: 20 }), { window: 60_120, burst: 19 }, 'rounded up to a whole call'],
    [gcra({ limit: 100, window: '1s', burst: 1 }), { window: 2004, burst: 1 }, 'no burst to take from: slower'],
    [tokenBucket({ limit: 10, window: '1s', burst: 10 }), { burst: 9 }, 'a bucket is a bucket'],
    [leakyBucket({ limit: 10, window: '1s', burst: 10 }), { burst: 9 }, 'a bucket is a bucket'],
    [concurrency({ limit: 3, lease: '30s' }), { lease: 30_010 * 1.002 }, 'holders count from when they heard of it'],
    [fixedWindow({ limit: 10, window: '1s' }), { window: 1000 }, 'promises nothing that moves by milliseconds'],
    [slidingWindow({ limit: 10, window: '1s' }), { window: 1000 }, 'likewise'],
    [smooth({ limit: 10, window: '1s' }), { window: 1000 }, 'likewise'],
  ];
  it.each(rows)('%o becomes %o: %s', (policy, applied) => {
    const owned = policies.of(policy);
    for (const [field, value] of Object.entries(applied)) {
      expect(owned.applied[field as keyof Policy], field).toBeCloseTo(value as number, 6);
    }
    expect(owned.policy).toBe(policy);
  });

  const spans: [policy: Policy, spanMs: number][] = [
    [slidingLog({ limit: 100, window: '1m' }), 60_010 * 1.002],
    [gcra({ limit: 10, window: '1s', burst: 50 }), 49 * 100 * 1.002],
    [fixedWindow({ limit: 10, window: '1s' }), 1000],
    [concurrency({ limit: 3, lease: '30s' }), 30_010 * 1.002],
  ];
  it.each(spans)('what was granted under %o counts for at most %d ms, and the grace', (policy, spanMs) => {
    const { spanMs: span } = policies.of(policy);
    expect(span).toBeGreaterThanOrEqual(spanMs + graceMs);
    expect(span).toBeLessThan(spanMs * 1.01 + graceMs + 5);
  });

  test('decisions show the limit that was asked for', () => {
    const policy = gcra({ limit: 1000, window: '1s', burst: 100 });
    expect(policies.of(policy).limit).toBe(memoryStore().apply([{ name: 'x', key: 'k', policy, cost: 1 }])[0]!.limit);
  });

  const lags: [limit: number, lag: number][] = [
    [1, 1],
    [9, 1],
    [50, 5],
    [100, 10],
    [10_000, 10],
  ];
  it.each(lags)('of a limit of %i at most %i may be ahead of the standby', (limit, lag) => {
    expect(policies.of(slidingLog({ limit, window: '1m' })).lag).toBe(lag);
  });

  test('where a limit is of nanoseconds, a tenth of it may be ahead', () => {
    const limit = 1e6;
    expect(policies.of(gcra({ limit, window: 1, burst: 2e9 })).lag).toBeCloseTo(2e8, -6);
  });

  test('windows of an hour and more are written down ahead', () => {
    expect(policies.of(slidingLog({ limit: 5, window: '1h' })).isDurable).toBe(true);
    expect(policies.of(slidingLog({ limit: 5, window: '59m' })).isDurable).toBe(false);
  });

  test('is worked out once', () => {
    const policy = gcra({ limit: 5, window: '1s' });
    expect(policies.of(policy)).toBe(policies.of(policy));
  });
});

test('grants that are used up to the grace later keep the promise of the policy that was asked for', () => {
  const rate = fc.record({ limit: fc.integer({ min: 1, max: 30 }), window: fc.integer({ min: 20, max: 2000 }) });
  const anyPolicy = fc.oneof(
    rate.map((of) => slidingLog(of)),
    rate.map((of) => slidingSlots({ ...of, slots: 6 })),
    fc.tuple(rate, fc.integer({ min: 1, max: 40 })).map(([of, burst]) => gcra({ ...of, burst })),
    fc.tuple(rate, fc.integer({ min: 1, max: 40 })).map(([of, burst]) => tokenBucket({ ...of, burst })),
  );
  const call = fc.record({ afterMs: fc.integer({ min: 0, max: 60 }), delayMs: fc.integer({ min: 0, max: graceMs }) });
  fc.assert(
    fc.property(anyPolicy, fc.array(call, { minLength: 50, maxLength: 200, size: 'max' }), (policy, calls) => {
      const { applied } = policies.of(policy);
      const store = memoryStore();
      const grants: { key: string; atMs: number }[] = [];
      let nowMs = 1_700_000_000_000;
      for (const { afterMs, delayMs } of calls) {
        nowMs += afterMs;
        const [decision] = store.apply([{ name: 'x', key: 'k', policy: applied, cost: 1 }], nowMs);
        if (decision!.allowed) grants.push({ key: 'k', atMs: nowMs + delayMs });
      }
      const report = audit(
        grants.sort((one, other) => one.atMs - other.atMs),
        policy,
      );
      expect(report.violations).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
