import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type LeakyBucketOptions, leakyBucket } from './leaky-bucket.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(leakyBucket({ limit: 10, window: '1s' })).toEqual({
    algorithm: 'leaky-bucket',
    limit: 10,
    window: 1000,
    burst: 0,
    delay: 'all',
  });
  expect(leakyBucket({ limit: 10, window: '1s', burst: 20, delay: 8 })).toMatchObject({ burst: 20, delay: 8 });
});

test('the limit of a decision is the burst and the one being served', () => {
  expect(limiter(leakyBucket({ limit: 1, window: '1s', burst: 4 })).check('key').limit).toBe(5);
});

test('with delay "all" the output is smooth, however the calls arrive', () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 4, window: '1s', burst: 10 }), { clock });
  const leaves: number[] = [];
  for (const atMs of [0, 0, 0, 10, 260, 900, 901, 902, 1400, 1400, 1400, 1400, 1400, 9000, 9001]) {
    clock.set(atMs);
    const { allowed, delayMs } = subject.check('key');
    if (allowed) leaves.push(atMs + delayMs);
  }
  expect(leaves).toEqual([0, 250, 500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000, 9000, 9250]);
});

test('a call that is taken out of the line does not let two leave at one moment', () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 5 }), { clock });
  const leaves = [subject.check('key').delayMs];
  const reservation = subject.reserve('key', 1);
  expect(reservation.decision.delayMs).toBe(1000);
  leaves.push(subject.check('key').delayMs);
  expect(reservation.cancel()).toBe(true);
  leaves.push(subject.check('key').delayMs, subject.check('key').delayMs);
  expect(new Set(leaves).size).toBe(4);
});

test('the last in the line can step back out of it', () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 5 }), { clock });
  expect(subject.check('key', 2).delayMs).toBe(1000);
  const reservation = subject.reserve('key', 1);
  expect(reservation.decision.delayMs).toBe(2000);
  expect(reservation.cancel()).toBe(true);
  expect(subject.check('key').delayMs).toBe(2000);
});

test('with delay "none" what is taken back can be had by others, and what has drained cannot', () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 9, delay: 'none' }), { clock });
  const reservation = subject.reserve('key', 10);
  clock.set(4000);
  expect(subject.take('key', 10).granted).toBe(4);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(6);
});

test('penalize fills it over its brim, reward empties it', () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 1 }), { clock });
  expect(subject.penalize('key', 5).resetAfterMs).toBe(5000);
  expect(subject.check('key').retryAfterMs).toBe(4000);
  expect(subject.reward('key', 4)).toMatchObject({ remaining: 1, resetAfterMs: 1000 });
  expect(subject.check('key')).toMatchObject({ allowed: true, delayMs: 1000 });
  expect(subject.reward('key', 100)).toMatchObject({ remaining: 2, resetAfterMs: 0 });
});

test('take grants what fits, delayed as one call of that cost', () => {
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 2 }), { clock: new TestClock(0) });
  expect(subject.take('key', 10)).toMatchObject({ allowed: true, granted: 3, remaining: 0, delayMs: 2000 });
  expect(subject.take('key', 10)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 1000 });
});

test('wait sleeps until the call may leave', async () => {
  const clock = new TestClock(0);
  const subject = limiter(leakyBucket({ limit: 1, window: '1s', burst: 5 }), { clock });
  const left: [string, number][] = [];
  const calls = ['a', 'b', 'c'].map((name) => subject.wait('key').then(() => left.push([name, clock.now()])));
  for (const atMs of [0, 999, 1000, 1999, 2000]) {
    // Lets whoever was woken run, before the clock moves on.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.set(atMs);
  }
  await Promise.all(calls);
  expect(left).toEqual([
    ['a', 0],
    ['b', 1000],
    ['c', 2000],
  ]);
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: '1 s' }, 'window must be a time above 0, got "1 s". Give milliseconds as a number'],
  [{ limit: 1, window: '1s', burst: -1 }, 'burst must be a number from 0, got -1.'],
  [{ limit: 1, window: '1s', delay: 'some' }, 'delay must be "all", "none" or a number of 0 or more, got "some".'],
  [{ limit: 1, window: '1s', delay: -2 }, 'delay must be "all", "none" or a number of 0 or more, got -2.'],
  [{ limit: 1, window: '1s', delay: Number.NaN }, 'delay must be "all", "none" or a number of 0 or more, got NaN.'],
  [
    { limit: 1, window: '1s', nodelay: true },
    'leakyBucket has no field "nodelay". It takes limit, window, burst, delay.',
  ],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => leakyBucket(options as LeakyBucketOptions)).toThrow(message);
});
