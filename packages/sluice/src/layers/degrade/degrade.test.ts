import { describe, expect, expectTypeOf, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { conformance } from '../../stores/conformance/conformance.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { denyCache } from '../deny-cache/deny-cache.ts';
import { lateStore, remoteStore } from '../late-store.test-support.ts';
import { layered } from '../layered.ts';
import { type DegradeOptions, degrade } from './degrade.ts';

const ten = fixedWindow({ limit: 10, window: '1h', align: 'first' });

describe('conformance over a store that works', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => layered(memoryStore({ clock }), degrade())));
});

describe('conformance over a store that answers later, and works', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => layered(remoteStore(clock), degrade({ after: '1h' }))));
});

describe('conformance over a store that never works, decided here', () => {
  for (const { name, run } of conformance) {
    // What is not asked but done needs the store, except what goes by a receipt.
    if (/random life|penalize|reward|block|settled/.test(name)) continue;
    it(name, () =>
      run(({ clock }) => {
        const broken: Store<'sync'> = { mode: 'sync', clock, apply: () => raise('down') };
        return layered(broken, degrade({ to: 'local' }));
      }),
    );
  }
});

/** Everything that is ready to run has run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
}

const full = (check: Partial<Check>): Check => ({ name: 'test', key: 'key', policy: ten, cost: 1, ...check });

/** A store that throws for as long as it has an error to throw. */
function begin(options: DegradeOptions = {}) {
  const clock = new TestClock(1000);
  const inner = memoryStore({ clock });
  const world: { error?: unknown; trips: number } = { error: undefined, trips: 0 };
  const sync: Store<'sync'> = {
    mode: 'sync',
    clock,
    apply(checks, atMs, requestId) {
      world.trips += 1;
      if (world.error !== undefined) throw world.error;
      return inner.apply(checks, atMs, requestId);
    },
  };
  const layer = degrade({ ...options, breaker: { jitter: 0, ...options.breaker } });
  const store = layered(sync, layer);
  const apply = (...checks: readonly Partial<Check>[]): Decision[] => store.apply(checks.map(full));
  const left = () => inner.apply([full({ operation: 'peek', cost: 0 })])[0]!.remaining;
  return { clock, inner, world, store, layer, apply, left };
}

/** One that is down. */
function down(options: DegradeOptions = {}) {
  const begun = begin(options);
  begun.world.error = new Error('connection refused');
  return begun;
}

