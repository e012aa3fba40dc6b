import { gcra } from 'sluice';
import { describe, expect, test } from 'vitest';
import { byKey, countsOf, dropRatio, grantsOf, untilFirstRefusal, worstWindow } from './measure.ts';
import type { Grant, Outcome } from './outcome.ts';
import { random } from './random.ts';

const grants = (...rows: [atMs: number, cost: number][]): Grant[] => rows.map(([atMs, cost]) => ({ atMs, cost }));

describe('the worst window', () => {
  test('is half-open: what is exactly one window old no longer counts', () => {
    expect(worstWindow(grants([0, 1], [10, 1]), 10)).toBe(1);
    expect(worstWindow(grants([0, 1], [9.999, 1]), 10)).toBe(2);
  });

  test('counts cost, also of equal times, and is 0 for nothing', () => {
    expect(worstWindow(grants([0, 2], [0, 3], [5, 1], [50, 4]), 10)).toBe(6);
    expect(worstWindow([], 10)).toBe(0);
  });

  test('is what trying every window finds', () => {
    const { integer } = random(1);
    for (let round = 0; round < 200; round += 1) {
      const list = Array.from({ length: integer(30) }, () => ({ atMs: integer(50), cost: integer(4) }));
      list.sort((a, b) => a.atMs - b.atMs);
      const sums = list.map(({ atMs: endMs }) =>
        list.filter(({ atMs }) => atMs > endMs - 12 && atMs <= endMs).reduce((sum, { cost }) => sum + cost, 0),
      );
      expect(worstWindow(list, 12)).toBe(Math.max(0, ...sums));
    }
  });

  test('refuses grants that are out of order', () => {
    expect(() => worstWindow(grants([5, 1], [4, 1]), 10)).toThrow('in the order of their times');
  });
});

const policy = gcra({ limit: 1, window: '1s' });
function outcome(atMs: number, key: string, cost: number, allowed: boolean, delayMs = 0): Outcome {
  const retryAfterMs = allowed ? 0 : 250;
  const decision = { allowed, limit: 1, remaining: 0, retryAfterMs, resetAfterMs: 0, delayMs, rule: 'test', policy };
  return { atMs, key, cost, decision };
}

const history = [
  outcome(100, 'a', 1, true),
  outcome(110, 'b', 2, true, 400),
  outcome(120, 'a', 3, false),
  outcome(130, 'b', 2, true, 10),
];

test('grants are those that were let through, in the order in which they go', () => {
  expect(grantsOf(history)).toEqual(grants([100, 1], [140, 2], [510, 2]));
});

test('the drop ratio is the share of the cost that was refused', () => {
  expect(dropRatio(history)).toBe(3 / 8);
  expect(dropRatio([])).toBe(0);
});

test('the time until the first refusal counts from the first arrival', () => {
  expect(untilFirstRefusal(history)).toEqual({ durationMs: 20, passed: 3 });
  expect(untilFirstRefusal(history.slice(0, 2))).toBeUndefined();
});

test('counts are of calls, by what was said to them', () => {
  expect(countsOf(history)).toEqual({
    asked: 4,
    allowed: 3,
    refused: 1,
    delayed: 2,
    delayMsMax: 400,
    retryAfterMsMax: 250,
  });
});

test('a history falls apart into one for each key', () => {
  const histories = byKey(history);
  expect([...histories.keys()]).toEqual(['a', 'b']);
  expect(histories.get('b')).toEqual([history[1], history[3]]);
});
