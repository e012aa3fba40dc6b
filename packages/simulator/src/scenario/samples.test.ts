import { expect, test } from 'vitest';
import { Samples } from './samples.ts';

test('knows the mean, the largest, and what at most one of a hundred exceeds', () => {
  const samples = new Samples();
  for (let i = 1000; i >= 1; i -= 1) samples.add(i);
  expect(samples).toMatchObject({ count: 1000, mean: 500.5, max: 1000, p99: 990 });
});

test.each([
  // count, p99 of 1 to count
  [1, 1],
  [99, 99],
  [100, 99],
  [101, 100],
  [200, 198],
  [700, 693],
  [1900, 1881],
])('of 1 to %i, the p99 is %i: at most one of a hundred exceeds it', (count, p99) => {
  const samples = new Samples();
  for (let i = 1; i <= count; i += 1) samples.add(i);
  expect(samples.p99).toBe(p99);
});

test('of one number all are that number, and of none there are none', () => {
  const samples = new Samples();
  expect(samples).toMatchObject({ count: 0, mean: undefined, max: undefined, p99: undefined });
  samples.add(7);
  expect(samples).toMatchObject({ count: 1, mean: 7, max: 7, p99: 7 });
});
