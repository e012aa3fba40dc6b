import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { ALGORITHM, type Policy } from '../vocabulary/policy.ts';
import { limitOf } from './not-asked.ts';
import { sharesOf } from './share.ts';

const window = 1000;

// biome-ignore format: aligned rows
const rows: readonly [policy: Policy, instances: number, share: Policy | undefined][] = [
  [ gcra({ limit: 100, window, burst: 20 }),           3, gcra({ limit: 100, window: 3000, burst: 6 }) ],
  [ gcra({ limit: 2, window, burst: 30 }),             4, gcra({ limit: 2, window: 4000, burst: 7 }) ],
  [ gcra({ limit: 1, window }),                        4, undefined ],  // less than one at once
  [ gcra({ limit: 1, window, burst: 4 }),              4, gcra({ limit: 1, window: 4000 }) ],
  [ tokenBucket({ limit: 9, window, burst: 6, initial: 5 }), 2, tokenBucket({ limit: 9, window: 2000, burst: 3, initial: 2 }) ],
  [ tokenBucket({ limit: 9, window, refill: 'interval' }),   2, tokenBucket({ limit: 4, window, refill: 'interval' }) ],
  [ leakyBucket({ limit: 10, window, burst: 9, delay: 5 }),  2, leakyBucket({ limit: 10, window: 2000, burst: 4, delay: 2 }) ],
  [ leakyBucket({ limit: 10, window, burst: 1 }),      2, leakyBucket({ limit: 10, window: 2000, burst: 0 }) ],
  [ leakyBucket({ limit: 10, window, burst: 1 }),      3, undefined ],  // two at once are not enough for three
  [ fixedWindow({ limit: 10, window, align: 'first' }), 3, fixedWindow({ limit: 3, window, align: 'first' }) ],
  [ slidingWindow({ limit: 10, window }),              3, slidingWindow({ limit: 3, window }) ],
  [ slidingSlots({ limit: 10, window, slots: 5 }),     3, slidingSlots({ limit: 3, window, slots: 5 }) ],
  [ slidingLog({ limit: 10, window, countRejected: true }), 3, slidingLog({ limit: 3, window, countRejected: true }) ],
  [ slidingLog({ limit: 10, window, minGap: 5 }),      3, undefined ],  // nobody sees the gaps between two instances
  [ slidingLog({ limit: 10, window, minGap: 5 }),      1, slidingLog({ limit: 10, window, minGap: 5 }) ],
  [ smooth({ limit: 10, window, maxBurst: 5 }),        2, smooth({ limit: 10, window: 2000, maxBurst: 2.5 }) ],
  [ smooth({ limit: 10, window, warmup: 50 }),         2, smooth({ limit: 10, window: 2000, warmup: 50 }) ],
  [ concurrency({ limit: 7 }),                         3, concurrency({ limit: 2 }) ],
  [ concurrency({ limit: 3 }),                         3, concurrency({ limit: 1 }) ],
  [ concurrency({ limit: 2 }),                         3, undefined ],
];

describe('the share of a policy', () => {
  it.each(rows.map(([policy, instances, share]) => ({ policy, instances, share })))(
    '$policy for $instances',
    ({ policy, instances, share }) => {
      expect(sharesOf(instances)(policy)).toEqual(share);
    },
  );

  it('of an algorithm that nobody here knows is none', () => {
    const strange = { algorithm: 'strange', limit: 10, [ALGORITHM]: {} } as unknown as Policy;
    expect(sharesOf(2)(strange)).toBeUndefined();
  });

  it('is built once', () => {
    const shareOf = sharesOf(3);
    const policy = gcra({ limit: 100, window });
    expect(shareOf(policy)).toBe(shareOf(policy));
  });

  it('all shares together let no more through than the whole', () => {
    const rate = fc.record({ limit: fc.integer({ min: 1, max: 20 }), window: fc.integer({ min: 50, max: 500 }) });
    const bursty = fc.record({
      limit: fc.integer({ min: 1, max: 20 }),
      window: fc.integer({ min: 50, max: 500 }),
      burst: fc.integer({ min: 1, max: 20 }),
    });
    const policies: fc.Arbitrary<Policy> = fc.oneof(
      bursty.map(gcra),
      bursty.map(tokenBucket),
      bursty.map((options) => leakyBucket({ ...options, delay: 'none' })),
      rate.map(slidingLog),
      rate.map(slidingSlots),
      rate.map(({ limit }) => concurrency({ limit, lease: '1h' })),
    );
    const calls = fc.array(
      fc.record({
        gapMs: fc.integer({ min: 0, max: 60 }),
        at: fc.nat({ max: 6 }),
        cost: fc.integer({ min: 1, max: 3 }),
      }),
      { maxLength: 150 },
    );
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 7 }), calls, (policy, instances, life) => {
        const share = sharesOf(instances)(policy);
        if (!share) return;
        const stores = Array.from({ length: instances }, () => memoryStore());
        const granted: { atMs: number; cost: number }[] = [];
        let atMs = 1_700_000_000_000;
        for (const { gapMs, at, cost } of life) {
          atMs += gapMs;
          const operation = policy.algorithm === 'concurrency' ? ('acquire' as const) : ('check' as const);
          const check = { name: 'test', key: 'key', policy: share, cost, operation };
          if (stores[at % instances]!.apply([check], atMs)[0]!.allowed) granted.push({ atMs, cost });
        }
        for (const [i, { atMs: endMs }] of granted.entries()) {
          let sum = 0;
          for (let from = i; from >= 0; from -= 1) {
            sum += granted[from]!.cost;
            const spanMs = endMs - granted[from]!.atMs;
            const isBucket = policy.burst !== undefined;
            const flowMs = isBucket ? spanMs : 0;
            const isCounted = isBucket || policy.window === undefined || spanMs < policy.window;
            if (isCounted)
              expect(sum).toBeLessThanOrEqual(limitOf(policy) + (policy.limit * flowMs) / (policy.window ?? 1) + 1e-9);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
