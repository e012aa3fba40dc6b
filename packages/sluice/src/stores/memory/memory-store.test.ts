import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { memoryStore } from './memory-store.ts';

const strict = slidingLog({ limit: 1, window: '1s' });
const loose = gcra({ limit: 1, window: '1s' });

describe('the bound', () => {
  it('is never passed, whoever comes', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 10 });
    const limit = limiter(loose, { store });
    for (let key = 0; key < 1000; key += 1) {
      limit.check(`key-${key}`);
      expect(store.stats().keys).toBeLessThanOrEqual(10);
    }
    expect(store.stats()).toEqual({ keys: 10, evictedLiveKeys: 990, refusedNewcomers: 0 });
  });

  it('keeps keys that were used up through a flood of others, however few they are among their kind', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 1000, keys: 'fingerprint' });
    const used = ['flooded', 'other'].map((name) => limiter(gcra({ limit: 100, window: '1d' }), { store, name }));
    const keys = Array.from({ length: 150 }, (_, i) => `used-${i}`);
    for (const limit of used) for (const key of keys) limit.check(key, 100);
    const flooded = limiter(gcra({ limit: 10, window: '1m' }), { store, name: 'flooded' });
    for (let i = 0; i < 20_000; i += 1) {
      clock.advance(0.01);
      flooded.check(`f${i}`);
    }
    for (const limit of used) expect(keys.filter((key) => limit.peek(key).allowed)).toEqual([]);
    expect(store.stats().evictedLiveKeys).toBeGreaterThan(18_000);
  });

  it('makes a strict policy refuse newcomers rather than forget a limited key, says why, and counts it', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 3 });
    const limit = limiter(strict, { store });
    for (const key of ['a', 'b', 'c']) expect(limit.check(key).allowed).toBe(true);
    expect(limit.check('d')).toMatchObject({ allowed: false, reason: 'store-full', remaining: 0, retryAfterMs: 1000 });
    for (const key of ['a', 'b', 'c']) expect(limit.check(key)).toMatchObject({ allowed: false, reason: 'limit' });
    expect(store.stats()).toEqual({ keys: 3, evictedLiveKeys: 0, refusedNewcomers: 1 });
    clock.advance(1000);
    expect(limit.check('d').allowed).toBe(true);
  });

  it('makes a strict newcomer wait rather than push out a loose key that still matters', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 1 });
    const casual = limiter(loose, { store });
    casual.check('a');
    expect(limiter(strict, { store }).check('b')).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(casual.allow('a')).toBe(false);
    expect(store.stats().evictedLiveKeys).toBe(0);
  });

  it('never lets a loose newcomer push out a strict key', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 2 });
    const careful = limiter(strict, { store });
    const casual = limiter(loose, { store });
    careful.check('a');
    careful.check('b');
    expect(casual.check('c')).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(careful.allow('a')).toBe(false);
  });

  it('forgets first what is as good as new, and then what is closest to it', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 3 });
    const limit = limiter(gcra({ limit: 10, window: '10s' }), { store });
    limit.check('lightly', 1);
    limit.check('heavily', 9);
    limit.check('half', 5);
    limit.check('newcomer');
    expect(limit.peek('lightly', 0).remaining).toBe(10);
    expect(limit.peek('heavily', 0).remaining).toBe(1);
    clock.advance(5000);
    limit.check('another');
    expect(store.stats().evictedLiveKeys).toBe(1);
    expect(limit.peek('heavily', 0).remaining).toBe(6);
  });

  it('is kept by forgetting idle keys a few at a time, while new ones come', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock });
    const limit = limiter(strict, { store });
    for (let key = 0; key < 2000; key += 1) limit.check(`old-${key}`);
    clock.advance(2000);
    for (let key = 0; key < 2200; key += 1) limit.check(`new-${key}`);
    expect(store.stats().keys).toBeLessThanOrEqual(2200);
  });

  it('holds for a batch: all of its newcomers find room, or none is admitted', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 3 });
    const limits = rules(
      [
        { name: 'one', key: 'user', policy: strict },
        { name: 'two', key: 'user', policy: strict },
      ],
      { store },
    );
    expect(limits.check({ user: 'a' }).allowed).toBe(true);
    const refused = limits.check({ user: 'b' });
    expect(refused.allowed).toBe(false);
    expect(refused.decisions.map(({ reason }) => reason)).toEqual(['store-full', 'store-full']);
    expect(store.stats()).toEqual({ keys: 2, evictedLiveKeys: 0, refusedNewcomers: 1 });
  });

  it('never forgets a key of the very batch that makes the room', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 2 });
    const limits = rules(
      [
        { name: 'idle', policy: strict },
        { name: 'new', key: 'user', policy: strict },
      ],
      { store },
    );
    limits.check({ user: 'a' });
    clock.advance(1000);
    // Both old keys are as good as new now; both are needed again, or were just forgotten to make room.
    expect(limits.check({ user: 'b' }).allowed).toBe(true);
    expect(limits.check({ user: 'c' }).tightest).toMatchObject({ rule: 'idle', allowed: false });
    expect(store.stats().keys).toBe(2);
  });

  it('lets a shadow rule go without a place rather than a request uncounted', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 2 });
    const limits = rules(
      [
        { name: 'real', policy: slidingLog({ limit: 2, window: '1h' }) },
        { name: 'trial', key: 'user', policy: strict, shadow: true },
      ],
      { store },
    );
    const results = Array.from({ length: 20 }, (_, user) => limits.check({ user: `user-${user}` }));
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(2);
    expect(results[1]?.decisions[1]).toMatchObject({
      rule: 'trial',
      shadow: true,
      allowed: false,
      reason: 'store-full',
    });
  });

  it('finds keys behind any number of empty tables', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 1 });
    const names = Array.from({ length: 500 }, (_, i) => `name-${i}`);
    for (const name of names) limiter(loose, { store, name }).check('key', 0);
    for (const name of names) expect(limiter(loose, { store, name }).check('key').allowed).toBe(true);
    expect(store.stats()).toMatchObject({ keys: 1, evictedLiveKeys: 499 });
  });

  it('costs nobody their state for a batch that does not fit', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 2 });
    const limit = limiter(loose, { store, name: 'held' });
    limit.check('a');
    limit.check('b');
    const batch = ['x', 'y', 'z'].map((name) => ({ name, key: 'key', policy: loose, cost: 1 }));
    expect(store.apply(batch).some(({ allowed }) => !allowed)).toBe(true);
    expect(store.stats()).toMatchObject({ keys: 2, evictedLiveKeys: 0 });
    expect([limit.allow('a'), limit.allow('b')]).toEqual([false, false]);
  });

  it('holds a strict key on its own time though another is far ahead', () => {
    const store = memoryStore({ maxKeys: 1 });
    const limit = limiter(strict, { store });
    expect(limit.allow('slow', { atMs: 0 })).toBe(true);
    expect(limit.allow('fast', { atMs: 5000 })).toBe(true);
    limit.reset('fast');
    expect(limit.allow('slow', { atMs: 100 })).toBe(false);
  });

  it('makes receipts of the forgotten void', () => {
    const limit = limiter(gcra({ limit: 10, window: 1000 }), { clock: new TestClock(), maxKeys: 1 });
    const reservation = limit.reserve('a', 10);
    limit.check('b');
    expect(limit.check('a', 10).allowed).toBe(true);
    reservation.cancel();
    expect(limit.check('a').allowed).toBe(false);
  });

  it('makes a batch with a debt that finds no place throw before anything is charged', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 2 });
    const apply = (...keys: [key: string, operation: 'check' | 'penalize'][]) =>
      store.apply(keys.map(([key, operation]) => ({ name: 'n', key, operation, policy: strict, cost: 1 })));
    apply(['held', 'check']);
    expect(() => apply(['a', 'check'], ['b', 'penalize'])).toThrow('There is no room for key "b".');
    expect(apply(['a', 'check'])[0]?.allowed).toBe(true);
  });

  it('keeps what a batch charges under more policies than it keeps tables', () => {
    const store = memoryStore({ clock: new TestClock() });
    const check = (limit: number, key: string) => ({
      name: 'n',
      key,
      policy: slidingLog({ limit, window: 1000 }),
      cost: limit,
    });
    const batch = Array.from({ length: 100 }, (_, i) => check(i + 1, `key-${i}`));
    expect(store.apply(batch).every(({ allowed }) => allowed)).toBe(true);
    expect(store.apply(batch).some(({ allowed }) => allowed)).toBe(false);
    expect(store.stats().keys).toBe(100);
  });

  it('holds for blocks and debts too, which may not be forgotten', () => {
    const clock = new TestClock();
    const limit = limiter(strict, { clock, maxKeys: 1 });
    limit.block('a', '1s');
    expect(() => limit.block('b', '1s')).toThrow('There is no room for key "b". Raise maxKeys.');
    clock.advance(1000);
    limit.block('b', '1s');
    limit.penalize('c', 5);
    expect(() => limit.penalize('d', 5)).toThrow('There is no room for key "d".');
  });
});

