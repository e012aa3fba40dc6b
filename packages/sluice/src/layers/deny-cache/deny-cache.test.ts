import { describe, expect, expectTypeOf, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { conformance } from '../../stores/conformance/conformance.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { lateStore, remoteStore } from '../late-store.test-support.ts';
import { layered } from '../layered.ts';
import { type DenyCacheOptions, denyCache } from './deny-cache.ts';

const one = fixedWindow({ limit: 1, window: '10s', align: 'first' });
const five = gcra({ limit: 5, window: '5s' });

/** A memory store that counts its trips, behind a deny cache. */
function begin(options: DenyCacheOptions = {}) {
  const clock = new TestClock(1000);
  const inner = memoryStore({ clock });
  const trips: (readonly Check[])[] = [];
  const counting: Store<'sync'> = {
    mode: 'sync',
    clock,
    apply(checks, atMs, requestId) {
      trips.push(checks);
      return inner.apply(checks, atMs, requestId);
    },
  };
  const layer = denyCache(options);
  const store = layered(counting, layer);
  const apply = (...checks: readonly Partial<Check>[]): Decision[] =>
    store.apply(checks.map((check) => ({ name: 'test', key: 'key', policy: one, cost: 1, ...check })));
  /** How many trips it made. */
  const tripsOf = (call: () => unknown): number => {
    const before = trips.length;
    call();
    return trips.length - before;
  };
  return { clock, inner, store, layer, apply, trips, tripsOf };
}

describe('conformance, on the time of the caller', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => layered(memoryStore({ clock }), denyCache())));
});

describe('conformance of a store that answers later', () => {
  for (const { name, run } of conformance) it(name, () => run(({ clock }) => layered(remoteStore(clock), denyCache())));
});

describe('denyCache', () => {
  it('answers a refused key without the store until it could pass', () => {
    const { clock, apply, tripsOf } = begin({ atMost: '1h' });
    apply({});
    expect(tripsOf(() => apply({}))).toBe(1);
    clock.advance(9999);
    expect(tripsOf(() => expect(apply({})[0]!.allowed).toBe(false))).toBe(0);
    clock.advance(1);
    expect(tripsOf(() => expect(apply({})[0]!.allowed).toBe(true))).toBe(1);
  });

  it('counts the waits down, and says that it remembered', () => {
    const { clock, apply } = begin({ atMost: '1h' });
    apply({});
    const [told] = apply({});
    expect(told).not.toHaveProperty('remembered');
    clock.advance(2500.5);
    expect(apply({})).toEqual([{ ...told, retryAfterMs: 7500, resetAfterMs: 7500, remembered: true }]);
  });

  it('remembers for at most a second, unless told otherwise', () => {
    const { clock, apply, tripsOf } = begin();
    apply({});
    apply({});
    clock.advance(1000);
    expect(tripsOf(() => apply({}))).toBe(0);
    clock.advance(1);
    expect(tripsOf(() => apply({}))).toBe(1);
    expect(tripsOf(() => apply({}))).toBe(0);
  });

  it('does not make up the last millisecond of a wait that was rounded up', () => {
    const { clock, apply, tripsOf } = begin();
    const third = gcra({ limit: 3, window: 100, burst: 1 });
    apply({ policy: third });
    expect(apply({ policy: third })[0]!.retryAfterMs).toBe(34);
    clock.advance(33.4);
    expect(tripsOf(() => expect(apply({ policy: third })[0]!.allowed).toBe(true))).toBe(1);
  });

  it('is not sure of the last moments by a clock that is read now and then', () => {
    const clock = Object.assign(new TestClock(1000), { stalenessMs: 100 });
    const store = layered(memoryStore({ clock: new TestClock(1000) }), denyCache({ clock, atMost: '1h' }));
    const checks = [{ name: 'test', key: 'key', policy: one, cost: 1 }];
    store.apply(checks);
    store.apply(checks);
    clock.advance(9899);
    expect(store.apply(checks)[0]).toHaveProperty('remembered');
    clock.advance(1);
    expect(store.apply(checks)[0]).not.toHaveProperty('remembered');
  });

  it('forgets everything it knew from after a clock stepped back', () => {
    const { clock, apply, tripsOf } = begin();
    apply({});
    apply({});
    clock.advance(-1);
    expect(tripsOf(() => apply({}))).toBe(1);
  });

  it('serves a limiter and rules, whose types stay as they were', async () => {
    const { clock, store, tripsOf } = begin();
    const limit = limiter(one, { store, name: 'api' });
    expectTypeOf(limit.check('a')).toEqualTypeOf<Decision>();
    limit.check('a');
    limit.check('a');
    expect(tripsOf(() => limit.check('a'))).toBe(0);
    expect(tripsOf(() => limit.allow('a'))).toBe(0);
    expect(tripsOf(() => limit.check('b'))).toBe(1);
    const remote = remoteStore(clock);
    const later = rules([{ name: 'rule', key: 'user', policy: one }], { store: layered(remote, denyCache()) });
    expectTypeOf(later.check({})).toExtend<Promise<unknown>>();
    await later.check({ user: 'a' });
    await later.check({ user: 'a' });
    expect((await later.check({ user: 'a' })).allowed).toBe(false);
    // The first told the store of the policy.
    expect(remote.trips()).toBe(3);
  });

  it('says how much it remembers and how often it helped', () => {
    const { apply, layer } = begin();
    expect(layer.stats()).toEqual({ keys: 0, answered: 0 });
    for (let call = 0; call < 5; call += 1) apply({});
    expect(layer.stats()).toEqual({ keys: 1, answered: 3 });
  });

  it('wraps one store: what is true of one is not of another', () => {
    const layer = denyCache();
    layered(memoryStore(), layer);
    expect(() => layered(memoryStore(), layer)).toThrow('This denyCache() wraps a store already.');
  });

  it.each([
    [{ maxKeys: 0 }, 'maxKeys must be a whole number above 0'],
    [{ maxKeys: 1.5 }, 'maxKeys must be a whole number above 0'],
    [{ atMost: 0 }, 'atMost must be a time above 0'],
    [{ clock: {} }, 'clock must be an object with now() and sleep()'],
    [{ ttl: 1 }, 'denyCache options has no field "ttl"'],
  ])('refuses %j', (options, message) => {
    expect(() => denyCache(options as DenyCacheOptions)).toThrow(message);
  });
});

