import fc from 'fast-check';
import { expect, test } from 'vitest';
import { roundTop, timeTicks } from './ticks.ts';

const rows: readonly (readonly [durationMs: number, most: number, labels: string])[] = [
  [3, 5, '0 ms|1 ms|2 ms|3 ms'],
  [900, 4, '0 ms|500 ms'],
  [1000, 4, '0 s|0.5 s|1 s'],
  [20_000, 4, '0 s|5 s|10 s|15 s|20 s'],
  [50_000, 4, '0 s|15 s|30 s|45 s'], // as clocks are cut, not by tens
  [60_000, 2, '0 s|30 s|60 s'],
  [300_000, 5, '0 min|1 min|2 min|3 min|4 min|5 min'],
  [86_400_000, 4, '0 h|6 h|12 h|18 h|24 h'],
  [7 * 86_400_000, 7, '0 d|1 d|2 d|3 d|4 d|5 d|6 d|7 d'],
];

test.each(rows)('%d ms in at most %d steps are %s', (durationMs, most, labels) => {
  expect(
    timeTicks(durationMs, most)
      .map(({ label }) => label)
      .join('|'),
  ).toBe(labels);
});

test('no axis has more steps than were asked for, nor labels that are the same', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 366 * 86_400_000, noNaN: true }),
      fc.integer({ min: 1, max: 40 }),
      (ms, most) => {
        const ticks = timeTicks(ms, most);
        expect(ticks.length).toBeLessThanOrEqual(most + 1);
        expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length);
        expect(ticks.every(({ at }) => at <= ms)).toBe(true);
      },
    ),
  );
});

test('the top of a scale is a round number that nothing is above, and half of it is whole', () => {
  expect([0, 0.2, 1, 7, 25, 60, 61, 1001, Number.NaN].map(roundTop)).toEqual([2, 1, 2, 8, 30, 60, 80, 1200, 2]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e12 }), (value) => {
      const top = roundTop(value);
      expect(top).toBeGreaterThanOrEqual(value);
      expect(top).toBeLessThanOrEqual(value * 2);
      expect(top / 2).toBe(Math.round(top / 2));
    }),
  );
});
