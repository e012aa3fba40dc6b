import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { audit } from '../../testing/auditor/auditor.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { layered } from '../layered.ts';
import { approximate } from './approximate.ts';
import type { Exchange, UsageMessage } from './exchange.ts';
import { fleet, type Instance, settled } from './instances.test-support.ts';
import { memoryExchange } from './memory-exchange.ts';

const policy = slidingLog({ limit: 30, window: 1000 });

/** The most that one instance used in any time of this length. */
function mostWithin(uses: readonly Grant[], ms: number): number {
  return audit(uses, slidingLog({ limit: 1, window: ms })).worst?.used ?? 0;
}

/** An exchange with nobody else on it, and what was posted there. */
function kept() {
  const messages: UsageMessage[] = [];
  const exchange: Exchange = {
    async exchange(message) {
      messages.push(message);
      return { messages: [], cursor: '', hasGap: false };
    },
  };
  return { exchange, messages };
}

/** No more beyond the promise than all but one can have used while they were not heard; and none of them is lost. */
function expectErrorWithin(instances: ReturnType<typeof fleet>['instances'], each: Policy, unheardMs: number): void {
  const most = instances.map(({ uses }) => mostWithin(uses, unheardMs)).sort((a, b) => b - a);
  const bound = most.slice(0, -1).reduce((sum, used) => sum + used, 0);
  const { worst } = audit(
    instances.flatMap(({ uses }) => uses),
    each,
  );
  expect(worst!.used - worst!.limit).toBeLessThanOrEqual(bound);
  for (const { layer } of instances)
    expect(layer.stats()).toMatchObject({ isLost: false, instances: instances.length });
}

