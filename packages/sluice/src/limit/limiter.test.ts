import { describe, expect, expectTypeOf, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Store } from '../stores/store.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Decision } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { tickClock } from '../vocabulary/tick-clock.ts';
import { limiter } from './limiter.ts';
import { RateLimiter } from './rate-limiter.ts';
import { rules } from './rules.ts';

const three = fixedWindow({ limit: 3, window: '1m', align: 'first' });

/** The memory store behind promises, as a remote store would be. */
function remoteStore(clock: TestClock): Store<'async'> {
  const store = memoryStore({ clock });
  return { mode: 'async', clock, apply: async (checks, atMs) => store.apply(checks, atMs) };
}

describe('limiter', () => {
  it('answers with every field', () => {
    const limit = limiter(three, { clock: new TestClock(1000), name: 'api' });
    expect(limit.check('alice')).toEqual({
      allowed: true,
      limit: 3,
      remaining: 2,
      retryAfterMs: 0,
      resetAfterMs: 60_000,
      delayMs: 0,
      rule: 'api',
      policy: three,
    });
    expect(limit.allow('alice', 2)).toBe(true);
    expect(limit.allow('alice')).toBe(false);
    expect(limit.check('alice')).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: 60_000 });
  });

  it('takes a cost, a time, both or none', () => {
    const limit = limiter(three);
    expect(limit.check('a', { cost: 2, atMs: 0 }).remaining).toBe(1);
    expect(limit.check('a', { atMs: 0 }).remaining).toBe(0);
    expect(limit.check('a', { atMs: 60_000 }).remaining).toBe(2);
    expect(limit.check('b', 3).remaining).toBe(0);
    expect(limit.check('c', {}).remaining).toBe(2);
  });

  it('keeps keys apart, strange ones too', () => {
    const limit = limiter(three);
    for (const key of ['', ' ', '__proto__', 'constructor', 'a|b', '\u0000', '💧', 'x'.repeat(10_000)]) {
      expect(limit.check(key).remaining).toBe(2);
    }
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '1', null])('refuses a cost of %s', (cost) => {
    const limit = limiter(three);
    for (const call of [limit.check, limit.allow, limit.peek, limit.penalize, limit.reward]) {
      expect(() => call('key', { cost: cost as number })).toThrow('cost must be a finite number of 0 or more');
    }
    expect(() => limit.take('key', cost as number)).toThrow('cost must be');
    expect(() => limit.reserve('key', cost as number)).toThrow('cost must be');
    expect(limit.peek('key', 0).remaining).toBe(3);
  });

  it.each(['1', [1], true, { valueOf: () => 1 }])('refuses a cost of %s in a shared store too', (cost) => {
    const store = memoryStore();
    const limit = limiter(three, { store });
    for (const call of [limit.check, limit.allow, limit.peek, limit.penalize, limit.reward]) {
      expect(() => call('key', { cost: cost as number })).toThrow('cost must be a finite number of 0 or more');
    }
    expect(() => store.apply([{ name: 'n', key: 'key', policy: three, cost: cost as number }])).toThrow('cost must be');
    expect(store.stats().keys).toBe(0);
  });

  it('refuses a key that is no text, a time that is none, and a policy that no factory built', () => {
    const limit = limiter(three);
    expect(() => limit.check(42 as never)).toThrow('key must be a string, got 42.');
    expect(() => limit.check('key', { atMs: Number.NaN })).toThrow('atMs must be milliseconds since the epoch');
    expect(() => limiter({ ...three } as never)).toThrow(
      'For plain data (JSON, YAML, a spread copy) use parsePolicy(data).',
    );
    expect(() => limiter(undefined as never)).toThrow('policy must be built by a factory');
    expect(() => limiter(three, { maxKeys: 0 })).toThrow('maxKeys must be a number above 0, got 0.');
    expect(() => limiter(three, { maxWaiters: Number.NaN })).toThrow('maxWaiters must be a number above 0, got NaN.');
  });

  it('cost 0 asks for nothing and passes, also in debt, and leaves no key behind', () => {
    const store = memoryStore();
    const limit = limiter(three, { store });
    expect(limit.check('new', 0)).toMatchObject({ allowed: true, remaining: 3 });
    expect(store.stats().keys).toBe(0);
    limit.penalize('new', 10);
    expect(limit.check('new', 0)).toMatchObject({ allowed: true, remaining: 0 });
    limit.block('new', '1s');
    expect(limit.check('new', 0).allowed).toBe(false);
  });

  it('shares keys by name in one store, and only by name', () => {
    const store = memoryStore();
    const one = limiter(three, { store, name: 'shared' });
    const two = limiter(three, { store, name: 'shared' });
    const other = limiter(three, { store });
    const another = limiter(three, { store });
    one.check('key');
    expect(two.check('key').remaining).toBe(1);
    expect(other.check('key').remaining).toBe(2);
    expect(another.check('key').remaining).toBe(2);
  });

  it('blocks for as long as it says, and says why', () => {
    const clock = new TestClock();
    const limit = limiter(three, { clock });
    limit.block('key', '10s');
    expect(limit.check('key')).toMatchObject({
      allowed: false,
      reason: 'blocked',
      retryAfterMs: 10_000,
      remaining: 0,
      resetAfterMs: 10_000,
    });
    clock.advance(9999);
    expect(limit.allow('key')).toBe(false);
    clock.advance(1);
    expect(limit.check('key')).toMatchObject({ allowed: true, remaining: 2 });
    expect(() => limit.block('key', 0)).toThrow('duration must be a time above 0');
    // Blocked and out of quota: the longer wait of the two.
    limit.check('key', 2);
    limit.block('key', '1s');
    expect(limit.check('key').retryAfterMs).toBe(60_000);
    expect(limit.check('key', 4).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('changes its policy without forgetting what was used', () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 10, window: '10s' }), { clock });
    limit.check('key', 8);
    limit.update(gcra({ limit: 20, window: '10s' }));
    expect(limit.peek('key', 0)).toMatchObject({ limit: 20, remaining: 12 });
    limit.update(gcra({ limit: 5, window: '10s' }));
    expect(limit.peek('key', 0)).toMatchObject({ limit: 5, remaining: 0 });
    expect(limit.policy).toMatchObject({ limit: 5 });
    // @ts-expect-error A limiter keeps its algorithm.
    expect(() => limit.update(three)).toThrow('policy must be of the gcra algorithm');
  });

  it('refuses a clock that is staler than its store knows', () => {
    const stale = Object.assign(new TestClock(), { stalenessMs: 50 });
    expect(() => limiter(three, { store: memoryStore(), clock: stale })).toThrow(
      "clock must be no staler than the store's, got 50. Give the clock to the store instead.",
    );
    expect(limiter(three, { store: memoryStore({ clock: stale }), clock: stale }).allow('key')).toBe(true);
  });

  it.each([
    [
      { clok: new TestClock() },
      'limiter options has no field "clok". It takes store, clock, maxKeys, name, maxWaiters.',
    ],
    [{ maxKeys: 0.5 }, 'maxKeys must be a whole number above 0, got 0.5.'],
    [{ maxKeys: 5, store: memoryStore() }, 'maxKeys must be left out beside a store, got 5. Give it to the store.'],
  ])('refuses options that would do nothing', (options, message) => {
    expect(() => limiter(three, options as never)).toThrow(message);
  });

  it('refuses null for options, and a take of nothing said', () => {
    expect(() => limiter(three).check('key', null as never)).toThrow(
      'cost must be a finite number of 0 or more, got null.',
    );
    expect(() => limiter(three).take('key', undefined as never)).toThrow('cost must be a finite number of 0 or more');
  });

  it('reset makes a key known of which nothing was known', () => {
    const clock = new TestClock(1_000_000);
    const limit = limiter(slidingLog({ limit: 10, window: '1s' }), { clock });
    // More than few: then a newcomer makes it forget some.
    for (let i = 0; i < 2000; i += 1) limit.check(`early ${i}`);
    clock.advance(5000);
    for (const key of ['b', 'c', 'd']) limit.check(key);
    limit.update(slidingLog({ limit: 10, window: '1m' }));
    expect(limit.allow('stranger')).toBe(false);
    expect(limit.reset('stranger').remaining).toBe(10);
    expect(limit.allow('stranger', 10)).toBe(true);
  });

  it.each([
    [() => limiter(three, { store: {} as never }), 'store must be a store such as memoryStore(), got {}.'],
    [() => limiter(three, { clock: {} as never }), 'clock must be an object with now() and sleep(), got {}.'],
    [
      () => limiter(three, { clock: { ...tickClock(), recent: null as never } }),
      'clock.recent must be a function, or left out, got null.',
    ],
    [() => limiter(three, { name: 5 as never }), 'name must be a string, got 5.'],
    [() => memoryStore({ maxkeys: 1 } as never), 'memoryStore options has no field "maxkeys".'],
    [() => memoryStore(null as never), 'what memoryStore options is given must be an object'],
  ])('refuses what is no store, clock or name', (build, message) => {
    expect(build).toThrow(message);
  });

  it('tells a refused acquire of a smooth limiter from one that may go', () => {
    const pace = limiter(smooth({ limit: 1, window: '1s', maxDelay: '1s' }), { clock: new TestClock() });
    expect([1, 2, 3].map(() => pace.acquire('key'))).toEqual([0, 1000, Number.POSITIVE_INFINITY]);
    pace.block('other', '1h');
    expect(pace.acquire('other')).toBe(Number.POSITIVE_INFINITY);
  });

  it('refuses a clock that tells no time', () => {
    const broken = { now: () => Number.NaN, sleep: () => Promise.resolve() };
    expect(() => limiter(three, { clock: broken }).check('key')).toThrow(
      'the time of the clock must be milliseconds since the epoch',
    );
  });

  it('says which operation an algorithm does not have', async () => {
    const policy: Policy = concurrency({ limit: 1 });
    const places = limiter(policy);
    expect(() => places.take('key', 1)).toThrow('take() is not offered by the concurrency algorithm.');
    expect(() => places.reserve('key', 1)).toThrow('reserve() is not offered');
    expect(() => places.penalize('key')).toThrow('penalize() is not offered');
    expect(() => places.reward('key')).toThrow('reward() is not offered');
    await expect(places.wait('key')).rejects.toThrow('wait() is not offered');
  });

  it('has no type for what an algorithm does not have', async () => {
    const places = limiter(concurrency({ limit: 1 }));
    // @ts-expect-error
    expect(() => places.take('key', 1)).toThrow('take() is not offered by the concurrency algorithm.');
    // @ts-expect-error
    expect(() => places.reserve('key', 1)).toThrow();
    // @ts-expect-error
    expect(() => places.penalize('key')).toThrow();
    // @ts-expect-error
    expect(() => places.reward('key')).toThrow();
    // @ts-expect-error
    await expect(places.wait('key')).rejects.toThrow();
    // @ts-expect-error
    expect(() => limiter(smooth({ limit: 1, window: '1s' })).take('key', 1)).toThrow('take() is not offered');
    // @ts-expect-error Idle time is stored up to a burst, or warms up; not both.
    expect(() => smooth({ limit: 1, window: '1s', warmup: '1s', maxBurst: 1 })).toThrow('maxBurst must be left out');
    // @ts-expect-error
    expect(() => smooth({ limit: 1, window: '1s', coldFactor: 2 })).toThrow('coldFactor must be given together');
    // @ts-expect-error Only what factories build is a policy.
    expect(() => limiter({ algorithm: 'gcra', limit: 1, window: 1, burst: 1 })).toThrow('built by a factory');
  });

  it('works over a store that answers later, and the types say so', async () => {
    const clock = new TestClock();
    const limit = limiter(three, { store: remoteStore(clock), clock, name: 'api' });
    expectTypeOf<ReturnType<typeof limit.check>>().toEqualTypeOf<Promise<Decision>>();
    expectTypeOf(limiter(three).check('key')).toEqualTypeOf<Decision>();
    expect(await limit.check('key')).toMatchObject({ allowed: true, remaining: 2 });
    expect(await limit.allow('key', 2)).toBe(true);
    const reservation = await limit.reserve('other', 2, { onExpire: 'refund', expiresIn: '1s' });
    expect(reservation.allowed).toBe(true);
    clock.advance(1000);
    expect((await limit.peek('other', 0)).remaining).toBe(3);
    const places = limiter(concurrency({ limit: 1 }), { store: remoteStore(clock), clock, name: 'api' });
    const lease = await places.acquire('key');
    expect((await places.acquire('key')).allowed).toBe(false);
    expect(await lease.renew()).toBe(true);
    expect(await lease.release()).toBe(true);
    expect(await lease.release()).toBe(false);
    const pace = limiter(smooth({ limit: 1, window: '1s' }), { store: remoteStore(clock), clock, name: 'api' });
    expect(await pace.acquire('key')).toBe(0);
    expect(await pace.acquire('key')).toBe(1000);
  });

  it('answers later always over such a store, also when nothing is to be asked, and rejects what is wrong', async () => {
    const clock = new TestClock();
    const limit = limiter(three, { store: remoteStore(clock), clock, name: 'api' });
    const reservation = await limit.reserve('key', 2);
    for (const answer of [reservation.commit(2), reservation.cancel()]) expect(answer).toBeInstanceOf(Promise);
    await expect(limit.check(5 as unknown as string)).rejects.toThrow('key must be a string');
    await expect(limit.take('key', -1)).rejects.toThrow('cost must be');
    await expect(limit.block('key', 'x' as '1s')).rejects.toThrow('must be');
    const places = limiter(concurrency({ limit: 1 }), { store: remoteStore(clock), clock, name: 'places' });
    const lease = await places.acquire('key');
    await lease.release();
    expect(lease.release()).toBeInstanceOf(Promise);
    const guard = rules([{ name: 'all', policy: three }], { store: remoteStore(clock), clock });
    await expect(guard.check(undefined as never)).rejects.toThrow('subject must be');
  });

  it('needs a name over a store that others share', () => {
    const store = remoteStore(new TestClock());
    expect(() => limiter(three, { store })).toThrow('name must be given beside a store that others share');
  });
});

