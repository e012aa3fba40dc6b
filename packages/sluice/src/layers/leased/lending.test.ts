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
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { lendingOf } from './lending.ts';

const rate = { limit: 100, window: 1000 };

describe('what is asked of the store for a lease of 200 ms', () => {
  const rows: [policy: Policy, lent: object | undefined, most?: number][] = [
    [slidingLog(rate), { algorithm: 'sliding-log', limit: 100, window: 1200 }, 100],
    [slidingSlots(rate), { algorithm: 'sliding-slots', limit: 100, window: 1200, slots: 60 }, 100],
    [gcra({ ...rate, burst: 50 }), { algorithm: 'gcra', ...rate, burst: 30 }, 30],
    [tokenBucket({ ...rate, burst: 50 }), { algorithm: 'token-bucket', ...rate, burst: 30 }, 30],
    [tokenBucket({ ...rate, initial: 90 }), { algorithm: 'token-bucket', ...rate, burst: 80, initial: 80 }, 80],
    [tokenBucket({ ...rate, initial: 9 }), { algorithm: 'token-bucket', ...rate, burst: 80, initial: 9 }, 80],
    [
      leakyBucket({ ...rate, burst: 20, delay: 'none' }),
      { algorithm: 'leaky-bucket', ...rate, burst: 0, delay: 'none' },
      1,
    ],
    [fixedWindow(rate), { algorithm: 'fixed-window', ...rate }, 100],
    [slidingWindow(rate), { algorithm: 'sliding-window', ...rate }, 100],
    // What cannot be decided from a slice goes through.
    [slidingLog({ ...rate, minGap: 5 }), undefined],
    [slidingLog({ ...rate, countRejected: true }), undefined],
    [tokenBucket({ ...rate, refill: 'interval' }), undefined],
    [leakyBucket({ ...rate, burst: 50 }), undefined],
    [fixedWindow({ ...rate, wait: 100 }), undefined],
    [smooth(rate), undefined],
    [concurrency({ limit: 3 }), undefined],
  ];

  it.each(rows)('of %o: %o', (policy, lent, most) => {
    const lending = lendingOf(policy, 200);
    expect(lending && { ...lending.policy }).toEqual(lent);
    expect(lending?.most).toBe(most);
  });

  it('refuses a burst that flows in during a lease, and says the way out', () => {
    expect(() => lendingOf(gcra({ ...rate, burst: 20 }), 200)).toThrow(
      'burst must be at least 21, because 20 flow in during a lease of 200 ms, got 20. Raise the burst, or shorten the lease.',
    );
    expect(() => lendingOf(gcra({ ...rate, burst: 21 }), 200)).not.toThrow();
    expect(() => lendingOf(leakyBucket({ ...rate, burst: 19, delay: 'none' }), 200)).toThrow(
      'burst must be at least 20',
    );
  });

  it.each([fixedWindow(rate), fixedWindow({ ...rate, align: 'first' }), slidingWindow(rate)])(
    'what is kept of %o ends with its window',
    (policy) => {
      const store = memoryStore();
      const keepsMs = (atMs: number) => {
        const [decision] = store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }], atMs);
        return lendingOf(policy, 200)!.keepsMs(decision!);
      };
      expect(keepsMs(5000)).toBe(999);
      expect(keepsMs(5250)).toBe(749);
      expect(keepsMs(5999)).toBe(0);
      expect(keepsMs(6000)).toBe(999);
    },
  );
});