describe('the error', () => {
  const policies: Policy[] = [
    policy,
    slidingSlots({ limit: 30, window: 1000, slots: 20 }),
    gcra({ limit: 60, window: 1000, burst: 20 }),
    tokenBucket({ limit: 60, window: 1000 }),
  ];

  it.each(policies)('of %o is at most what the others admit while they are not heard', async (each) => {
    const lives = fc.record({
      seed: fc.nat(),
      count: fc.integer({ min: 2, max: 5 }),
      mostDelayMs: fc.constantFrom(0, 20),
    });
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, count, mostDelayMs }) => {
        const { clock, random, instances, call } = fleet(count, seed, { wire: { mostDelayMs } });
        for (let step = 0; step < 600; step += 1) {
          clock.advance(5);
          // Bursts at some instances, silence at others.
          for (const instance of instances) {
            for (let calls = Math.floor(random() ** 4 * 8); calls > 0; calls -= 1) call(instance, each);
          }
          await settled();
        }
        // Told with the next exchange, heard with the one after; each begins an interval after the last was over. The steps of
        // this test make everything up to one step later.
        const stepMs = 5;
        const tripMs = 2 * mostDelayMs + stepMs;
        const unheardMs = 2 * (100 + stepMs) + 3 * tripMs;
        expectErrorWithin(instances, each, unheardMs);
      }),
      { numRuns: 12 },
    );
  });

  // Long windows and small costs: what is not heard of for so short a time is little of the limit.
  const rate = { limit: 60, window: 5000 };
  const settledPolicies: Policy[] = [
    slidingLog(rate),
    slidingSlots({ ...rate, slots: 20 }),
    fixedWindow(rate),
    fixedWindow({ ...rate, align: 'first' }),
    slidingWindow(rate),
    gcra(rate),
  ];

  it.each(settledPolicies)('of %o is no more when reservations are settled, early or late', async (each) => {
    const lives = fc.record({ seed: fc.nat(), count: fc.integer({ min: 2, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, count }) => {
        const stepMs = 20;
        const { clock, random, instances, call, reserve } = fleet(count, seed, { wire: { mostDelayMs: 0 } });
        const open: { readonly endMs: number; readonly settle: () => void }[] = [];
        let busy = 0;
        let reserves = false;
        for (let step = 0; step < 1000; step += 1) {
          clock.advance(stepMs);
          for (const ended of open.filter(({ endMs }) => endMs === clock.now())) ended.settle();
          // One has all the traffic for a while. Who comes next has heard, or has not, what it used.
          if (step % 50 === 0) {
            busy = Math.floor(random() * count);
            reserves = random() < 0.5;
          }
          const settle = reserves ? reserve(instances[busy]!, each, 1) : undefined;
          const actual = random() < 0.9 ? 0 : 1;
          const endMs = clock.now() + stepMs * Math.floor(1 + random() * 300);
          if (settle) open.push({ endMs, settle: () => settle(actual) });
          // The others ask too: an exchange sleeps where nobody does.
          for (const [i, instance] of instances.entries()) call(instance, each, 'key', i === busy && !reserves ? 1 : 0);
          await settled();
        }
        const unheardMs = 2 * (100 + stepMs) + 3 * stepMs;
        expectErrorWithin(instances, each, unheardMs);
      }),
      { numRuns: 12 },
    );
  });

  it('is none when one instance has all the traffic, and is paid back when all have', async () => {
    const each = gcra({ limit: 100, window: 1000, burst: 10 });
    const alone = fleet(3, 1);
    for (let step = 0; step < 400; step += 1) {
      await alone.pass(5);
      for (let calls = 0; calls < 5; calls += 1) alone.call(alone.instances[0]!, each);
    }
    expect(audit(alone.instances[0]!.uses, each).ok).toBe(true);
    const all = fleet(3, 1);
    for (let step = 0; step < 2000; step += 1) {
      await all.pass(5);
      for (const instance of all.instances) for (let calls = 0; calls < 2; calls += 1) all.call(instance, each);
    }
    const used = all.instances.reduce((sum, { uses }) => sum + uses.length, 0);
    // Ten seconds at 100 per second: the overshoot of each interval is debt in the next, so the mean is the rate.
    expect(used).toBeGreaterThan(900);
    expect(used).toBeLessThan(1200);
  });

  it('without the exchange would be the whole limit once more per instance', async () => {
    const { instances, call, pass } = fleet(3, 1, { wire: { failsBefore: 1 } });
    for (let step = 0; step < 40; step += 1) {
      await pass(5);
      for (const instance of instances) call(instance, policy);
    }
    expect(
      audit(
        instances.flatMap(({ uses }) => uses),
        policy,
      ).worst!.used,
    ).toBe(90);
  });
});