describe('a reservation', () => {
  it('refuses an option it does not have', () => {
    const limit = limiter(three);
    for (const [options, message] of [
      [{ expires: '1s' }, 'reserve options has no field "expires". It takes atMs, expiresIn, onExpire.'],
      [5, 'what reserve options is given must be an object of atMs, expiresIn, onExpire, got 5.'],
    ] as const)
      expect(() => limit.reserve('key', 1, options as never)).toThrow(message);
    expect(limit.peek('key').remaining).toBe(limit.peek('another').remaining);
  });

  const begin = () => {
    const clock = new TestClock();
    return { clock, limit: limiter(slidingLog({ limit: 10, window: '1m' }), { clock }) };
  };

  it('gives back what was not used', () => {
    const { limit } = begin();
    const reservation = limit.reserve('key', 8);
    expect(limit.peek('key', 0).remaining).toBe(2);
    expect(reservation.commit(3)).toBe(true);
    expect(limit.peek('key', 0).remaining).toBe(7);
    expect(reservation.commit(0)).toBe(false);
    expect(reservation.cancel()).toBe(false);
    expect(limit.peek('key', 0).remaining).toBe(7);
  });

  it('takes more than was reserved as debt, never as a refusal', () => {
    const { clock, limit } = begin();
    const reservation = limit.reserve('key', 8);
    clock.advance(1000);
    expect(reservation.commit(15)).toBe(true);
    expect(limit.check('key')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 59_000 });
    clock.advance(59_000);
    expect(limit.peek('key', 0).remaining).toBe(3);
  });

  it('is refused without room, and then settles nothing', () => {
    const { limit } = begin();
    const reservation = limit.reserve('key', 11);
    expect(reservation).toMatchObject({ allowed: false, decision: { retryAfterMs: Number.POSITIVE_INFINITY } });
    expect(reservation.commit(5)).toBe(false);
    expect(reservation.cancel()).toBe(false);
    expect(limit.peek('key', 0).remaining).toBe(10);
  });

  it('is spent when nobody settles it, and late surplus is still owed', () => {
    const { clock, limit } = begin();
    const reservation = limit.reserve('key', 4, { expiresIn: '10s' });
    clock.advance(10_000);
    expect(reservation.commit(1)).toBe(false);
    expect(limit.peek('key', 0).remaining).toBe(6);
    const other = limit.reserve('key', 1, { expiresIn: '1s' });
    clock.advance(1000);
    expect(other.commit(3)).toBe(false);
    expect(limit.peek('key', 0).remaining).toBe(3);
  });

  it('is refunded when so chosen, by the next call of any kind, in the order of the ends', () => {
    const { clock, limit } = begin();
    limit.reserve('slow', 4, { expiresIn: '20s', onExpire: 'refund' });
    const quick = limit.reserve('quick', 5, { expiresIn: '10s', onExpire: 'refund' });
    clock.advance(9999);
    expect(limit.check('quick', 6).allowed).toBe(false);
    clock.advance(1);
    expect(limit.check('quick', 6).allowed).toBe(true);
    expect(limit.peek('slow', 0).remaining).toBe(6);
    // What was used all the same is owed, though the reservation is gone.
    expect(quick.commit(2)).toBe(false);
    expect(limit.peek('quick', 0).remaining).toBe(2);
    clock.advance(10_000);
    expect(limit.peek('slow', 0).remaining).toBe(10);
  });

  it('to be refunded by a store that is away stays spent, and nobody else hears of it', async () => {
    const clock = new TestClock();
    const remote = remoteStore(clock);
    let isAway = false;
    const store: Store<'async'> = {
      ...remote,
      apply: (checks, atMs) =>
        isAway && checks[0]?.operation === 'settle' ? Promise.reject(new Error('away')) : remote.apply(checks, atMs),
    };
    const limit = limiter(gcra({ limit: 5, window: '1h' }), { store, name: 'calls' });
    await limit.reserve('bob', 2, { expiresIn: '1s', onExpire: 'refund' });
    await limit.reserve('bob', 3, { expiresIn: '1s', onExpire: 'refund' });
    clock.advance(1000);
    isAway = true;
    expect((await limit.check('alice')).allowed).toBe(true);
    isAway = false;
    expect((await limit.peek('bob')).allowed).toBe(false);
  });

  it('settled in time is not refunded again', () => {
    const { clock, limit } = begin();
    const reservation = limit.reserve('key', 5, { expiresIn: '10s', onExpire: 'refund' });
    expect(reservation.commit(5)).toBe(true);
    clock.advance(10_000);
    expect(limit.peek('key', 0).remaining).toBe(5);
  });

  it('cancelled after a reset gives back nothing of what others took since', () => {
    const policies = [
      slidingLog({ limit: 2, window: '1m' }),
      slidingSlots({ limit: 2, window: '1m' }),
      slidingWindow({ limit: 2, window: '1m' }),
      gcra({ limit: 2, window: '1m' }),
      fixedWindow({ limit: 2, window: '1m' }),
    ];
    for (const policy of policies) {
      const limit = limiter(policy as Policy, { clock: new TestClock() });
      const reservation = limit.reserve('key', 2);
      limit.reset('key');
      limit.check('key', 2);
      reservation.cancel();
      expect(limit.allow('key')).toBe(false);
    }
  });

  it('never gives back what has drained, in whatever order reservations are cancelled', () => {
    for (const policy of [
      gcra({ limit: 1, window: 1000, burst: 3 }),
      tokenBucket({ limit: 1, window: 1000, burst: 3 }),
      tokenBucket({ limit: 1, window: 1000, burst: 3, refill: 'interval' }),
      leakyBucket({ limit: 1, window: 1000, burst: 2, delay: 'none' }),
    ]) {
      const clock = new TestClock();
      const limit = limiter(policy as Policy, { clock });
      const [first, second] = [limit.reserve('key', 1), limit.reserve('key', 1)];
      first.cancel();
      clock.advance(1000);
      expect(limit.allow('key')).toBe(true);
      second.cancel();
      const more = [1, 2, 3].filter(() => limit.allow('key'));
      expect(more).toHaveLength(2);
    }
  });

  it('whose commit finds no room can be settled again', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock, maxKeys: 1 });
    const limit = limiter(slidingLog({ limit: 2, window: '1s' }), { store });
    const reservation = limit.reserve('key', 1, { expiresIn: '1h' });
    clock.advance(1000);
    limit.check('other');
    expect(() => reservation.commit(2)).toThrow('There is no room for key "key".');
    limit.reset('other');
    expect(reservation.commit(2)).toBe(true);
    expect(limit.peek('key', 0).remaining).toBe(1);
  });

  it("on the caller's own time is settled at that time unless told another", () => {
    const limit = limiter(slidingLog({ limit: 10, window: '1m' }));
    const reservation = limit.reserve('key', 8, { atMs: 1000 });
    expect(reservation.cancel()).toBe(true);
    expect(limit.peek('key', { cost: 0, atMs: 1000 }).remaining).toBe(10);
  });

  it('to be refunded comes in great numbers, but not without end', () => {
    const { limit } = begin();
    const many = Array.from({ length: 100_000 }, (_, i) => limit.reserve(`key-${i}`, 1, { onExpire: 'refund' }));
    expect(() => limit.reserve('one more', 1, { onExpire: 'refund' })).toThrow(
      'There are 100000 reservations to be refunded.',
    );
    expect(limit.reserve('one more', 1).allowed).toBe(true);
    for (const reservation of many) expect(reservation.commit(1)).toBe(true);
    expect(limit.reserve('one more', 1, { onExpire: 'refund' }).allowed).toBe(true);
  });

  it('of fractions leaves no dust behind when it is cancelled', () => {
    for (const policy of [
      slidingLog({ limit: 1, window: '30d' }),
      slidingSlots({ limit: 1, window: '30d' }),
      fixedWindow({ limit: 1, window: '30d' }),
    ]) {
      const limit = limiter(policy as Policy, { clock: new TestClock() });
      const reservations = [0.1, 0.2, 0.3].map((cost) => limit.reserve('key', cost));
      for (const reservation of reservations) reservation.cancel();
      expect(limit.allow('key')).toBe(true);
    }
  });

  it('refuses options that make no sense', () => {
    const { limit } = begin();
    expect(() => limit.reserve('key', 1, { expiresIn: 0 })).toThrow('expiresIn must be a time above 0');
    expect(() => limit.reserve('key', 1, { onExpire: 'forget' as never })).toThrow(
      'onExpire must be one of "spend", "refund", got "forget".',
    );
    expect(() => limit.reserve('key', 1).commit(Number.NaN)).toThrow('cost must be');
  });
});