describe('a store that fails', () => {
  it('refuses by default, and says when it will be asked again', () => {
    const { apply } = down({ breaker: { consecutiveFailures: 2 } });
    expect(apply({})).toEqual([
      {
        allowed: false,
        limit: 10,
        remaining: 0,
        retryAfterMs: 1,
        resetAfterMs: 1,
        delayMs: 0,
        rule: 'test',
        policy: ten,
        reason: 'store-failure',
        degraded: 'closed',
      },
    ]);
    expect(apply({})[0]).toMatchObject({ retryAfterMs: 1000, resetAfterMs: 1000 });
  });

  it('open allows, promises nothing, and counts nothing', () => {
    const { world, apply, left } = down({ to: 'open' });
    expect(apply({ cost: 3 })).toEqual([
      {
        allowed: true,
        limit: 10,
        remaining: 0,
        retryAfterMs: 0,
        resetAfterMs: 0,
        delayMs: 0,
        rule: 'test',
        policy: ten,
        degraded: 'open',
      },
    ]);
    expect(apply({ operation: 'take', cost: 3 })[0]).toMatchObject({ allowed: true, granted: 3 });
    world.error = undefined;
    expect(left()).toBe(10);
  });

  it('local decides by the share of this instance', () => {
    const { apply, left, world } = down({ to: 'local', instances: 3 });
    for (let call = 0; call < 3; call += 1)
      expect(apply({})[0]).toMatchObject({ allowed: true, limit: 3, remaining: 2 - call, degraded: 'local' });
    expect(apply({})[0]).toMatchObject({ allowed: false, reason: 'limit', degraded: 'local', retryAfterMs: 3_600_000 });
    expect(apply({ operation: 'take', cost: 5, key: 'other' })[0]).toMatchObject({ granted: 3, degraded: 'local' });
    world.error = undefined;
    expect(left()).toBe(10);
  });

  it('local by one instance alone is the whole limit', () => {
    const { apply } = down({ to: 'local' });
    expect(apply({ cost: 10 })[0]).toMatchObject({ allowed: true, limit: 10, policy: ten });
  });

  it('what has no share fails closed', () => {
    const { apply } = down({ to: 'local', instances: 3 });
    const policy = concurrency({ limit: 2 });
    expect(apply({ policy, operation: 'acquire' })[0]).toMatchObject({ allowed: false, degraded: 'closed', limit: 2 });
  });

  it('a cost above the share fails closed, and one above the limit is refused for ever', () => {
    const { apply } = down({ to: 'local', instances: 3 });
    expect(apply({ cost: 4 })[0]).toMatchObject({
      allowed: false,
      reason: 'store-failure',
      degraded: 'closed',
      retryAfterMs: 1,
    });
    expect(apply({ cost: 10 })[0]).toMatchObject({ allowed: false, degraded: 'closed' });
    expect(apply({ cost: 11 })[0]).toMatchObject({
      allowed: false,
      reason: 'limit',
      degraded: 'local',
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  it('each check fails its own way', () => {
    const { apply } = down({ to: 'closed' });
    expect(apply({ onStoreFailure: 'open' })[0]).toMatchObject({ allowed: true, degraded: 'open' });
    expect(apply({ onStoreFailure: 'local' })[0]).toMatchObject({ allowed: true, degraded: 'local' });
    expect(apply({})[0]).toMatchObject({ allowed: false, degraded: 'closed' });
    expect(apply({ onStoreFailure: 'opne' as 'open' })[0]).toMatchObject({ allowed: false, degraded: 'closed' });
  });

  it('cost 0 and peek are degraded as well', () => {
    const { apply } = down();
    expect(apply({ cost: 0 })[0]).toMatchObject({ allowed: false, degraded: 'closed' });
    expect(apply({ operation: 'peek' })[0]).toMatchObject({ allowed: false, degraded: 'closed' });
    expect(apply({ operation: 'take' })[0]).toMatchObject({ allowed: false, granted: 0 });
    expect(apply({ operation: 'peek', onStoreFailure: 'local' })[0]).toMatchObject({ allowed: true, remaining: 9 });
    expect(apply({ operation: 'peek', onStoreFailure: 'local' })[0]).toMatchObject({ allowed: true, remaining: 9 });
  });

  it('goes by the time of the caller, where that is given', () => {
    const { store } = down({ to: 'local' });
    expect(store.apply([full({ cost: 10 })], 5_000_000)[0]!.allowed).toBe(true);
    expect(store.apply([full({ cost: 10 })], 8_599_999)[0]).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(store.apply([full({ cost: 10 })], 8_600_000)[0]!.allowed).toBe(true);
  });

  it('hands on the time and the id of a request', () => {
    const seen: unknown[] = [];
    const clock = new TestClock();
    const store = layered(
      {
        mode: 'sync',
        clock,
        apply(...given) {
          seen.push(given);
          return [];
        },
      } satisfies Store<'sync'>,
      degrade(),
    );
    const checks = [full({})];
    store.apply(checks, 5, 'request-1');
    expect(seen).toEqual([[checks, 5, 'request-1']]);
  });
});

describe('a batch of rules that fail in different ways', () => {
  const open = { name: 'open', onStoreFailure: 'open' as const };
  const local = { name: 'local', onStoreFailure: 'local' as const };
  const closed = { name: 'closed', onStoreFailure: 'closed' as const };

  it('is refused by one that is closed, and the local ones are not charged', () => {
    const { apply } = down();
    apply(local);
    expect(apply({ ...open, operation: 'take' }, local, closed)).toMatchObject([
      { allowed: true, degraded: 'open', granted: 0 },
      { allowed: true, degraded: 'local', remaining: 9 },
      { allowed: false, degraded: 'closed' },
    ]);
    expect(apply({ ...local, operation: 'peek', cost: 0 })[0]!.remaining).toBe(9);
  });

  it('is refused by one that is local, and no other local one is charged', () => {
    const { apply } = down();
    const other = { ...local, name: 'other' };
    apply({ ...local, cost: 10 });
    expect(apply({ ...open, operation: 'reserve' }, local)[0]).not.toHaveProperty('receipt');
    const told = apply(open, local, other, { ...open, operation: 'reserve' });
    expect(told).toMatchObject([
      { allowed: true },
      { allowed: false },
      { allowed: true, remaining: 10 },
      { allowed: true },
    ]);
    expect(told[3]).not.toHaveProperty('receipt');
    expect(apply({ ...other, operation: 'peek', cost: 0 })[0]!.remaining).toBe(10);
  });

  it('passes when the open and the local ones pass', () => {
    const { apply } = down();
    const told = apply({ ...open, operation: 'reserve' }, local);
    expect(told.every(({ allowed }) => allowed)).toBe(true);
    expect(told[0]).toHaveProperty('receipt');
    expect(apply({ ...local, operation: 'peek', cost: 0 })[0]!.remaining).toBe(9);
  });

  it('is not refused by a shadow rule, whichever way that fails', () => {
    const { apply } = down();
    apply({ ...local, cost: 10 });
    const told = apply({ ...closed, shadow: true }, { ...local, shadow: true }, open);
    expect(told).toMatchObject([
      { allowed: false, shadow: true, degraded: 'closed' },
      { allowed: false, shadow: true, degraded: 'local' },
      { allowed: true, degraded: 'open' },
    ]);
  });

  it('serves rules: the result is refused or not as a whole', () => {
    const { store } = down();
    const limits = rules(
      [
        { name: 'a', key: 'user', policy: ten, onStoreFailure: 'open' },
        { name: 'b', key: 'user', policy: ten, onStoreFailure: 'local' },
      ],
      { store },
    );
    expect(limits.check({ user: '1' })).toMatchObject({
      allowed: true,
      decisions: [{ degraded: 'open' }, { degraded: 'local' }],
    });
    expect(limits.check({ user: '1' }, { cost: 10 })).toMatchObject({ allowed: false, tightest: { rule: 'b' } });
  });
});

describe('the breaker', () => {
  it('keeps callers from a store that is down, and finds out when it is back, by one call at a time', () => {
    const { clock, world, apply, layer } = down({ breaker: { consecutiveFailures: 3 } });
    for (let call = 0; call < 10; call += 1) apply({});
    expect(world.trips).toBe(3);
    expect(layer.stats()).toMatchObject({ state: 'open', storeErrors: 3, timeouts: 0 });
    expect(layer.stats().degraded).toEqual({ closed: 10, open: 0, local: 0 });
    clock.advance(0.5);
    expect(apply({})[0]!.retryAfterMs).toBe(1000);
    clock.advance(998.5);
    expect(apply({})[0]!.retryAfterMs).toBe(1);
    expect(world.trips).toBe(3);
    clock.advance(1);
    apply({});
    expect(world.trips).toBe(4);
    expect(apply({})[0]!.retryAfterMs).toBe(2000);
    world.error = undefined;
    clock.advance(2000);
    expect(apply({})[0]).not.toHaveProperty('degraded');
    expect(layer.stats().state).toBe('closed');
  });

  it('can be opened and closed by hand', () => {
    const { world, apply, layer } = begin();
    layer.breaker.open();
    expect(apply({})[0]).toMatchObject({ allowed: false, retryAfterMs: 1000, degraded: 'closed' });
    expect(world.trips).toBe(0);
    layer.breaker.close();
    expect(apply({})[0]!.allowed).toBe(true);
  });

  it('is the one that was asked for', () => {
    const { apply, layer } = down({ breaker: { failureRatio: 0.5, minCalls: 2, openFor: '1m', openGrowth: 1 } });
    apply({});
    expect(layer.stats().state).toBe('closed');
    apply({});
    expect(apply({})[0]!.retryAfterMs).toBe(60_000);
  });
});

describe('wrong use', () => {
  it.each([
    new SluiceError('invalid-option', 'cost must be'),
    new SluiceError('unsupported-operation', 'not offered'),
    new SluiceError('store-full', 'no room'),
  ])('($code) is no failure of the store, and is rethrown', (error) => {
    const { world, apply, layer } = down({ to: 'open' });
    world.error = error;
    for (let call = 0; call < 10; call += 1) expect(() => apply({})).toThrow(error);
    expect(layer.stats()).toMatchObject({ state: 'closed', storeErrors: 0 });
  });

  it('does not heal a store that is failing', () => {
    const { world, apply, layer } = down({ breaker: { consecutiveFailures: 2 } });
    apply({});
    world.error = new SluiceError('invalid-option', 'wrong');
    expect(() => apply({})).toThrow('wrong');
    world.error = new Error('down');
    apply({});
    expect(layer.stats().state).toBe('open');
  });

  it.each(['store-unavailable', 'store-unsafe'] as const)('a store that says of itself "%s" has failed', (code) => {
    const { world, apply } = down();
    world.error = new SluiceError(code, 'no connection');
    expect(apply({})[0]).toMatchObject({ degraded: 'closed' });
  });

  it.each([[[]], [[{}]], ['OK'], [undefined], [null]])('a store that answers %j has failed', async (answer) => {
    for (const mode of ['sync', 'async'] as const) {
      const { clock } = memoryStore();
      const apply = () => (mode === 'sync' ? answer : Promise.resolve(answer)) as never;
      const store = layered({ mode, clock, apply }, degrade({ to: 'open' }));
      expect((await store.apply([full({})]))[0]).toMatchObject({ allowed: true, degraded: 'open' });
    }
  });

  it('is wrong also while the store is down', () => {
    for (const onStoreFailure of ['closed', 'open', 'local'] as const) {
      const { apply } = down({ to: onStoreFailure });
      expect(() => apply({ cost: Number.NaN })).toThrow('cost must be');
      expect(() => apply({ policy: smooth({ limit: 1, window: 1 }), operation: 'take' })).toThrow('not offered');
    }
  });
});

describe('what cannot be done by anybody else', () => {
  it.each<[string, Partial<Check>]>([
    ['reset', { operation: 'reset', cost: 0 }],
    ['block', { operation: 'block', cost: 0, durationMs: 10 }],
    ['penalize', { operation: 'penalize' }],
    ['reward', { operation: 'reward' }],
    ['settle', { operation: 'settle', actual: 0, receipt: [1, 2, 3] }],
    ['release', { operation: 'release', receipt: [1], policy: concurrency({ limit: 1 }) }],
    ['renew', { operation: 'renew', receipt: [1], policy: concurrency({ limit: 1 }) }],
  ])('%s throws store-unavailable, with the cause', (operation, check) => {
    const { world, apply, layer } = down({ to: 'open', breaker: { consecutiveFailures: 2 } });
    const error = caught(() => apply(check));
    expect(error).toMatchObject({ code: 'store-unavailable', cause: world.error });
    expect(error.message).toBe(
      `The store is not available, and ${operation} cannot be done without it. Try again in 1 ms.`,
    );
    caught(() => apply(check));
    expect(layer.stats()).toMatchObject({ state: 'open', storeErrors: 2, degraded: { open: 0 } });
    expect(caught(() => apply(check))).toMatchObject({ code: 'store-unavailable', cause: world.error });
    expect(world.trips).toBe(2);
  });

  it('nor can a batch in which only one thing is to be done', () => {
    const { apply } = down({ to: 'open' });
    expect(() => apply({}, { operation: 'reset', cost: 0 })).toThrow('reset cannot be done without it');
  });
});

describe('what was granted while the store was away', () => {
  it('locally is settled, released and renewed locally, also after it is back', () => {
    const { world, inner, apply, store } = down({ to: 'local', instances: 2 });
    const places = limiter(concurrency({ limit: 4, lease: '1m' }), { store, name: 'places' });
    const first = places.acquire('key');
    const second = places.acquire('key');
    expect(places.acquire('key').allowed).toBe(false);
    const [reserved] = apply({ operation: 'reserve', cost: 5 });
    expect(reserved).toMatchObject({ allowed: true, remaining: 0, degraded: 'local' });
    world.error = undefined;
    expect(first.renew()).toBe(true);
    expect(first.release()).toBe(true);
    expect(first.release()).toBe(false);
    expect(second.release()).toBe(true);
    // Through JSON, as over a wire.
    const receipt: Receipt = JSON.parse(JSON.stringify(reserved!.receipt));
    expect(apply({ operation: 'settle', cost: 5, actual: 1, receipt })[0]).toMatchObject({
      remaining: 4,
      degraded: 'local',
    });
    expect(inner.stats().keys).toBe(0);
  });

  it('locally is settled once, though the request was made twice', () => {
    const { store } = down({ to: 'local' });
    const limits = rules([{ name: 'tokens', policy: ten }], { store });
    const [first, second] = [1, 2].map(() => limits.reserve({}, { cost: 10, requestId: 'q' }));
    first!.commit(9);
    second!.cancel();
    expect(limits.check({}, { cost: 2 }).allowed).toBe(false);
  });

  it('openly is given back to nobody', () => {
    const { world, inner, apply, store } = down({ to: 'open' });
    const places = limiter(concurrency({ limit: 1, lease: '1m' }), { store, name: 'places' });
    const place = places.acquire('key');
    const reservation = limiter(ten, { store, name: 'tokens' }).reserve('key', 5);
    const [reserved] = apply({ operation: 'reserve', cost: 2 });
    world.error = undefined;
    expect(place.renew()).toBe(true);
    expect(place.release()).toBe(true);
    expect(reservation.commit(9)).toBe(true);
    expect(apply({ operation: 'settle', cost: 2, actual: 0, receipt: reserved!.receipt! })[0]).toMatchObject({
      allowed: true,
      degraded: 'open',
    });
    expect(inner.stats().keys).toBe(0);
  });

  it('and what the store granted goes back to the store, in one call with the others', () => {
    const { world, apply } = begin({ to: 'local' });
    const policy = concurrency({ limit: 3 });
    const [far] = apply({ policy, operation: 'acquire' });
    world.error = new Error('down');
    const [near] = apply({ policy, operation: 'acquire' });
    world.error = undefined;
    const before = world.trips;
    const told = apply(
      { policy, operation: 'release', receipt: near!.receipt! },
      { policy, operation: 'release', receipt: far!.receipt! },
      { policy, operation: 'release', receipt: near!.receipt! },
    );
    expect(told).toMatchObject([
      { allowed: true, degraded: 'local' },
      { allowed: true, remaining: 3 },
      { allowed: false },
    ]);
    expect(told[1]).not.toHaveProperty('degraded');
    expect(world.trips).toBe(before + 1);
  });

  it('can be given back in one call with a question, which is degraded', () => {
    const { apply } = down({ to: 'local' });
    const policy = concurrency({ limit: 1 });
    const [place] = apply({ policy, operation: 'acquire', name: 'places' });
    const told = apply({}, { policy, name: 'places', operation: 'release', receipt: place!.receipt! });
    expect(told).toMatchObject([
      { allowed: true, remaining: 9, degraded: 'local' },
      { allowed: true, remaining: 1, degraded: 'local' },
    ]);
  });

  it('is not taken for what another process granted', () => {
    const one = down({ to: 'local' });
    const two = begin();
    const policy = concurrency({ limit: 1 });
    const [near] = one.apply({ policy, operation: 'acquire' });
    two.apply({ policy, operation: 'acquire' });
    expect(two.apply({ policy, operation: 'release', receipt: near!.receipt! })[0]).toMatchObject({
      allowed: false,
      remaining: 0,
    });
  });
});

describe('a store that answers later', () => {
  function late(options: DegradeOptions = {}) {
    const clock = new TestClock(1000);
    const remote = lateStore(clock);
    const layer = degrade({ after: 20, ...options, breaker: { jitter: 0, ...options.breaker } });
    const store = layered(remote, layer);
    expectTypeOf(store).toEqualTypeOf<Store<'async'>>();
    const apply = (...checks: readonly Partial<Check>[]) => store.apply(checks.map(full));
    return { clock, remote, layer, store, apply };
  }

  it('a store that says nothing costs the deadline once, and is asked again after a while', async () => {
    const { clock, remote, store } = late({ to: 'open', breaker: { consecutiveFailures: 1000 } });
    const first = store.apply([full({})]);
    await settled();
    clock.advance(20);
    expect((await first)[0]).toMatchObject({ degraded: 'open' });
    for (let i = 0; i < 10; i += 1) expect((await store.apply([full({})]))[0]).toMatchObject({ degraded: 'open' });
    expect(remote.trips.length).toBe(1);
    clock.advance(1000);
    const again = store.apply([full({})]);
    await settled();
    remote.trips[1]!.arrive();
    expect((await again)[0]!.degraded).toBeUndefined();
  });

  it('that answers others is asked, though one call was never answered', async () => {
    const { clock, remote, layer, store } = late({ to: 'closed' });
    const lost = store.apply([full({})]);
    await settled();
    clock.advance(10);
    const other = store.apply([full({})]);
    remote.trips[1]!.arrive();
    expect((await other)[0]!.degraded).toBeUndefined();
    clock.advance(10);
    expect((await lost)[0]).toMatchObject({ degraded: 'closed' });
    for (let trip = 2; trip < 12; trip += 1) {
      const next = store.apply([full({ key: `${trip}` })]);
      expect(remote.trips.length).toBe(trip + 1);
      remote.trips[trip]!.arrive();
      expect((await next)[0]).toMatchObject({ allowed: true });
    }
    expect(layer.stats()).toMatchObject({ state: 'closed', storeErrors: 1, timeouts: 1 });
  });

  it('has so long, and is answered as it was', async () => {
    const { clock, remote, apply } = late();
    const call = apply({});
    clock.advance(19);
    remote.trips[0]!.arrive();
    expect((await call)[0]).toMatchObject({ allowed: true, remaining: 9 });
    expect(clock.sleeping).toBe(0);
  });

  it('is not waited for any longer', async () => {
    const { clock, apply, layer } = late();
    const call = apply({});
    await settled();
    clock.advance(20);
    expect((await call)[0]).toMatchObject({ allowed: false, degraded: 'closed', retryAfterMs: 1 });
    expect(layer.stats()).toMatchObject({ storeErrors: 1, timeouts: 1 });
  });

  it('that is down costs the deadline, and then nothing: no timers, no trips', async () => {
    const { clock, remote, apply, layer } = late({ breaker: { consecutiveFailures: 3 } });
    const calls = [apply({}), apply({}), apply({})];
    await settled();
    expect(clock.sleeping).toBe(1);
    clock.advance(20);
    await Promise.all(calls);
    for (let call = 0; call < 1000; call += 1) expect((await apply({}))[0]!.degraded).toBe('closed');
    expect(remote.trips.length).toBe(3);
    expect(clock.sleeping).toBe(0);
    expect(layer.stats()).toMatchObject({ state: 'open', timeouts: 3, storeErrors: 3 });
  });

  it('that recovers is probed by one call, while the others go on without', async () => {
    const { clock, remote, apply, layer } = late({ breaker: { consecutiveFailures: 1 } });
    const failed = apply({});
    remote.trips.pop()!.fail(new Error('down'));
    await failed;
    clock.advance(1000);
    const probe = apply({});
    const others = await Promise.all(Array.from({ length: 100 }, () => apply({})));
    expect(remote.trips.length).toBe(1);
    // Until the probe has ended, at most.
    expect(others.every(([decision]) => decision!.retryAfterMs === 40)).toBe(true);
    remote.trips[0]!.arrive();
    expect((await probe)[0]!.allowed).toBe(true);
    expect(layer.stats().state).toBe('closed');
  });

  it('whose probe is too late stays away', async () => {
    const { clock, remote, apply, layer } = late({ breaker: { consecutiveFailures: 1 } });
    const failed = apply({});
    remote.trips.pop()!.fail(new Error('down'));
    await failed;
    clock.advance(1000);
    const probe = apply({});
    await settled();
    clock.advance(20);
    expect((await probe)[0]).toMatchObject({ degraded: 'closed', retryAfterMs: 2000 });
    expect(layer.stats().state).toBe('open');
  });

  it('and granted too late has spent it: that is counted, and nothing is thrown at nobody', async () => {
    const { clock, remote, apply, layer } = late({ to: 'local' });
    const calls = [
      apply({ operation: 'reserve', cost: 3 }),
      apply({ operation: 'peek' }),
      apply({ cost: 11 }),
      apply({}),
    ];
    await settled();
    clock.advance(20);
    expect((await Promise.all(calls)).map(([decision]) => decision!.degraded)).toEqual([
      'local',
      'local',
      'local',
      'local',
    ]);
    const [reserve, peek, refused, failing] = remote.trips;
    reserve!.arrive();
    peek!.arrive();
    refused!.arrive();
    failing!.fail(new Error('after all'));
    await settled();
    expect(layer.stats()).toMatchObject({ lateGrants: 1, timeouts: 4, storeErrors: 4 });
    layer.breaker.close();
    const now = apply({ operation: 'peek', cost: 0 });
    remote.trips.at(-1)!.arrive();
    expect((await now)[0]!.remaining).toBe(7);
  });

  it.each<[string, number, Partial<Check>[]]>([
    ['that takes', 1, [{ operation: 'peek' }, { name: 'other' }]],
    ['that was refused', 0, [{}, { name: 'other', cost: 11 }]],
    ['that a shadow rule would have refused', 1, [{}, { name: 'other', cost: 11, shadow: true }]],
    ['that asks for nothing', 0, [{ cost: 0 }]],
    ['that only looks', 0, [{ operation: 'peek' }]],
  ])('a late batch %s counts %d times as spent', async (_, lateGrants, batch) => {
    const { clock, remote, apply, layer } = late();
    const call = apply(...batch);
    await settled();
    clock.advance(20);
    await call;
    remote.trips[0]!.arrive();
    await settled();
    expect(layer.stats().lateGrants).toBe(lateGrants);
  });

  it('rejects with wrong use, and with store-unavailable for what cannot be done', async () => {
    const { remote, apply } = late({ breaker: { consecutiveFailures: 1 } });
    const wrong = apply({});
    remote.trips[0]!.fail(new SluiceError('unsupported-operation', 'not offered'));
    await expect(wrong).rejects.toThrow('not offered');
    const reset = apply({ operation: 'reset', cost: 0 });
    remote.trips[1]!.fail(new Error('down'));
    await expect(reset).rejects.toMatchObject({ code: 'store-unavailable', cause: { message: 'down' } });
    // The breaker is open now: also without a trip it is a rejection, and not thrown.
    await expect(apply({ operation: 'reset', cost: 0 })).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(apply({ cost: -1 })).rejects.toThrow('cost must be');
  });

  it('that throws at once is degraded like any other', async () => {
    const clock = new TestClock();
    const store = layered(
      { mode: 'async', clock, apply: () => raise('not connected') } satisfies Store<'async'>,
      degrade({ to: 'open' }),
    );
    expect((await store.apply([full({})]))[0]!.degraded).toBe('open');
  });

  it('serves wait(): refused for a failure it asks again, and is let through by the store that is back', async () => {
    const { clock, remote, store } = late();
    const waiting = limiter(gcra({ limit: 1, window: '1s' }), { store, name: 'api' }).wait('key');
    await settled();
    remote.trips[0]!.fail(new Error('down'));
    await settled();
    clock.advance(1);
    await settled();
    remote.trips[1]!.arrive();
    expect(await waiting).toMatchObject({ allowed: true });
  });

  it('stands in front of a deny cache, which does not remember what is degraded', async () => {
    const clock = new TestClock();
    const remote = remoteStore(clock);
    const cache = denyCache();
    const layer = degrade();
    const store = layered(remote, layer, cache);
    layer.breaker.open();
    expect((await store.apply([full({})]))[0]!.degraded).toBe('closed');
    layer.breaker.close();
    expect((await store.apply([full({})]))[0]!.allowed).toBe(true);
    expect(cache.stats()).toEqual({ keys: 0, answered: 0 });
  });
});

describe('degrade', () => {
  it('tells of failures', () => {
    const { world, apply, layer } = down();
    const told: unknown[] = [];
    const leave = layer.on('failure', ({ error }) => told.push(error));
    apply({});
    leave();
    apply({});
    expect(told).toEqual([world.error]);
    expect(() => layer.on('error' as 'failure', () => {})).toThrow('event must be one of failure');
  });

  it('counts nothing while all is well', () => {
    const { apply, layer } = begin();
    apply({});
    expect(layer.stats()).toEqual({
      state: 'closed',
      storeErrors: 0,
      timeouts: 0,
      degraded: { closed: 0, open: 0, local: 0 },
      lateGrants: 0,
    });
  });

  it('wraps one store, whose breaker it then has', () => {
    const layer = degrade();
    expect(() => layer.breaker).toThrow('degrade() wraps no store yet');
    expect(layer.stats().state).toBe('closed');
    layered(memoryStore(), layer);
    expect(layer.breaker.state).toBe('closed');
    expect(() => layered(memoryStore(), layer)).toThrow('This degrade() wraps a store already.');
  });

  it('keeps no more keys than it may', () => {
    const { apply } = down({ to: 'local', maxKeys: 1 });
    const policy = concurrency({ limit: 5 });
    expect(apply({ policy, operation: 'acquire', key: 'a' })[0]!.allowed).toBe(true);
    expect(apply({ policy, operation: 'acquire', key: 'b' })[0]).toMatchObject({
      allowed: false,
      reason: 'store-full',
    });
  });

  it.each([
    [{ after: 0 }, 'after must be a time above 0'],
    [{ to: 'half' }, 'to must be one of "closed", "open", "local"'],
    [{ instances: 0 }, 'instances must be a whole number above 0'],
    [{ instances: 1.5 }, 'instances must be a whole number above 0'],
    [{ maxKeys: -1 }, 'maxKeys must be'],
    [{ clock: {} }, 'clock must be'],
    [{ breaker: { probes: 0 } }, 'probes must be'],
    [{ breaker: { isFailure: () => true } }, 'breaker.isFailure must be left out'],
    [{ breaker: null }, 'breaker must be an object of options of circuitBreaker()'],
    [{ timeout: 5 }, 'degrade options has no field "timeout"'],
  ])('refuses %j', (options, message) => {
    expect(() => degrade(options as unknown as DegradeOptions)).toThrow(message);
  });
});

function raise(message: string): never {
  throw new Error(message);
}

function caught(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  return raise('It did not throw.');
}

it('a repeated request is counted once by the local share too', () => {
  const { store } = down({ to: 'local' });
  const policy = fixedWindow({ limit: 2, window: '1h' });
  const once = () => store.apply([full({ policy, key: 'again' })], undefined, 'one')[0]!.remaining;
  expect([once(), once()]).toEqual([1, 1]);
});
