import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { type Limiter, limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { type MemoryStore, memoryStore } from './memory-store.ts';

const strict = slidingLog({ limit: 1, window: '1s' });
const loose = gcra({ limit: 1, window: '1s' });

it.each([[['a']], [42], [{ length: 1 }], [undefined], [Buffer.from('a')]])(
  'refuses a key that is no text: %j',
  (key) => {
    for (const keys of ['exact', 'fingerprint'] as const) {
      const store = memoryStore({ clock: new TestClock(), keys });
      const check = { name: 'x', key: key as never, policy: gcra({ limit: 1, window: 1000 }), cost: 1 };
      for (let again = 0; again < 3; again += 1)
        expect(() => store.apply([check])).toThrow('key must be a string, got ');
      expect(store.stats().keys).toBe(0);
    }
  },
);

it('refuses a name that is no text, and says that it is the name', () => {
  const check = { name: 42 as never, key: 'a', policy: gcra({ limit: 1, window: 1000 }), cost: 1 };
  expect(() => memoryStore({ clock: new TestClock() }).apply([check])).toThrow('name must be a string, got 42.');
});

describe('the bound', () => {
  it('is told of before it is met, and nothing is charged by that', () => {
    const clock = new TestClock(0);
    const store = memoryStore({ maxKeys: 2, clock });
    const check = (key: string, policy: Policy = strict) => ({ name: 'bound', key, policy, cost: 1 });
    expect(store.hasRoomFor([check('a'), check('b')])).toBe(true);
    store.apply([check('a')]);
    expect(store.hasRoomFor([check('b'), check('c')])).toBe(false);
    store.apply([check('b')]);
    expect(store.hasRoomFor([{ ...check('c'), operation: 'penalize' }])).toBe(false);
    expect(store.hasRoomFor([{ ...check('a'), operation: 'penalize' }])).toBe(true);
    // Those that take nothing, or would be refused, or refuse nobody, need none.
    expect(store.hasRoomFor([{ ...check('c'), cost: 0 }, check('a')])).toBe(true);
    expect(store.hasRoomFor([{ ...check('c'), shadow: true }])).toBe(true);
    // What no longer counts makes room.
    clock.advance(1000);
    expect(store.hasRoomFor([check('c'), check('d')])).toBe(true);
    expect(store.apply([check('c')])[0]).toMatchObject({ allowed: true });
  });

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

  it.each(['exact', 'fingerprint'] as const)(
    'once gives nobody more afterwards: newcomers as bytes, %s keys',
    (keys) => {
      const bytes = new TextEncoder().encode('first');
      for (const policy of [gcra({ limit: 2, window: '1h' }), slidingSlots({ limit: 2, window: '1h' })]) {
        let nowMs = 1_700_000_000_000;
        const clock: Clock = { now: () => nowMs, sleep: () => Promise.resolve() };
        const limit: Limiter = limiter(policy as Policy, { store: memoryStore({ clock, keys }), name: 'x' });
        nowMs = Number.NaN;
        expect(() => limit.allowBytes(bytes)).toThrow('the time of the clock must be milliseconds');
        nowMs = 1_700_000_000_000;
        expect([1, 2, 3].map(() => limit.allow('second'))).toEqual([true, true, false]);
        expect([1, 2, 3].map(() => limit.allowBytes(bytes))).toEqual([true, true, false]);
      }
    },
  );

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
    expect(() => gcra({ limit: 1e-300, window: 1, burst: 1 })).toThrow('window / limit must be at most');
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

  /** The same clock, as it is read by somebody who may be so late. */
  const lateBy = (clock: TestClock) => (stalenessMs: number) => ({
    now: () => clock.now(),
    sleep: (ms: number) => clock.sleep(ms),
    stalenessMs,
  });

  it.each([
    [50, 0],
    [0, 50],
    [50, 20],
  ])('of a clock that is %d ms late keeps what was used under one that is %d ms late', (fromMs, toMs) => {
    const clock = new TestClock(1_700_000_000_000);
    const late = lateBy(clock);
    const policies = [slidingSlots({ limit: 10, window: '1m' }), slidingLog({ limit: 10, window: '1m' })];
    const store = memoryStore({ clock: late(fromMs) });
    for (const policy of policies) limiter(policy, { store, name: policy.algorithm }).check('a', 10);
    const restored = memoryStore({ clock: late(toMs) });
    restored.restore(JSON.parse(JSON.stringify(store.snapshot())));
    for (const policy of policies) {
      const limit = limiter(policy, { store: restored, name: policy.algorithm });
      const { allowed, retryAfterMs } = limit.check('a');
      // The times of what was used may be too early by as much as the first clock was late.
      const leastMs = 60_000 + Math.max(fromMs, toMs);
      expect([allowed, retryAfterMs >= leastMs, retryAfterMs <= 63_000]).toEqual([false, true, true]);
    }
  });

  it.each([
    [0, 0],
    [50, 0],
    [0, 50],
  ])('of a clock that is %d ms late keeps leases under one that is %d ms late', (fromMs, toMs) => {
    const clock = new TestClock(1_700_000_000_000);
    const late = lateBy(clock);
    const policy = concurrency({ limit: 2, lease: '1m' });
    const places = (store: MemoryStore) => limiter(policy, { store, name: 'places' });
    const store = memoryStore({ clock: late(fromMs) });
    places(store).acquire('a');
    places(store).acquire('a');
    const restored = memoryStore({ clock: late(toMs) });
    restored.restore(JSON.parse(JSON.stringify(store.snapshot())));
    expect(places(restored).acquire('a').allowed).toBe(false);
  });

  it('keeps which reservations still hold', () => {
    const clock = new TestClock(5000);
    const store = memoryStore({ clock });
    const policy = gcra({ limit: 10, window: '1h' });
    const reserve = (key: string) =>
      store.apply([{ name: 'x', key, policy, cost: 8, operation: 'reserve' }])[0]?.receipt as readonly number[];
    const [held, reset] = [reserve('held'), reserve('reset')];
    store.apply([{ name: 'x', key: 'reset', policy, cost: 0, operation: 'reset' }]);
    const restored = memoryStore({ clock });
    restored.restore(JSON.parse(JSON.stringify(store.snapshot())));
    const cancel = (key: string, receipt: readonly number[]) =>
      restored.apply([{ name: 'x', key, policy, cost: 8, actual: 0, operation: 'settle', receipt }])[0]?.remaining;
    restored.apply([{ name: 'x', key: 'reset', policy, cost: 9, operation: 'reserve' }]);
    expect([cancel('held', held), cancel('reset', reset)]).toEqual([10, 1]);
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

  it('are remembered for a while, or not: yes or no', () => {
    expect(() => memoryStore({ recentKeys: 'no' as never })).toThrow(
      'recentKeys must be one of true, false, got "no".',
    );
  });

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

describe('forgetName', () => {
  const policies: Policy[] = [
    gcra({ limit: 3, window: '1s', burst: 6 }),
    tokenBucket({ limit: 3, window: '1s' }),
    fixedWindow({ limit: 3, window: '1s' }),
    slidingWindow({ limit: 3, window: '1s' }),
    slidingLog({ limit: 3, window: '1s' }),
    slidingSlots({ limit: 3, window: '1s' }),
    concurrency({ limit: 3, lease: '1s' }),
  ];

  it.each(policies)('of $algorithm is never noticed, and succeeds once nothing counts any more', (policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const [plain, forgetful] = [memoryStore({ clock }), memoryStore({ clock })];
    const ask = (store: MemoryStore, key: string) => store.apply([{ name: 'n', key, policy, cost: 1 }]);
    let forgotten = 0;
    for (let call = 0; call < 3000; call += 1) {
      clock.advance((call * 7919) % 97 === 0 ? 5000 : (call * 104_729) % 400);
      if (forgetful.forgetName('n')) forgotten += 1;
      const key = `k${(call * 31) % 3}`;
      expect(ask(forgetful, key)).toEqual(ask(plain, key));
    }
    expect(forgotten).toBeGreaterThan(10);
    expect(forgotten).toBeLessThan(3000);
    clock.advance(60_000);
    expect([forgetful.forgetName('n'), forgetful.stats().keys, forgetful.snapshot().names]).toEqual([true, 0, []]);
  });

  it.each(policies)('of $algorithm gives nobody more when the clock steps back behind it', (policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const allowed = () => store.apply([{ name: 'n', key: 'ann', policy, cost: 1 }])[0]!.allowed;
    while (allowed());
    clock.advance(10_000);
    expect(store.forgetName('n')).toBe(true);
    clock.advance(-9_900);
    expect(allowed()).toBe(false);
  });

  it('succeeds once a block is over, and lets nobody in whom the clock steps back behind that', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const check = { name: 'n', key: 'ann', policy: loose, cost: 1 };
    store.apply([{ ...check, operation: 'block', durationMs: 5000 }]);
    clock.advance(4999);
    expect(store.forgetName('n')).toBe(false);
    clock.advance(1);
    expect(store.forgetName('n')).toBe(true);
    clock.advance(-100);
    expect(store.apply([check])[0]!.allowed).toBe(false);
  });

  it('keeps what somebody holds: a block, a reservation, a limiter of that name', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock });
    const check = { key: 'ann', policy: loose, cost: 1 };
    store.apply([{ ...check, name: 'blocked', operation: 'block', durationMs: 1e6 }]);
    store.apply([{ ...check, name: 'reserved', operation: 'reserve' }]);
    limiter(loose, { store, name: 'bound' }).check('ann');
    clock.advance(100_000);
    expect(['blocked', 'reserved', 'bound', 'unheard-of'].map((name) => store.forgetName(name))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});
