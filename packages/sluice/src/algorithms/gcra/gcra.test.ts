import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { parsePolicy } from '../parse-policy.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type GcraOptions, gcra } from './gcra.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  const policy = gcra({ limit: 100, window: '1m' });
  expect(policy).toEqual({ algorithm: 'gcra', limit: 100, window: 60_000, burst: 100 });
  expect(JSON.stringify(policy)).toBe('{"algorithm":"gcra","limit":100,"window":60000,"burst":100}');
  expect(parsePolicy({ algorithm: 'gcra', limit: 100, window: '1m' })).toEqual(policy);
  expect(Object.isFrozen(policy)).toBe(true);
});

test('the limit of a decision is the burst: the most that could ever pass at once', () => {
  expect(limiter(gcra({ limit: 100, window: '1m', burst: 7 })).check('key').limit).toBe(7);
});

test('penalize takes more than there is, and the debt is waited for', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 3 }), { clock });
  expect(subject.penalize('key', 5)).toMatchObject({ remaining: 0, resetAfterMs: 5000 });
  expect(subject.check('key')).toMatchObject({ allowed: false, retryAfterMs: 3000 });
  clock.set(3000);
  expect(subject.check('key')).toMatchObject({ allowed: true, remaining: 0 });
});

test('reward gives back, up to a full burst', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 3 }), { clock });
  expect(subject.check('key', 3).remaining).toBe(0);
  expect(subject.reward('key', 1).remaining).toBe(1);
  expect(subject.reward('key', 100)).toMatchObject({ remaining: 3, resetAfterMs: 0 });
  expect(subject.reward('nobody', 100).remaining).toBe(3);
});

test('take grants the whole units that there are', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 3 }), { clock });
  expect(subject.take('key', 2)).toMatchObject({ allowed: true, granted: 2, remaining: 1 });
  expect(subject.take('key', 2)).toMatchObject({ allowed: true, granted: 1, remaining: 0 });
  expect(subject.take('key', 2)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 1000 });
  clock.set(2500);
  expect(subject.take('key', 9)).toMatchObject({ granted: 2, remaining: 0 });
  expect(subject.take('key', 0.5)).toMatchObject({ granted: 0.5 });
});

// limit 1 per second, burst 10. At 0 all ten are reserved; what a cancel gives back is what has not drained by then.
// biome-ignore format: aligned rows
test.each([
  // cancelled at  left then
  [             0,        10 ],
  [          2000,        10 ],
  [          9999,        10 ],
  [        10_000,        10 ],
  [        30_000,        10 ],
])('a reservation that nobody came between leaves everything, cancelled at %d', (atMs, left) => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 10 }), { clock });
  const reservation = subject.reserve('key', 10);
  clock.set(atMs);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(left);
});

// biome-ignore format: aligned rows
test.each([
  // others take all they can get at, cancelled at  left then
  [                              4000,         4000,        6 ],  // 6 of the 10 have not drained
  [                              4000,         7000,        6 ],  // 3 come back by cancelling, 3 came by waiting
  [                              9000,       10_000,        1 ],  // all of it has drained: nothing to give back
  [                              4000,       20_000,       10 ],
])('what others took since stays taken: at %d, cancelled at %d, %d left', (takenMs, cancelledMs, left) => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 10 }), { clock });
  const reservation = subject.reserve('key', 10);
  clock.set(takenMs);
  expect(subject.take('key', 10).granted).toBe(takenMs / 1000);
  clock.set(cancelledMs);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(left);
});

test('a commit settles the difference, as debt if need be, and only once', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 10 }), { clock });
  const less = subject.reserve('key', 8);
  expect(less.commit(3)).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(7);
  expect(less.commit(0)).toBe(false);
  expect(less.cancel()).toBe(false);
  expect(subject.peek('key', 0).remaining).toBe(7);
  const more = subject.reserve('key', 2);
  expect(more.commit(9)).toBe(true);
  expect(subject.check('key')).toMatchObject({ allowed: false, retryAfterMs: 3000 });
});

test('a refused reservation holds nothing, and settling it does nothing', () => {
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 2 }), { clock: new TestClock(0) });
  const reservation = subject.reserve('key', 3);
  expect(reservation).toMatchObject({ allowed: false, decision: { retryAfterMs: Number.POSITIVE_INFINITY } });
  expect(reservation.commit(2)).toBe(false);
  expect(subject.peek('key', 0).remaining).toBe(2);
});

test('a key in debt is carried over to a changed policy', () => {
  const clock = new TestClock(0);
  const subject = limiter(gcra({ limit: 1, window: '1s', burst: 10 }), { clock });
  expect(subject.check('key', 8).remaining).toBe(2);
  subject.update(gcra({ limit: 1, window: '1s', burst: 20 }));
  expect(subject.check('key', 0)).toMatchObject({ limit: 20, remaining: 12 });
  subject.update(gcra({ limit: 1, window: '1s', burst: 5 }));
  expect(subject.check('key')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 4000 });
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: -3, window: '1s' }, 'limit must be a number above 0, got -3.'],
  [{ limit: Number.NaN, window: '1s' }, 'limit must be a number above 0, got NaN.'],
  [{ limit: '5', window: '1s' }, 'limit must be a number above 0, got "5".'],
  [{ window: '1s' }, 'limit must be a number above 0, got undefined.'],
  [{ limit: 1 }, 'window must be a time above 0, got undefined. Give milliseconds as a number, or text such as'],
  [{ limit: 1, window: 0 }, 'window must be a time above 0, got 0.'],
  [{ limit: 1, window: '1 minute' }, 'window must be a time above 0, got "1 minute". Give milliseconds as a number'],
  [{ limit: 1, window: '-1s' }, 'window must be a time above 0, got "-1s".'],
  [{ limit: 1, window: '1s', burst: 0 }, 'burst must be a number above 0, got 0.'],
  [{ limit: 1, window: '1s', burst: Number.POSITIVE_INFINITY }, 'burst must be a number above 0, got Infinity.'],
  [{ limit: 1, window: '1s', max: 5 }, 'gcra has no field "max". It takes limit, window, burst.'],
  [[], 'what gcra is given must be an object of limit, window, burst, got [].'],
  [
    { limit: 1, window: '30d', burst: 10_000_000 },
    'limit, window and burst must be exact together, got [1,2592000000,10000000]. Use a smaller burst or rounder numbers.',
  ],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => gcra(options as GcraOptions)).toThrow(message);
  expect(() => gcra(options as GcraOptions)).toThrow(expect.objectContaining({ code: 'invalid-option' }));
});
