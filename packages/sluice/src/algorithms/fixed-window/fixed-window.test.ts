import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type FixedWindowOptions, fixedWindow } from './fixed-window.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(fixedWindow({ limit: 10, window: '1m' })).toEqual({ algorithm: 'fixed-window', limit: 10, window: 60_000 });
  expect(fixedWindow({ limit: 10, window: '1m', align: 'first', wait: '5s' })).toEqual({
    algorithm: 'fixed-window',
    limit: 10,
    window: 60_000,
    align: 'first',
    wait: 5000,
  });
});

// biome-ignore format: aligned rows
test.each([
  // cancelled at  left in the window at hand
  [           100,         3 ],
  [           999,         3 ],
  [          1000,         2 ],  // its window is over: the one call of this window stays counted
  [          5000,         2 ],
])('a reservation of the window at 0, cancelled at %d, leaves %d', (cancelledMs, left) => {
  const clock = new TestClock(0);
  const subject = limiter(fixedWindow({ limit: 3, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 3);
  clock.set(cancelledMs);
  if (cancelledMs >= 1000) expect(subject.allow('key')).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(left);
});

test.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]]])(
  'reservations of one window are given back in any order: %j',
  (order) => {
    const clock = new TestClock(0);
    const subject = limiter(fixedWindow({ limit: 5, window: '1s' }), { clock });
    const open = [1, 2, 1].map((cost) => subject.reserve('key', cost));
    for (const i of order) expect(open[i]?.cancel()).toBe(true);
    expect(subject.peek('key', 0).remaining).toBe(5);
  },
);

test('what was rewarded meanwhile is not given back once more', () => {
  const subject = limiter(fixedWindow({ limit: 5, window: '1s' }), { clock: new TestClock(0) });
  const open = [subject.reserve('key', 2), subject.reserve('key', 2)];
  subject.reward('key', 2);
  subject.check('key', 3);
  for (const reservation of open.reverse()) reservation.cancel();
  expect(subject.peek('key', 0).remaining).toBe(0);
});

test('with align "first" a reservation cancelled at once leaves no trace, whenever the window began', () => {
  for (let startMs = 1_700_000_000_000; startMs < 1_700_000_000_200; startMs += 1) {
    const clock = new TestClock(startMs);
    const subject = limiter(fixedWindow({ limit: 10, window: '1m', align: 'first' }), { clock });
    const reservation = subject.reserve('key', 1);
    expect(subject.check('key', 2).remaining).toBe(7);
    expect(reservation.cancel()).toBe(true);
    expect({ startMs, remaining: subject.peek('key', 0).remaining }).toEqual({ startMs, remaining: 8 });
  }
});

test('with wait, no window serves more than the limit because a reservation before it was cancelled', () => {
  for (const cancelledMs of [0, 500, 1000, 1500]) {
    const clock = new TestClock(0);
    const subject = limiter(fixedWindow({ limit: 3, window: '1s', wait: '5s' }), { clock });
    const served = [0, 0, 0, 0, 0, 0];
    const serve = (cost: number) => {
      const { allowed, delayMs } = subject.check('key', cost);
      if (allowed) served[Math.floor((clock.now() + delayMs) / 1000)]! += cost;
    };
    const reservation = subject.reserve('key', 3);
    serve(3);
    clock.set(cancelledMs);
    expect(reservation.cancel()).toBe(true);
    serve(3);
    serve(1);
    serve(1);
    expect({ cancelledMs, most: Math.max(...served) }).toEqual({ cancelledMs, most: 3 });
  }
});

test('with wait, the last that was sent ahead can step back', () => {
  const clock = new TestClock(0);
  const subject = limiter(fixedWindow({ limit: 3, window: '1s', wait: '5s' }), { clock });
  expect(subject.check('key', 3).delayMs).toBe(0);
  const reservation = subject.reserve('key', 3);
  expect(reservation.decision.delayMs).toBe(1000);
  expect(reservation.cancel()).toBe(true);
  expect(subject.check('key', 3).delayMs).toBe(1000);
});

test('penalize counts beyond the limit, into the windows after it', () => {
  const clock = new TestClock(0);
  const subject = limiter(fixedWindow({ limit: 3, window: '1s' }), { clock });
  expect(subject.penalize('key', 7)).toMatchObject({ remaining: 0, resetAfterMs: 3000 });
  expect(subject.check('key').retryAfterMs).toBe(2000);
  clock.set(2000);
  expect(subject.check('key')).toMatchObject({ allowed: true, remaining: 1 });
});

test('reward gives back in the window at hand, never more than was taken', () => {
  const clock = new TestClock(0);
  const subject = limiter(fixedWindow({ limit: 3, window: '1s' }), { clock });
  expect(subject.check('key', 3).remaining).toBe(0);
  expect(subject.reward('key', 1).remaining).toBe(1);
  expect(subject.reward('key', 9).remaining).toBe(3);
  clock.set(1000);
  expect(subject.check('key', 3).allowed).toBe(true);
  expect(subject.allow('key')).toBe(false);
});

test('take grants what the window has left', () => {
  const clock = new TestClock(100);
  const subject = limiter(fixedWindow({ limit: 3, window: '1s' }), { clock });
  expect(subject.take('key', 2)).toMatchObject({ granted: 2, remaining: 1 });
  expect(subject.take('key', 2)).toMatchObject({ granted: 1, remaining: 0 });
  expect(subject.take('key', 2)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 900 });
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: '' }, 'window must be a time above 0, got "". Give milliseconds as a number'],
  [{ limit: 1, window: '1s', align: 'day' }, 'align must be one of "epoch", "first", got "day".'],
  [{ limit: 1, window: '1s', wait: '-1s' }, 'wait must be a time'],
  [{ limit: 1, window: '1s', wait: '-1s' }, 'got "-1s". Give milliseconds as a number, or text such as'],
  [{ limit: 1, window: '1s', burst: 2 }, 'fixedWindow has no field "burst". It takes limit, window, align, wait.'],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => fixedWindow(options as FixedWindowOptions)).toThrow(message);
});
