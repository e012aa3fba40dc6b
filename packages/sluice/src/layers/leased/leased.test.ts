import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../limit/limiter.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { layered } from '../layered.ts';
import { settled } from './borrowers.test-support.ts';
import { leased } from './leased.ts';
import { leasedStore } from './leased-store.ts';
import { type LeasedOptions, settingsOf } from './settings.ts';

const policy = slidingLog({ limit: 100, window: 1000 });

/** What the store counts under, for a lease of 200. */
const lent = slidingLog({ limit: 100, window: 1200 });

/** A leased store over memory, on one clock, with the trips in the open. Trips take no time unless they are held up. */
function begin(options: Partial<LeasedOptions> = {}) {
  const clock = new TestClock(1_000_000);
  const memory = memoryStore({ clock });
  const trips: (readonly Check[])[] = [];
  let delayMs = 0;
  let failure: Error | undefined;
  let degraded: Decision['degraded'];
  const wire: Store<'async'> = {
    mode: 'async',
    clock,
    async apply(checks, atMs, requestId) {
      trips.push(checks);
      if (failure) throw failure;
      // A store that fails open charges nothing.
      const decisions = degraded
        ? checks.map((check) => ({ ...memory.apply([{ ...check, operation: 'peek' }])[0]!, allowed: true, degraded }))
        : memory.apply(checks, atMs, requestId);
      await clock.sleep(delayMs);
      return decisions as Decision[];
    },
  };
  const store = leasedStore(wire, settingsOf({ lease: 200, clock, ...options }));
  const check = (cost = 1, extra: Partial<Check> = {}): Check => ({ name: 'rule', key: 'key', policy, cost, ...extra });
  return {
    clock,
    memory,
    store,
    trips,
    check,
    async ask(cost?: number, extra?: Partial<Check>): Promise<Decision> {
      const [decision] = await store.apply([check(cost, extra)]);
      return decision!;
    },
    /** What the store itself has left. */
    left: (of: Policy = lent, key = 'key') =>
      memory.apply([{ name: 'rule', key, policy: of, cost: 0, operation: 'peek' }])[0]!.remaining,
    slow(ms: number) {
      delayMs = ms;
    },
    degrade(mode: Decision['degraded']) {
      degraded = mode;
    },
    fail(error?: Error) {
      failure = error;
    },
  };
}

