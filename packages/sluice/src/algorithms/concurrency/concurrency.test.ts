import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type ConcurrencyOptions, concurrency } from './concurrency.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data, without a window', () => {
  expect(concurrency({ limit: 10 })).toEqual({ algorithm: 'concurrency', limit: 10, lease: 60_000 });
});

test('what is given back can be had at once', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 2 }), { clock });
  const [first, second] = [subject.acquire('key'), subject.acquire('key')];
  expect([first.allowed, second.allowed, subject.acquire('key').allowed]).toEqual([true, true, false]);
  expect(second.release()).toBe(true);
  expect(subject.acquire('key').allowed).toBe(true);
  expect(subject.acquire('key').allowed).toBe(false);
  expect(subject.acquire('another').allowed).toBe(true);
});

test('release is idempotent: giving back twice frees one place', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 2 }), { clock });
  const first = subject.acquire('key');
  expect(subject.acquire('key').allowed).toBe(true);
  expect([first.release(), first.release(), first.release()]).toEqual([true, false, false]);
  expect(subject.peek('key', 0).remaining).toBe(1);
});

test('a refused lease holds nothing, and giving it back frees nothing', () => {
  for (const startMs of [0, 1_700_000_000_000]) {
    const subject = limiter(concurrency({ limit: 1 }), { clock: new TestClock(startMs) });
    expect(subject.acquire('key').allowed).toBe(true);
    const refused = subject.acquire('key');
    expect(refused).toMatchObject({ allowed: false, decision: { retryAfterMs: 60_000 } });
    expect([refused.release(), refused.renew()]).toEqual([false, false]);
    expect(subject.acquire('key').allowed).toBe(false);
  }
});

test('a lease of cost 0 holds nothing, and giving it back frees nothing', () => {
  for (const startMs of [0, 1_700_000_000_000]) {
    const subject = limiter(concurrency({ limit: 1 }), { clock: new TestClock(startMs) });
    expect(subject.acquire('key').allowed).toBe(true);
    const none = subject.acquire('key', 0);
    expect(none.allowed).toBe(true);
    expect(none.release()).toBe(false);
    expect(subject.acquire('key').allowed).toBe(false);
  }
});

test('a lease of several places gives all of them back', () => {
  const subject = limiter(concurrency({ limit: 5 }), { clock: new TestClock(1000) });
  const three = subject.acquire('key', 3);
  expect(subject.acquire('key', 3).allowed).toBe(false);
  expect(three.release()).toBe(true);
  expect(subject.acquire('key', 5).allowed).toBe(true);
});

test('a lease that was not given back ends by itself, and giving it back late frees nobody else', () => {
  const clock = new TestClock(0);
  const subject = limiter(concurrency({ limit: 1, lease: '1s' }), { clock });
  const crashed = subject.acquire('key');
  clock.set(999);
  expect(subject.acquire('key').allowed).toBe(false);
  clock.set(1000);
  const next = subject.acquire('key');
  expect(next.allowed).toBe(true);
  expect(crashed.release()).toBe(false);
  expect(subject.acquire('key').allowed).toBe(false);
  expect(next.release()).toBe(true);
  expect(subject.acquire('key').allowed).toBe(true);
});

test('renew starts the time of a lease again, as often as it is done in time', () => {
  const clock = new TestClock(0);
  const subject = limiter(concurrency({ limit: 1, lease: '1s' }), { clock });
  const lease = subject.acquire('key');
  for (const atMs of [900, 1800, 2700]) {
    clock.set(atMs);
    expect(lease.renew()).toBe(true);
    expect(subject.check('key').retryAfterMs).toBe(1000);
  }
  clock.set(3700);
  expect(lease.renew()).toBe(false);
  expect(subject.acquire('key').allowed).toBe(true);
  expect(lease.release()).toBe(false);
  expect(subject.acquire('key').allowed).toBe(false);
});

test('a renewed lease is given back once', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 3, lease: '1s' }), { clock });
  const [a, b, c] = [subject.acquire('key'), subject.acquire('key'), subject.acquire('key')];
  clock.advance(500);
  expect([b.renew(), a.renew()]).toEqual([true, true]);
  expect([a.release(), a.release()]).toEqual([true, false]);
  expect(subject.peek('key', 0).remaining).toBe(1);
  clock.advance(500);
  expect(c.release()).toBe(false); // not renewed: its second is over
  expect(subject.peek('key', 0).remaining).toBe(2);
  expect(b.renew()).toBe(true);
});

test('a released lease cannot be renewed', () => {
  const subject = limiter(concurrency({ limit: 1 }), { clock: new TestClock(1000) });
  const lease = subject.acquire('key');
  expect(lease.release()).toBe(true);
  expect(lease.renew()).toBe(false);
  expect(subject.peek('key', 0).remaining).toBe(1);
});

