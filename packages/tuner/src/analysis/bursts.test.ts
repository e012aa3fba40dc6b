import fc from 'fast-check';
import { gcra, limiter } from 'sluice';
import { expect, test } from 'vitest';
import { type Call, traceOf } from '../trace/trace-of.test-support.ts';
import { burstsOf, neededBursts, neededBurstsByClient } from './bursts.ts';

test('the biggest bursts say who, when, how many and after how long a silence', () => {
  const trace = traceOf([
    [1, 'a'],
    [5001, 'a'],
    [5500, 'a', 3],
    [5999, 'a'],
    [6001, 'a'], // 5001 is a second ago
    [7000, 'b'],
    [7000, 'b'],
  ]);
  const [second, tenSeconds] = burstsOf(trace);
  expect(second).toEqual({
    windowMs: 1000,
    bursts: [
      { client: 'a', startMs: 5001, calls: 3, costs: 5, silenceMs: 5000 },
      { client: 'b', startMs: 7000, calls: 2, costs: 2, silenceMs: undefined },
    ],
  });
  expect(tenSeconds!.bursts[0]).toMatchObject({ client: 'a', startMs: 1, calls: 5, silenceMs: undefined });
});

test('the needed burst is the highest that a debt rises which drains at the rate', () => {
  const trace = traceOf([
    [1, 'a'],
    [1, 'a'],
    [501, 'a'], // half has drained: 2.5
    [1501, 'a', 2], // 1.5 is left
    [90_001, 'b', 0],
  ]);
  expect([...neededBurstsByClient(trace, { limit: 1, windowMs: 1000 })]).toEqual([4, 0]);
  expect([...neededBurstsByClient(trace, { limit: 4, windowMs: 1000 })]).toEqual([2, 0]);
});

test('at its own mean rate a client that calls evenly needs no burst, one that calls all at once needs all', () => {
  const even = Array.from({ length: 100 }, (_, i): Call => [1 + i * 1000, 'even']);
  const once = Array.from({ length: 100 }, (): Call => [1, 'once']);
  const { bursts, neediest } = neededBursts(traceOf([...even, ...once].sort(([a], [b]) => a - b)), 'mean');
  expect(neediest).toEqual([
    { client: 'once', burst: 100 },
    { client: 'even', burst: 1 },
  ]);
  expect(bursts).toMatchObject({ p50: 1, max: 100 });
});

test('a gcra with the needed burst refuses nothing, and with one less something', () => {
  const call = fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.constant('a'), fc.integer({ min: 0, max: 4 }));
  const rate = fc.record({ limit: fc.integer({ min: 1, max: 50 }), windowMs: fc.integer({ min: 1, max: 7000 }) });
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 40 }), rate, (calls, { limit, windowMs }) => {
      const ordered = calls.sort(([a], [b]) => a - b);
      const [burst] = neededBurstsByClient(traceOf(ordered), { limit, windowMs });
      const refused = (size: number) => {
        const bucket = limiter(gcra({ limit, window: windowMs, burst: size }));
        return ordered.filter(([atMs, , cost]) => !bucket.check('a', { cost, atMs }).allowed).length;
      };
      if (burst! > 0) expect(refused(burst!)).toBe(0);
      if (burst! > 1) expect(refused(burst! - 1)).toBeGreaterThan(0);
    }),
  );
});

test.each([
  [{ limit: 0, windowMs: 1000 }, 'rate.limit must be a number above 0, got 0.'],
  [{ limit: 1, windowMs: Number.NaN }, 'rate.windowMs must be milliseconds above 0, got NaN.'],
])('refuses a rate that is none: %j', (rate, message) => {
  expect(() => neededBursts(traceOf([[0, 'a']]), rate)).toThrow(message);
});
