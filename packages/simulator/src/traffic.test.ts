import { expect, test } from 'vitest';
import { burst, merge, onOff, poisson, steady, type Traffic, zipfKeys } from './traffic.ts';

const timesMs = (traffic: Traffic) => [...traffic].map(({ atMs }) => atMs);
const keys = (traffic: Traffic) => [...traffic].map(({ key }) => key);

test('steady arrivals are evenly spaced; the end is not part of the period', () => {
  expect([...steady(4, { untilMs: 1000, key: 'a', cost: 2 })]).toEqual(
    [0, 250, 500, 750].map((atMs) => ({ atMs, key: 'a', cost: 2 })),
  );
  expect(timesMs(steady(2, { fromMs: 100, untilMs: 1101 }))).toEqual([100, 600, 1100]);
});

test('a steady rate does not drift', () => {
  const last = timesMs(steady(3, { untilMs: 1_000_000.5 })).at(-1);
  expect(last).toBe(1_000_000);
});

test('Poisson arrivals come at their rate, and their number varies as much as it is large', () => {
  const counts = Array.from({ length: 400 }, (_, seed) => timesMs(poisson(100, { untilMs: 1000, seed })).length);
  const mean = counts.reduce((sum, count) => sum + count) / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  // Mean and variance are both 100. Five standard errors: sqrt(100 / 400) for the mean, 100 * sqrt(2 / 400) for the variance.
  expect(Math.abs(mean - 100)).toBeLessThan(5 * 0.5);
  expect(Math.abs(variance - 100)).toBeLessThan(5 * 7.1);
});

test('Poisson arrivals lie inside their period, in order', () => {
  const times = timesMs(poisson(1000, { fromMs: 500, untilMs: 1500, seed: 1 }));
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times[0]).toBeGreaterThan(500);
  expect(times.at(-1)).toBeLessThan(1500);
});

test('the same traffic can be gone through again and again', () => {
  const traffic = zipfKeys(merge(poisson(50, { untilMs: 1000, seed: 3 }), steady(10, { untilMs: 1000 })), {
    count: 5,
    exponent: 1,
    seed: 4,
  });
  expect([...traffic]).toEqual([...traffic]);
});

test('a burst arrives at once, or spaced', () => {
  expect(timesMs(burst(3, { atMs: 10 }))).toEqual([10, 10, 10]);
  expect(timesMs(burst(3, { atMs: 10, spacingMs: 5 }))).toEqual([10, 15, 20]);
});

test('on and off let through what falls into an on, its beginning included and its end not', () => {
  const traffic = onOff(steady(1, { untilMs: 10_000 }), { onMs: 2000, offMs: 3000, fromMs: 1000 });
  expect(timesMs(traffic)).toEqual([1000, 2000, 6000, 7000]);
});

test('merged arrivals are in order, equals in the order of the arguments', () => {
  const traffic = merge(
    steady(1, { untilMs: 3000, key: 'a' }),
    burst(2, { atMs: 1000, key: 'b' }),
    steady(2, { untilMs: 1001, key: 'c' }),
  );
  expect(keys(traffic)).toEqual(['a', 'c', 'c', 'a', 'b', 'b', 'c', 'a']);
  expect(timesMs(traffic)).toEqual([0, 0, 500, 1000, 1000, 1000, 1000, 2000]);
  expect([...merge()]).toEqual([]);
});

test('Zipf keys make the first client the busiest', () => {
  const counts = new Map<string, number>();
  for (const key of keys(zipfKeys(burst(10_000, { atMs: 0 }), { count: 100, exponent: 1, seed: 1 }))) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  // The harmonic number of 100 is 5.187: the first gets a share of 0.193 with a standard error of 0.004.
  expect(Math.abs((counts.get('client-1') ?? 0) / 10_000 - 0.193)).toBeLessThan(0.02);
  expect(counts.get('client-1')).toBeGreaterThan(counts.get('client-2') ?? 0);
  expect(counts.size).toBeLessThanOrEqual(100);
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a rate of %s per second', (rate) => {
  expect(() => steady(rate, { untilMs: 1 })).toThrow('ratePerSecond must be a finite number above 0');
  expect(() => poisson(rate, { untilMs: 1, seed: 1 })).toThrow('ratePerSecond must be a finite number above 0');
});
