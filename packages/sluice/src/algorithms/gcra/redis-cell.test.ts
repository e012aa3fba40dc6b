// What redis-cell's CL.THROTTLE answers, from its own tests and README, and from those of throttled (Go) and governor
// (Rust), which agree with it wherever they are compared here. redis-cell's `max_burst` is what may come on top of one
// call, so it is a burst of `max_burst + 1` here.
import { describe, expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { gcra } from './gcra.ts';

type Reply = readonly [limited: 0 | 1, limit: number, remaining: number, retryAfterS: number, resetAfterS: number];
type Row = readonly [atMs: number, quantity: number, ...reply: Reply];

interface Trace {
  readonly name: string;
  /** As in `CL.THROTTLE key max_burst count period`, the period in seconds. */
  readonly throttle: readonly [maxBurst: number, count: number, periodS: number];
  readonly rows: readonly Row[];
}

/** Whole seconds, one more when milliseconds are left over. */
function seconds(ms: number): number {
  return Math.trunc(ms / 1000) + (ms % 1000 > 0 ? 1 : 0);
}

function replyOf({ allowed, limit, remaining, retryAfterMs, resetAfterMs }: Decision): Reply {
  // -1 stands for "need not wait" and for "waiting never helps".
  const hasWait = !allowed && Number.isFinite(retryAfterMs);
  return [allowed ? 0 : 1, limit, remaining, hasWait ? seconds(retryAfterMs) : -1, seconds(resetAfterMs)];
}

// biome-ignore format: aligned rows
const oneASecond: readonly Row[] = [
  //  at  quantity  limited  limit  remaining  retry  reset
  [    0,     6,       1,      5,      5,       -1,     0 ],  // more than could ever pass
  [    0,     1,       0,      5,      4,       -1,     1 ],
  [    0,     1,       0,      5,      3,       -1,     2 ],
  [    0,     1,       0,      5,      2,       -1,     3 ],
  [    0,     1,       0,      5,      1,       -1,     4 ],
  [    0,     1,       0,      5,      0,       -1,     5 ],
  [    0,     1,       1,      5,      0,        1,     5 ],
  [ 3000,     1,       0,      5,      2,       -1,     3 ],
  [ 3100,     1,       0,      5,      1,       -1,     4 ],  // 3.9 s
  [ 4000,     1,       0,      5,      1,       -1,     4 ],
  [ 8000,     1,       0,      5,      4,       -1,     1 ],
  [ 9500,     1,       0,      5,      4,       -1,     1 ],
  [ 9500,     0,       0,      5,      4,       -1,     1 ],  // asks without taking
  [ 9500,     2,       0,      5,      2,       -1,     3 ],
  [ 9500,     5,       1,      5,      2,        3,     3 ],
];

// biome-ignore format: aligned rows
const traces: readonly Trace[] = [
  { name: 'redis-cell, its core test', throttle: [4, 1, 1], rows: oneASecond },
  {
    name: 'throttled, the same and an oversize request after the reset',
    throttle: [4, 1, 1],
    rows: [...oneASecond, [15_000, 6, 1, 5, 5, -1, 0]],
  },
  { name: 'redis-cell, the README: 15 30 60', throttle: [15, 30, 60], rows: [[0, 1, 0, 16, 15, -1, 2]] },
  {
    name: 'redis-cell, its end-to-end test: 0 1 2',
    throttle: [0, 1, 2],
    rows: [
      [    0,     1,       0,      1,      0,       -1,     2 ],
      [    0,     1,       1,      1,      0,        2,     2 ],
      [ 2000,     1,       0,      1,      0,       -1,     2 ],
    ],
  },
  { name: 'governor accepts the first cell', throttle: [4, 5, 1], rows: [[0, 1, 0, 5, 4, -1, 1]] },
  {
    name: 'governor rejects too many',
    throttle: [1, 2, 1],
    rows: [
      [    0,     1,       0,      2,      1,       -1,     1 ],
      [    1,     1,       0,      2,      0,       -1,     1 ],
      [    2,     1,       1,      2,      0,        1,     1 ],
      [ 1002,     1,       0,      2,      1,       -1,     1 ],
      [ 1003,     1,       0,      2,      0,       -1,     1 ],
      [ 1004,     1,       1,      2,      0,        1,     1 ],
    ],
  },
  {
    name: 'governor does not allow one extra cell after a longer interval',
    throttle: [4, 5, 1],
    rows: [0, 2000].flatMap((atMs): Row[] => [
      [ atMs,     1,       0,      5,      4,       -1,     1 ],
      [ atMs,     1,       0,      5,      3,       -1,     1 ],
      [ atMs,     1,       0,      5,      2,       -1,     1 ],
      [ atMs,     1,       0,      5,      1,       -1,     1 ],
      [ atMs,     1,       0,      5,      0,       -1,     1 ],
      [ atMs,     1,       1,      5,      0,        1,     1 ],
    ]),
  },
  {
    name: 'governor never allows more than the capacity, two at a time',
    throttle: [3, 4, 1],
    rows: [
      [    0,     2,       0,      4,      2,       -1,     1 ],
      [    0,     2,       0,      4,      0,       -1,     1 ],
      [    1,     2,       1,      4,      0,        1,     1 ],
      [ 1001,     2,       0,      4,      2,       -1,     1 ],
      [ 1002,     2,       0,      4,      0,       -1,     1 ],
      [ 1003,     2,       1,      4,      0,        1,     1 ],
    ],
  },
  {
    name: 'governor rejects too many at once',
    throttle: [4, 5, 1],
    rows: [
      [    0,    15,       1,      5,      5,       -1,     0 ],
      [ 3000,    15,       1,      5,      5,       -1,     0 ],
    ],
  },
  {
    name: 'governor checks the capacity before it takes',
    throttle: [4, 5, 1],
    rows: [
      [    0,    15,       1,      5,      5,       -1,     0 ],
      [    0,     7,       1,      5,      5,       -1,     0 ],
      [    0,     6,       1,      5,      5,       -1,     0 ],
      [    0,     5,       0,      5,      0,       -1,     1 ],
    ],
  },
  {
    name: 'governor, twenty at once from many threads',
    throttle: [19, 20, 1],
    rows: [
      ...Array.from({ length: 20 }, (_, i): Row => [0, 1, 0, 20, 19 - i, -1, 1]),
      [    2,     1,       1,     20,      0,        1,     1 ],
      [ 1000,     1,       0,     20,     19,       -1,     1 ],
    ],
  },
];

describe.each(traces.map((trace) => [trace.name, trace] as const))('%s', (_, { throttle, rows }) => {
  const [maxBurst, count, periodS] = throttle;
  const policy = gcra({ limit: count, window: periodS * 1000, burst: maxBurst + 1 });

  test.each([0, 1_700_000_000_000])('starting at %d', (startMs) => {
    const clock = new TestClock(startMs);
    const subject = limiter(policy, { clock });
    const replies = rows.map(([atMs, quantity]) => {
      clock.set(startMs + atMs);
      return [atMs, quantity, ...replyOf(subject.check('key', quantity))];
    });
    expect(replies).toEqual(rows);
  });
});

// Behind the whole seconds of the reply, redis-cell's core keeps fractions; these are the ones that its reply rounds.
// biome-ignore format: aligned rows
test('the waits are exact to the millisecond', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 2, window: '1s' }), { clock });
  const waits = [0, 1, 2, 1002, 1003, 1004].map((atMs) => {
    clock.set(atMs);
    const { retryAfterMs, resetAfterMs } = subject.check('key');
    return [atMs, retryAfterMs, resetAfterMs];
  });
  expect(waits).toEqual([
    [    0,   0, 500 ],
    [    1,   0, 999 ],
    [    2, 498, 998 ],
    [ 1002,   0, 500 ],
    [ 1003,   0, 999 ],
    [ 1004, 498, 998 ],
  ]);
});