describe('take', () => {
  it('grants as much as there is', () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 10, window: '10s' }), { clock });
    expect(limit.take('key', 4)).toMatchObject({ allowed: true, granted: 4, remaining: 6 });
    expect(limit.take('key', 100)).toMatchObject({ allowed: true, granted: 6, remaining: 0 });
    expect(limit.take('key', 100)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 1000 });
    clock.advance(1500);
    expect(limit.take('key', 0.25)).toMatchObject({ allowed: true, granted: 0.25 });
    expect(limit.take('key', 100)).toMatchObject({ allowed: true, granted: 1 });
    expect(limit.take('key', 0)).toMatchObject({ allowed: true, granted: 0 });
  });
});

describe('RateLimiter', () => {
  it('is at most so many per rolling window per key', () => {
    const limit = new RateLimiter(3, 10_000);
    const asked = [0, 1000, 2000, 3000, 11_000].map((at) => limit.allow('A', at));
    expect(asked).toEqual([true, true, true, false, true]);
    expect(limit.allow('B', 3000)).toBe(true);
  });

  it('keeps a key on its own time while others are far ahead', () => {
    const limit = new RateLimiter(1, 1000);
    expect(limit.allow('slow', 0)).toBe(true);
    for (let key = 0; key < 100; key += 1) limit.allow(`fast-${key}`, 1e9);
    expect(limit.allow('slow', 999)).toBe(false);
    expect(limit.allow('slow', 1000)).toBe(true);
  });

  it('refuses to be built from nonsense', () => {
    expect(() => new RateLimiter(0, 1000)).toThrow('maxRequests must be a number above 0, got 0.');
    expect(() => new RateLimiter(1, -5)).toThrow('windowMs must be a time above 0, got -5.');
    const allow = (atMs?: number) => new RateLimiter(1, 1000).allow('A', atMs as number);
    expect(() => allow(Number.NaN)).toThrow('timestampMs must be milliseconds since the epoch');
    // By the clock instead it would be later than every time that a replay gives, and refuse all of them.
    expect(() => allow(undefined)).toThrow('timestampMs must be milliseconds since the epoch');
  });
});
