import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { RateOptions } from '../../vocabulary/policy.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { slidingWindow } from './sliding-window.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(slidingWindow({ limit: 10, window: '1m' })).toEqual({
    algorithm: 'sliding-window',
    limit: 10,
    window: 60_000,
  });
});

test('is an estimate: a window whose calls all came at its end lets too many follow', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingWindow({ limit: 10, window: '1s' }), { clock });
  clock.set(999);
  expect(subject.check('key', 10).allowed).toBe(true);
  clock.set(1500);
  // 15 within 501 ms: the ten count as if they were spread evenly.
  expect(subject.take('key', 10).granted).toBe(5);
});

// biome-ignore format: aligned rows
test.each([
  // cancelled at  left then, of 10: eight were reserved at 0, one call came just before the cancel
  [           500,         9 ],
  [          1500,         9 ],  // the window before is now empty
  [          2500,         9 ],  // it had left anyway
])('a reservation cancelled at %d leaves %d', (cancelledMs, left) => {
  const clock = new TestClock(0);
  const subject = limiter(slidingWindow({ limit: 10, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 8);
  clock.set(cancelledMs);
  expect(subject.allow('key')).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(left);
});

test('a reservation two windows back takes nothing from the windows that count', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingWindow({ limit: 10, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 1);
  clock.set(1999);
  expect(subject.check('key', 9).allowed).toBe(true);
  clock.set(2000);
  expect(subject.check('key', 1).remaining).toBe(0);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(0);
});

test('penalize counts beyond the limit, reward gives back what this window took', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingWindow({ limit: 10, window: '1s' }), { clock });
  expect(subject.penalize('key', 20).remaining).toBe(0);
  // 20 in the window before still count 9 when 55% of the next one are over.
  expect(subject.check('key').retryAfterMs).toBe(1550);
  expect(subject.reward('key', 15).remaining).toBe(5);
  expect(subject.reward('key', 100).remaining).toBe(10);
});

test('take grants the whole units that fit', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingWindow({ limit: 10, window: '1s' }), { clock });
  expect(subject.take('key', 7)).toMatchObject({ granted: 7, remaining: 3 });
  clock.set(1250);
  // 5.25 of the 7 still count.
  expect(subject.take('key', 7)).toMatchObject({ granted: 4, remaining: 0 });
  expect(subject.take('key', 7)).toMatchObject({ allowed: false, granted: 0 });
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: Number.NaN }, 'window must be a time above 0, got NaN. Give milliseconds as a number'],
  [{ limit: 1, window: '1s', slots: 5 }, 'slidingWindow has no field "slots". It takes limit, window.'],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => slidingWindow(options as RateOptions)).toThrow(message);
});
