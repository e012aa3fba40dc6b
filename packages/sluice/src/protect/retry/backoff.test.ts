import fc from 'fast-check';
import { expect, it } from 'vitest';
import { delayMs } from './backoff.ts';

const usual = { baseDelayMs: 100, maxDelayMs: 1000, growth: 2 };

type Row = [attempt: number, toldMs: number | undefined, chance: number, delayMs: number];

// biome-ignore format: rows are read in columns
const rows: Row[] = [
  [   1, undefined, 0,      0 ],  // full jitter: all of the wait is left to chance
  [   1, undefined, 0.5,   50 ],
  [   1, undefined, 1,    100 ],
  [   2, undefined, 1,    200 ],
  [   3, undefined, 1,    400 ],
  [   4, undefined, 1,    800 ],
  [   5, undefined, 1,   1000 ],  // the cap, and not 1,600
  [ 100, undefined, 1,   1000 ],
  [   1,         0, 0.5,   50 ],  // told to come at once: as if nothing was said
  [   1,      5000, 0,   5000 ],  // never earlier than told
  [   1,      5000, 1,   5500 ],  // a tenth of it on top
  [   1,       300, 1,    400 ],  // or as much as without being told, where that is more
  [   3,       300, 1,    700 ],
];

it.each(rows)('after attempt %d, told %s, with a chance of %d, it waits %d ms', (attempt, toldMs, chance, expected) => {
  expect(delayMs(usual, attempt, toldMs, chance)).toBe(expected);
});

it('neither shrinks nor overflows, however far it grew', () => {
  expect(delayMs({ ...usual, growth: 1e300 }, 100, undefined, 0.5)).toBe(500);
  expect(delayMs({ ...usual, growth: 1 }, 100, undefined, 0.5)).toBe(50);
});

it('is never earlier than told, and never later than a tenth or the cap after that', () => {
  const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const told = fc.option(fc.double({ min: 0, max: 1e7, noNaN: true }), { nil: undefined });
  const backoffs = fc.record({
    baseDelayMs: fc.double({ min: 0.1, max: 1000, noNaN: true }),
    maxDelayMs: fc.double({ min: 1000, max: 100_000, noNaN: true }),
    growth: fc.double({ min: 1, max: 10, noNaN: true }),
  });
  fc.assert(
    fc.property(backoffs, fc.integer({ min: 1, max: 100 }), told, chances, (backoff, attempt, toldMs, chance) => {
      const waitMs = delayMs(backoff, attempt, toldMs, chance);
      expect(waitMs).toBeGreaterThanOrEqual(toldMs ?? 0);
      expect(waitMs).toBeLessThanOrEqual((toldMs ?? 0) + Math.max(backoff.maxDelayMs, (toldMs ?? 0) / 10));
    }),
  );
});