describe('what it does not know, it asks', () => {
  it.each<[string, Partial<Check>]>([
    ['a smaller cost', { cost: 4 }],
    ['a larger cost', { cost: 6 }],
    ['a cost of 0', { cost: 0 }],
    ['another key', { key: 'other' }],
    ['another name', { name: 'other' }],
    ['a raised limit', { policy: gcra({ limit: 6, window: '5s' }) }],
    ['another operation', { operation: 'reserve' }],
    ['a peek', { operation: 'peek' }],
    ['a take', { operation: 'take' }],
    ['another longest delay', { maxDelayMs: 0 }],
    ['a limiter that began at another time', { sinceMs: 5 }],
    ['a policy changed at another time', { changedMs: 5 }],
    ['a shadow check', { shadow: true }],
  ])('%s', (_, other) => {
    const { apply, tripsOf } = begin();
    const refused = { policy: five, cost: 5 };
    apply({ policy: five, cost: 3 });
    apply(refused);
    expect(tripsOf(() => apply(refused))).toBe(0);
    expect(tripsOf(() => apply({ ...refused, ...other }))).toBe(1);
  });

  it('but a policy of the same text is the same', () => {
    const { apply, tripsOf } = begin();
    apply({});
    apply({});
    expect(tripsOf(() => apply({ policy: fixedWindow({ limit: 1, window: '10s', align: 'first' }) }))).toBe(0);
  });

  it('a delay that was too long is refused for that longest delay only', () => {
    const { apply, tripsOf } = begin();
    const shaping = leakyBucket({ limit: 1, window: '1s', burst: 5 });
    apply({ policy: shaping });
    apply({ policy: shaping, maxDelayMs: 500 });
    expect(tripsOf(() => expect(apply({ policy: shaping, maxDelayMs: 500 })[0]!.allowed).toBe(false))).toBe(0);
    expect(apply({ policy: shaping, maxDelayMs: 2000 })[0]!.allowed).toBe(true);
  });

  it('a cost above the limit is refused for ever, cost by cost', () => {
    const { clock, apply, tripsOf } = begin();
    const never = Number.POSITIVE_INFINITY;
    expect(apply({ cost: 2 })[0]!.retryAfterMs).toBe(never);
    clock.advance(900);
    expect(tripsOf(() => expect(apply({ cost: 2 })[0]!.retryAfterMs).toBe(never))).toBe(0);
    expect(tripsOf(() => expect(apply({ cost: 3 })[0]!.retryAfterMs).toBe(never))).toBe(1);
    expect(apply({ cost: 1 })[0]!.allowed).toBe(true);
  });

  it('a blocked key, cost 0 too, until the block ends', () => {
    const { clock, apply, tripsOf } = begin();
    apply({ operation: 'block', durationMs: 500, cost: 0 });
    expect(apply({ cost: 0 })[0]).toMatchObject({ allowed: false, reason: 'blocked' });
    clock.advance(499);
    expect(tripsOf(() => expect(apply({ cost: 0 })[0]).toMatchObject({ reason: 'blocked', retryAfterMs: 1 }))).toBe(0);
    clock.advance(1);
    expect(apply({ cost: 0 })[0]!.allowed).toBe(true);
  });

  it('a take that found nothing was granted nothing', () => {
    const { apply, tripsOf } = begin();
    apply({});
    const [told] = apply({ operation: 'take', cost: 5 });
    expect(
      tripsOf(() => expect(apply({ operation: 'take', cost: 5 })).toEqual([{ ...told, granted: 0, remembered: true }])),
    ).toBe(0);
  });

  it('a caller on a time of its own, whose refusals it does not remember either', () => {
    const { store, apply, tripsOf } = begin();
    apply({});
    apply({});
    const check = [{ name: 'test', key: 'key', policy: one, cost: 1 }];
    expect(tripsOf(() => expect(store.apply(check, 60_000)[0]!.allowed).toBe(true))).toBe(1);
    expect(tripsOf(() => expect(store.apply(check, 60_000)[0]!.allowed).toBe(false))).toBe(1);
    expect(tripsOf(() => store.apply(check))).toBe(1);
  });

  it('a request that has an id: sent again it must get the answer it got before', () => {
    const { store, apply, tripsOf } = begin();
    apply({});
    apply({});
    const check = [{ name: 'test', key: 'key', policy: one, cost: 1 }];
    expect(tripsOf(() => store.apply(check, undefined, 'request-1'))).toBe(1);
    const other = [{ name: 'test', key: 'other', policy: one, cost: 2 }];
    store.apply(other, undefined, 'request-2');
    expect(tripsOf(() => store.apply(other))).toBe(1);
  });

  it('policies whose refusals count', () => {
    const { apply, tripsOf } = begin();
    const counting = { policy: slidingLog({ limit: 1, window: '10s', countRejected: true }) };
    apply(counting);
    for (let call = 0; call < 3; call += 1) expect(tripsOf(() => apply(counting))).toBe(1);
    expect(tripsOf(() => apply({ ...counting, operation: 'peek' }))).toBe(1);
    expect(tripsOf(() => apply({ ...counting, operation: 'peek' }))).toBe(1);
  });

  it('places in flight, which are given back elsewhere at any time', () => {
    const { apply, tripsOf } = begin();
    const leased = { policy: concurrency({ limit: 1 }), operation: 'acquire' as const };
    apply(leased);
    for (let call = 0; call < 3; call += 1) expect(tripsOf(() => apply(leased))).toBe(1);
  });

  it.each<[string, Partial<Decision>]>([
    ['a store that is full', { reason: 'store-full' }],
    ['a store in quarantine', { reason: 'quarantine' }],
    ['a store that failed', { reason: 'store-failure' }],
    ['a degraded answer', { reason: 'limit', degraded: 'local' }],
  ])('what %s said is not remembered', (_, said) => {
    const clock = new TestClock();
    let trips = 0;
    const inner = memoryStore({ clock });
    const odd: Store<'sync'> = {
      mode: 'sync',
      clock,
      apply(checks) {
        trips += 1;
        const refused = { allowed: false, retryAfterMs: 1000, ...said };
        return inner
          .apply(checks.map((check) => ({ ...check, operation: 'peek' })))
          .map((one) => ({ ...one, ...refused }));
      },
    };
    const store = layered(odd, denyCache());
    for (let call = 0; call < 3; call += 1) store.apply([{ name: 'test', key: 'key', policy: one, cost: 1 }]);
    expect(trips).toBe(3);
  });
});

