// What golang.org/x/time/rate answers in its own tests, for a bucket that starts full.
//
// Its Reserve promises a later time and goes into debt for it. Ours promises nobody a later time: `reserve` holds what is
// there, or refuses and says how long to wait, which is the same number. A debt is `penalize`. So a Go reservation is a
// row of `reserve` where nothing after it builds on its debt, and of `owe` (ask for the wait, then take it) where it does.
//
// Not here, because they ask for what this bucket does not do:
// - TestZeroLimit, TestSetAfterZeroLimit: a rate of 0. A limit is above 0; to refuse everything there is block().
// - TestWaitInf, and Every(0) and Every(-1ns): an infinite rate.
// - TestCancel0Tokens, TestCancel1Token, TestCancelMulti, TestReserveJumpBackCancel: taking back a debt while others were
//   promised later times because of it.
// - TestReserveJumpBack, TestReserveSetBurst, and one row of TestLimiterJumpBackwards: Go moves its reference back with
//   the clock, so time that is lived through twice fills the bucket twice. Here a clock that steps back frees nothing.
import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import type { Reservation } from '../../limit/reservation.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { tokenBucket } from './token-bucket.ts';

const never = Number.POSITIVE_INFINITY;

type Row =
  | readonly ['allow', atMs: number, n: number, ok: boolean, tokensBefore: number]
  | readonly ['reserve' | 'owe', atMs: number, n: number, actsAtMs: number, maxWaitMs?: number]
  | readonly ['cancel', atMs: number, reservation: number, tokensAfter: number]
  | readonly ['rate', atMs: number, perSecond: number];

interface Trace {
  readonly name: string;
  readonly perSecond: number;
  readonly burst: number;
  readonly rows: readonly Row[];
}

// biome-ignore format: aligned rows
const traces: readonly Trace[] = [
  {
    name: 'TestLimiterBurst1',
    perSecond: 10,
    burst: 1,
    rows: [
      //         at   n     ok  tokens before
      ['allow',   0,  1,  true, 1],
      ['allow',   0,  1, false, 0],
      ['allow',   0,  1, false, 0],
      ['allow', 100,  1,  true, 1],
      ['allow', 100,  1, false, 0],
      ['allow', 100,  1, false, 0],
      ['allow', 200,  2, false, 1],
      ['allow', 200,  1,  true, 1],
      ['allow', 200,  1, false, 0],
    ],
  },
  {
    name: 'TestLimiterBurst3',
    perSecond: 10,
    burst: 3,
    rows: [
      ['allow',   0,  2,  true, 3],
      ['allow',   0,  2, false, 1],
      ['allow',   0,  1,  true, 1],
      ['allow',   0,  1, false, 0],
      ['allow', 100,  4, false, 1],
      ['allow', 200,  1,  true, 2],
      ['allow', 300,  1,  true, 2],
      ['allow', 400,  1,  true, 2],
      ['allow', 400,  1,  true, 1],
      ['allow', 400,  1, false, 0],
      ['allow', 400,  1, false, 0],
      ['allow', 900,  3,  true, 3],
      ['allow', 900,  0,  true, 0],
    ],
  },
  {
    name: 'TestLimiterJumpBackwards',
    perSecond: 10,
    burst: 3,
    rows: [
      ['allow', 100,  1,  true, 3],
      ['allow',   0,  1,  true, 2],
      ['allow',   0,  1,  true, 1],
      ['allow',   0,  1, false, 0],
      ['allow',   0,  1, false, 0],
      ['allow', 100,  1, false, 0],  // the row that differs: Go has lived through these 100 ms twice, and says true
      ['allow', 100,  1, false, 0],
      ['allow', 100,  1, false, 0],
      ['allow', 200,  1,  true, 1],
      ['allow', 200,  1, false, 0],
      ['allow', 200,  1, false, 0],
    ],
  },
  {
    name: 'TestSimultaneousRequests: fifteen at once, exactly five pass',
    perSecond: 1,
    burst: 5,
    rows: Array.from({ length: 15 }, (_, i): Row => ['allow', 0, 1, i < 5, Math.max(0, 5 - i)]),
  },
  {
    name: 'TestTinyLimit',
    perSecond: 1e-10,
    burst: 1,
    rows: [
      ['allow',   0,  1,  true, 1],
      ['allow',   0,  1, false, 0],
    ],
  },
  {
    name: 'TestSimpleReserve',
    perSecond: 10,
    burst: 2,
    rows: [
      //       at   n  acts at
      ['owe',   0,  2,    0],
      ['owe',   0,  2,  200],
      ['owe', 300,  2,  400],
    ],
  },
  {
    name: 'TestMix',
    perSecond: 10,
    burst: 2,
    rows: [
      ['reserve',   0,  3, never],
      ['reserve',   0,  2,     0],
      ['allow',   100,  2, false,  1],
      ['owe',     100,  2,   200],
      ['allow',   100,  1, false, -1],
      ['allow',   300,  1,  true,  1],
    ],
  },
  {
    name: 'TestCancelInvalid',
    perSecond: 10,
    burst: 2,
    rows: [
      ['reserve',   0,  2,     0],
      ['reserve',   0,  3, never],
      ['cancel',    0,  1,     0],
      ['reserve',   0,  2,   200],
    ],
  },
  {
    name: 'TestCancelLast',
    perSecond: 10,
    burst: 2,
    rows: [
      ['reserve',   0,  2,     0],
      ['reserve',   0,  2,   200],
      ['cancel',  100,  1,     1],
      ['reserve', 100,  2,   200],
    ],
  },
  {
    name: 'TestCancelTooLate: what has acted is not given back',
    perSecond: 10,
    burst: 2,
    rows: [
      ['reserve',   0,  2,     0],
      ['owe',       0,  2,   200],
      ['cancel',  300,  0,     1],
      ['reserve', 300,  2,   400],
    ],
  },
  {
    name: 'TestReserveSetLimit: time before the change counts at the old rate',
    perSecond: 5,
    burst: 2,
    rows: [
      ['owe',       0,  2,     0],
      ['owe',       0,  2,   400],
      ['rate',    200, 10],
      ['owe',     200,  1,   400],
    ],
  },
  {
    name: 'TestReserveSetLimitCancel',
    perSecond: 5,
    burst: 2,
    rows: [
      ['reserve',   0,  2,     0],
      ['reserve',   0,  2,   400],
      ['rate',    200, 10],
      ['cancel',  200,  1,     1],
      ['reserve', 200,  2,   300],
    ],
  },
  {
    name: 'TestReserveMax',
    perSecond: 10,
    burst: 2,
    rows: [
      ['owe',       0,  2,     0, 100],
      ['owe',       0,  1,   100, 100],
      ['owe',       0,  1, never, 100],
    ],
  },
];

