import { describe, expect, test } from 'vitest';
import {
  attack,
  burst,
  diurnal,
  flashCrowd,
  merge,
  moved,
  onOff,
  poisson,
  repeated,
  steady,
  type Traffic,
  zipfKeys,
} from './traffic.ts';

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

/** How many arrive from one time to another, averaged over seeds. */
function meanCount(traffic: (seed: number) => Traffic, fromMs: number, untilMs: number, seeds = 50): number {
  let count = 0;
  for (let seed = 0; seed < seeds; seed += 1) {
    for (const { atMs } of traffic(seed)) if (atMs >= fromMs && atMs < untilMs) count += 1;
  }
  return count / seeds;
}

/** A count of independent arrivals varies by its square root; five times that, of the mean of so many. */
const fiveErrors = (expected: number, seeds = 50) => (5 * Math.sqrt(expected)) / Math.sqrt(seeds);

describe('the rate of a day', () => {
  const day = (seed: number) =>
    diurnal({ lowPerSecond: 10, highPerSecond: 90, dayMs: 60_000, peakAtMs: 40_000, untilMs: 120_000, seed });
  // The area under the sine: 50 a second on average, and this much more in the ten seconds around the peak.
  const aSixth = (40 * 60 * Math.sin(Math.PI / 6)) / Math.PI;
  const rows: [what: string, fromMs: number, untilMs: number, expected: number][] = [
    ['a whole day', 0, 60_000, 3000],
    ['the next day', 60_000, 120_000, 3000],
    ['ten seconds around the peak', 35_000, 45_000, 500 + aSixth],
    ['ten seconds around the quietest', 5_000, 15_000, 500 - aSixth],
  ];

  test.each(rows)('holds over %s', (_what, fromMs, untilMs, expected) => {
    expect(Math.abs(meanCount(day, fromMs, untilMs) - expected)).toBeLessThan(fiveErrors(expected));
  });

  test('cannot be lower at its highest than at its lowest', () => {
    const options = { highPerSecond: 1, untilMs: 1, seed: 1 };
    expect(() => diurnal({ ...options, lowPerSecond: 2 })).toThrow('lowPerSecond must be from 0 to highPerSecond (1)');
    expect(() => diurnal({ ...options, lowPerSecond: -1 })).toThrow('lowPerSecond must be');
  });
});

describe('a flash crowd', () => {
  const crowd = (seed: number) =>
    flashCrowd({
      basePerSecond: 10,
      peakPerSecond: 210,
      atMs: 10_000,
      rampMs: 4_000,
      holdMs: 5_000,
      decayMs: 6_000,
      untilMs: 60_000,
      seed,
    });
  const rows: [what: string, fromMs: number, untilMs: number, expected: number][] = [
    ['is not there before', 0, 10_000, 100],
    ['climbs evenly', 10_000, 14_000, 40 + 400],
    ['stays at its peak', 14_000, 19_000, 1050],
    ['decays by e', 19_000, 25_000, 60 + 200 * 6 * (1 - 1 / Math.E)],
    ['is gone in the end', 55_000, 60_000, 50 + 200 * 6 * (Math.exp(-6) - Math.exp(-41 / 6))],
  ];

  test.each(rows)('%s', (_what, fromMs, untilMs, expected) => {
    expect(Math.abs(meanCount(crowd, fromMs, untilMs) - expected)).toBeLessThan(fiveErrors(expected));
  });

  test('cannot peak below its base', () => {
    const options = { peakPerSecond: 1, atMs: 0, rampMs: 1, holdMs: 1, decayMs: 1, untilMs: 1, seed: 1 };
    expect(() => flashCrowd({ ...options, basePerSecond: 2 })).toThrow('basePerSecond must be from 0 to peakPerSecond');
  });
});

test('an attack hammers at its rate, from one key or from many in turn', () => {
  expect([...attack(2, { fromMs: 1000, untilMs: 2500 })]).toEqual(
    [1000, 1500, 2000].map((atMs) => ({ atMs, key: 'attacker', cost: 1 })),
  );
  expect(keys(attack(4, { untilMs: 1000, keys: 3, key: 'bot' }))).toEqual(['bot-1', 'bot-2', 'bot-3', 'bot-1']);
  expect(() => attack(1, { untilMs: 1, keys: 0 })).toThrow('keys must be a whole number above 0');
});

test('repeated traffic comes again until the end, which may be in the middle of it', () => {
  const traffic = repeated(burst(2, { atMs: 100, spacingMs: 50 }), { everyMs: 1000, untilMs: 2150 });
  expect(timesMs(traffic)).toEqual([100, 150, 1100, 1150, 2100]);
  expect(timesMs(repeated(merge(), { everyMs: 1, untilMs: 10 }))).toEqual([]);
  expect(() => repeated(traffic, { everyMs: 0, untilMs: 1 })).toThrow('everyMs must be a number above 0');
});

test('moved traffic begins when it is told to, at the speed it is told to', () => {
  const recorded = burst(4, { atMs: 1_700_000_000_000, spacingMs: 1000, key: 'a' });
  expect(timesMs(moved(recorded))).toEqual([0, 1000, 2000, 3000]);
  expect([...moved(recorded, { fromMs: 500, untilMs: 1500, speed: 2 })]).toEqual([
    { atMs: 500, key: 'a', cost: 1 },
    { atMs: 1000, key: 'a', cost: 1 },
  ]);
  expect(() => moved(recorded, { speed: 0 })).toThrow('speed must be a number above 0');
});