describe('a clock that misbehaves', () => {
  it('by a millisecond locks no newcomer out for longer than its policy takes to recover', () => {
    for (const policy of [
      gcra({ limit: 10, window: 1000 }),
      fixedWindow({ limit: 10, window: 1000 }),
      slidingLog({ limit: 10, window: 1000 }),
    ]) {
      const clock = new TestClock(1_000_000);
      const limit = limiter(policy as Policy, { clock });
      limit.check('a');
      clock.advance(5000);
      for (const key of ['b', 'c', 'd']) limit.check(key);
      clock.advance(-1);
      const { retryAfterMs } = limit.check('newcomer');
      expect(retryAfterMs).toBeLessThanOrEqual(1000);
      clock.advance(retryAfterMs);
      expect(limit.allow('newcomer')).toBe(true);
    }
  });

  it.each([
    slidingLog({ limit: 1, window: '10s' }),
    gcra({ limit: 1, window: '10s' }),
    fixedWindow({ limit: 1, window: '10s', align: 'first' }),
  ])('frees nothing when it leaps ahead, sweeps, and steps back: %j', (policy) => {
    const clock = new TestClock(1_000_000);
    const limit = limiter(policy as Policy, { clock });
    limit.check('victim');
    clock.advance(604_800_000);
    // Newcomers make the store look around, and the victim is as good as new by this clock.
    for (let key = 0; key < 10; key += 1) limit.check(`newcomer-${key}`);
    clock.set(1_001_000);
    expect(limit.check('victim').allowed).toBe(false);
    clock.advance(10_000);
    expect(limit.check('victim').allowed).toBe(true);
  });

  it.each([604_800_000, 50 * 86_400_000, 2 ** 31, 2 ** 40])('works on after a leap of %d ms', (leapMs) => {
    for (const policy of [
      strict,
      loose,
      slidingSlots({ limit: 1, window: '1s' }),
      slidingWindow({ limit: 1, window: '1s' }),
      fixedWindow({ limit: 1, window: '1s' }),
    ]) {
      const clock = new TestClock(1_700_000_000_000);
      const limit = limiter(policy as Policy, { clock });
      expect(limit.allow('key')).toBe(true);
      expect(limit.allow('key')).toBe(false);
      clock.advance(leapMs);
      expect(limit.allow('key')).toBe(true);
      expect(limit.allow('key')).toBe(false);
    }
  });

  it('that is read seldom makes strict windows longer by its staleness', () => {
    const clock = Object.assign(new TestClock(), { stalenessMs: 50 });
    const limit = limiter(slidingLog({ limit: 1, window: '1s' }), { clock });
    limit.check('key');
    clock.advance(1000);
    expect(limit.check('key')).toMatchObject({ allowed: false, retryAfterMs: 50 });
    clock.advance(50);
    expect(limit.allow('key')).toBe(true);
  });
});