describe('a slice', () => {
  it('is borrowed in one trip, and spent with none', async () => {
    const { ask, trips, store } = begin({ minSlice: 5 });
    expect(await ask()).toMatchObject({ allowed: true, remaining: 99, limit: 100, rule: 'rule', policy, delayMs: 0 });
    expect(trips).toHaveLength(1);
    for (let i = 0; i < 4; i += 1) expect((await ask()).allowed).toBe(true);
    expect(trips).toHaveLength(1);
    expect(store.stats()).toMatchObject({ borrows: 1, decidedHere: 4, keys: 1 });
    await ask();
    expect(trips).toHaveLength(2);
  });

  it('is borrowed under a window that is longer by the lease; the decision names the policy of the caller', async () => {
    const { ask, trips } = begin();
    const decision = await ask();
    expect(trips[0]![0]!.policy).toEqual(slidingLog({ limit: 100, window: 1200 }));
    expect(decision.policy).toBe(policy);
  });

  it('grows while it runs out before its lease does, up to its share', async () => {
    const { ask, left, trips } = begin({ maxShare: 0.2 });
    const sizes: number[] = [];
    for (let i = 0; i < 60; i += 1) {
      const before = left();
      await ask();
      if (left() < before) sizes.push(before - left());
    }
    expect(sizes).toEqual([1, 2, 4, 8, 16, 20, 20]);
    expect(trips).toHaveLength(7);
  });

  it('is never more than maxSlice, and with a small limit no more than the call itself', async () => {
    const { ask, left } = begin({ maxSlice: 3 });
    for (let i = 0; i < 6; i += 1) await ask();
    expect(left()).toBe(100 - 6);
    const few = slidingLog({ limit: 5, window: 1000 });
    await ask(1, { policy: few, key: 'few' });
    await ask(1, { policy: few, key: 'few' });
    expect(left(slidingLog({ limit: 5, window: 1200 }), 'few')).toBe(3);
  });

  it('goes back when its lease is over, less what was spent, and is smaller next time', async () => {
    const { ask, left, clock, store } = begin({ minSlice: 2, maxShare: 0.5 });
    for (let i = 0; i < 3; i += 1) await ask();
    expect(left()).toBe(100 - 6);
    clock.advance(250);
    await settled();
    expect(left()).toBe(100 - 3);
    expect(store.stats()).toMatchObject({ returned: 3, lost: 0 });
    await ask();
    expect(left()).toBe(100 - 3 - 2);
  });

  it('ends a margin before its lease does, to the millisecond', async () => {
    const { ask, clock, trips } = begin({ minSlice: 10, margin: 30 });
    await ask();
    clock.set(1_000_000 + 169);
    await ask();
    expect(trips).toHaveLength(1);
    clock.set(1_000_000 + 170);
    await ask();
    expect(trips.filter(([first]) => first?.operation === 'reserve')).toHaveLength(2);
  });

  it('is not spent by whoever was stopped past its end, even before anything else runs', async () => {
    const { store, check, clock, trips } = begin({ minSlice: 10 });
    await store.apply([check()]);
    clock.set(1_000_000 + 5000);
    // In this very turn: no timer has run.
    void store.apply([check()]);
    expect(trips.filter(([first]) => first?.operation === 'reserve')).toHaveLength(2);
    await settled();
  });

  it('is void when the clock steps back: how long it was held cannot be told', async () => {
    const { ask, clock, trips } = begin({ minSlice: 10 });
    await ask();
    clock.set(999_999);
    await ask();
    expect(trips.filter(([first]) => first?.operation === 'reserve')).toHaveLength(2);
  });

  it('is void when the machine slept: the monotonic clock stood still, and the wall clock did not', async () => {
    const clock = new TestClock(0);
    const memory = memoryStore({ clock });
    let wallMs = 1_700_000_000_000;
    const store = leasedStore(memory, { ...settingsOf({ lease: 200, minSlice: 10, clock }), wallNow: () => wallMs });
    const ask = () => store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }]);
    await ask();
    await ask();
    expect(store.stats().borrows).toBe(1);
    wallMs += 60_000;
    await ask();
    expect(store.stats().borrows).toBe(2);
    // A wall clock that is set back takes nothing away and adds nothing.
    wallMs -= 3_600_000;
    await ask();
    expect(store.stats().borrows).toBe(2);
    clock.advance(180);
    await ask();
    expect(store.stats().borrows).toBe(3);
  });

  it('of a fixed window ends with the window', async () => {
    const { ask, clock, trips } = begin({ minSlice: 10, margin: 10 });
    const counter = fixedWindow({ limit: 100, window: 1000 });
    clock.set(1_000_900);
    await ask(1, { policy: counter });
    clock.set(1_000_988);
    await ask(1, { policy: counter });
    expect(trips).toHaveLength(1);
    clock.set(1_000_989);
    await ask(1, { policy: counter });
    expect(trips.filter(([first]) => first?.operation === 'reserve')).toHaveLength(2);
  });

  it('is exactly what is missing for a call larger than itself', async () => {
    const { ask, left, trips } = begin({ minSlice: 4 });
    await ask();
    expect(left()).toBe(96);
    await ask(10);
    expect(trips.at(-1)?.[0]?.cost).toBe(7);
    expect(await ask(101)).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY });
  });

  it('counts fractions of a unit without losing any', async () => {
    const { ask, left } = begin();
    for (let i = 0; i < 30; i += 1) await ask(0.1);
    expect(left()).toBeGreaterThanOrEqual(96);
    for (let i = 0; i < 2000; i += 1) await ask(0.1);
    expect((await ask(0.1)).allowed).toBe(false);
  });
});