describe('what goes through it and may free a key makes it forget', () => {
  it.each<[string, Partial<Check>]>([
    ['reset', { operation: 'reset', cost: 0 }],
    ['reward', { operation: 'reward' }],
    ['penalize', { operation: 'penalize' }],
    ['block', { operation: 'block', durationMs: 100, cost: 0 }],
    ['settle', { operation: 'settle', actual: 0 }],
  ])('%s', (_, change) => {
    const { apply, tripsOf } = begin();
    apply({});
    apply({});
    apply({ key: 'other', ...change });
    expect(tripsOf(() => apply({}))).toBe(0);
    apply(change);
    expect(tripsOf(() => apply({}))).toBe(1);
  });

  it('a call that was allowed: the others have less, and longer to wait', () => {
    const { apply, tripsOf } = begin();
    apply({ policy: five, cost: 3 });
    apply({ policy: five, cost: 5 });
    expect(apply({ policy: five, cost: 1 })[0]!.allowed).toBe(true);
    expect(tripsOf(() => expect(apply({ policy: five, cost: 5 })[0]!.retryAfterMs).toBe(4000))).toBe(1);
  });

  it('a call under another policy: what is left may be reckoned anew', () => {
    const { apply, tripsOf } = begin();
    const other = fixedWindow({ limit: 1, window: '20s', align: 'first' });
    apply({});
    apply({});
    expect(apply({ policy: other })[0]!.allowed).toBe(false);
    expect(tripsOf(() => apply({}))).toBe(1);
  });

  it('so does one under another policy that is in a batch', () => {
    const { apply, tripsOf } = begin();
    const roomy = { name: 'all', key: 'all', policy: five };
    apply({});
    apply(roomy, {});
    expect(tripsOf(() => apply(roomy, {}))).toBe(0);
    apply({ policy: fixedWindow({ limit: 1, window: '20s', align: 'first' }) });
    expect(tripsOf(() => apply(roomy, {}))).toBe(1);
  });

  it('but not what is done to the same key of another name', () => {
    const { apply, layer, tripsOf } = begin();
    apply({});
    apply({});
    apply({ name: 'other', operation: 'reset', cost: 0 });
    expect(tripsOf(() => apply({}))).toBe(0);
    apply({ operation: 'reset', cost: 0 });
    expect(layer.stats().keys).toBe(0);
  });

  it('and not the other refusals of a key when one is over', () => {
    const { clock, apply, tripsOf } = begin();
    const soon = fixedWindow({ limit: 1, window: 100, align: 'first' });
    apply({ name: 'soon', policy: soon });
    apply({ name: 'soon', policy: soon });
    apply({ cost: 2 });
    clock.advance(100);
    expect(tripsOf(() => apply({ name: 'soon', policy: soon }))).toBe(1);
    expect(tripsOf(() => apply({ cost: 2 }))).toBe(0);
  });

  it('a call that failed: what the store did of it is not known', () => {
    const clock = new TestClock();
    const inner = memoryStore({ clock });
    let isBroken = false;
    let trips = 0;
    const store = layered(
      {
        mode: 'sync',
        clock,
        apply(checks, atMs) {
          trips += 1;
          if (isBroken) throw new Error('broken');
          return inner.apply(checks, atMs);
        },
      } satisfies Store<'sync'>,
      denyCache(),
    );
    const check: Check = { name: 'test', key: 'key', policy: one, cost: 1 };
    store.apply([check]);
    store.apply([check]);
    isBroken = true;
    expect(() => store.apply([{ ...check, operation: 'reserve' }])).toThrow('broken');
    isBroken = false;
    store.apply([check]);
    expect(trips).toBe(4);
  });
});

