import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type SmoothOptions, smooth } from './smooth.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(smooth({ limit: 5, window: '1s' })).toEqual({ algorithm: 'smooth', limit: 5, window: 1000 });
  expect(smooth({ limit: 5, window: '1s', maxBurst: 2, maxDelay: '3s' })).toEqual({
    algorithm: 'smooth',
    limit: 5,
    window: 1000,
    maxBurst: 2,
    maxDelay: 3000,
  });
  expect(smooth({ limit: 5, window: '1s', warmup: '1m', coldFactor: 4 })).toEqual({
    algorithm: 'smooth',
    limit: 5,
    window: 1000,
    warmup: 60_000,
    coldFactor: 4,
  });
});

test('acquire gives the wait as a number, and takes the permits', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 5, window: '1s' }), { clock });
  expect([subject.acquire('key'), subject.acquire('key', 3), subject.acquire('key')]).toEqual([0, 200, 800]);
  expect(subject.acquire('another')).toBe(0);
  expect(subject.acquire('key', { atMs: 900, cost: 2 })).toBe(100);
});

test('tryAcquire takes the permits only if the wait is short enough', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 1, window: '1s' }), { clock });
  expect(subject.tryAcquire('key')).toMatchObject({ allowed: true, delayMs: 0 });
  expect(subject.tryAcquire('key')).toMatchObject({ allowed: false, retryAfterMs: 1000, delayMs: 0 });
  expect(subject.tryAcquire('key', { timeout: 0 })).toMatchObject({ allowed: false, retryAfterMs: 1000 });
  expect(subject.tryAcquire('key', { timeout: 999 })).toMatchObject({ allowed: false, retryAfterMs: 1 });
  expect(subject.tryAcquire('key', { timeout: '1s', cost: 2 })).toMatchObject({ allowed: true, delayMs: 1000 });
  expect(subject.tryAcquire('key', { timeout: '1s', atMs: 2000 })).toMatchObject({ allowed: true, delayMs: 1000 });
  expect(() => subject.tryAcquire('key', { timeout: -1 })).toThrow('timeout must be a time');
});

test('a caller takes the longer of no two patiences: the smaller of maxDelay and timeout counts', () => {
  const subject = limiter(smooth({ limit: 1, window: '1s', maxDelay: '500ms' }), { clock: new TestClock(0) });
  expect(subject.acquire('key')).toBe(0);
  expect(subject.tryAcquire('key', { timeout: '1h' })).toMatchObject({ allowed: false, retryAfterMs: 500 });
});

test('with a maxDelay of 0 nobody is made to wait', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 1, window: '1s', maxDelay: 0 }), { clock });
  expect(subject.check('key').allowed).toBe(true);
  expect(subject.check('key')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
  clock.set(1000);
  expect(subject.check('key').allowed).toBe(true);
});

test('a new rate keeps the share of storage, and the waits already promised', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 10, window: '1s' }), { clock });
  expect(subject.acquire('idle')).toBe(0);
  expect(subject.acquire('busy', 10)).toBe(0);
  clock.set(600); // half a second of idling: five of ten stored
  subject.update(smooth({ limit: 2, window: '1s' }));
  expect(subject.check('idle', 0).remaining).toBe(2); // one of two stored, and one to borrow
  expect(subject.acquire('busy')).toBe(400); // ten at the old rate
  expect(subject.acquire('busy')).toBe(900); // and one at the new
});

test('a new rate after an earlier one came back counts from the latest change', () => {
  const clock = new TestClock(0);
  const [slow, fast] = [smooth({ limit: 1, window: '1s' }), smooth({ limit: 10, window: '1s' })];
  const subject = limiter(slow, { clock });
  expect(subject.acquire('key')).toBe(0);
  clock.set(1000);
  subject.update(fast);
  expect(subject.check('key', 0).remaining).toBe(1);
  clock.set(1500); // five of ten stored
  subject.update(slow);
  expect(subject.acquire('key')).toBe(0); // takes the half that is stored, borrows the other
  expect(subject.acquire('key')).toBe(500);
});

test('a key never seen before a new rate has been idle since the limiter began, not since the change', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 5, window: '1s' }), { clock });
  clock.set(10_000);
  subject.update(smooth({ limit: 10, window: '1s' }));
  expect(subject.check('key', 0).remaining).toBe(11);
});