describe('a refused borrow', () => {
  it('is remembered until it could pass, and not a millisecond longer', async () => {
    const { ask, clock, trips } = begin();
    await ask(100);
    clock.advance(1100);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 100, reason: 'limit', remaining: 0 });
    expect(trips).toHaveLength(2);
    clock.advance(99);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 1, reason: 'limit', remembered: true });
    expect(await ask(2)).toMatchObject({ allowed: false });
    expect(trips).toHaveLength(2);
    clock.advance(1);
    expect((await ask()).allowed).toBe(true);
    expect(trips).toHaveLength(3);
  });

  it('is remembered for a lease at most: what another has on loan comes back by then', async () => {
    const { ask, clock, memory, trips } = begin();
    const [loan] = memory.apply([{ name: 'rule', key: 'key', policy: lent, cost: 100, operation: 'reserve' }]);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 1200 });
    clock.advance(100);
    memory.apply([
      { name: 'rule', key: 'key', policy: lent, cost: 100, operation: 'settle', actual: 1, receipt: loan!.receipt! },
    ]);
    clock.advance(99);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 1001, remembered: true });
    clock.advance(1);
    expect((await ask()).allowed).toBe(true);
    expect(trips).toHaveLength(2);
  });

  it('says nothing about smaller calls', async () => {
    const { ask, trips } = begin();
    await ask(98);
    expect((await ask(3)).allowed).toBe(false);
    expect((await ask(3)).allowed).toBe(false);
    expect(trips).toHaveLength(2);
    expect((await ask(2)).allowed).toBe(true);
  });

  it('is forgotten when the key gets room by a call from here', async () => {
    for (const operation of ['reset', 'reward'] as const) {
      const { ask } = begin();
      await ask(100);
      expect((await ask()).allowed).toBe(false);
      await ask(operation === 'reset' ? 0 : 1, { operation });
      expect((await ask()).allowed).toBe(true);
    }
  });
});