describe('extremes', () => {
  it.each([
    slidingLog({ limit: 1, window: 1 }),
    slidingLog({ limit: 1, window: '30d' }),
    slidingSlots({ limit: 1, window: 1 }),
    slidingSlots({ limit: 1, window: '30d' }),
    slidingWindow({ limit: 1, window: '30d' }),
    fixedWindow({ limit: 1, window: '30d', align: 'first' }),
    gcra({ limit: 1, window: '30d' }),
    tokenBucket({ limit: 1, window: 1 }),
  ])('%j admits one, and the next exactly when it says', (policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const limit = limiter(policy as Policy, { clock });
    expect(limit.allow('key')).toBe(true);
    const { allowed, retryAfterMs } = limit.check('key');
    expect(allowed).toBe(false);
    clock.advance(retryAfterMs - 1);
    expect(limit.allow('key')).toBe(false);
    clock.advance(1);
    expect(limit.allow('key')).toBe(true);
  });

  it.each([
    slidingLog({ limit: 1e7, window: '1m' }),
    slidingSlots({ limit: 1e7, window: '1m' }),
    slidingWindow({ limit: 1e7, window: '1m' }),
    fixedWindow({ limit: 1e7, window: '1m' }),
    gcra({ limit: 1e7, window: '1m' }),
    concurrency({ limit: 1e7 }),
  ])('%j admits ten million, and not one more', (policy) => {
    const limit = limiter(policy as Policy, { clock: new TestClock(1_700_000_000_000) });
    for (let call = 0; call < 100; call += 1) expect(limit.allow('key', 1e5)).toBe(true);
    expect(limit.check('key')).toMatchObject({ allowed: false, remaining: 0 });
  });

  it.each([
    ['sliding-log', slidingLog({ limit: 1, window: '1m' })],
    ['sliding-log with a gap', slidingLog({ limit: 9, window: '2m', minGap: '1m' })],
    ['fixed-window', fixedWindow({ limit: 1, window: '1m', align: 'first' })],
  ])('%s refuses the last fraction of a millisecond too', (_, policy) => {
    const limit = limiter(policy as Policy);
    expect(limit.allow('key', { atMs: 118400.17801205379 })).toBe(true);
    // Not quite a minute later, though the difference rounds to one.
    expect(limit.check('key', { atMs: 178400.17801205377 })).toMatchObject({ allowed: false, retryAfterMs: 1 });
  });

  it('sliding-slots refuses the last fraction of a millisecond too', () => {
    const limit = limiter(slidingSlots({ limit: 1, window: 1000, slots: 60 }));
    expect(limit.allow('key', { atMs: 33.33333333333333 })).toBe(true);
    expect(limit.allow('key', { atMs: 1033.3333333333333 })).toBe(false);
  });

  it('a debt beyond all measure is still a debt, and ends with the window', () => {
    for (const policy of [
      slidingLog({ limit: 3, window: '1m' }),
      slidingSlots({ limit: 3, window: '1m' }),
      fixedWindow({ limit: 3, window: '1m' }),
    ]) {
      const clock = new TestClock(1_700_000_000_000);
      const limit = limiter(policy as Policy, { clock });
      for (const debt of [1e16, Number.MAX_SAFE_INTEGER, 1e300]) limit.penalize('key', debt);
      expect(limit.allow('key')).toBe(false);
      const { resetAfterMs } = limit.peek('key', 0);
      expect(Number.isFinite(resetAfterMs)).toBe(true);
      clock.advance(Math.min(resetAfterMs, 1e13));
      let granted = 0;
      for (let call = 0; call < 100; call += 1) if (limit.allow('key')) granted += 1;
      expect(granted).toBeLessThanOrEqual(3);
    }
  });

  it('refuses slots too fine to be told apart, and limits too large to be exact', () => {
    expect(() => slidingSlots({ limit: 3, window: 1, slots: 10_000 })).toThrow(
      'slots must be a whole number from 1 to 60, got 10000.',
    );
    expect(() => slidingLog({ limit: 1e300, window: 1 })).toThrow(
      'limit must be at most 1125899906842624, got 1e+300.',
    );
  });

  it('refuses a policy that cannot be represented', () => {
    expect(() => gcra({ limit: 9_999_991, window: '30d', burst: 9_999_991 })).toThrow(
      'limit, window and burst must be exact together',
    );
    expect(() => gcra({ limit: 1e-300, window: 1, burst: 1 })).toThrow(
      'limit, window and burst must be exact together',
    );
  });
});

