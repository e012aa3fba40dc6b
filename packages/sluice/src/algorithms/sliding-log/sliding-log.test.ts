import { describe, expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { RateLimiter } from '../../limit/rate-limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type SlidingLogOptions, slidingLog } from './sliding-log.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(slidingLog({ limit: 10, window: '1m' })).toEqual({ algorithm: 'sliding-log', limit: 10, window: 60_000 });
  expect(slidingLog({ limit: 10, window: '1m', countRejected: true, minGap: '1s' })).toEqual({
    algorithm: 'sliding-log',
    limit: 10,
    window: 60_000,
    countRejected: true,
    minGap: 1000,
  });
});

test('RateLimiter is its plainest form', () => {
  const three = new RateLimiter(3, 10_000);
  expect([0, 1000, 2000, 3000, 11_000].map((atMs) => three.allow('A', atMs))).toEqual([true, true, true, false, true]);
  expect(three.allow('B', 3000)).toBe(true);
});

/** The log as one would write it first: every event in an array, none ever merged. */
function naiveLog(limit: number, windowMs: number) {
  const events: { atMs: number; cost: number }[] = [];
  let oldest = 0;
  let sum = 0;
  return {
    used(atMs: number): number {
      for (; oldest < events.length && atMs - events[oldest]!.atMs >= windowMs; oldest += 1)
        sum -= events[oldest]!.cost;
      return sum;
    },
    fits(atMs: number, cost: number): boolean {
      return this.used(atMs) + cost <= limit;
    },
    add(atMs: number, cost: number): void {
      events.push({ atMs, cost });
      sum += cost;
    },
  };
}

// Below, at and above the sizes at which the ring of entries grows.
describe.each([1, 3, 4, 5, 8, 9, 17, 100, 127, 128, 129, 300, 1000])('with a limit of %d', (limit) => {
  test('whole costs are decided as by a naive log, call for call', () => {
    const windowMs = 1000;
    const random = seededRandom(limit);
    const subject = limiter(slidingLog({ limit, window: windowMs }), { clock: new TestClock(0) });
    const naive = naiveLog(limit, windowMs);
    let atMs = 1_700_000_000_000;
    let refused = 0;
    for (let i = 0; i < 6000; i += 1) {
      // Some at the same moment, on average a little more than the limit allows.
      if (random() < 0.7) atMs += Math.floor(random() * Math.ceil((3 * windowMs) / limit));
      const cost = random() < 0.9 ? 1 : Math.floor(random() * 4);
      const allowed = cost === 0 || naive.fits(atMs, cost);
      const decision = subject.check('key', { cost, atMs });
      expect([i, decision.allowed]).toEqual([i, allowed]);
      if (allowed && cost > 0) naive.add(atMs, cost);
      if (!allowed) refused += 1;
      expect(decision.remaining).toBe(limit - naive.used(atMs));
    }
    expect(refused).toBeGreaterThan(100);
  });
});

describe.each([1, 2.5, 10])('with fractions of a limit of %d, more of them than there are entries', (limit) => {
  test('neighbours merge to the later time: never more than a naive log lets through, and hardly less', () => {
    const windowMs = 10_000;
    const random = seededRandom(limit * 10);
    const subject = limiter(slidingLog({ limit, window: windowMs }), { clock: new TestClock(0) });
    const naive = naiveLog(limit, windowMs);
    const alone = naiveLog(limit, windowMs);
    const granted = { ring: 0, naive: 0 };
    let atMs = 1_700_000_000_000;
    for (let i = 0; i < 30_000; i += 1) {
      atMs += Math.floor(random() * 5);
      const cost = limit / 1024;
      const before = naive.used(atMs);
      const { allowed, remaining } = subject.check('key', { cost, atMs });
      // Sums of binary fractions are exact: no tolerance.
      if (allowed) {
        expect(before + cost).toBeLessThanOrEqual(limit);
        naive.add(atMs, cost);
        granted.ring += 1;
      }
      expect(remaining).toBeLessThanOrEqual(limit - before);
      if (alone.fits(atMs, cost)) {
        alone.add(atMs, cost);
        granted.naive += 1;
      }
    }
    expect(granted.naive).toBeGreaterThan(5000);
    expect(granted.ring).toBeLessThanOrEqual(granted.naive);
    // A 64th of the window is the most that a merged entry stays too long.
    expect(granted.ring).toBeGreaterThan(granted.naive * 0.95);
  });
});

test('costs that have no binary fraction do not add up to more than the limit', () => {
  const subject = limiter(slidingLog({ limit: 1, window: '1s' }), { clock: new TestClock(0) });
  let passed = 0;
  for (let i = 0; i < 30; i += 1) if (subject.allow('key', { cost: 0.1, atMs: i })) passed += 1;
  expect(passed).toBe(10);
});