describe('counts', () => {
  it('are neither lost nor doubled, whatever fails', async () => {
    const lives = fc.record({
      seed: fc.nat(),
      failsBefore: fc.constantFrom(0, 0.3, 0.6),
      failsAfter: fc.constantFrom(0, 0.3, 0.6),
      mostDelayMs: fc.constantFrom(0, 30, 200),
    });
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, ...wire }) => {
        const each = slidingLog({ limit: 1_000_000, window: 1000 });
        const { clock, random, instances, call, pass, wire: ways } = fleet(3, seed, { wire });
        for (const instance of instances) call(instance, each);
        for (let step = 0; step < 200; step += 1) {
          clock.advance(10);
          const cost = 1 + Math.floor(random() * 3);
          if (random() < 0.5) call(instances[Math.floor(random() * 3)]!, each, `key-${Math.floor(random() * 4)}`, cost);
          await settled();
        }
        Object.assign(ways, { failsBefore: 0, failsAfter: 0 });
        await pass(2000, 20);
        const used = instances.map(({ uses }) => uses.reduce((sum, { cost = 1 }) => sum + cost, 0));
        const all = used.reduce((sum, each) => sum + each, 0);
        for (const [i, { layer }] of instances.entries()) {
          expect(layer.stats()).toMatchObject({
            told: used[i],
            heard: all - used[i]!,
            uncounted: 0,
            lastError: undefined,
          });
        }
      }),
      { numRuns: 40 },
    );
  });

  it('of a reservation are what was really used, if that is known before they are told', async () => {
    const { instances, pass } = fleet(2, 1);
    const [one, two] = instances as [Instance, Instance];
    const here = limiter(policy, { store: one.store, name: 'rule' });
    limiter(policy, { store: two.store, name: 'rule' }).check('other');
    // Goes out at once.
    here.check('other');
    const reservation = here.reserve('key', 10);
    const ended = here.reserve('key', 5, { expiresIn: 20, onExpire: 'refund' });
    here.check('key', 3);
    reservation.commit(4);
    await pass(50);
    // What was given back by then, and used after all, is told in the end.
    ended.commit(2);
    await pass(250);
    expect(one.layer.stats().told).toBe(1 + 3 + 4 + 2);
    expect(two.layer.stats().heard).toBe(1 + 3 + 4 + 2);
  });

  it('of a reservation are taken back once, and never more than it took', async () => {
    const { instances, pass } = fleet(2, 1);
    const { store, layer } = instances[0]!;
    const check = { name: 'rule', key: 'key', policy, cost: 5 };
    store.apply([{ ...check, key: 'other' }]);
    store.apply([check]);
    const receipt = store.apply([{ ...check, operation: 'reserve' }])[0]!.receipt;
    const settle = { ...check, operation: 'settle' as const, cost: 9, actual: 0, receipt };
    store.apply([settle]);
    store.apply([settle]);
    store.apply([{ ...settle, receipt: undefined }]);
    await pass(300);
    expect(layer.stats().told).toBe(5 + 5);
  });

  // The reservation has left all windows when it is cancelled, or is taken for what is used afterwards until it leaves them.
  it.each([900, 4000])('of a use after a reservation was cancelled, %d ms later, are told', async (laterMs) => {
    const { instances, call, reserve, pass, clock } = fleet(2, 1, { wire: { mostDelayMs: 0 } });
    const [one, two] = instances as [Instance, Instance];
    call(two, policy, 'other');
    await pass(100);
    const settle = reserve(one, policy, 30);
    const reservedMs = clock.now();
    // Nobody calls so often that the exchange sleeps.
    while (clock.now() < reservedMs + laterMs) {
      await pass(100);
      for (const instance of instances) call(instance, policy, 'other', 0);
    }
    settle!(0);
    expect(call(one, policy, 'key', 30)).toBe(true);
    await pass(300);
    expect(call(two, policy)).toBe(false);
  });

  it('of a reservation that was told stay told: later uses are told in full', async () => {
    const { instances, pass, clock } = fleet(2, 1);
    const [one, two] = instances as [Instance, Instance];
    const here = limiter(policy, { store: one.store, name: 'rule' });
    limiter(policy, { store: two.store, name: 'rule' }).check('other');
    const reservation = here.reserve('key', 10);
    await pass(300);
    const seenAt = (instance: Instance) =>
      instance.memory.apply([{ name: 'rule', key: 'key', policy, cost: 0, operation: 'peek' }])[0]!.remaining;
    expect(seenAt(two)).toBe(20);
    reservation.commit(4);
    expect(seenAt(one)).toBe(26);
    here.check('key', 5);
    here.check('key', 3);
    await pass(300);
    expect(seenAt(two)).toBe(12);
    here.penalize('key', 2);
    here.reward('key', 1);
    await pass(300);
    expect(seenAt(two)).toBe(10);
    expect(clock.now()).toBe(1_000_900);
    // And leave with the window.
    await pass(300);
    expect(seenAt(two)).toBe(20);
  });

  it('of who was there before are known to who comes later, by their age', async () => {
    const clock = new TestClock(1_000_000);
    const exchange = memoryExchange({ clock });
    const join = () => {
      const memory = memoryStore({ clock });
      return layered(memory, approximate({ exchange, clock }));
    };
    const early = join();
    const check = { name: 'rule', key: 'key', policy, cost: 10 };
    early.apply([check]);
    await settled();
    clock.advance(600);
    const late = join();
    late.apply([{ ...check, key: 'other' }]);
    await settled();
    expect(late.apply([{ ...check, cost: 1 }])[0]?.remaining).toBe(19);
    for (let step = 0; step < 8; step += 1) {
      clock.advance(50);
      await settled();
    }
    // It was told 1000 ms ago, and has left; what was used here has not.
    expect(late.apply([{ ...check, cost: 1 }])[0]?.remaining).toBe(28);
  });

  it('are bounded: what could not be told is refused', () => {
    const clock = new TestClock(1_000_000);
    const store = layered(
      memoryStore({ clock }),
      approximate({ exchange: memoryExchange({ clock }), clock, maxKeys: 2 }),
    );
    const api = limiter(policy, { store });
    // Goes out at once.
    api.check('first');
    api.check('a');
    const reservation = api.reserve('b', 1);
    expect(api.check('c')).toMatchObject({ allowed: false, reason: 'store-full', remaining: 0, retryAfterMs: 100 });
    expect(api.check('a').allowed).toBe(true);
    reservation.cancel();
    expect(api.check('c').allowed).toBe(true);
    api.reserve('c', 1).commit(0);
    expect(api.peek('d').allowed).toBe(true);
  });

  it('are bounded also where nobody is refused: of shadow rules and penalties', async () => {
    const { exchange, messages } = kept();
    const clock = new TestClock(1_000_000);
    const layer = approximate({ exchange, clock, maxKeys: 2 });
    const store = layered(memoryStore({ clock }), layer);
    const shadow = rules([{ name: 'shadow', key: 'user', policy, shadow: true }], { store });
    for (const user of ['a', 'b', 'c', 'd', 'a']) expect(shadow.check({ user }).allowed).toBe(true);
    const api = limiter(policy, { store, name: 'api' });
    expect(() => api.penalize('e')).toThrow(expect.objectContaining({ code: 'store-full' }));
    expect(api.peek('e', 0).remaining).toBe(30);
    await layer.close();
    expect(messages.flatMap(({ used }) => [...used])).toEqual([
      ['6:shadowa', 2],
      ['6:shadowb', 1],
    ]);
  });

  it('of a request that is sent again are told once', async () => {
    const { exchange, messages } = kept();
    const clock = new TestClock(1_000_000);
    const layer = approximate({ exchange, clock });
    const api = limiter(policy, { store: layered(memoryStore({ clock }), layer), name: 'api' });
    for (let sent = 0; sent < 3; sent += 1) api.check('key', { cost: 2, requestId: 'same' });
    for (let sent = 0; sent < 3; sent += 1) api.penalize('key', { cost: 5, requestId: 'also the same' });
    api.check('key', { cost: 2, requestId: 'another' });
    expect(api.peek('key', 0).remaining).toBe(21);
    await layer.close();
    expect(messages.flatMap(({ used }) => [...used.values()]).reduce((sum, cost) => sum + cost)).toBe(9);
  });

  it('of a request that is sent again are told once, also where another policy is in force by then', async () => {
    const { exchange, messages } = kept();
    const clock = new TestClock(1_000_000);
    const layer = approximate({ exchange, clock, instances: 2 });
    const api = limiter(policy, { store: layered(memoryStore({ clock }), layer), name: 'api' });
    const send = () => api.check('key', { cost: 2, requestId: 'same' });
    // Before the first reply there is only the share.
    const first = send();
    expect(first.degraded).toBe('local');
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect(api.peek('key', 0).degraded).toBeUndefined();
    expect(send()).toEqual(first);
    await layer.close();
    expect(messages.flatMap(({ used }) => [...used.values()])).toEqual([2]);
  });

  it('that find no room here, or no limit of that name, are said to be uncounted', async () => {
    const { instances, pass } = fleet(2, 1);
    const [one, two] = instances as [Instance, Instance];
    limiter(policy, { store: one.store, name: 'only-there' }).check('key', 3);
    limiter(policy, { store: two.store, name: 'only-here' }).check('key');
    await pass(400);
    expect(two.layer.stats()).toMatchObject({ heard: 0, uncounted: 3 });
    const clock = new TestClock(1_000_000);
    const exchange = memoryExchange({ clock });
    await exchange.exchange({ instance: 'other', sequence: 1, used: new Map([['4:ruleyours', 9]]) }, undefined);
    const layer = approximate({ exchange, clock });
    layered(memoryStore({ clock, maxKeys: 1 }), layer).apply([{ name: 'rule', key: 'mine', policy, cost: 1 }]);
    await settled();
    expect(layer.stats()).toMatchObject({ heard: 0, uncounted: 9, instances: 2 });
  });
});

