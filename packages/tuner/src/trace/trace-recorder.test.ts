import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Trace } from './trace.ts';
import { type Call, takeAll, traceOf } from './trace-of.test-support.ts';
import { traceRecorder } from './trace-recorder.ts';

/** Each entry as [tick, client, calls, costs]. */
function entriesOf({ length, atTicks, clients, calls, costs, clientList }: Trace) {
  return Array.from({ length }, (_, i) => [atTicks[i], clientList.nameOf(clients[i]!), calls[i], costs[i]]);
}

function recordOf(calls: Iterable<Call>, options = {}) {
  const recorder = traceRecorder(options);
  takeAll(recorder, calls);
  const trace = recorder.finish();
  return { trace, report: recorder.report() };
}

test('calls of one client in one millisecond are one entry, also when others came between', () => {
  const trace = traceOf([
    [1001, 'a'],
    [1001, 'b', 0.5],
    [1001, 'a'],
    [1003, 'a'],
  ]);
  expect(entriesOf(trace)).toEqual([
    [0, 'a', 2, 2],
    [0, 'b', 1, 0.5],
    [2, 'a', 1, 1],
  ]);
  expect(trace).toMatchObject({ startMs: 1001, tickMs: 1 });
});

test('calls of one client in one tick that differ in cost are entries of their own, in the order in which they came', () => {
  const { trace, report } = recordOf([
    [1000, 'a'],
    [1000, 'a'],
    [1000, 'b', 0.1],
    [1000, 'a', 97],
    [1000, 'b', 0.1],
    [3000, 'a', 0],
    [1000, 'b', 0.1],
    [1000, 'a'],
  ]);
  expect(entriesOf(trace)).toEqual([
    [0, 'a', 2, 2],
    [0, 'b', 3, expect.closeTo(0.3)],
    [0, 'a', 1, 97],
    [0, 'a', 1, 1],
    [2, 'a', 1, 0],
  ]);
  expect(report.hasAveragedCosts).toBe(false);
});

test('where they do not fit, they are calls of their mean cost, and the report says so', () => {
  const costs = [1, 3, 1, 3];
  const calls = Array.from({ length: 4000 }, (_, i): Call => [1000 * (i >> 2), 'a', costs[i & 3]!]);
  const { trace, report } = recordOf(calls, { maxEntries: 2000 });
  expect(report).toMatchObject({ hasAveragedCosts: true, isCoarse: false, thinnedTo: 1, calls: 4000 });
  expect(entriesOf(trace)).toHaveLength(1000);
  expect(entriesOf(trace)[7]).toEqual([7, 'a', 4, 8]);
  const same = calls.map(([atMs, client]): Call => [atMs, client, 2]);
  expect(recordOf(same, { maxEntries: 2000 }).report.hasAveragedCosts).toBe(false);
});

test('a clock of whole seconds has ticks of a second', () => {
  const { trace, report } = recordOf([
    [5000, 'a'],
    [5000, 'a'],
    [8000, 'a'],
  ]);
  expect(trace).toMatchObject({ startMs: 5000, tickMs: 1000 });
  expect(entriesOf(trace)).toEqual([
    [0, 'a', 2, 2],
    [3, 'a', 1, 1],
  ]);
  expect(report).toMatchObject({ tickMs: 1000, isCoarse: false, spanMs: 3000 });
});

test('a clock that shows milliseconds only after many whole seconds has ticks of a millisecond', () => {
  const trace = traceOf([
    [5000, 'a'],
    [7000, 'b'],
    [7001, 'a'],
    [7001, 'b'],
  ]);
  expect(trace).toMatchObject({ startMs: 5000, tickMs: 1 });
  expect(entriesOf(trace).map(([tick]) => tick)).toEqual([0, 2000, 2001, 2001]);
});