describe('a changed policy', () => {
  const change = (from: Policy, to: Policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const apply = (policy: Policy, cost: number) => store.apply([{ name: 'rule', key: 'key', policy, cost }])[0]!;
    return { clock, store, before: (cost: number) => apply(from, cost), after: (cost: number) => apply(to, cost) };
  };

  it.each([
    [slidingLog({ limit: 10, window: '1m' }), slidingLog({ limit: 20, window: '1m' }), 14],
    [slidingSlots({ limit: 10, window: '1m' }), slidingSlots({ limit: 20, window: '1m', slots: 7 }), 14],
    [fixedWindow({ limit: 10, window: '1m' }), fixedWindow({ limit: 20, window: '1m' }), 14],
    [slidingWindow({ limit: 10, window: '1m' }), slidingWindow({ limit: 20, window: '1m' }), 14],
    [gcra({ limit: 10, window: '1m' }), gcra({ limit: 20, window: '1m' }), 14],
    [gcra({ limit: 10, window: '1m' }), tokenBucket({ limit: 20, window: '1m' }), 14],
    [slidingLog({ limit: 10, window: '1m' }), gcra({ limit: 20, window: '1m' }), 14],
    [slidingLog({ limit: 10, window: '1m' }), slidingSlots({ limit: 20, window: '1m' }), 14],
    [concurrency({ limit: 10 }), concurrency({ limit: 20 }), 14],
    [slidingLog({ limit: 10, window: '1m' }), slidingLog({ limit: 5, window: '1m' }), 0],
  ])('from %j to %j keeps what was used', (from, to, remaining) => {
    const { before, after } = change(from, to);
    before(6);
    expect(after(0).remaining).toBe(remaining);
    // And back, still the same; only a strict policy knows nothing of what a loose one forgot.
    if (to.algorithm !== 'gcra' || from.algorithm === 'gcra') expect(before(0).remaining).toBe(4);
  });

  it('with a longer strict window counts what it cannot know as spent', () => {
    const { clock, before, after } = change(
      slidingLog({ limit: 10, window: '1m' }),
      slidingLog({ limit: 10, window: '1h' }),
    );
    before(3);
    expect(after(1)).toMatchObject({ allowed: false, retryAfterMs: 59 * 60_000 });
    clock.advance(59 * 60_000);
    expect(after(7)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('with a longer strict window takes a stranger for one that the shorter window forgot, if it forgot any', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const ask = (key: string, window: '1m' | '1h') =>
      store.apply([{ name: 'rule', key, policy: slidingLog({ limit: 1, window }), cost: 1 }])[0]!;
    for (let i = 0; i < 2000; i += 1) ask(`early ${i}`, '1m');
    clock.advance(61_000);
    for (const key of ['a', 'b', 'c']) ask(key, '1m');
    expect(ask('stranger', '1h')).toMatchObject({ allowed: false, retryAfterMs: 59 * 60_000 });
    // From now on nothing is forgotten before an hour has passed, so later strangers are strangers.
    clock.advance(59 * 60_000);
    for (const key of ['d', 'e', 'f']) ask(key, '1m');
    expect(ask('stranger', '1h').allowed).toBe(true);
    expect(ask('new', '1h').allowed).toBe(true);
  });

  it('forgets nobody while there are only few, and then a few at a time', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const ask = (key: string) =>
      store.apply([{ name: 'rule', key, policy: gcra({ limit: 1, window: '1s' }), cost: 1 }]);
    for (let i = 0; i < 1000; i += 1) ask(`early ${i}`);
    clock.advance(60_000);
    for (let i = 0; i < 20; i += 1) ask(`later ${i}`);
    expect(store.stats().keys).toBe(1020);
    for (let i = 0; i < 2000; i += 1) ask(`last ${i}`);
    // All who came early are as good as new, and were looked at.
    expect(store.stats().keys).toBe(2020);
  });

  it('with a longer strict window knows a stranger when nothing was forgotten', () => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules(
      [
        {
          name: 'per-user',
          key: 'user',
          tiers: { free: slidingLog({ limit: 1, window: '1m' }), paid: slidingLog({ limit: 1, window: '1h' }) },
        },
      ],
      { clock },
    );
    for (let user = 0; user < 200; user += 1) {
      expect(limits.check({ user: `free-${user}`, tier: 'free' }).allowed).toBe(true);
      clock.advance(10_000);
    }
    expect(limits.check({ user: 'paid', tier: 'paid' }).allowed).toBe(true);
    // One that paid since its last call has that call counted, though it was longer ago than a minute.
    expect(limits.check({ user: 'free-0', tier: 'paid' }).allowed).toBe(false);
  });

  it('that comes with each request leaves no tables behind', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock });
    for (let limit = 1; limit <= 1000; limit += 1) {
      store.apply([{ name: 'rule', key: `key-${limit}`, policy: gcra({ limit, window: 1000 }), cost: 1 }]);
      clock.advance(2000);
    }
    expect(store.snapshot().names[0]?.tables.length).toBeLessThan(100);
  });

  it('of a counting log keeps within the bound, whatever is rejected', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 5 });
    const limit = limiter(slidingLog({ limit: 1, window: '1h', countRejected: true }), { store });
    for (let key = 0; key < 50; key += 1) limit.check(`key-${key}`, 2);
    expect(store.stats().keys).toBeLessThanOrEqual(5);
  });

  it('to a shorter strict window and back forgets nothing that the longer one counts', () => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules([{ name: 'r', key: 'user', policy: slidingLog({ limit: 5, window: '10s' }) }], { clock });
    expect(limits.check({ user: 'a' }, { cost: 5 }).allowed).toBe(true);
    limits.override('r', 'a', { window: '1s' });
    clock.advance(2000);
    for (let other = 0; other < 20; other += 1) limits.check({ user: `other-${other}` });
    limits.check({ user: 'a' });
    clock.advance(2000);
    for (let other = 20; other < 40; other += 1) limits.check({ user: `other-${other}` });
    limits.removeOverride('r', 'a');
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
  });

  it('of which nothing is known is not known under a raised limit either', () => {
    const store = memoryStore({ clock: new TestClock(1_700_000_000_000) });
    const apply = (policy: Policy, cost: number, atMs: number) =>
      store.apply([{ name: 'r', key: 'k', policy, cost }], 1_700_000_000_000 + atMs)[0]!;
    const short = slidingLog({ limit: 5, window: 10 });
    expect(apply(short, 5, 0).allowed).toBe(true);
    expect(apply(short, 5, 11).allowed).toBe(true);
    expect(apply(slidingLog({ limit: 1, window: 100 }), 1, 12).allowed).toBe(false);
    expect(apply(slidingLog({ limit: 10, window: 100 }), 5, 13).allowed).toBe(false);
  });

  it.each([
    [slidingSlots({ limit: 3, window: 100, slots: 10 }), slidingSlots({ limit: 4, window: 100, slots: 10 })],
    [fixedWindow({ limit: 3, window: 100 }), fixedWindow({ limit: 4, window: 100 })],
    [slidingWindow({ limit: 3, window: 100 }), slidingWindow({ limit: 4, window: 100 })],
  ])('on a clock that stepped back leaves history where it was: %j', (from, to) => {
    const clock = new TestClock(10_000);
    const limit = limiter(from as Policy, { clock });
    expect(limit.allow('key', 3)).toBe(true);
    limit.update(to as Policy);
    clock.set(9950);
    expect(limit.allow('key')).toBe(true);
    clock.set(10_061);
    expect(limit.allow('key', 4)).toBe(false);
  });

  it.each([
    [(limit: number) => slidingSlots({ limit, window: '1m' })],
    [(limit: number) => slidingLog({ limit, window: '1m' })],
    [(limit: number) => slidingWindow({ limit, window: '1m' })],
    [(limit: number) => fixedWindow({ limit, window: '1m', align: 'first' })],
    [(limit: number) => tokenBucket({ limit, window: '1m', refill: 'interval' })],
    [(limit: number) => gcra({ limit, window: '1m' })],
  ])('at every request locks nobody out who stays within it', (policyOf) => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules([{ name: 'r', key: 'user', policy: ({ extra }) => policyOf(100 + Number(extra)) as Policy }], {
      clock,
    });
    for (let second = 0; second < 600; second += 1) {
      expect(limits.check({ user: 'a', extra: second % 3 }).allowed).toBe(true);
      clock.advance(1000);
    }
  });

  it('with tiers of different windows counts each call under both', () => {
    const clock = new TestClock(1_700_000_000_000);
    const tiers = { min: slidingLog({ limit: 10, window: '1m' }), hour: slidingLog({ limit: 1000, window: '1h' }) };
    const limits = rules([{ name: 'r', key: 'user', tiers }], { clock });
    for (let minute = 0; minute < 300; minute += 1) {
      expect(limits.check({ user: 'a', tier: 'hour' }).allowed).toBe(true);
      expect(limits.check({ user: 'a', tier: 'min' }).allowed).toBe(true);
      clock.advance(60_000);
    }
    expect(limits.peek({ user: 'a', tier: 'hour' }, { cost: 0 }).tightest?.remaining).toBe(1000 - 118);
  });

  it('of a bucket that starts empty does not empty it again', () => {
    const empty = (limit: number) => tokenBucket({ limit, window: 1000, burst: 10, initial: 0, refill: 'interval' });
    const limit = limiter(empty(1), { clock: new TestClock() });
    for (let change = 0; change < 6; change += 1) {
      expect(limit.check('key').retryAfterMs).toBe(1000);
      limit.update(empty(1 + (change % 2)));
    }
  });

  it('is not applied by a refused call of the same windows', () => {
    const clock = new TestClock();
    const tiers = {
      x: fixedWindow({ limit: 2, window: 1000, align: 'first' }),
      y: fixedWindow({ limit: 1, window: 1000, align: 'first' }),
    };
    const limits = rules([{ name: 'r', key: 'user', tiers }], { clock });
    limits.check({ user: 'a', tier: 'x' }, { cost: 2 });
    clock.set(900);
    expect(limits.check({ user: 'a', tier: 'y' }).allowed).toBe(false);
    clock.set(1000);
    expect(limits.check({ user: 'a', tier: 'x' }).allowed).toBe(true);
  });

  it('to a longer window counts as spent what the row does not tell, on a clock that stepped back too', () => {
    const clock = new TestClock(1000);
    const limit = limiter(slidingLog({ limit: 5, window: 50 }), { clock });
    limit.check('a', 4);
    clock.set(1060);
    limit.check('a', 4);
    clock.set(990);
    limit.update(slidingLog({ limit: 7, window: 100 }));
    expect(limit.check('a', 3).allowed).toBe(false);
  });

  it('from slots to a log moves older charges along with those that may be later than now', () => {
    const clock = new TestClock(6237);
    const store = memoryStore({ clock });
    const apply = (policy: Policy, cost: number, key = 'key') => store.apply([{ name: 'r', key, policy, cost }])[0]!;
    const slots = slidingSlots({ limit: 7, window: 1000, slots: 10 });
    apply(slots, 1, 'other');
    // The clock was further already: what is in the newest slot may have happened up to its end.
    for (const [atMs, cost] of [
      [6099, 2],
      [6130, 3],
      [6146, 1],
    ] as const) {
      clock.set(atMs);
      expect(apply(slots, cost).allowed).toBe(true);
    }
    clock.set(6170);
    expect(apply(slidingLog({ limit: 6, window: 100 }), 1).allowed).toBe(false);
  });

  it('from a loose to a strict algorithm starts with everything spent', () => {
    const { clock, before, after } = change(gcra({ limit: 10, window: '1m' }), slidingLog({ limit: 10, window: '1m' }));
    before(1);
    expect(after(1)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    clock.advance(60_000);
    expect(after(1).allowed).toBe(true);
  });

  it('of a smooth limiter keeps the waits that were promised', () => {
    const { before, after } = change(smooth({ limit: 1, window: '1s' }), smooth({ limit: 10, window: '1s' }));
    before(1);
    before(1);
    expect(after(1).delayMs).toBe(2000);
    expect(after(1).delayMs).toBe(2100);
  });

  it('of a fixed window does not open a new one', () => {
    const { before, after } = change(fixedWindow({ limit: 2, window: '1m' }), fixedWindow({ limit: 2, window: '2m' }));
    before(2);
    expect(after(1).allowed).toBe(false);
  });
});

