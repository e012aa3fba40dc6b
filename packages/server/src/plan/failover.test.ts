import { describe, expect, it } from 'vitest';
import { failoverCost, refusedByDebt } from './failover.ts';
import { someFigures, someQuestion, someStore } from './plan.test-support.ts';
import { plan } from './plan.ts';

/** By adding up all counts that matter. */
function byHand(mean: number, limit: number, debt: number): number {
  let probability = Math.exp(-mean);
  let refused = 0;
  for (let calls = 0; calls < 500; calls += 1) {
    refused += probability * (Math.min(calls, limit) - Math.min(calls, Math.max(0, limit - debt)));
    probability *= mean / (calls + 1);
  }
  return refused / mean;
}

describe('a debt after a take-over', () => {
  const rows: [mean: number, limit: number, debt: number][] = [
    [75, 100, 10],
    [75, 100, 1],
    [100, 100, 10],
    [150, 100, 10],
    [1, 1, 1],
    [0.01, 5, 2],
    [3, 1000, 10],
  ];
  it.each(rows)(
    'of calls with mean %d under a limit of %d refuses, for %d, what the sum over all counts says',
    (mean, limit, debt) => {
      expect(refusedByDebt(mean, limit, debt)).toBeCloseTo(byHand(mean, limit, debt), 9);
    },
  );

  it.each([
    [3e9, 1e9, 1e6, 0],
    [3e9, 3e9, 10, 5 / 3e9],
    [3e9, 1e10, 10, 0],
    [1e20, 1e14, 1e13, 1e13 / 1e20],
    [5000, 1e14, 1e13, 0],
  ])('of %d calls under a limit of %d is known at once, for %d', (mean, limit, debt, share) => {
    const beginMs = performance.now();
    if (share === 0) expect(refusedByDebt(mean, limit, debt)).toBeLessThan(1e-3);
    else expect(refusedByDebt(mean, limit, debt) / share).toBeCloseTo(1, 2);
    expect(performance.now() - beginMs).toBeLessThan(1000);
  });

  it('is nearly the same in steps as count by count', () => {
    for (const limit of [100_000, 99_700, 100_400, 99_000]) {
      const [exact, inSteps] = [refusedByDebt(100_000, limit, 100), refusedByDebt(100_000.001, limit, 100)];
      expect(inSteps / exact).toBeCloseTo(1, 3);
    }
  });

  it('refuses nobody who never comes near the limit, and everybody where it is the limit', () => {
    expect(refusedByDebt(0, 100, 10)).toBe(0);
    expect(refusedByDebt(3, 1_000_000, 10)).toBe(0);
    expect(refusedByDebt(0.5, 1, 1)).toBeCloseTo((1 - Math.exp(-0.5)) / 0.5, 9);
  });
});

describe('a failure', () => {
  const found = plan(someQuestion, someFigures, someStore);
  if (typeof found === 'string') throw new Error(found);
  const { size } = found;

  it('leaves keys without an owner for the time-to-live and a half, and then for a window without a copy', () => {
    const { unservedMs, quarantineMs, refusedWithout, shareOfTraffic } = failoverCost(someQuestion, size);
    // 10 s, 0.2 % drift, 5 % margin, and two looks of 2 s.
    expect(unservedMs).toBeCloseTo(10_020 + 500 + 4000, 6);
    expect(quarantineMs).toBeGreaterThanOrEqual(60_010);
    expect(quarantineMs).toBeLessThan(60_200);
    expect(shareOfTraffic).toBeCloseTo(1 / size.nodes, 12);
    expect(refusedWithout).toBeCloseTo(
      (someQuestion.checksPerSecond / size.nodes) * ((unservedMs + quarantineMs) / 1000),
      3,
    );
  });

  it('of two nodes at once takes some copies along', () => {
    const { copyLostRatio, refusedWithCopy } = failoverCost({ ...someQuestion, nodesPerFailure: 2 }, size);
    expect(copyLostRatio).toBeCloseTo(1 / (size.nodes - 1), 12);
    const alone = failoverCost(someQuestion, size);
    expect(alone.copyLostRatio).toBe(0);
    expect(refusedWithCopy).toBeGreaterThan(2 * alone.refusedWithCopy);
  });
});