describe('callers of one key', () => {
  it('wait for one borrow, and are served first come first served', async () => {
    const { store, check, clock, trips, slow } = begin({ maxShare: 0.5 });
    slow(10);
    const served: number[] = [];
    const calls = Array.from({ length: 20 }, (_, i) => store.apply([check()]).then(() => served.push(i)));
    expect(trips).toHaveLength(1);
    clock.advance(10);
    await settled();
    // The second trip asks for everybody who is in line.
    expect(trips).toHaveLength(2);
    clock.advance(10);
    await Promise.all(calls);
    expect(trips).toHaveLength(2);
    expect(served).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  it('are all told when the store fails, and do not ask it one by one', async () => {
    const { store, check, trips, fail } = begin();
    fail(new SluiceError('store-unavailable', 'gone'));
    const calls = Array.from({ length: 20 }, () => store.apply([check()]));
    for (const call of calls) await expect(call).rejects.toThrow('gone');
    expect(trips).toHaveLength(1);
    fail(undefined);
    expect((await store.apply([check()]))[0]?.allowed).toBe(true);
  });

  it('are turned away when too many wait', async () => {
    const { store, check, clock, slow } = begin({ maxWaiting: 2 });
    slow(10);
    const calls = Array.from({ length: 4 }, () => store.apply([check()]));
    expect((await calls[3])?.[0]).toMatchObject({ allowed: false, reason: 'too-many-waiters', retryAfterMs: 200 });
    while (clock.sleeping > 0 && clock.now() < 1_000_060) {
      clock.advance(10);
      await settled();
    }
    expect((await Promise.all(calls.slice(0, 3))).every(([decision]) => decision?.allowed)).toBe(true);
  });

  it('are refused with an error when the store is slower than the lease, and nothing is spent late', async () => {
    const { store, check, clock, slow, left } = begin({ minSlice: 5 });
    slow(200);
    const call = store.apply([check()]);
    const outcome = expect(call).rejects.toThrow(
      'The store took longer to answer than what it grants may be used (180 ms)',
    );
    for (let i = 0; i < 60; i += 1) {
      clock.advance(20);
      await settled();
    }
    await outcome;
    expect(left()).toBe(100);
  });
});

describe('a batch', () => {
  const other = gcra({ limit: 100, window: 1000 });

  it('is decided here only if every check has enough here; else what is missing comes in one trip', async () => {
    const { store, check, trips } = begin({ minSlice: 2 });
    const both = () => store.apply([check(), check(1, { name: 'other', policy: other })]);
    expect((await both()).map(({ allowed }) => allowed)).toEqual([true, true]);
    expect(trips).toHaveLength(1);
    await both();
    expect(trips).toHaveLength(1);
    await store.apply([check()]);
    expect(trips).toHaveLength(2);
    // The first has one left, the second none: only the second is asked for.
    await both();
    expect(trips).toHaveLength(3);
    expect(trips[2]!.every(({ name }) => name === 'other')).toBe(true);
  });

  it('is all or nothing: what is here stays here when another check is refused', async () => {
    const { store, check, trips } = begin({ minSlice: 2 });
    await store.apply([check()]);
    await store.apply([check(80, { name: 'other', policy: other })]);
    const decisions = await store.apply([check(), check(1, { name: 'other', policy: other })]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
    const trip = trips.length;
    // It is remembered; and what the first has is still there.
    const again = await store.apply([check(), check(1, { name: 'other', policy: other })]);
    expect(again.map(({ allowed }) => allowed)).toEqual([true, false]);
    await store.apply([check()]);
    expect(trips).toHaveLength(trip);
  });

  it('with a check that cannot be lent goes through as a whole', async () => {
    const { store, check, trips } = begin({ minSlice: 5 });
    const place = check(1, { name: 'places', policy: concurrency({ limit: 1 }), operation: 'acquire' });
    const [plain, acquired] = await store.apply([check(), place]);
    expect(plain).toMatchObject({ allowed: true, policy });
    expect(acquired?.receipt).toBeDefined();
    await store.apply([check(), check(1, { name: 'shadow', shadow: true })]);
    await store.apply([check(), check()]);
    await store.apply([check(0)]);
    expect(trips).toHaveLength(4);
    expect(
      trips
        .flat()
        .filter(({ policy: of }) => of.algorithm === 'sliding-log')
        .every(({ policy: of }) => of.window === 1200),
    ).toBe(true);
    expect(store.stats().keys).toBeLessThanOrEqual(1);
  });

  it('asks again for what ended while it asked for the rest', async () => {
    const { store, check, clock, trips, slow } = begin({ minSlice: 10 });
    const counter = { name: 'counter', policy: fixedWindow({ limit: 100, window: 1000 }) };
    clock.set(1_000_760);
    await store.apply([check()]);
    clock.set(1_000_930);
    slow(20);
    const call = store.apply([check(1, counter), check()]);
    clock.set(1_000_950);
    // The slice of the log is over; and what is kept of the counter ends with its window, less the margin, at 979.
    slow(40);
    await settled();
    clock.set(1_000_990);
    await settled();
    clock.set(1_001_030);
    expect((await call).map(({ allowed }) => allowed)).toEqual([true, true]);
    const borrows = trips.filter(([first]) => first?.operation === 'reserve');
    expect(borrows.map((checks) => checks[0]!.name)).toEqual(['rule', 'counter', 'rule', 'counter']);
  });

  it('keeps nothing that a failing store granted, not even for its own second try', async () => {
    const { store, check, clock, trips, slow, degrade } = begin({ minSlice: 10 });
    await store.apply([check()]);
    clock.set(1_000_170);
    slow(20);
    degrade('open');
    const call = store.apply([check(1, { name: 'other', policy: other }), check()]);
    degrade(undefined);
    clock.set(1_000_190);
    await settled();
    clock.set(1_000_210);
    expect((await call).map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
    const borrows = trips.filter(([first]) => first?.operation === 'reserve');
    expect(
      borrows
        .at(-1)!
        .filter(({ shadow }) => !shadow)
        .map(({ name }) => name),
    ).toEqual(['other', 'rule']);
  });

  it('does not wait for another that waits for it', async () => {
    const { store, check, clock, slow } = begin();
    slow(5);
    const a = () => check();
    const b = () => check(1, { name: 'other', policy: other });
    const calls = [store.apply([a(), b()]), store.apply([b(), a()]), store.apply([a()]), store.apply([b(), a()])];
    for (let i = 0; i < 20; i += 1) {
      clock.advance(5);
      await settled();
    }
    expect((await Promise.all(calls)).flat().every(({ allowed }) => allowed)).toBe(true);
  });
});

describe('everything else', () => {
  it.each(['peek', 'penalize', 'reward', 'block', 'take', 'reserve'] as const)(
    '%s goes through, after the slice went back',
    async (operation) => {
      const { ask, trips } = begin({ minSlice: 10 });
      await ask();
      const decision = await ask(1, { operation, ...(operation === 'block' && { durationMs: 100 }) });
      expect(trips.map((checks) => checks.at(-1)?.operation)).toEqual(['reserve', 'settle', operation]);
      expect(decision.policy).toBe(policy);
      const expected = { peek: 98, penalize: 98, reward: 100, block: 0, take: 98, reserve: 98 };
      expect(decision.remaining).toBe(expected[operation]);
    },
  );

  it('reset forgets the slice too', async () => {
    const { ask, trips, left } = begin({ minSlice: 10 });
    await ask();
    await ask(0, { operation: 'reset' });
    expect(trips.map((checks) => checks.at(-1)?.operation)).toEqual(['reserve', 'reset']);
    expect(left()).toBe(100);
    await ask();
    expect(left()).toBe(90);
  });

  it('settles what was reserved through it', async () => {
    const { store } = begin();
    const api = limiter(policy, { store, name: 'rule' });
    const reservation = await api.reserve('key', 10);
    await reservation.commit(4);
    expect((await api.peek('key')).remaining).toBe(95);
  });

  it('goes through on the caller’s own time and with a request id', async () => {
    const { store, check, trips } = begin({ minSlice: 10 });
    await store.apply([check()], 1_000_000);
    await store.apply([check()], undefined, 'request-1');
    await store.apply([check()], 1_000_000);
    expect(trips).toHaveLength(3);
    expect(trips[2]![0]!.policy.window).toBe(1200);
  });

  it('drops an answer that came too late to be used, also where it went through', async () => {
    const { store, check, clock, slow } = begin();
    slow(180);
    const outcome = expect(store.apply([check()], undefined, 'request-1')).rejects.toThrow('took longer to answer');
    clock.advance(180);
    await outcome;
    const refund = store.apply([check(1, { operation: 'reward' })]);
    clock.advance(180);
    expect((await refund)[0]?.allowed).toBe(true);
  });

  it('keeps slices of so many keys, and gives the oldest back for one more', async () => {
    const { ask, left, store } = begin({ minSlice: 10, maxKeys: 2 });
    await ask(1, { key: 'a' });
    await ask(1, { key: 'b' });
    expect(store.stats().keys).toBe(2);
    await ask(1, { key: 'c' });
    await settled();
    expect(store.stats()).toMatchObject({ keys: 2, returned: 9 });
    const wide = slidingLog({ limit: 100, window: 1200 });
    expect([left(wide, 'a'), left(wide, 'b'), left(wide, 'c')]).toEqual([99, 90, 90]);
  });

  it('borrows anew under a changed policy, and keeps the slice under one that says the same', async () => {
    const { ask, trips } = begin({ minSlice: 10 });
    await ask();
    await ask(1, { policy: slidingLog({ limit: 100, window: 1000 }) });
    expect(trips).toHaveLength(1);
    await ask(1, { policy: slidingLog({ limit: 50, window: 1000 }) });
    expect(trips.map((checks) => checks[0]?.operation)).toEqual(['reserve', 'settle', 'reserve']);
  });

  it('keeps nothing from a store that fails open, and says so', async () => {
    const { store, ask, degrade } = begin({ minSlice: 10 });
    degrade('open');
    expect(await ask()).toMatchObject({ allowed: true, degraded: 'open' });
    expect(await ask()).toMatchObject({ allowed: true, degraded: 'open' });
    expect(store.stats().borrows).toBe(2);
    degrade(undefined);
    expect((await ask()).degraded).toBeUndefined();
    expect((await ask()).degraded).toBeUndefined();
    expect(store.stats().borrows).toBe(3);
  });

  it('gives everything back on close, and goes through afterwards', async () => {
    const { ask, left, store, trips, clock, check, slow } = begin({ minSlice: 10 });
    await ask();
    slow(10);
    const late = store.apply([check(1, { key: 'late' })]);
    const closed = store.close();
    for (let i = 0; i < 5; i += 1) {
      clock.advance(10);
      await settled();
    }
    await closed;
    expect((await late)[0]?.allowed).toBe(true);
    expect(left()).toBe(99);
    expect(left(slidingLog({ limit: 100, window: 1200 }), 'late')).toBe(99);
    slow(0);
    const trip = trips.length;
    await ask();
    await ask();
    expect(trips).toHaveLength(trip + 2);
    expect(clock.sleeping).toBe(0);
  });

  it('counts what it could not give back as spent', async () => {
    const { ask, clock, fail, store } = begin({ minSlice: 10 });
    await ask();
    fail(new Error('gone'));
    clock.advance(250);
    await settled();
    expect(store.stats()).toMatchObject({ returned: 0, lost: 9 });
  });

  it('works as a layer, with a limiter over it, over a store that answers at once', async () => {
    const layer = leased({ lease: '200ms', minSlice: 3 });
    expect(layer.stats()).toMatchObject({ borrows: 0, keys: 0 });
    const store = layered(memoryStore(), layer);
    const api = limiter(gcra({ limit: 100, window: '1s' }), { store, name: 'api' });
    expect((await api.check('alice')).allowed).toBe(true);
    expect(await api.allow('alice', 5)).toBe(true);
    await expect(api.check('alice', Number.NaN)).rejects.toThrow('cost must be');
    const tight = limiter(gcra({ limit: 100, window: '1s', burst: 5 }), { store, name: 'tight' });
    await expect(tight.check('alice')).rejects.toThrow('burst must be at least 21');
    expect(layer.stats()).toMatchObject({ borrows: 2, keys: 1 });
    await layer.close();
    expect(layer.stats()).toMatchObject({ lost: 0, keys: 0 });
    expect(layer.stats().returned).toBeGreaterThan(0);
    expect(() => layer(memoryStore())).toThrow('This leased() wraps a store already');
  });
});

describe('options', () => {
  it('are checked', () => {
    expect(() => leased({} as never)).toThrow('lease must be a time above 0');
    expect(() => leased({ lease: 100, margin: 100 })).toThrow('margin must be shorter than the lease (100 ms)');
    expect(() => leased({ lease: 100, minSlice: 0 })).toThrow('minSlice must be');
    expect(() => leased({ lease: 100, minSlice: 5, maxSlice: 4 })).toThrow(
      'maxSlice must be at least minSlice (5), got 4',
    );
    expect(() => leased({ lease: 100, maxSlice: Number.POSITIVE_INFINITY })).toThrow('maxSlice must be');
    expect(() => leased({ lease: 100, maxShare: 2 })).toThrow('maxShare must be a number above 0, at most 1, got 2');
    expect(() => leased({ lease: 100, maxShare: '0.5' as never })).toThrow('maxShare must be a number');
    expect(() => leased({ lease: 100, maxKeys: 0 })).toThrow('maxKeys must be');
    expect(() => leased({ lease: 100, maxWaiting: 0 })).toThrow('maxWaiting must be');
    expect(() => leased({ lease: 100, clock: {} as never })).toThrow('clock must be');
    expect(() => leased({ lease: 100, clock: null as never })).toThrow('clock must be');
    expect(() => leased({ lease: 100, leese: 1 } as never)).toThrow('leased options has no field "leese"');
    expect(() => leased({ lease: 100 })(undefined as never)).toThrow('store must be');
  });
});
