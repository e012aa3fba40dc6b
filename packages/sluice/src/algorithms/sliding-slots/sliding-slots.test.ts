import { describe, expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type SlidingSlotsOptions, slidingSlots } from './sliding-slots.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(slidingSlots({ limit: 10, window: '1m' })).toEqual({
    algorithm: 'sliding-slots',
    limit: 10,
    window: 60_000,
    slots: 60,
  });
});

/** The slots as one would write them first: every event in an array, each counting until its slot has left. */
function naiveSlots(windowMs: number, slots: number) {
  const events: { atMs: number; cost: number }[] = [];
  const slotMs = windowMs / slots;
  const usedAt = (atMs: number, leavesAt: (eventMs: number) => number) =>
    events.reduce((sum, event) => (leavesAt(event.atMs) > atMs ? sum + event.cost : sum), 0);
  return {
    add: (atMs: number, cost: number) => events.push({ atMs, cost }),
    /** Until the end of the slot has left. */
    used: (atMs: number) => usedAt(atMs, (eventMs) => (Math.floor(eventMs / slotMs) + 1) * slotMs + windowMs),
    /** Until the event itself has left: an exact log of the same events. */
    inWindow: (atMs: number) => usedAt(atMs, (eventMs) => eventMs + windowMs),
  };
}

// biome-ignore format: aligned rows
describe.each([
  // limit  window  slots
  [      1,    100,     1 ],
  [      3,    400,     4 ],
  [      7,   1000,    10 ],
  [     20,    960,    60 ],
  [     50,   1000,   100 ],
])('%d per %d ms in %d slots', (limit, windowMs, slots) => {
  test('is decided as by naive slots, call for call, and never more than the limit is in any window', () => {
    const random = seededRandom(limit + slots);
    const subject = limiter(slidingSlots({ limit, window: windowMs, slots }), { clock: new TestClock(0) });
    const naive = naiveSlots(windowMs, slots);
    let atMs = 0;
    let refused = 0;
    for (let i = 0; i < 1500; i += 1) {
      atMs += Math.floor(random() ** 2 * ((2.4 * windowMs) / limit + 2));
      if (random() < 0.01) atMs += 3 * windowMs;
      const cost = random() < 0.9 ? 1 : 2;
      const allowed = naive.used(atMs) + cost <= limit;
      const decision = subject.check('key', { cost, atMs });
      expect([i, atMs, decision.allowed]).toEqual([i, atMs, allowed]);
      if (allowed) naive.add(atMs, cost);
      else refused += 1;
      expect(decision.remaining).toBe(limit - naive.used(atMs));
      expect(naive.inWindow(atMs)).toBeLessThanOrEqual(limit);
    }
    expect(refused).toBeGreaterThan(100);
  });
});

test('a cancelled reservation leaves its slot, unless the slot has left the window', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingSlots({ limit: 3, window: '1s', slots: 10 }), { clock });
  const [early, late] = [subject.reserve('key', 1), subject.reserve('key', 1)];
  clock.set(1099);
  expect(subject.check('key').remaining).toBe(0);
  expect(early.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(1);
  clock.set(1100);
  expect(subject.check('key', 2).allowed).toBe(true);
  expect(late.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(0);
});

test('a reservation whose counter is in use for a later slot gives nothing back', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingSlots({ limit: 2, window: 400, slots: 4 }), { clock });
  const reservation = subject.reserve('key', 2);
  // Five counters: the slot at 500 takes over that of the slot at 0.
  clock.set(500);
  expect(subject.check('key', 2).allowed).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.allow('key')).toBe(false);
});

test('penalize counts beyond the limit, reward empties the newest slots first', () => {
  const clock = new TestClock(0);
  const subject = limiter(slidingSlots({ limit: 3, window: '1s', slots: 10 }), { clock });
  expect(subject.check('key', 2).allowed).toBe(true);
  clock.set(600);
  expect(subject.penalize('key', 4).remaining).toBe(0);
  expect(subject.check('key').retryAfterMs).toBe(1100);
  expect(subject.reward('key', 4).remaining).toBe(1);
  clock.set(1100);
  expect(subject.peek('key', 0).remaining).toBe(3);
});

test('take grants what fits', () => {
  const subject = limiter(slidingSlots({ limit: 3, window: '1s', slots: 10 }), { clock: new TestClock(0) });
  expect(subject.take('key', 2)).toMatchObject({ granted: 2, remaining: 1 });
  expect(subject.take('key', 2)).toMatchObject({ granted: 1, remaining: 0 });
  expect(subject.take('key', 2)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 1100 });
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: null }, 'window must be a time above 0, got null. Give milliseconds as a number'],
  [{ limit: 1, window: '1s', slots: 0 }, 'slots must be a whole number from 1 to 10000, got 0.'],
  [{ limit: 1, window: '1s', slots: 2.5 }, 'slots must be a whole number from 1 to 10000, got 2.5.'],
  [{ limit: 1, window: '1s', slots: 10_001 }, 'slots must be a whole number from 1 to 10000, got 10001.'],
  [{ limit: 1, window: '1s', parts: 5 }, 'slidingSlots has no field "parts". It takes limit, window, slots.'],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => slidingSlots(options as SlidingSlotsOptions)).toThrow(message);
});