test('fractions of a millisecond are within their millisecond', () => {
  const trace = traceOf([
    [0.25, 'a'],
    [0.75, 'a'],
    [1.001, 'a'],
  ]);
  expect(entriesOf(trace)).toEqual([
    [0, 'a', 2, 2],
    [1, 'a', 1, 1],
  ]);
});

test('a log in any order gives the trace of the same log in order', () => {
  const call = fc.tuple(fc.integer({ min: 0, max: 2 ** 40 }), fc.constantFrom('a', 'b', 'c'), fc.constant(1));
  const nearCall = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.constantFrom('a', 'b', 'c'), fc.constant(1));
  fc.assert(
    fc.property(fc.array(fc.oneof(call, nearCall), { minLength: 1, maxLength: 60 }), (calls) => {
      const ordered = calls.slice().sort(([a], [b]) => a - b);
      const sortedByName = (trace: Trace) =>
        entriesOf(trace).sort(([atA, a], [atB, b]) => Number(atA) - Number(atB) || (a! < b! ? -1 : 1));
      const [trace, expected] = [traceOf(calls), traceOf(ordered)];
      expect(sortedByName(trace)).toEqual(sortedByName(expected));
      expect(trace.startMs).toBe(expected.startMs);
      const ticks = [...trace.atTicks.subarray(0, trace.length)];
      expect(ticks).toEqual(ticks.slice().sort((a, b) => a - b));
    }),
  );
});

test('the report says how far a log was from being in order', () => {
  const { report } = recordOf([
    [1000, 'a'],
    [9000, 'b'],
    [4000, 'a'],
  ]);
  expect(report).toMatchObject({ lines: 3, calls: 3, clients: 2, clientsErrorRatio: 0, lateLines: 1, lateMsMax: 5000 });
  expect(report).toMatchObject({ firstMs: 1000, lastMs: 9000, spanMs: 8000, thinnedTo: 1, clientsKept: 2 });
});

test('a log without lines is an empty trace', () => {
  const { trace, report } = recordOf([]);
  expect(trace.length).toBe(0);
  expect(trace.clientList.count).toBe(0);
  expect(report).toMatchObject({ lines: 0, clients: 0, spanMs: 0, firstMs: 0, lastMs: 0 });
});

test('clients are listed with their calls, each for itself', () => {
  const { clientList } = traceOf([
    [0, 'a'],
    [0, 'ß'],
    [5, 'a'],
    [7, ''],
  ]);
  const rows = [0, 1, 2].map((client) => [clientList.nameOf(client), clientList.callsOf(client)]);
  expect(rows).toEqual([
    ['a', 2],
    ['ß', 1],
    ['', 1],
  ]);
  expect([0, 1, 2].map((client) => clientList.weightOf(client))).toEqual([1, 1, 1]);
});

test.each([
  [{ maxEntries: 10 }, 'maxEntries must be a whole number, 1000 or more, got 10.'],
  [{ maxClients: 1.5 }, 'maxClients must be a whole number, 100 or more, got 1.5.'],
  [{ busiest: -1 }, 'busiest must be a whole number, 0 or more, got -1.'],
  [{ disorderMs: Number.NaN }, 'disorderMs must be milliseconds, 0 or more, got NaN.'],
])('refuses options that cannot work: %j', (options, message) => {
  expect(() => traceRecorder(options)).toThrow(message);
});

test.each<[Call, string]>([
  [[Number.NaN, 'a'], 'atMs must be a finite number of milliseconds, got NaN.'],
  [[0, 'a', -1], 'cost must be a finite number, 0 or more, got -1.'],
  [[0, 'a', Number.POSITIVE_INFINITY], 'cost must be a finite number, 0 or more, got Infinity.'],
])('refuses a line that nothing can be counted of: %j', (call, message) => {
  expect(() => traceOf([call])).toThrow(message);
});

test('a finished trace takes no more lines', () => {
  const recorder = traceRecorder();
  recorder.finish();
  expect(() => takeAll(recorder, [[0, 'a']])).toThrow('The trace is finished.');
});
