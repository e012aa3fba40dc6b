import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quantile } from './latency.ts';

const boundsMs = [1, 2, 10];

const rows: [counts: number[], ratio: number, overMs: number, atMostMs: number, aboutMs: number][] = [
  // ≤1  ≤2 ≤10   >10
  [[100, 0, 0, 0], 0.5, 0, 1, 0.5],
  [[0, 100, 0, 0], 0.5, 1, 2, 1.5],
  [[0, 100, 0, 0], 1, 1, 2, 2],
  [[0, 100, 0, 0], 0, 1, 2, 1],
  [[50, 50, 0, 0], 0.5, 0, 1, 1],
  [[50, 0, 50, 0], 0.75, 2, 10, 6],
  [[99, 0, 0, 1], 0.99, 0, 1, 1],
  [[98, 0, 0, 2], 0.99, 10, Infinity, 10], // nobody knows how much longer
];

test.each(rows)('of %j the %d quantile is over %d, at most %d, about %d ms', (counts, ratio, ...expected) => {
  const { overMs, atMostMs, aboutMs } = quantile(boundsMs, counts, ratio)!;
  expect([overMs, atMostMs, aboutMs]).toEqual(expected);
});

test('of nothing there is no quantile', () => {
  expect(quantile(boundsMs, [0, 0, 0, 0], 0.5)).toBeUndefined();
});

test('the true quantile lies between the two bounds', () => {
  const durationMs = fc.double({ min: 0.01, max: 20, noNaN: true });
  fc.assert(
    fc.property(fc.array(durationMs, { minLength: 1 }), fc.constantFrom(0.5, 0.9, 0.99), (durations, ratio) => {
      const counts = [0, 0, 0, 0];
      for (const one of durations) counts[[...boundsMs, Infinity].findIndex((bound) => one <= bound)]! += 1;
      const sorted = [...durations].sort((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(ratio * sorted.length) - 1)]!;
      const { overMs, atMostMs, aboutMs } = quantile(boundsMs, counts, ratio)!;
      expect(exact > overMs && exact <= atMostMs).toBe(true);
      expect(aboutMs >= overMs && aboutMs <= atMostMs).toBe(true);
    }),
  );
});
