import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { conformance } from '../../stores/conformance/conformance.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { lateStore, remoteStore } from '../late-store.test-support.ts';
import { layered } from '../layered.ts';
import { type PreLimitOptions, preLimit } from './pre-limit.ts';

const neverMet = fixedWindow({ limit: 2 ** 40, window: '1h' });
const ten = fixedWindow({ limit: 10, window: '1h', align: 'first' });
const three = fixedWindow({ limit: 3, window: '1s', align: 'first' });

describe('conformance, with a limit that is never met', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => layered(memoryStore({ clock }), preLimit({ policy: neverMet }))));
});

describe('conformance over a store that answers later', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => layered(remoteStore(clock), preLimit({ policy: neverMet }))));
});

/** A store of ten behind a local limit of three a second. */
function begin(options: PreLimitOptions = { policy: three }) {
  const clock = new TestClock(1000);
  const inner = memoryStore({ clock });
  const local = memoryStore({ clock });
  const sent: (readonly Check[])[] = [];
  const remote: Store<'sync'> = {
    mode: 'sync',
    clock,
    apply(checks, atMs, requestId) {
      sent.push(checks);
      return inner.apply(checks, atMs, requestId);
    },
  };
  const layer = preLimit({ store: local, ...options });
  const store = layered(remote, layer);
  const full = (check: Partial<Check>): Check => ({ name: 'test', key: 'key', policy: ten, cost: 1, ...check });
  const apply = (...checks: readonly Partial<Check>[]): Decision[] => store.apply(checks.map(full));
  const left = (check: Partial<Check> = {}) => ({
    here: local.apply([full({ policy: three, operation: 'peek', cost: 0, ...check })])[0]!.remaining,
    there: inner.apply([full({ operation: 'peek', cost: 0, ...check })])[0]!.remaining,
  });
  return { clock, inner, local, store, layer, apply, sent, left };
}

