import { expect, test } from 'vitest';
import { Samples } from './samples.ts';

test('knows the mean, the largest, and what one of a hundred exceeds', () => {
  const samples = new Samples();
  for (let i = 1000; i >= 1; i -= 1) samples.add(i);
  expect(samples).toMatchObject({ count: 1000, mean: 500.5, max: 1000, p99: 991 });
});

test('of one number all are that number, and of none there are none', () => {
  const samples = new Samples();
  expect(samples).toMatchObject({ count: 0, mean: undefined, max: undefined, p99: undefined });
  samples.add(7);
  expect(samples).toMatchObject({ count: 1, mean: 7, max: 7, p99: 7 });
});