test('a handle from before the key was forgotten frees nobody else', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 1, lease: '1s' }), { clock });
  const old = subject.acquire('key');
  clock.set(5000);
  // Newcomers make the store look for keys to forget.
  for (const other of ['a', 'b', 'c', 'd']) expect(subject.acquire(other).allowed).toBe(true);
  expect(subject.acquire('key').allowed).toBe(true);
  expect(old.release()).toBe(false);
  expect(subject.acquire('key').allowed).toBe(false);
});

test('a handle whose lease is long over frees nobody else, though nobody has swept the key away', () => {
  // On the caller's own time nothing is swept away.
  const subject = limiter(concurrency({ limit: 1, lease: 100 }));
  const old = subject.acquire('key', { atMs: 1000 });
  expect(subject.acquire('key', { atMs: 2000 }).allowed).toBe(true);
  expect(old.release({ atMs: 2000 })).toBe(false);
  expect(subject.acquire('key', { atMs: 2000 }).allowed).toBe(false);
});

test('a handle from before a reset frees nobody else, even at the same moment', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 2 }), { clock });
  const old = subject.acquire('key');
  expect(subject.reset('key').remaining).toBe(2);
  expect([subject.acquire('key').allowed, subject.acquire('key').allowed]).toEqual([true, true]);
  expect(old.release()).toBe(false);
  expect(old.renew()).toBe(false);
  expect(subject.acquire('key').allowed).toBe(false);
});

test('over a random life, those in flight are as many as a plain list has', () => {
  const limit = 20;
  const leaseMs = 500;
  const clock = new TestClock(1_700_000_000_000);
  const subject = limiter(concurrency({ limit, lease: leaseMs }), { clock });
  const random = seededRandom(9);
  let held: { lease: ReturnType<typeof subject.acquire>; cost: number; endsMs: number }[] = [];
  let refused = 0;
  for (let step = 0; step < 10_000; step += 1) {
    clock.advance(Math.floor(random() * 20));
    held = held.filter(({ endsMs }) => endsMs > clock.now());
    const inFlight = held.reduce((sum, { cost }) => sum + cost, 0);
    const one = held[Math.floor(random() * held.length)];
    const choice = random();
    if (choice < 0.6 || one === undefined) {
      const cost = 1 + Math.floor(random() * 3);
      const lease = subject.acquire('key', cost);
      expect([step, lease.allowed]).toEqual([step, inFlight + cost <= limit]);
      if (lease.allowed) held.push({ lease, cost, endsMs: clock.now() + leaseMs });
      else refused += 1;
    } else if (choice < 0.8) {
      expect(one.lease.release()).toBe(true);
      held = held.filter((other) => other !== one);
    } else {
      expect(one.lease.renew()).toBe(true);
      one.endsMs = clock.now() + leaseMs;
    }
    const left = limit - held.reduce((sum, { cost }) => sum + cost, 0);
    expect([step, subject.peek('key', 0).remaining]).toEqual([step, left]);
  }
  expect(refused).toBeGreaterThan(500);
});

test('a lower limit waits for those in flight, a higher one lets more in', () => {
  const clock = new TestClock(1000);
  const subject = limiter(concurrency({ limit: 3 }), { clock });
  const leases = [subject.acquire('key'), subject.acquire('key'), subject.acquire('key')];
  subject.update(concurrency({ limit: 1 }));
  expect(leases[0]!.release()).toBe(true);
  expect(leases[1]!.release()).toBe(true);
  expect(subject.acquire('key').allowed).toBe(false);
  subject.update(concurrency({ limit: 2 }));
  expect(subject.acquire('key').allowed).toBe(true);
  expect(leases[2]!.release()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(1);
});

test('a cost is a whole number of places', () => {
  const subject = limiter(concurrency({ limit: 3 }), { clock: new TestClock(0) });
  expect(() => subject.acquire('key', 1.5)).toThrow(
    'cost must be a whole number for the concurrency algorithm, got 1.5.',
  );
  expect(subject.peek('key', 0).remaining).toBe(3);
});

test.each(['penalize', 'reward', 'take', 'reserve'] as const)('%s is not offered', (operation) => {
  // Without its own type, which has no such operation.
  const policy: Policy = concurrency({ limit: 3 });
  const subject = limiter(policy, { clock: new TestClock(0) });
  expect(() => subject[operation]('key', 1)).toThrow(`${operation}() is not offered by the concurrency algorithm.`);
});

test('wait is not offered: a place is had with acquire', async () => {
  const policy: Policy = concurrency({ limit: 3 });
  const subject = limiter(policy, { clock: new TestClock(0) });
  await expect(subject.wait('key')).rejects.toThrow('wait() is not offered by the concurrency algorithm.');
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0 }, 'limit must be a whole number above 0, got 0.'],
  [{ limit: 1.5 }, 'limit must be a whole number above 0, got 1.5.'],
  [{ limit: '3' }, 'limit must be a whole number above 0, got "3".'],
  [{ limit: 1, lease: 0 }, 'lease must be a time above 0, got 0. Give milliseconds as a number'],
  [{ limit: 1, window: '1s' }, 'concurrency has no field "window". It takes limit, lease.'],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => concurrency(options as ConcurrencyOptions)).toThrow(message);
});