describe('a snapshot', () => {
  it('is plain data and keeps keys, blocks and policies', () => {
    const clock = new TestClock(5000);
    const store = memoryStore({ clock });
    limiter(strict, { store, name: 'strict' }).check('a');
    limiter(loose, { store, name: 'loose' }).block('b', '10s');
    const snapshot = JSON.parse(JSON.stringify(store.snapshot()));
    expect(snapshot).toMatchObject({ version: 1, names: [{ name: 'strict' }, { name: 'loose' }] });
    const restored = memoryStore({ clock });
    restored.restore(snapshot);
    expect(restored.stats().keys).toBe(1);
    expect(restored.snapshot()).toEqual(store.snapshot());
    expect(limiter(strict, { store: restored, name: 'strict' }).allow('a')).toBe(false);
    expect(limiter(loose, { store: restored, name: 'loose' }).check('b').reason).toBe('blocked');
  });

  it('applies a policy that has changed in between to the old state', () => {
    const clock = new TestClock(5000);
    const store = memoryStore({ clock });
    limiter(slidingLog({ limit: 5, window: '1m' }), { store, name: 'x' }).check('a', 5);
    const restored = memoryStore({ clock });
    restored.restore(store.snapshot());
    const raised = limiter(slidingLog({ limit: 8, window: '1m' }), { store: restored, name: 'x' });
    expect(raised.check('a').remaining).toBe(2);
  });

  it.each([
    [null, 'This is not a snapshot'],
    [{}, 'its version is undefined, not 1'],
    [{ version: 2, names: [] }, 'its version is 2, not 1'],
    [{ version: 1 }, 'This is not a snapshot'],
    [
      {
        version: 1,
        names: [
          {
            name: 'x',
            blocked: [],
            tables: [{ policy: { algorithm: 'magic' }, sinceMs: 0, retainMs: 0, entries: [] }],
          },
        ],
      },
      'algorithm must be one of',
    ],
    [
      {
        version: 1,
        names: [
          {
            name: 'x',
            blocked: [],
            tables: [{ policy: { ...loose }, sinceMs: 0, retainMs: 0, entries: [['a', 'NaN', 2]] }],
          },
        ],
      },
      'the cells of key "a" are not numbers',
    ],
    [{ version: 1, names: [{ name: 'x', tables: [] }] }, 'This is not a snapshot'],
    [{ version: 1, names: [{ name: 'x', blocked: [['a', null]], tables: [] }] }, 'the block of key "a" is none'],
    [
      {
        version: 1,
        names: [
          { name: 'x', blocked: [], tables: [{ policy: { ...loose }, sinceMs: 0, retainMs: 0, entries: [['a', 1]] }] },
        ],
      },
      'key "a" has 1 cells, which its policy does not',
    ],
    [
      {
        version: 1,
        names: [
          {
            name: 'x',
            blocked: [],
            tables: [{ policy: { ...strict }, sinceMs: 0, retainMs: 0, entries: [['a', 0, 9, 4, 0, 0, 1, 1]] }],
          },
        ],
      },
      'key "a" has 7 cells, which its policy does not',
    ],
  ])('refuses %j and stays empty', (data, message) => {
    const store = memoryStore();
    expect(() => store.restore(data as never)).toThrow(message);
    expect(store.stats().keys).toBe(0);
    expect(store.snapshot().names).toEqual([]);
  });

  it('keeps for the longest window what it held for the longest window', () => {
    const clock = new TestClock(1_700_000_000_000);
    const tiers = { min: slidingLog({ limit: 10, window: '1m' }), hour: slidingLog({ limit: 10, window: '1h' }) };
    const build = (store: ReturnType<typeof memoryStore>) => rules([{ name: 'r', key: 'user', tiers }], { store });
    const store = memoryStore({ clock });
    build(store).check({ user: 'a', tier: 'min' }, { cost: 6 });
    const restored = memoryStore({ clock });
    restored.restore(JSON.parse(JSON.stringify(store.snapshot())));
    const limits = build(restored);
    clock.advance(120_000);
    // Newcomers make the store look around for what can be forgotten.
    for (let user = 0; user < 10; user += 1) limits.check({ user: `new-${user}`, tier: 'min' });
    expect(limits.check({ user: 'a', tier: 'hour' }).tightest).toMatchObject({ allowed: true, remaining: 3 });
  });

  it('goes only into an empty store with enough room', () => {
    const store = memoryStore();
    limiter(strict, { store, name: 'x' }).check('a');
    limiter(strict, { store, name: 'x' }).check('b');
    expect(() => store.restore(store.snapshot())).toThrow('restore() needs a store that holds no keys yet.');
    expect(() => memoryStore({ maxKeys: 1 }).restore(store.snapshot())).toThrow(
      'The snapshot holds 2 keys, maxKeys is 1. Raise maxKeys.',
    );
  });
});