describe('a lost exchange', () => {
  it('leaves each its share of the last known instances, and says so; then everything is told', async () => {
    const { instances, call, pass, wire } = fleet(3, 1);
    const [one, two, three] = instances as [Instance, Instance, Instance];
    for (const instance of instances) call(instance, policy);
    await pass(400);
    expect(one.layer.stats()).toMatchObject({ instances: 3, isLost: false });
    wire.failsBefore = 1;
    await pass(2000);
    expect(one.layer.stats()).toMatchObject({ instances: 3, isLost: true, lastError: new Error('lost on the way') });
    for (const instance of instances) for (let calls = 0; calls < 30; calls += 1) call(instance, policy);
    expect(instances.map(({ uses }) => uses.length - 1)).toEqual([10, 10, 10]);
    const decision = one.store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }])[0];
    expect(decision).toMatchObject({ allowed: false, limit: 10, degraded: 'local', policy });
    wire.failsBefore = 0;
    await pass(300);
    expect(two.layer.stats()).toMatchObject({ isLost: false, heard: 22, told: 11 });
    expect(three.store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }])[0]).toMatchObject({
      allowed: false,
      limit: 30,
    });
    await pass(1000);
    expect(call(three, policy)).toBe(true);
  });

  it('is what there is until the first reply, where the number of instances is given', async () => {
    const { instances, call } = fleet(1, 1, { instances: 5 });
    for (let calls = 0; calls < 30; calls += 1) call(instances[0]!, policy);
    expect(instances[0]!.uses).toHaveLength(6);
    // Of less than one unit each nobody has a share.
    const few = slidingLog({ limit: 4, window: 1000 });
    expect(instances[0]!.store.apply([{ name: 'few', key: 'key', policy: few, cost: 1 }])[0]).toMatchObject({
      allowed: false,
      reason: 'store-failure',
      degraded: 'local',
      policy: few,
    });
  });

  it('also when messages are gone that were not read: until they no longer matter', async () => {
    const clock = new TestClock(1_000_000);
    const exchange = memoryExchange({ clock, retain: 150 });
    const layer = approximate({ exchange, clock, instances: 2 });
    const store = layered(memoryStore({ clock }), layer);
    const ask = () => store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }])[0];
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        clock.advance(50);
        await settled();
      }
    };
    ask();
    // It sleeps when nobody calls for long; meanwhile another posts.
    await pass(61_000);
    await exchange.exchange({ instance: 'other', sequence: 1, used: new Map([['4:rulekey', 9]]) }, undefined);
    await pass(200);
    await exchange.exchange({ instance: 'other', sequence: 2, used: new Map() }, undefined);
    ask();
    await settled();
    expect(layer.stats().isLost).toBe(true);
    expect(ask()?.degraded).toBe('local');
    for (let passed = 0; passed < 1000; passed += 50) {
      ask();
      await pass(50);
    }
    expect(layer.stats().isLost).toBe(false);
  });

  it('that never answers is asked again, with the same message', async () => {
    const clock = new TestClock(1_000_000);
    const sequences: number[] = [];
    let hangs = true;
    const line = memoryExchange({ clock });
    const layer = approximate({
      clock,
      exchange: {
        exchange(message, cursor) {
          sequences.push(message.sequence);
          return hangs ? new Promise(() => {}) : line.exchange(message, cursor);
        },
      },
    });
    const store = layered(memoryStore({ clock }), layer);
    store.apply([{ name: 'rule', key: 'key', policy, cost: 1 }]);
    for (let step = 0; step < 30; step += 1) {
      clock.advance(50);
      await settled();
    }
    expect(sequences).toEqual([1, 1]);
    expect(String(layer.stats().lastError)).toContain('the exchange did not answer within 1000 ms');
    hangs = false;
    const closed = layer.close();
    clock.advance(1000);
    await closed;
    expect(sequences).toEqual([1, 1, 1]);
    expect(layer.stats().told).toBe(1);
  });
});