test('a reservation that is cancelled at once leaves no trace, be it stored or borrowed', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 5, window: '1s' }), { clock });
  const borrowed = subject.reserve('key', 3);
  expect(subject.peek('key').delayMs).toBe(600);
  expect(borrowed.cancel()).toBe(true);
  expect(subject.peek('key').delayMs).toBe(0);
  clock.set(2000);
  const stored = subject.reserve('key', 3);
  expect(subject.peek('key', 0).remaining).toBe(3);
  expect(stored.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(6);
});

test('a loan that time has paid back is not given back again', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 1, window: '1s', maxBurst: 1 }), { clock });
  const reservation = subject.reserve('key', 10);
  clock.set(10_000);
  expect(Array.from({ length: 5 }, () => subject.acquire('key'))).toEqual([0, 1000, 2000, 3000, 4000]);
  expect(reservation.cancel()).toBe(true);
  // Without the reservation one permit would have been stored by then: five have been taken, so the next waits for four.
  expect(subject.acquire('key')).toBeGreaterThanOrEqual(4000);
});

test('a call that is taken out of the line does not let two go at one moment', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 1, window: '1s' }), { clock });
  const goes = [subject.acquire('key')];
  const reservation = subject.reserve('key', 1);
  expect(reservation.decision.delayMs).toBe(1000);
  goes.push(subject.acquire('key'));
  expect(reservation.cancel()).toBe(true);
  goes.push(subject.acquire('key'), subject.acquire('key'));
  expect(new Set(goes).size).toBe(4);
});

test('penalize makes the next one wait longer, reward shorter, and rewards fill the storage at most', () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 5, window: '1s' }), { clock });
  expect(subject.penalize('key', 10).remaining).toBe(0);
  expect(subject.peek('key').delayMs).toBe(2000);
  expect(subject.reward('key', 5).remaining).toBe(0);
  expect(subject.peek('key').delayMs).toBe(1000);
  expect(subject.reward('key', 7).remaining).toBe(3);
  expect(subject.reward('key', 1000).remaining).toBe(6);
});

test('warm-up pays the area under the line: a cost of 8 waits as the sum of eight', () => {
  const cold = () => limiter(smooth({ limit: 2, window: '1s', warmup: '4s' }), { clock: new TestClock(0) });
  const [whole, parts] = [cold(), cold()];
  expect(whole.acquire('key', 8)).toBe(0);
  for (let i = 0; i < 8; i += 1) parts.acquire('key');
  expect(whole.acquire('key')).toBe(6000);
  expect(parts.acquire('key')).toBe(6000);
});

test('wait sleeps until the call may go', async () => {
  const clock = new TestClock(0);
  const subject = limiter(smooth({ limit: 2, window: '1s' }), { clock });
  expect(await subject.wait('key')).toMatchObject({ allowed: true, delayMs: 0 });
  const second = subject.wait('key').then(() => clock.now());
  while (clock.sleeping === 0) await Promise.resolve();
  clock.set(500);
  expect(await second).toBe(500);
});

test('take is not offered: there is always more to borrow', () => {
  const policy: Policy = smooth({ limit: 5, window: '1s' });
  const subject = limiter(policy);
  expect(() => subject.take('key', 1)).toThrow('take() is not offered by the smooth algorithm.');
  expect(() => subject.take('key', 1)).toThrow(expect.objectContaining({ code: 'unsupported-operation' }));
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: 'x' }, 'window must be a time above 0, got "x". Give milliseconds as a number'],
  [{ limit: 1, window: '1s', warmup: 'x' }, 'got "x". Give milliseconds as a number, or text such as'],
  [{ limit: 1, window: '1s', warmup: '1s', coldFactor: 0.5 }, 'coldFactor must be 1 or more, got 0.5.'],
  [{ limit: 1, window: '1s', coldFactor: 3 }, 'coldFactor must be given together with warmup, got 3.'],
  [
    { limit: 1, window: '1s', warmup: '1s', maxBurst: 3 },
    'maxBurst must be left out with warmup, got 3. A warm-up limiter stores what its warm-up time holds.',
  ],
  [{ limit: 1, window: '1s', maxDelay: -1 }, 'maxDelay must be a time'],
  [
    { limit: 1, window: '1s', burst: 3 },
    'smooth has no field "burst". It takes limit, window, maxBurst, warmup, coldFactor, maxDelay.',
  ],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => smooth(options as SmoothOptions)).toThrow(message);
});
