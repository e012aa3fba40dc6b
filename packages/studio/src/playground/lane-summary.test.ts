import { expect, test } from 'vitest';
import { summaryOf } from './lane-summary.ts';
import { defaultSettings } from './settings.ts';

test('a lane says what it let through, what it refused, and its worst window', () => {
  const lane = {
    name: 'leaky-bucket',
    counts: { allowed: 28, delayed: 26, refused: 14 },
    worst: { most: 10, endMs: 0 },
  } as const;
  expect(summaryOf(lane, defaultSettings)).toBe(
    '28 allowed (26 of them delayed), 14 refused; most in any 10 s so far: 10 of 10.',
  );
});

test('where there is no window, it says how many were in flight', () => {
  const lane = {
    name: 'concurrency',
    counts: { allowed: 25, delayed: 0, refused: 17 },
    worst: { most: 3, endMs: 0 },
  } as const;
  expect(summaryOf(lane, defaultSettings)).toBe('25 allowed, 17 refused; most in flight at once: 3 of 3.');
});