describe('the layer', () => {
  it('hears the others between two calls that are far apart: all of the limit is there, not the share', async () => {
    const { instances, call, pass } = fleet(4, 1);
    const [seldom, ...others] = instances as [Instance, ...Instance[]];
    const each = slidingLog({ limit: 10, window: 60_000 });
    for (const instance of instances) call(instance, each, 'busy', 0);
    await pass(500, 50);
    for (let calls = 0; calls < 10; calls += 1) {
      for (let second = 0; second < 3; second += 1) {
        for (const other of others) call(other, each, 'busy', 0);
        await pass(1000, 50);
      }
      expect(seldom.layer.stats()).toMatchObject({ isLost: false, instances: 4 });
      expect(call(seldom, each)).toBe(true);
    }
    // And what one of the others used in the meantime is known.
    call(others[0]!, each, 'theirs', 10);
    await pass(3000, 50);
    expect(call(seldom, each, 'theirs')).toBe(false);
  });

  it('tells at once what is used after a long silence: in its pauses a process may end', async () => {
    const { instances, call, pass, clock } = fleet(1, 1, { wire: { mostDelayMs: 0 } });
    const [{ layer }] = instances as [Instance];
    call(instances[0]!, policy);
    await pass(3030, 10);
    const { exchanges } = layer.stats();
    call(instances[0]!, policy);
    await pass(10);
    expect(layer.stats()).toMatchObject({ exchanges: exchanges + 1, told: 2 });
    await pass(3000, 50);
    await layer.close();
    expect(clock.sleeping).toBe(0);
  });

  it('stops when nobody calls for a window and a minute, and goes on with the next call', async () => {
    const { instances, call, pass, clock } = fleet(1, 1, { wire: { mostDelayMs: 0 } });
    call(instances[0]!, policy);
    await pass(61_000, 50);
    expect(clock.sleeping).toBe(0);
    const { exchanges } = instances[0]!.layer.stats();
    call(instances[0]!, policy);
    await pass(300, 50);
    expect(instances[0]!.layer.stats().exchanges).toBeGreaterThan(exchanges);
  });

  it('tells what was not told yet when it is closed, and does not exchange after that', async () => {
    const { instances, call, clock } = fleet(2, 1, { wire: { mostDelayMs: 0 } });
    const { layer } = instances[0]!;
    call(instances[0]!, policy);
    await settled();
    call(instances[0]!, policy);
    await layer.close();
    expect(layer.stats().told).toBe(2);
    call(instances[0]!, policy);
    expect(clock.sleeping).toBe(0);
  });

  it('gives each instance its share of places, always: they cannot be counted afterwards', async () => {
    const { instances, pass } = fleet(2, 1, { instances: 2 });
    const places = concurrency({ limit: 4 });
    const here = limiter(places, { store: instances[0]!.store, name: 'places' });
    const there = limiter(places, { store: instances[1]!.store, name: 'places' });
    here.acquire('key');
    await pass(400);
    here.acquire('key');
    expect(here.acquire('key').allowed).toBe(false);
    expect(there.acquire('key').allowed).toBe(true);
  });

  it('charges nothing when a batch is refused, and tells nothing of it', async () => {
    const { instances, pass } = fleet(2, 1);
    const { store, layer } = instances[0]!;
    const full = slidingLog({ limit: 1, window: 1000 });
    store.apply([{ name: 'full', key: 'key', policy: full, cost: 1 }]);
    store.apply([
      { name: 'rule', key: 'key', policy, cost: 5 },
      { name: 'full', key: 'key', policy: full, cost: 1 },
    ]);
    await pass(300);
    expect(layer.stats().told).toBe(1);
  });

  it('checks its options', () => {
    const exchange = memoryExchange();
    expect(() => approximate({} as never)).toThrow('exchange must be an object with exchange()');
    expect(() => approximate({ exchange, interval: 0 })).toThrow('interval must be a time above 0');
    expect(() => approximate({ exchange, instances: 0 })).toThrow('instances must be a whole number above 0');
    expect(() => approximate({ exchange, lostAfter: 0 })).toThrow('lostAfter must be');
    expect(() => approximate({ exchange, maxKeys: 0 })).toThrow('maxKeys must be');
    expect(() => approximate({ exchange, clock: {} as never })).toThrow('clock must be');
    expect(() => approximate({ exchange, every: 1 } as never)).toThrow('approximate options has no field "every"');
    expect(() => approximate({ exchange })({ ...memoryStore(), mode: 'async' } as never)).toThrow(
      'store must be one that answers at once, such as memoryStore(), got "a store of mode async".',
    );
    expect(() => memoryExchange({ retain: 0 })).toThrow('retain must be');
    expect(() => memoryExchange({ maxMessages: 0 })).toThrow('maxMessages must be');
  });
});