describe('preLimit', () => {
  it('refuses the obvious without a trip, by the local limit', () => {
    const { clock, apply, sent, left, layer } = begin();
    for (let call = 0; call < 3; call += 1) expect(apply({})[0]!.allowed).toBe(true);
    expect(apply({})).toEqual([
      {
        allowed: false,
        limit: 3,
        remaining: 0,
        retryAfterMs: 1000,
        resetAfterMs: 1000,
        delayMs: 0,
        rule: 'test',
        policy: three,
        reason: 'limit',
      },
    ]);
    expect(sent.length).toBe(3);
    expect(left()).toEqual({ here: 0, there: 7 });
    expect(layer.stats()).toEqual({ refused: 1, givenBack: 0 });
    clock.advance(1000);
    expect(apply({})[0]).toMatchObject({ allowed: true, limit: 10 });
  });

  it('gives back what it took when the store refuses', () => {
    const { apply, inner, left, layer } = begin();
    inner.apply([{ name: 'test', key: 'key', policy: ten, cost: 9 }]);
    expect(apply({ cost: 2 })[0]).toMatchObject({ allowed: false, policy: ten });
    expect(left()).toEqual({ here: 3, there: 1 });
    expect(layer.stats()).toEqual({ refused: 0, givenBack: 1 });
    expect(apply({})[0]!.allowed).toBe(true);
    expect(left()).toEqual({ here: 2, there: 0 });
  });

  it('gives back all of a batch when the store refuses one check of it', () => {
    const { apply, inner, left } = begin();
    inner.apply([{ name: 'second', key: 'key', policy: ten, cost: 10 }]);
    expect(apply({}, { name: 'second' })).toMatchObject([{ allowed: true, remaining: 10 }, { allowed: false }]);
    expect(left()).toEqual({ here: 3, there: 10 });
    expect(left({ name: 'second' })).toEqual({ here: 3, there: 0 });
  });

  it('keeps what it took when only a shadow check would have been refused', () => {
    const { apply, inner, left } = begin();
    inner.apply([{ name: 'second', key: 'key', policy: ten, cost: 10 }]);
    apply({}, { name: 'second', shadow: true });
    expect(left()).toEqual({ here: 2, there: 9 });
  });

  it('says what would pass both', () => {
    const { apply } = begin();
    expect(apply({ cost: 2 })[0]!.remaining).toBe(1);
    expect(begin({ policy: neverMet }).apply({ cost: 2 })[0]!.remaining).toBe(8);
  });

  it('has limits by name, a limit for all other names, or none for them', () => {
    const byName = begin({ policies: { test: three } });
    expect(byName.apply({ cost: 4 })[0]!.allowed).toBe(false);
    expect(byName.apply({ name: 'other', cost: 4 })[0]!.allowed).toBe(true);
    const both = begin({ policies: { test: neverMet }, policy: three });
    expect(both.apply({ cost: 4 })[0]!.allowed).toBe(true);
    expect(both.apply({ name: 'other', cost: 4 })[0]!.allowed).toBe(false);
    expect(both.apply({ name: 'toString', cost: 4 })[0]!.allowed).toBe(false);
  });

  it('a batch is refused whole, and whoever was not asked promises nothing', () => {
    const { apply, sent, left } = begin({ policies: { test: three, second: three } });
    apply({ cost: 3 });
    const told = apply(
      {},
      { name: 'second' },
      { name: 'global', key: 'all' },
      { name: 'shadow', shadow: true, operation: 'take' },
    );
    expect(sent.length).toBe(1);
    expect(told).toMatchObject([
      { allowed: false, remaining: 0, retryAfterMs: 1000 },
      { allowed: true, limit: 3, remaining: 3, retryAfterMs: 0 },
      { allowed: true, limit: 10, remaining: 0, retryAfterMs: 0, rule: 'global', policy: ten },
      { allowed: true, shadow: true, granted: 0 },
    ]);
    expect(left({ name: 'second' })).toEqual({ here: 3, there: 10 });
  });

  it('does not hold a shadow check to the local limit', () => {
    const { apply } = begin();
    expect(apply({ cost: 5, shadow: true })[0]!.allowed).toBe(true);
    expect(apply({ cost: 3 })[0]!.allowed).toBe(true);
  });

  it('peek answers what check would, and takes nothing', () => {
    const { apply, left } = begin();
    expect(apply({ operation: 'peek', cost: 4 })[0]!.allowed).toBe(false);
    expect(apply({ operation: 'peek', cost: 3 })[0]).toMatchObject({ allowed: true, remaining: 0 });
    expect(left()).toEqual({ here: 3, there: 10 });
  });

  it('take grants what both have', () => {
    const { apply, inner, left } = begin();
    expect(apply({ operation: 'take', cost: 5 })[0]).toMatchObject({ allowed: true, granted: 3 });
    expect(left()).toEqual({ here: 0, there: 7 });
    const other = begin();
    other.inner.apply([{ name: 'test', key: 'key', policy: ten, cost: 9 }]);
    expect(other.apply({ operation: 'take', cost: 5 })[0]).toMatchObject({ allowed: true, granted: 1 });
    expect(other.left()).toEqual({ here: 2, there: 0 });
    expect(other.apply({ operation: 'take', cost: 5 })[0]).toMatchObject({ allowed: false, granted: 0 });
    expect(other.left()).toEqual({ here: 2, there: 0 });
    expect(apply({ operation: 'take', cost: 5 })[0]).toMatchObject({ allowed: false, granted: 0 });
    expect(inner.apply([{ name: 'test', key: 'key', policy: ten, cost: 7 }])[0]!.allowed).toBe(true);
  });

  it('a reservation is settled in both', () => {
    const { apply, left } = begin();
    const [reserved] = apply({ operation: 'reserve', cost: 3 });
    expect(left()).toEqual({ here: 0, there: 7 });
    apply({ operation: 'settle', cost: 3, actual: 1, receipt: reserved!.receipt! });
    expect(left()).toEqual({ here: 2, there: 9 });
    // Its own numbers, but not the receipt that was given out: nothing is known of it here, and nothing given back.
    const [again] = apply({ operation: 'reserve', cost: 2 });
    const copy: Receipt = [...again!.receipt!];
    apply({ operation: 'settle', cost: 2, actual: 0, receipt: copy });
    expect(left()).toEqual({ here: 0, there: 9 });
  });

  it('what frees a key in the store frees it here', () => {
    const { apply, left } = begin();
    apply({ cost: 3 });
    apply({ operation: 'reward', cost: 1 });
    expect(left()).toEqual({ here: 1, there: 8 });
    apply({ operation: 'reset', cost: 0 });
    expect(left()).toEqual({ here: 3, there: 10 });
    apply({ operation: 'penalize', cost: 2 });
    apply({ operation: 'block', cost: 0, durationMs: 100 });
    expect(left()).toMatchObject({ here: 3 });
  });

  it('never makes a call wait: that is for the store to say', () => {
    const { apply, sent } = begin({ policy: leakyBucket({ limit: 1, window: '1s', burst: 5 }) });
    expect(apply({})[0]).toMatchObject({ allowed: true, delayMs: 0 });
    expect(apply({})[0]).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 1000 });
    expect(sent.length).toBe(1);
  });

  it('does not refuse because there is no room for a key here', () => {
    const clock = new TestClock();
    const policy = slidingLog({ limit: 3, window: '1h' });
    const store = layered(memoryStore({ clock }), preLimit({ policy, store: memoryStore({ clock, maxKeys: 1 }) }));
    const limit = limiter(ten, { store });
    limit.check('first');
    for (let call = 0; call < 10; call += 1) expect(limit.check('second').allowed).toBe(true);
  });

  it('decides by the time of the caller, where that is given', () => {
    const { store } = begin();
    const check: Check = { name: 'test', key: 'key', policy: ten, cost: 3 };
    expect(store.apply([check], 5000)[0]!.allowed).toBe(true);
    expect(store.apply([check], 5999)[0]!.allowed).toBe(false);
    expect(store.apply([check], 6000)[0]!.allowed).toBe(true);
  });

  it('keeps what failed, and gives back what could not be called', () => {
    const { clock, inner, local } = begin();
    let error: unknown;
    const store = layered(
      {
        mode: 'sync',
        clock,
        apply(checks, atMs) {
          if (error) throw error;
          return inner.apply(checks, atMs);
        },
      } satisfies Store<'sync'>,
      preLimit({ policy: three, store: local }),
    );
    const check: Check = { name: 'test', key: 'key', policy: ten, cost: 1 };
    const here = () => local.apply([{ ...check, policy: three, operation: 'peek', cost: 0 }])[0]!.remaining;
    error = new SluiceError('unsupported-operation', 'not offered');
    expect(() => store.apply([check])).toThrow('not offered');
    expect(here()).toBe(3);
    error = new SluiceError('store-unavailable', 'no answer');
    expect(() => store.apply([check])).toThrow('no answer');
    expect(here()).toBe(2);
    error = new Error('connection lost');
    expect(() => store.apply([check])).toThrow('connection lost');
    expect(here()).toBe(1);
  });

  it('counts a request that is sent again once', async () => {
    const clock = new TestClock();
    const late = lateStore(clock);
    const store = layered(late, preLimit({ policy: three }));
    const check: Check = { name: 'test', key: 'key', policy: ten, cost: 3 };
    const first = store.apply([check], undefined, 'request-1');
    late.trips.shift()!.fail(new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    const again = store.apply([check], undefined, 'request-1');
    expect(late.trips[0]).toMatchObject({ requestId: 'request-1', atMs: undefined });
    late.trips.shift()!.arrive();
    expect((await again)[0]!.allowed).toBe(true);
    expect((await store.apply([check], undefined, 'request-2'))[0]!.allowed).toBe(false);
    expect(late.trips).toEqual([]);
  });

  it('over a store that answers later takes at once, so that a flood does not slip through meanwhile', async () => {
    const clock = new TestClock();
    const late = lateStore(clock);
    const store = layered(late, preLimit({ policy: three }));
    expectTypeOf(store).toEqualTypeOf<Store<'async'>>();
    const check: Check = { name: 'test', key: 'key', policy: ten, cost: 1 };
    const calls = Array.from({ length: 5 }, () => store.apply([check]));
    expect(late.trips.length).toBe(3);
    for (const trip of late.trips) trip.arrive();
    expect((await Promise.all(calls)).map(([decision]) => decision!.allowed)).toEqual([true, true, true, false, false]);
  });

  it.each([
    [{}, 'policy must be given, unless there are policies by name'],
    [{ policies: {} }, 'policy must be given'],
    [{ policies: null }, 'policies must be an object of policies by name'],
    [{ policies: [three] }, 'policies must be an object of policies by name'],
    [{ policy: { algorithm: 'gcra', limit: 1, window: 1 } }, 'policy must be built by a factory'],
    [
      { policy: concurrency({ limit: 1 }) },
      'policy must be of an algorithm that can take a part and give it back, got "concurrency"',
    ],
    [{ policies: { a: smooth({ limit: 1, window: '1s' }) } }, 'got "smooth"'],
    [{ policy: three, store: {} }, 'store must be a store such as memoryStore()'],
    [{ policy: three, store: remoteStore(new TestClock()) }, 'store must be one that answers at once'],
    [{ policy: three, clock: 5 }, 'clock must be'],
    [{ policy: three, limit: 5 }, 'preLimit options has no field "limit"'],
  ])('refuses %j', (options, message) => {
    expect(() => preLimit(options as unknown as PreLimitOptions)).toThrow(message);
  });

  it('wraps one store', () => {
    const layer = preLimit({ policy: three });
    layered(memoryStore(), layer);
    expect(() => layered(memoryStore(), layer)).toThrow('This preLimit() wraps a store already.');
  });
});

