import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { audit } from '../../testing/auditor/auditor.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { layered } from '../layered.ts';
import { shareOf } from '../share.ts';
import { split } from './split.ts';

const rate = { limit: 10, window: 1000 };

describe('a third of', () => {
  const rows: [policy: Policy, share: object | undefined][] = [
    [slidingLog(rate), { algorithm: 'sliding-log', limit: 3, window: 1000 }],
    [slidingSlots(rate), { algorithm: 'sliding-slots', limit: 3, window: 1000, slots: 60 }],
    [slidingWindow(rate), { algorithm: 'sliding-window', limit: 3, window: 1000 }],
    [fixedWindow(rate), { algorithm: 'fixed-window', limit: 3, window: 1000 }],
    [gcra({ ...rate, burst: 7 }), { algorithm: 'gcra', limit: 10, window: 3000, burst: 2 }],
    [
      tokenBucket({ ...rate, initial: 5 }),
      { algorithm: 'token-bucket', limit: 10, window: 3000, burst: 3, initial: 1 },
    ],
    [
      tokenBucket({ ...rate, refill: 'interval' }),
      { algorithm: 'token-bucket', limit: 3, window: 1000, burst: 3, refill: 'interval' },
    ],
    [
      leakyBucket({ ...rate, burst: 8, delay: 4 }),
      { algorithm: 'leaky-bucket', limit: 10, window: 3000, burst: 2, delay: 1 },
    ],
    [smooth({ ...rate, maxBurst: 3 }), { algorithm: 'smooth', limit: 10, window: 3000, maxBurst: 1 }],
    [concurrency({ limit: 4 }), { algorithm: 'concurrency', limit: 1, lease: 60_000 }],
    [slidingLog({ limit: 2, window: 1000 }), undefined],
    [gcra({ ...rate, burst: 2 }), undefined],
    [tokenBucket({ ...rate, burst: 2 }), undefined],
    [tokenBucket({ ...rate, burst: 9, limit: 2, refill: 'interval' }), undefined],
    [leakyBucket({ ...rate, burst: 1 }), undefined],
  ];

  it.each(rows)('%o is %o', (policy, share) => {
    const third = shareOf(policy, { instances: 3 });
    expect(third && { ...third }).toEqual(share);
  });

  it('everything is everything, when there is one instance', () => {
    const policy = slidingLog(rate);
    expect(shareOf(policy, { instances: 1 })).toBe(policy);
  });
});

it('shares with an index add up to the whole, shares without to no more', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 30 }), (limit, instances) => {
      const whole = slidingLog({ limit, window: 1000 });
      const sum = (index?: (i: number) => number) =>
        Array.from(
          { length: instances },
          (_, i) => shareOf(whole, { instances, index: index?.(i) })?.limit ?? 0,
        ).reduce((a, b) => a + b);
      expect(sum((i) => i)).toBe(limit);
      expect(sum()).toBeLessThanOrEqual(limit);
    }),
  );
});

describe('instances that split', () => {
  const policies: Policy[] = [
    slidingLog(rate),
    slidingSlots(rate),
    slidingWindow(rate),
    fixedWindow(rate),
    gcra({ ...rate, burst: 7 }),
    tokenBucket(rate),
    tokenBucket({ ...rate, refill: 'interval' }),
    leakyBucket({ ...rate, burst: 6 }),
  ];

  interface Call {
    readonly gapMs: number;
    readonly instance: number;
    readonly cost: number;
  }

  /** What three instances let through of these calls. */
  function usedOf(policy: Policy, calls: readonly Call[]): Grant[] {
    const instances = [0, 1, 2].map((index) => layered(memoryStore(), split({ instances: 3, index })));
    const uses: Grant[] = [];
    let atMs = 1_000_000;
    for (const { gapMs, instance, cost } of calls) {
      atMs += gapMs;
      const check = { name: 'rule', key: 'key', policy, cost, sinceMs: 0 };
      const [decision] = instances[instance]!.apply([check], atMs);
      if (decision?.allowed) uses.push({ key: 'key', atMs: atMs + decision.delayMs, cost });
    }
    return uses;
  }

  it.each(policies)('keep the promise of %o together', (policy) => {
    const calls = fc.array(
      fc.record({ gapMs: fc.nat(120), instance: fc.nat(2), cost: fc.integer({ min: 1, max: 2 }) }),
      { minLength: 20, maxLength: 200 },
    );
    fc.assert(
      fc.property(calls, (list) => {
        const report = audit(usedOf(policy, list), policy);
        expect(report.ok, report.describe()).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  const bursty = smooth({ ...rate, maxBurst: 4 });
  const warm = smooth({ ...rate, warmup: 500 });

  // The bound as a policy: the burst, and the largest call once for every instance but one.
  it.each([
    [bursty, smooth({ ...rate, maxBurst: 4 + 2 * 2 })],
    [smooth({ ...rate, maxBurst: 4, maxDelay: 0 }), smooth({ ...rate, maxBurst: 4 + 2 * 2 })],
    [warm, smooth({ ...rate, maxBurst: 2 * 2 })],
  ])('let one call each go first with %o, and no more', (policy, bound) => {
    const calls = fc.array(
      fc.record({ gapMs: fc.constantFrom(0, 0, 50, 1000), instance: fc.nat(2), cost: fc.constantFrom(1, 2) }),
      { minLength: 20, maxLength: 60 },
    );
    fc.assert(
      fc.property(calls, (list) => {
        const report = audit(usedOf(policy, list), bound);
        expect(report.ok, report.describe()).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    [1, 10 + 1],
    [5, 10 + 5],
  ])('over %d instances let %d calls go at once with smooth: one more for each', (count, expected) => {
    const policy = smooth({ ...rate, maxDelay: 0 });
    let passed = 0;
    for (let index = 0; index < count; index += 1) {
      const store = layered(memoryStore(), split({ instances: count, index }));
      const check = { name: 'rule', key: 'key', policy, cost: 1, sinceMs: 0 };
      while (store.apply([check], 1_000_000)[0]!.allowed) passed += 1;
    }
    expect(passed).toBe(expected);
  });

  it('say whose policy it is, and refuse what cannot be split', () => {
    const policy = slidingLog(rate);
    const store = layered(memoryStore(), split({ instances: 3 }));
    expect(limiter(policy, { store }).check('alice')).toMatchObject({ allowed: true, limit: 3, remaining: 2, policy });
    const small = limiter(gcra({ ...rate, burst: 2 }), { store });
    expect(() => small.check('alice')).toThrow(
      'limit and burst must be enough for 3 instances to have one unit each, got "gcra with limit 10 and burst 2". Raise it, or count in one place: redisStore().',
    );
  });

  it('check their options', () => {
    expect(() => split({ instances: 0 })).toThrow('instances must be a whole number above 0, got 0.');
    expect(() => split({ instances: 3, index: 3 })).toThrow('index must be a whole number from 0 to 2, got 3.');
    expect(() => split({ instances: 3, of: 3 } as never)).toThrow('split has no field "of"');
    const layer = split({ instances: 3 });
    layer(memoryStore());
    expect(() => layer(memoryStore())).toThrow('wraps a store already');
  });
});