describe('fingerprints for keys', () => {
  const options = (clock: TestClock) => ({ clock, keys: 'fingerprint' as const });
  const five = slidingLog({ limit: 5, window: '1m' });
  const bucket = gcra({ limit: 5, window: '1m' });

  it('keep no text of a key', () => {
    const store = memoryStore(options(new TestClock()));
    limiter(five, { store, name: 'x' }).check('alice@example.org');
    limiter(five, { store, name: 'x' }).block('bob@example.org', '1s');
    const text = JSON.stringify(store.snapshot());
    expect(text).not.toContain('example');
    expect(text).toMatch(/"entries":\[\["[\da-f]{16}",/);
  });

  it('do what texts do: limit, block, settle, move to another policy and are forgotten', () => {
    const clock = new TestClock();
    const store = memoryStore({ ...options(clock), maxKeys: 2 });
    const limit = limiter(five, { store });
    const reservation = limit.reserve('a', 4);
    expect(limit.check('a', 2).allowed).toBe(false);
    expect(reservation.commit(1)).toBe(true);
    expect(limit.check('a', 2).remaining).toBe(2);
    limit.update(slidingLog({ limit: 9, window: '1m' }));
    expect(limit.peek('a', 0).remaining).toBe(6);
    limit.block('b', '1s');
    expect(limit.check('b').reason).toBe('blocked');
    limit.reset('b');
    expect(limit.check('b').remaining).toBe(8);
    expect(limit.check('c').reason).toBe('store-full');
    clock.advance(60_000);
    expect(limit.check('c').remaining).toBe(8);
    expect(store.stats()).toMatchObject({ evictedLiveKeys: 0, refusedNewcomers: 1 });
  });

  it('survive a snapshot, JSON, and another process with a seed of its own', () => {
    const clock = new TestClock(5000);
    const store = memoryStore(options(clock));
    const names = ['one', 'two'];
    const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`);
    for (const name of names) {
      for (const key of keys) limiter(name === 'one' ? five : bucket, { store, name }).check(key, 3);
      limiter(name === 'one' ? five : bucket, { store, name }).block('blocked', '10s');
    }
    const snapshot = JSON.parse(JSON.stringify(store.snapshot()));
    expect(snapshot.seed).toEqual([expect.any(Number), expect.any(Number)]);
    // As of a process whose keys hash otherwise: the fingerprints must be looked for under the snapshot's seed.
    const foreign = { ...snapshot, seed: [snapshot.seed[0] ^ 1, snapshot.seed[1]] };
    for (const [data, isKnown] of [
      [snapshot, true],
      [foreign, false],
    ] as const) {
      const restored = memoryStore(options(clock));
      restored.restore(data);
      expect(restored.stats().keys).toBe(200);
      expect(restored.snapshot()).toEqual(data);
      for (const name of names) {
        const limit = limiter(name === 'one' ? five : bucket, { store: restored, name });
        for (const key of keys) expect(limit.check(key, 3).allowed).toBe(!isKnown);
        expect(limit.check('blocked').reason).toBe(isKnown ? 'blocked' : undefined);
        expect(limit.check('new').allowed).toBe(true);
      }
    }
  });

  it('are not restored as texts, nor texts as fingerprints', () => {
    const clock = new TestClock();
    const [exact, fingerprints] = [memoryStore({ clock }), memoryStore(options(clock))];
    for (const store of [exact, fingerprints]) limiter(five, { store, name: 'x' }).check('a');
    const [toExact, toFingerprints] = [memoryStore({ clock }), memoryStore(options(clock))];
    expect(() => toExact.restore(fingerprints.snapshot())).toThrow(
      'This is not a snapshot: it was taken of a store with fingerprints for keys, this one has exact keys',
    );
    expect(() => toFingerprints.restore(exact.snapshot())).toThrow(
      'it was taken of a store with no fingerprints for keys, this one has fingerprint keys',
    );
    for (const store of [toExact, toFingerprints]) expect(store.snapshot().names).toEqual([]);
  });

  it.each([
    [{ seed: [1] }, 'its seed is none'],
    [{ seed: [1, 2, 3] }, 'its seed is none'],
    [{ seed: [1, 0.5] }, 'its seed is none'],
    [{ seed: [1, 2 ** 31] }, 'its seed is none'],
    [{ seed: 'ab' }, 'This is not a snapshot'],
    [{ key: 'alice' }, '"alice" is no fingerprint'],
    [{ key: '0123456789ABCDEF' }, '"0123456789ABCDEF" is no fingerprint'],
    [{ key: '0123456789abcdef0' }, '"0123456789abcdef0" is no fingerprint'],
    // A row with nothing in its first half is none: it would be counted and never found.
    [{ key: '000000000123abcd' }, '"000000000123abcd" is no fingerprint'],
  ])(
    'are refused with %j',
    ({ seed = [1, 2], key = '0123456789abcdef' }: { seed?: unknown; key?: string }, message) => {
      const tables = [{ policy: { ...loose }, sinceMs: 0, retainMs: 0, entries: [[key, 1, 2]] }];
      const store = memoryStore(options(new TestClock()));
      const before = store.snapshot();
      const snapshot = { version: 1, seed, names: [{ name: 'x', blocked: [], tables }] };
      expect(() => store.restore(snapshot as never)).toThrow(message);
      expect(store.stats().keys).toBe(0);
      expect(store.snapshot()).toEqual(before);
    },
  );

  it('refuse a kind of keys that there is not', () => {
    expect(() => memoryStore({ keys: 'hashed' as never })).toThrow(
      'keys must be one of "exact", "fingerprint", got "hashed".',
    );
  });
});

describe.each(['exact', 'fingerprint'] as const)('limits that were there before the %s keys were restored', (keys) => {
  it.each([
    gcra({ limit: 5, window: '1m' }),
    slidingLog({ limit: 5, window: '1m' }),
    slidingWindow({ limit: 5, window: '1m' }),
  ])('go on from what was used: %j', (policy) => {
    const clock = new TestClock(5000);
    const build = (store: ReturnType<typeof memoryStore>) => ({
      limit: limiter(policy as Policy, { store, name: 'limit' }),
      limits: rules([{ name: 'rule', key: 'user', policy }], { store }),
    });
    const before = memoryStore({ clock, keys });
    const first = build(before);
    first.limit.check('a', 4);
    first.limits.check({ user: 'a' }, { cost: 4 });

    const after = memoryStore({ clock, keys });
    const { limit, limits } = build(after);
    // A batch that was asked and forgotten leaves nothing, but may be remembered.
    limits.check({ user: 'b' });
    limits.reset('rule', 'b');
    after.restore(JSON.parse(JSON.stringify(before.snapshot())));
    expect(limit.check('a').remaining).toBe(0);
    expect(limit.allow('a')).toBe(false);
    expect(limits.check({ user: 'a' }).tightest?.remaining).toBe(0);
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
    expect(limit.check('new').remaining).toBe(4);
    expect(limits.check({ user: 'new' }).tightest?.remaining).toBe(4);
    expect(after.stats().keys).toBe(4);
    expect(after.snapshot().names.flatMap(({ tables }) => tables.flatMap(({ entries }) => entries))).toHaveLength(4);
  });

  it('apply their own policy where it is another', () => {
    const clock = new TestClock(5000);
    const before = memoryStore({ clock, keys });
    limiter(gcra({ limit: 5, window: '1m' }), { store: before, name: 'limit' }).check('a', 4);
    const after = memoryStore({ clock, keys });
    const limit = limiter(gcra({ limit: 10, window: '1m' }), { store: after, name: 'limit' });
    after.restore(before.snapshot());
    expect(limit.check('a').remaining).toBe(5);
    expect(limit.check('a').remaining).toBe(4);
  });
});

it('takes a receipt of another policy as void while the key is still under that one', () => {
  const clock = new TestClock(0);
  const store = memoryStore({ clock });
  const slow = gcra({ limit: 1, window: '1h', burst: 10 });
  const fast = gcra({ limit: 1, window: '1s', burst: 10 });
  const check = { name: 'test', key: 'key', policy: slow, cost: 5 };
  const [reserved] = store.apply([{ ...check, operation: 'reserve' }]);
  store.apply([check]);
  clock.advance(6000);
  const settle = { ...check, policy: fast, operation: 'settle', actual: 0, receipt: reserved?.receipt } as const;
  // 10 were taken, and 6 have drained at the new rate since: nothing comes on top of that.
  expect(store.apply([settle])[0]?.remaining).toBe(6);
});

it('makes no debt that is never paid of what was not known', () => {
  const clock = new TestClock(0);
  const store = memoryStore({ clock });
  const bucket = gcra({ limit: 10, window: '1s' });
  const check = { name: 'test', key: 'key', policy: bucket, cost: 1 };
  store.apply([check]);
  store.apply([{ ...check, policy: slidingSlots({ limit: 10, window: '1m' }) }]);
  const [back] = store.apply([check]);
  expect(back?.retryAfterMs).toBeLessThanOrEqual(61_000);
});