describe('both limits together', () => {
  const rate = fc.record({ limit: fc.integer({ min: 1, max: 6 }), window: fc.integer({ min: 50, max: 2000 }) });
  const policies = fc.oneof(
    rate.map(gcra),
    rate.map(tokenBucket),
    rate.map(fixedWindow),
    rate.map(slidingLog),
    rate.map(slidingSlots),
  );
  const calls = fc.array(
    fc.record({
      gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 })),
      cost: fc.integer({ min: 0, max: 4 }),
      operation: fc.constantFrom('check' as const, 'check' as const, 'peek' as const, 'reserve' as const),
    }),
    { maxLength: 60 },
  );

  it('allow what each of them alone would, and charge neither for the rest', () => {
    fc.assert(
      fc.property(policies, policies, calls, (here, there, life) => {
        const clock = new TestClock(1_700_000_000_000);
        const store = layered(memoryStore({ clock }), preLimit({ policy: here }));
        const [local, remote] = [memoryStore({ clock }), memoryStore({ clock })];
        for (const { gapMs, cost, operation } of life) {
          clock.advance(gapMs);
          const check = { name: 'test', key: 'key', cost, operation };
          const [own] = local.apply([{ ...check, policy: here, operation: 'peek' }]);
          const [far] = remote.apply([{ ...check, policy: there, operation: 'peek' }]);
          const [decision] = store.apply([{ ...check, policy: there }]);
          expect(decision!.allowed).toBe(own!.allowed && far!.allowed);
          if (decision!.allowed) expect(decision!.remaining).toBe(Math.min(own!.remaining, far!.remaining));
          else expect(decision!.retryAfterMs).toBe(own!.allowed ? far!.retryAfterMs : own!.retryAfterMs);
          if (!decision!.allowed || operation === 'peek') continue;
          local.apply([{ ...check, policy: here }]);
          remote.apply([{ ...check, policy: there }]);
        }
      }),
      { numRuns: 500 },
    );
  });
});

