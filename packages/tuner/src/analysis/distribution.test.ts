import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Trace } from '../trace/trace.ts';
import { type Call, traceOf } from '../trace/trace-of.test-support.ts';
import { distributionOf } from './distribution.ts';
import { peaksOf } from './peaks.ts';
import { binsOf, largest, quantilesOf, spreadOf } from './spread.ts';

const times = (count: number, atMs: (i: number) => number, client: string): Call[] =>
  Array.from({ length: count }, (_, i) => [atMs(i), client]);

const listOf = (weights: readonly number[]): Trace['clientList'] => ({
  count: weights.length,
  nameOf: String,
  callsOf: () => 1,
  weightOf: (client) => weights[client]!,
  callWeightOf: (client) => weights[client]!,
});

test('a peak is the most in any window; a call exactly one window old no longer counts', () => {
  const trace = traceOf([
    [1, 'a'],
    [501, 'a', 5],
    [1001, 'a'], // 1 is a second ago
    [1500, 'a'],
    [1501, 'b', 7],
    [1501, 'b', 7],
  ]);
  const [second, tenSeconds] = peaksOf(trace, [1000, 10_000]);
  expect([...second!.calls]).toEqual([3, 2]);
  expect([...second!.costs]).toEqual([7, 14]);
  expect([...tenSeconds!.calls]).toEqual([4, 2]);
});

test('peaks are what counting every window says', () => {
  const call = fc.tuple(
    fc.integer({ min: 1, max: 60 }),
    fc.constantFrom('a', 'b', 'c'),
    fc.integer({ min: 0, max: 9 }),
  );
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 30 }), (calls, windowMs) => {
      const trace = traceOf(calls);
      const [peaks] = peaksOf(trace, [windowMs]);
      for (let client = 0; client < trace.clientList.count; client += 1) {
        const own = calls.filter(([, name]) => name === trace.clientList.nameOf(client));
        const windows = own.map(([endMs]) => own.filter(([atMs]) => atMs > endMs - windowMs && atMs <= endMs));
        expect(peaks!.calls[client]).toBe(Math.max(...windows.map((window) => window.length)));
        const costs = windows.map((window) => window.reduce((sum, [, , cost]) => sum + cost, 0));
        expect(peaks!.costs[client]).toBe(Math.max(...costs));
      }
    }),
  );
});

test('a distribution says for each window how clients peak, and who the busiest are', () => {
  const quiet = Array.from({ length: 98 }, (_, i): Call => [1 + i * 100, `quiet-${i}`]);
  const busy = times(60, (i) => 1 + i * 1000, 'busy');
  const bursty = times(30, () => 7, 'bursty');
  const distribution = distributionOf(
    traceOf([...quiet, ...busy, ...bursty].sort(([a], [b]) => a - b)),
    [1000, 60_000],
  );
  expect(distribution).toMatchObject({ clients: 100, calls: 188, spanMs: 59_001 });
  expect(distribution.windows.map(({ windowMs, calls }) => [windowMs, calls])).toEqual([
    [1000, { p50: 1, p90: 1, p99: 1, p999: 30, max: 30 }],
    [60_000, { p50: 1, p90: 1, p99: 30, p999: 60, max: 60 }],
  ]);
  expect(distribution.windows[0]!.bins.filter(({ clients }) => clients > 0)).toEqual([
    { from: 1, below: 2, clients: 99 },
    { from: 23, below: 32, clients: 1 },
  ]);
  expect(distribution.busiest.length).toBe(20);
  expect(distribution.busiest.slice(0, 2)).toEqual([
    {
      client: 'busy',
      calls: 60,
      costs: 60,
      weight: 1,
      meanPerSecond: 60 / 59.001,
      peaks: [
        { windowMs: 1000, calls: 1, costs: 1 },
        { windowMs: 60_000, calls: 60, costs: 60 },
      ],
    },
    expect.objectContaining({ client: 'bursty', calls: 30 }),
  ]);
  expect(distribution.meanPerSecond.max).toBe(60 / 59.001);
});

test('a window shorter than a tick is said to be coarse', () => {
  const calls = Array.from({ length: 4 }, (_, c) => times(5000, (i) => i * 1000, `client-${c}`)).flat();
  const trace = traceOf(calls, { maxEntries: 4000 });
  expect(trace.tickMs).toBeGreaterThan(1000);
  const [second, day] = distributionOf(trace, [1000, 86_400_000]).windows;
  expect([second!.isCoarse, day!.isCoarse]).toEqual([true, false]);
  expect(second!.calls.max).toBe(trace.tickMs / 1000);
});

test('a distribution of no calls is empty', () => {
  const { clients, calls, windows, busiest } = distributionOf(traceOf([]), [1000]);
  expect([clients, calls, busiest]).toEqual([0, 0, []]);
  expect(windows[0]).toMatchObject({ calls: { p50: 0, max: 0 }, bins: [] });
});

test('clients count as often as their weight', () => {
  const spread = spreadOf([1, 5, 2, 100], listOf([8, 1, 8, 1]));
  expect(spread.clients).toBe(18);
  expect([...spread.values]).toEqual([1, 2, 5, 100]);
  expect(quantilesOf(spread)).toEqual({ p50: 2, p90: 5, p99: 100, p999: 100, max: 100 });
  expect(binsOf(spread).map(({ from, clients }) => [from, clients])).toEqual([
    [1, 8],
    [2, 8],
    [3, 0],
    [4, 1],
    [6, 0],
    [8, 0],
    [12, 0],
    [16, 0],
    [23, 0],
    [32, 0],
    [46, 0],
    [64, 0],
    [91, 1],
  ]);
});

test('weighted quantiles and bins are those of a list in which each client stands as often as its weight', () => {
  const client = fc.tuple(fc.integer({ min: 0, max: 300 }), fc.constantFrom(1, 4));
  fc.assert(
    fc.property(fc.array(client, { minLength: 1, maxLength: 50 }), (clients) => {
      const values = clients.map(([value]) => value);
      const spread = spreadOf(values, listOf(clients.map(([, weight]) => weight)));
      const all = clients.flatMap(([value, weight]) => Array<number>(weight).fill(value)).sort((a, b) => a - b);
      const rank = (ratio: number) => all[Math.ceil(ratio * all.length) - 1];
      expect(quantilesOf(spread)).toEqual({
        p50: rank(0.5),
        p90: rank(0.9),
        p99: rank(0.99),
        p999: rank(0.999),
        max: all.at(-1),
      });
      for (const { from, below, clients } of binsOf(spread)) {
        expect(clients).toBe(all.filter((value) => value >= from && value < below).length);
      }
      expect(binsOf(spread).reduce((sum, bin) => sum + bin.clients, 0)).toBe(all.length);
    }),
  );
});

test('the largest come first, of equal ones the earlier', () => {
  const sizes = [3, 9, 1, 9, 4];
  expect(largest(sizes.length, (place) => sizes[place]!, 3)).toEqual([1, 3, 4]);
  expect(largest(2, (place) => sizes[place]!, 3)).toEqual([1, 0]);
});

test('refuses a window that is no length of time', () => {
  expect(() => distributionOf(traceOf([[0, 'a']]), [1000, 0])).toThrow(
    'windowsMs[1] must be milliseconds above 0, got 0.',
  );
});