test('with countRejected more refusals than there are entries keep the caller out until it pauses', () => {
  const subject = limiter(slidingLog({ limit: 2, window: '1s', countRejected: true }), { clock: new TestClock(0) });
  let passed = 0;
  for (let atMs = 0; atMs <= 20_000; atMs += 1) if (subject.allow('key', { atMs })) passed += 1;
  expect(passed).toBe(2);
  const { retryAfterMs } = subject.peek('key', { atMs: 20_000 });
  expect(retryAfterMs).toBeGreaterThan(900);
  expect(retryAfterMs).toBeLessThanOrEqual(1000);
  expect(subject.allow('key', { atMs: 20_000 + retryAfterMs })).toBe(true);
});

test('a cancelled reservation is no event, unless it has left by itself', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 3, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 2);
  clock.set(400);
  expect(subject.check('key').remaining).toBe(0);
  expect(reservation.cancel()).toBe(true);
  expect(subject.check('key', 2).allowed).toBe(true);
  clock.set(1399);
  expect(subject.allow('key')).toBe(false);
  clock.set(1400);
  expect(subject.peek('key', 0).remaining).toBe(3);
});

test('a reservation that has left the window gives nothing back: the events of others stay', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 2, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 1);
  clock.set(500);
  expect(subject.allow('key')).toBe(true);
  clock.set(1200);
  expect(subject.allow('key')).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.allow('key')).toBe(false);
});

test('a reservation from before the key was forgotten gives nothing back', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 1, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 1);
  clock.set(5000);
  for (const other of ['a', 'b', 'c', 'd']) expect(subject.allow(other)).toBe(true);
  expect(subject.allow('key')).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.allow('key')).toBe(false);
});

test('of two reservations of one moment each gives back its own part', () => {
  const subject = limiter(slidingLog({ limit: 5, window: '1s' }), { clock: new TestClock(0) });
  const [first, second] = [subject.reserve('key', 2), subject.reserve('key', 3)];
  expect(first.commit(1)).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(1);
  expect(second.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(4);
});

test.each([
  ['at once', [0]],
  ['the first first', [0, 1]],
  ['the last first', [1, 0]],
  ['in any order', [3, 0, 2, 1, 4]],
])('cancelled reservations take no room from those that are held: %s', (_, order) => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 10, window: '1h' }), { clock });
  const held = subject.reserve('key', 1);
  for (let round = 0; round < 1000; round += 1) {
    const some = order.map(() => {
      clock.advance(1);
      return subject.reserve('key', 1);
    });
    for (const i of order) some[i]?.cancel();
    clock.advance(1);
  }
  expect(subject.peek('key', 0).remaining).toBe(9);
  expect(held.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(10);
});

test('a commit of more than was reserved counts from now, and may go beyond the limit', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 3, window: '1s' }), { clock });
  const reservation = subject.reserve('key', 1);
  clock.set(500);
  expect(reservation.commit(5)).toBe(true);
  expect(subject.check('key').retryAfterMs).toBe(1000);
  clock.set(1500);
  expect(subject.peek('key', 0).remaining).toBe(3);
});

test('penalize counts beyond the limit, reward takes the latest events out first', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 3, window: '1s' }), { clock });
  expect(subject.check('key', 2).allowed).toBe(true);
  clock.set(600);
  expect(subject.penalize('key', 4).remaining).toBe(0);
  expect(subject.check('key').retryAfterMs).toBe(1000);
  expect(subject.reward('key', 4).remaining).toBe(1);
  clock.set(1000);
  expect(subject.peek('key', 0).remaining).toBe(3); // the two of 0 were left in, and left at 1000
  expect(subject.reward('key', 100).remaining).toBe(3);
});

test('take grants what fits, and nothing while the gap lasts', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingLog({ limit: 3, window: '1s', minGap: '100ms' }), { clock });
  expect(subject.take('key', 2)).toMatchObject({ allowed: true, granted: 2 });
  expect(subject.take('key', 2)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 100 });
  clock.set(100);
  expect(subject.take('key', 2)).toMatchObject({ allowed: true, granted: 1, remaining: 0 });
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: '1y' }, 'window must be a time above 0, got "1y". Give milliseconds as a number'],
  [{ limit: 1, window: '1s', countRejected: 'yes' }, 'countRejected must be one of true, false, got "yes".'],
  [{ limit: 1, window: '1s', minGap: '2s' }, 'minGap must be at most the window (1000 ms), got 2000.'],
  [{ limit: 1, window: '1s', minGap: 'x' }, 'got "x". Give milliseconds as a number, or text such as'],
  [{ limit: 1, window: '1s', gap: 5 }, 'slidingLog has no field "gap". It takes limit, window, countRejected, minGap.'],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => slidingLog(options as SlidingLogOptions)).toThrow(message);
});