it('takes a request id for the same request only where all of it is the same', () => {
  const local = gcra({ limit: 2, window: '1h' });
  const store = layered(memoryStore(), preLimit({ policy: local }));
  const ask = (key: string) =>
    store.apply([{ name: 'api', key, policy: gcra({ limit: 100, window: '1h' }), cost: 2 }], undefined, 'one')[0]
      ?.allowed;
  expect([ask('a'), ask('a'), ask('b')]).toEqual([true, true, true]);
  const [third] = store.apply(
    [{ name: 'api', key: 'a', policy: gcra({ limit: 100, window: '1h' }), cost: 1 }],
    undefined,
    'one',
  );
  expect(third?.allowed).toBe(false);
});

it('takes no more for a request that is sent again', () => {
  const inner = memoryStore();
  const store = layered(inner, preLimit({ policy: gcra({ limit: 3, window: '1h' }) }));
  const policy = gcra({ limit: 100, window: '1h' });
  const taking = { name: 'api', key: 'a', policy, cost: 10 };
  const take = () => store.apply([{ ...taking, operation: 'take' }], undefined, 'one')[0]?.granted;
  expect([take(), take()]).toEqual([3, 3]);
  expect(inner.apply([{ ...taking, operation: 'peek', cost: 0 }])[0]?.remaining).toBe(97);
});