describe('a batch', () => {
  const roomy = fixedWindow({ limit: 100, window: '1h', align: 'first' });
  const batch = [
    { name: 'all', key: 'all', policy: roomy },
    { name: 'user', key: 'user' },
  ];

  it('of several rules is answered with what each was told last', () => {
    const { clock, apply, tripsOf } = begin();
    apply(...batch);
    apply(...batch);
    clock.advance(400);
    apply({ name: 'all', key: 'all', policy: roomy });
    expect(
      tripsOf(() =>
        expect(apply(...batch)).toMatchObject([
          // 98 by now: that is for the store to know.
          { rule: 'all', allowed: true, remaining: 99, retryAfterMs: 0, resetAfterMs: 3_599_600, remembered: true },
          { rule: 'user', allowed: false, remaining: 0, retryAfterMs: 9600, remembered: true },
        ]),
      ),
    ).toBe(0);
  });

  it('with another key beside the one that refused is asked', () => {
    const { apply, tripsOf } = begin();
    apply(...batch);
    apply(...batch);
    const elsewhere = [{ name: 'ip', key: '1.2.3.4' }, batch[1]!];
    expect(tripsOf(() => expect(apply(...elsewhere)[0]!.allowed).toBe(true))).toBe(1);
    expect(tripsOf(() => apply(...elsewhere))).toBe(0);
    expect(tripsOf(() => apply(batch[1]!))).toBe(1);
  });

  it('holds for as long as each of its refusals', () => {
    const { clock, apply, tripsOf } = begin({ atMost: '1h' });
    const soon = { name: 'soon', key: 'user', policy: fixedWindow({ limit: 1, window: 50, align: 'first' }) };
    apply(soon, batch[1]!);
    apply(soon, batch[1]!);
    clock.advance(49);
    expect(tripsOf(() => apply(soon, batch[1]!))).toBe(0);
    clock.advance(1);
    expect(tripsOf(() => expect(apply(soon, batch[1]!)).toMatchObject([{ allowed: true }, { allowed: false }]))).toBe(
      1,
    );
  });

  it('is forgotten when any of the keys that refused is changed', () => {
    for (const changed of ['first', 'second']) {
      const { apply, tripsOf } = begin();
      const both = [
        { name: 'first', key: 'a' },
        { name: 'second', key: 'b' },
      ];
      apply(...both);
      apply(...both);
      expect(tripsOf(() => apply(...both))).toBe(0);
      apply({ ...both.find(({ name }) => name === changed), operation: 'reset', cost: 0 });
      expect(tripsOf(() => apply(...both))).toBe(1);
    }
  });

  it('that only a shadow check would refuse passes, each time', () => {
    const { apply, tripsOf } = begin();
    apply({ key: 'shadowed' });
    const shadowed = [
      { key: 'shadowed', shadow: true },
      { name: 'all', key: 'all', policy: roomy },
    ];
    for (let call = 1; call <= 3; call += 1)
      expect(
        tripsOf(() => expect(apply(...shadowed)).toMatchObject([{ shadow: true }, { remaining: 100 - call }])),
      ).toBe(1);
  });

  it('is not known longer than a shadow check of it that would refuse', () => {
    const { clock, apply, tripsOf } = begin();
    const shadow = {
      name: 'shadow',
      key: 'user',
      shadow: true,
      policy: fixedWindow({ limit: 1, window: 50, align: 'first' }),
    };
    apply(shadow, batch[1]!);
    apply(shadow, batch[1]!);
    clock.advance(49);
    expect(tripsOf(() => apply(shadow, batch[1]!))).toBe(0);
    clock.advance(1);
    expect(tripsOf(() => apply(shadow, batch[1]!))).toBe(1);
  });

  it('with the same pair twice is always asked', () => {
    const { apply, tripsOf } = begin();
    const twice = [
      { policy: five, cost: 3 },
      { policy: five, cost: 3 },
    ];
    for (let call = 0; call < 3; call += 1)
      expect(tripsOf(() => expect(apply(...twice)[1]!.allowed).toBe(false))).toBe(1);
  });

  it('of no checks is asked', () => {
    expect(begin().apply()).toEqual([]);
  });

  it('may be a list that the caller uses again', () => {
    const { store, tripsOf } = begin();
    const checks: Check[] = [{ name: 'test', key: 'a', policy: one, cost: 1 }];
    store.apply(checks);
    store.apply(checks);
    checks[0] = { ...checks[0]!, key: 'b' };
    expect(tripsOf(() => expect(store.apply(checks)[0]!.allowed).toBe(true))).toBe(1);
  });
});

