import { expect, test } from 'vitest';
import { mixed } from './client-table.ts';
import { Watch } from './watch.ts';

test('counts each client, and goes on from what it has learnt', () => {
  const watch = new Watch();
  expect([watch.add(7), watch.add(7), watch.add(8)]).toEqual([1, 2, 1]);
  watch.learn(8, 50);
  watch.learn(8, 20); // It is known to be more.
  expect(watch.add(8)).toBe(51);
});

test('never says too little, and of a hundred thousand strangers hardly anything', () => {
  const watch = new Watch();
  for (let i = 0; i < 10; i += 1) watch.add(mixed(1));
  for (let i = 1000; i < 101_000; i += 1) watch.add(mixed(i));
  expect(watch.add(mixed(1))).toBeGreaterThanOrEqual(11);
  const surprises = Array.from({ length: 1000 }, (_, i) => watch.add(mixed(200_000 + i))).filter((calls) => calls > 2);
  expect(surprises.length).toBeLessThan(5);
});
