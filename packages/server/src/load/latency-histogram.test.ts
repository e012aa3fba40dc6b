import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from './latency-histogram.ts';

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const ms of values) histogram.record(ms);
  return histogram;
}

/** The same by sorting: the least value that this share did not exceed. */
function sortedPercentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!;
}

describe('latency histogram', () => {
  it('is exact to the microsecond below a quarter of a millisecond', () => {
    const histogram = histogramOf(Array.from({ length: 100 }, (_, i) => (i + 1) / 1000));
    expect(histogram.percentileMs(0.5)).toBe(0.05);
    expect(histogram.percentileMs(0.99)).toBe(0.099);
    expect(histogram.percentileMs(1)).toBe(0.1);
  });

  it('tells a percentile that is never too short and at most 1/128 too long', () => {
    const us = fc.integer({ min: 0, max: 2 ** 31 - 1 }).map((value) => value / 1000);
    const short = fc.integer({ min: 0, max: 100_000 }).map((value) => value / 1000);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(us, short), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.5, 0.9, 0.99, 0.999),
        (values, share) => {
          const exact = sortedPercentile(values, share);
          const told = histogramOf(values).percentileMs(share);
          expect(told).toBeGreaterThanOrEqual(exact);
          // Half a microsecond for the rounding up.
          expect(told).toBeLessThanOrEqual(exact * (1 + 1 / 128) + 0.001);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('counts a fraction of a microsecond as a whole one, and what comes before its time as none', () => {
    expect(histogramOf([0.0001, 5]).percentileMs(0.5)).toBe(0.001);
    expect(histogramOf([-3]).percentileMs(0.5)).toBe(0);
  });

  it('never tells more than the longest it has seen', () => {
    const histogram = histogramOf([1000.3, 1000.3]);
    expect(histogram.percentileMs(0.99)).toBe(1000.3);
    expect(histogram.maxMs).toBe(1000.3);
  });

  it('keeps what is longer than it can tell apart as the longest', () => {
    const days = 3 * 86_400_000;
    const histogram = histogramOf([1, days]);
    expect(histogram.maxMs).toBe(days);
    expect(histogram.percentileMs(1)).toBeGreaterThan(30 * 60_000);
  });

  it('has a mean that no bucket rounds', () => {
    expect(histogramOf([1, 2, 1000.5]).meanMs).toBeCloseTo(1003.5 / 3, 9);
  });

  it('says 0 when nothing was counted', () => {
    const histogram = new LatencyHistogram();
    expect([histogram.percentileMs(0.99), histogram.meanMs, histogram.maxMs]).toEqual([0, 0, 0]);
  });
});