describe('memory', () => {
  it('is bounded: the oldest key is forgotten first', () => {
    const { apply, layer, tripsOf } = begin({ maxKeys: 3 });
    for (const key of ['a', 'b', 'c', 'd']) {
      apply({ key });
      apply({ key });
    }
    expect(layer.stats().keys).toBe(3);
    expect(tripsOf(() => apply({ key: 'b' }))).toBe(0);
    expect(tripsOf(() => apply({ key: 'a' }))).toBe(1);
    expect(layer.stats().keys).toBe(3);
  });

  it('may be for a single key', () => {
    const { apply, layer, tripsOf } = begin({ maxKeys: 1 });
    for (const key of ['a', 'b']) apply({ key, cost: 2 });
    expect(layer.stats().keys).toBe(1);
    expect(tripsOf(() => apply({ key: 'b', cost: 2 }))).toBe(0);
  });

  it('is bounded for one key too, whatever the costs', () => {
    const { apply, tripsOf } = begin();
    for (let cost = 2; cost < 100; cost += 1) apply({ cost });
    expect(tripsOf(() => apply({ cost: 99 }))).toBe(0);
    expect(tripsOf(() => apply({ cost: 92 }))).toBe(0);
    expect(tripsOf(() => apply({ cost: 91 }))).toBe(1);
  });

  it('lets go of keys that could pass, as others come', () => {
    const { clock, apply, layer } = begin();
    for (let key = 0; key < 100; key += 1) apply({ key: `old-${key}`, cost: 2 });
    clock.advance(1001);
    for (let key = 0; key < 100; key += 1) apply({ key: `new-${key}`, cost: 2 });
    expect(layer.stats().keys).toBe(100);
  });
});