for (const { name, perSecond, burst, rows } of traces) {
  test(name, () => {
    const clock = new TestClock(0);
    const policyAt = (rate: number) => tokenBucket({ limit: rate, window: '1s', burst });
    const subject = limiter(policyAt(perSecond), { clock });
    const reservations: Reservation[] = [];
    let rate = perSecond;
    let latestMs = 0;
    // The time until the bucket is full says how much is missing, in debt too; behind the latest time it is longer.
    const tokens = () => {
      const fullInMs = subject.peek('key', 0).resetAfterMs - (latestMs - clock.now());
      return Math.round((burst - (fullInMs * rate) / 1000) * 1e6) / 1e6;
    };

    const answers = rows.map((row): Row => {
      const [operation, atMs, n] = row;
      const reach = row.length === 5 && operation !== 'allow' ? [row[4]] : [];
      clock.set(atMs);
      latestMs = Math.max(latestMs, atMs);
      switch (operation) {
        case 'allow': {
          const before = tokens();
          return ['allow', atMs, n, subject.allow('key', n), before];
        }
        case 'reserve': {
          const reservation = subject.reserve('key', n);
          reservations.push(reservation);
          return ['reserve', atMs, n, atMs + reservation.decision.retryAfterMs];
        }
        case 'owe': {
          const { retryAfterMs } = subject.peek('key', n);
          if (retryAfterMs > (reach[0] ?? never)) return ['owe', atMs, n, never, ...(reach as [number])];
          subject.penalize('key', n);
          return ['owe', atMs, n, atMs + retryAfterMs, ...(reach as [number])];
        }
        case 'cancel':
          reservations[n]!.cancel();
          return ['cancel', atMs, n, tokens()];
        default:
          rate = n;
          subject.update(policyAt(n));
          return ['rate', atMs, n];
      }
    });
    expect(answers).toEqual(rows);
  });
}

test('TestLongRunningQPS: 100 per second and a burst of 100, one attempt each 2 ms for 5 s, pass 599', () => {
  const subject = limiter(tokenBucket({ limit: 100, window: '1s' }), { clock: new TestClock(0) });
  const passed: number[] = [];
  for (let i = 0; i < 2500; i += 1) if (subject.allow('key', { atMs: 2 * i })) passed.push(i);
  expect(passed.length).toBe(599);
  expect(passed.slice(-10)).toEqual([2450, 2455, 2460, 2465, 2470, 2475, 2480, 2485, 2490, 2495]);
});

// biome-ignore format: aligned rows
test.each([
  [   0.000_001, 1e9 ],
  [       0.001, 1e6 ],
  [           1, 1000 ],
  [          10, 100 ],
  [         100, 10 ],
  [        1000, 1 ],
  [        2000, 0.5 ],
  [        2500, 0.4 ],
  [        4000, 0.25 ],
  [      10_000, 0.1 ],
])('Every(%d ms) is %d per second', (everyMs, perSecond) => {
  const every = tokenBucket({ limit: 1, window: everyMs, burst: 3 });
  const rate = tokenBucket({ limit: perSecond, window: '1s', burst: 3 });
  for (const policy of [every, rate]) {
    const subject = limiter(policy, { clock: new TestClock(0) });
    const times = [0, 0, 0, 0, 0.5, 1, 1, 2.5, 10, 10, 10, 10].map((intervals) => intervals * everyMs);
    const passed = times.map((atMs) => Number(subject.allow('key', { atMs })));
    expect(passed.join('')).toBe('111001011110');
  }
});
