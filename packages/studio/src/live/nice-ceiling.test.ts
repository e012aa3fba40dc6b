import { expect, test } from 'vitest';
import { niceCeiling } from './nice-ceiling.ts';

test.each([
  [0, 1],
  [0.2, 1],
  [1, 1],
  [1.2, 2],
  [2.5, 3],
  [4.5, 5],
  [6.5, 8],
  [9, 10],
  [1000, 1000],
  [1001, 2000],
  [34_000, 40_000],
  [Number.NaN, 1],
])('an axis for %d ends at %d', (value, end) => {
  expect(niceCeiling(value)).toBe(end);
});
