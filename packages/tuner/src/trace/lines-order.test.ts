import { expect, test } from 'vitest';
import { LinesOrder } from './lines-order.ts';

const hourMs = 3_600_000;

function orderOf(timesMs: readonly number[]) {
  const order = new LinesOrder(60_000);
  for (const atMs of timesMs) order.take(atMs);
  const { lateLines, lateMsMax, stepsBack, stepBackMsMax, firstMs, lastMs } = order;
  return { lateLines, lateMsMax, stepsBack, stepBackMsMax, firstMs, lastMs };
}

const everySecond = (fromMs: number, lines: number) => Array.from({ length: lines }, (_, i) => fromMs + i * 1000);
const inOrder = { lateLines: 0, lateMsMax: 0, stepsBack: 0, stepBackMsMax: 0 };

test('a log in order has no late lines, equal times included', () => {
  expect(orderOf([5, 5, 6, 6, 90])).toEqual({ ...inOrder, firstMs: 5, lastMs: 90 });
});

test('a line that comes after a later one is late, against the latest before it', () => {
  expect(orderOf([1000, 3000, 2000, 2500, 3000, 500])).toEqual({
    ...inOrder,
    lateLines: 3,
    lateMsMax: 2500,
    firstMs: 500,
    lastMs: 3000,
  });
});

test('requests that took an hour are late lines, not a clock that was set back', () => {
  const timesMs = everySecond(2 * hourMs, 100).flatMap((atMs) => [atMs, atMs - hourMs]);
  expect(orderOf(timesMs)).toEqual({
    ...inOrder,
    lateLines: 100,
    lateMsMax: hourMs,
    firstMs: hourMs,
    lastMs: 2 * hourMs + 99_000,
  });
});

test('files that are given newest first are a step back each, and nothing in them is late', () => {
  const timesMs = [2, 1, 0].flatMap((hour) => everySecond(hour * hourMs, 3600));
  expect(orderOf(timesMs)).toEqual({
    ...inOrder,
    stepsBack: 2,
    stepBackMsMax: 2 * hourMs - 1000,
    firstMs: 0,
    lastMs: 3 * hourMs - 1000,
  });
});

test('after a step back, lines are late against the new time', () => {
  const timesMs = [...everySecond(hourMs, 100), ...everySecond(0, 50), 30_000];
  expect(orderOf(timesMs)).toMatchObject({ stepsBack: 1, lateLines: 1, lateMsMax: 19_000 });
});