describe('what others used', () => {
  const free = gcra({ limit: 10, window: '1h' });
  const paid = gcra({ limit: 1000, window: '1s' });

  it.each([true, false])(
    'is charged under the policy of its key, not of its rule (asked about here: %s)',
    async (isAskedHere) => {
      const clock = new TestClock(1_000_000);
      const exchange = memoryExchange({ clock });
      const begin = () => {
        const store = layered(memoryStore({ clock }), approximate({ exchange, clock }));
        return rules([{ name: 'per-user', key: 'user', tiers: { free, paid } }], { store });
      };
      const [here, there] = [begin(), begin()];
      const ask = (limits: typeof here, user: string, cost: number) =>
        limits.check({ user, tier: user.split(' ')[0]! }, { cost });
      // Each rule's policies are known in both, and that of the paid user was asked for last.
      ask(here, isAskedHere ? 'free' : 'free too', 0);
      for (const limits of [here, there]) ask(limits, 'paid', 1);
      let used = 0;
      for (let i = 0; i < 100; i += 1) {
        if (ask(there, 'free', 1).allowed) used += 1;
        ask(here, 'paid', 1);
        await settled();
        clock.advance(100);
        await settled();
      }
      expect(used).toBe(10);
      expect(ask(here, 'free', 1).allowed).toBe(false);
    },
  );
});

describe('the exchange in memory', () => {
  it('tells every message once to whoever gives its cursor, with its age, and says when some are gone', async () => {
    const clock = new TestClock(1_000_000);
    const exchange = memoryExchange({ clock, maxMessages: 3 });
    const post = (sequence: number, cursor?: string) =>
      exchange.exchange({ instance: 'a', sequence, used: new Map([['key', sequence]]) }, cursor);
    const first = await post(1);
    expect(first).toMatchObject({ messages: [{ instance: 'a', sequence: 1, ageMs: 0 }], hasGap: false });
    clock.advance(7);
    const second = await post(2, first.cursor);
    expect(second.messages.map(({ sequence }) => sequence)).toEqual([2]);
    expect((await post(3)).messages.map(({ ageMs }) => ageMs)).toEqual([7, 0, 0]);
    expect(await post(4, second.cursor)).toMatchObject({ hasGap: false, messages: [{ sequence: 3 }, { sequence: 4 }] });
    expect(await post(5, first.cursor)).toMatchObject({ hasGap: true, messages: [{ sequence: 3 }, {}, {}] });
    clock.advance(60_000);
    expect((await post(6)).messages).toHaveLength(1);
  });
});
