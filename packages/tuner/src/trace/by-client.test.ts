import { expect, test } from 'vitest';
import { byClient } from './by-client.ts';
import { traceOf } from './trace-of.test-support.ts';

test("an index has each client's entries in the order of time", () => {
  const trace = traceOf([
    [0, 'b', 2],
    [1, 'a'],
    [1, 'b'],
    [7, 'c'],
    [7, 'b', 3],
    [7, 'b', 3],
  ]);
  const index = byClient(trace);
  const histories = Array.from({ length: trace.clientList.count }, (_, client) => {
    const { length, atTicks, calls, costs } = index.historyOf(client);
    return [trace.clientList.nameOf(client), ...[atTicks, calls, costs].map((array) => [...array.subarray(0, length)])];
  });
  expect(histories).toEqual([
    ['b', [0, 1, 7], [1, 1, 2], [2, 1, 6]],
    ['a', [1], [1], [1]],
    ['c', [7], [1], [1]],
  ]);
  expect([...index.starts]).toEqual([0, 3, 4, 5]);
  expect([...index.entries]).toEqual([0, 2, 4, 1, 3]);
});

test('an index of no calls has no clients', () => {
  const index = byClient(traceOf([]));
  expect([...index.starts]).toEqual([0]);
  expect(index.entries.length).toBe(0);
});
