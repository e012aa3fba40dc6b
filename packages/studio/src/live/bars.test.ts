import { expect, test } from 'vitest';
import { type Bar, bandPath, type Frame, mostRate } from './bars.ts';

const frame: Frame = { endMs: 10_000, spanMs: 10_000, width: 100, height: 50, most: 10 };
const none = { allowed: 0, refused: 0, shadowRefused: 0, errors: 0 };
const bar = (startMs: number, endMs: number, counts: Partial<Bar['counts']>): Bar => ({
  startMs,
  endMs,
  counts: { ...none, ...counts },
});

test('bands lie on top of each other, and shadow refusals are among what passed', () => {
  const bars = [bar(0, 1000, { allowed: 4, shadowRefused: 1, refused: 2, errors: 1 })];
  expect(bandPath(bars, 'allowed', frame, 1)).toBe('M0 50h9v-25H0z');
  expect(bandPath(bars, 'refused', frame, 1)).toBe('M0 25h9v-10H0z');
  expect(bandPath(bars, 'errors', frame, 1)).toBe('M0 15h9v-5H0z');
});

test('a bar is as wide as its time, cut where the chart begins', () => {
  const bars = [
    bar(-5000, 3000, { allowed: 10 }),
    bar(9000, 10_000, { allowed: 10 }),
    bar(-9000, -8000, { allowed: 1 }),
  ];
  expect(bandPath(bars, 'allowed', frame, 0)).toBe('M0 50h30v-50H0zM90 50h10v-50H90z');
});

test('nothing draws nothing, and little is seen', () => {
  expect(bandPath([bar(0, 1000, {})], 'allowed', frame, 0)).toBe('');
  expect(bandPath([bar(0, 1000, { refused: 0.001 })], 'refused', frame, 0)).toBe('M0 50h10v-1H0z');
});

test('the highest bar is all of its bands', () => {
  expect(mostRate([bar(0, 1, { allowed: 3, refused: 1 }), bar(1, 2, { errors: 3, shadowRefused: 2 })])).toBe(5);
  expect(mostRate([])).toBe(0);
});