describe('answers that overtake each other', () => {
  const check: Check = { name: 'test', key: 'key', policy: one, cost: 1 };
  const reset: Check = { ...check, cost: 0, operation: 'reset' };

  async function begun() {
    const clock = new TestClock();
    const late = lateStore(clock);
    const store = layered(late, denyCache());
    const first = store.apply([check]);
    late.trips.shift()!.arrive();
    await first;
    return { clock, late, store };
  }

  /** Whether the next call is answered without a trip. */
  function isKnown(late: { trips: unknown[] }, store: Store): boolean {
    const before = late.trips.length;
    void store.apply([check]);
    return late.trips.length === before;
  }

  it('a refusal that arrives after a reset that the store carried out later is not remembered', async () => {
    const { late, store } = await begun();
    const refused = store.apply([check]);
    const undone = store.apply([reset]);
    const [question, order] = late.trips.splice(0) as [(typeof late.trips)[0], (typeof late.trips)[0]];
    question.decide();
    order.arrive();
    await undone;
    question.arrive();
    expect((await refused)[0]!.allowed).toBe(false);
    expect(isKnown(late, store)).toBe(false);
  });

  it('a refusal that the store decided before a reset under way is forgotten when that is done', async () => {
    const { late, store } = await begun();
    const undone = store.apply([reset]);
    const refused = store.apply([check]);
    const [order, question] = late.trips.splice(0) as [(typeof late.trips)[0], (typeof late.trips)[0]];
    question.arrive();
    expect((await refused)[0]!.allowed).toBe(false);
    order.arrive();
    await undone;
    expect(isKnown(late, store)).toBe(false);
  });

  it('so it is of a batch, when any of the keys that refused it was changed', async () => {
    const { late, store } = await begun();
    const other: Check = { ...check, key: 'other' };
    const taken = store.apply([other]);
    late.trips.shift()!.arrive();
    await taken;
    const refused = store.apply([check, other]);
    const undone = store.apply([{ ...other, cost: 0, operation: 'reset' }]);
    const [question, order] = late.trips.splice(0) as [(typeof late.trips)[0], (typeof late.trips)[0]];
    question.decide();
    order.arrive();
    await undone;
    question.arrive();
    expect((await refused).map(({ allowed }) => allowed)).toEqual([false, false]);
    void store.apply([check, other]);
    expect(late.trips.length).toBe(1);
  });

  it('and when the reset failed: it may have been done', async () => {
    const { late, store } = await begun();
    const undone = store.apply([reset]);
    const refused = store.apply([check]);
    const [order, question] = late.trips.splice(0) as [(typeof late.trips)[0], (typeof late.trips)[0]];
    question.arrive();
    await refused;
    order.decide();
    order.fail(new Error('lost'));
    await expect(undone).rejects.toThrow('lost');
    expect(isKnown(late, store)).toBe(false);
  });

  it('counts a wait from when the question was sent, however late the answer is', async () => {
    const { clock, late, store } = await begun();
    const refused = store.apply([check]);
    clock.advance(700);
    late.trips.shift()!.arrive();
    expect((await refused)[0]!.retryAfterMs).toBe(9300);
    clock.advance(300);
    expect(isKnown(late, store)).toBe(true);
    clock.advance(1);
    expect(isKnown(late, store)).toBe(false);
  });

  it('hands on a failure as it is', async () => {
    const { late, store } = await begun();
    const failed = store.apply([check]);
    late.trips.shift()!.fail(new Error('gone'));
    await expect(failed).rejects.toThrow('gone');
  });
});
