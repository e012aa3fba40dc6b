/** Batches whose keys live on different slots of a cluster: still all or nothing, and what is not known counts as spent. */
import {
  type FaultProxy,
  type RedisCluster,
  startFaultProxy,
  startRedisCluster,
  waitUntil,
} from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { slotOf } from '../slot.ts';
import type { Check } from '../store.ts';
import { type Connected, clusterClients, freshPrefix } from './clients.test-support.ts';
import { type RedisStore, redisStore } from './redis-store.ts';

const ten = fixedWindow({ limit: 10, window: '1h', align: 'first' });

let cluster: RedisCluster;
let proxies: FaultProxy[];
let connected: Connected;
let faulty: InstanceType<typeof Redis.Cluster>;
/** One key on each node, in the order of the nodes. */
let keys: string[];

beforeAll(async () => {
  cluster = await startRedisCluster({ shards: 3, replicas: 0 });
  proxies = await Promise.all(cluster.nodes.map((node) => startFaultProxy(node)));
  connected = await clusterClients['ioredis 6'](cluster.seeds);
  keys = await Promise.all(
    cluster.nodes.map(async (node) => {
      for (let i = 0; ; i += 1) if ((await cluster.primaryOf(slotOf(`key-${i}`))) === node) return `key-${i}`;
    }),
  );
  const natMap = Object.fromEntries(
    cluster.nodes.map(({ host, port }, i) => [`${host}:${port}`, { host, port: proxies[i]!.port }]),
  );
  faulty = new Redis.Cluster(proxies, { retryDelayOnFailover: 0, natMap });
  faulty.on('error', () => undefined);
});
afterAll(async () => {
  connected.close();
  faulty.disconnect();
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await cluster.stop();
});

function begin(prefix = freshPrefix()): RedisStore {
  return redisStore({ client: connected.client, prefix });
}

function check(key: string, fields: Partial<Check> = {}): Check {
  return { name: 'rule', key, policy: ten, cost: 1, sinceMs: 0, ...fields };
}

async function left(store: RedisStore, key: string, policy: Policy = ten, name = 'rule'): Promise<number> {
  const [decision] = await store.apply([check(key, { policy, name, operation: 'peek', cost: 0 })]);
  return (decision as Decision).remaining;
}

/** How many scripts the nodes ran while something happened. */
async function callsOf(happening: () => Promise<unknown>): Promise<number[]> {
  for (const node of cluster.nodes) await node.call('CONFIG', 'RESETSTAT');
  await happening();
  const stats = await Promise.all(cluster.nodes.map((node) => node.call<string>('INFO', 'commandstats')));
  return stats.map((text) => Number(text.match(/cmdstat_evalsha:calls=(\d+)/)?.[1] ?? 0));
}

const policies: readonly Policy[] = [
  tokenBucket({ limit: 10, window: '1h' }),
  tokenBucket({ limit: 10, window: '1h', refill: 'interval' }),
  tokenBucket({ limit: 10, window: '1h', burst: 20, initial: 10 }),
  gcra({ limit: 10, window: '1h' }),
  leakyBucket({ limit: 10, window: '1h', burst: 9, delay: 'none' }),
  leakyBucket({ limit: 10, window: '1h', burst: 9 }),
  fixedWindow({ limit: 10, window: '1h' }),
  slidingLog({ limit: 10, window: '1h' }),
  slidingSlots({ limit: 10, window: '1h' }),
  slidingWindow({ limit: 10, window: '1h' }),
  smooth({ limit: 10, window: '1h', maxBurst: 9, maxDelay: '1ms' }),
  concurrency({ limit: 10, lease: '1h' }),
];

describe('a batch over keys of different slots', () => {
  it.each(policies)('takes from all, or what it took is given back: %j', async (policy) => {
    const store = begin();
    const [a = '', b = '', c = ''] = keys;
    const three = (cost: number) => [
      check(a, { policy, cost }),
      check(b, { policy, cost }),
      check(c, { policy: ten, name: 'narrow', cost }),
    ];
    const first = await store.apply(three(4));
    expect(first.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 6],
      [true, 6],
      [true, 6],
    ]);
    // Nobody asked for receipts.
    for (const decision of first) expect(decision).not.toHaveProperty('receipt');
    await store.apply([check(c, { name: 'narrow', cost: 5 })]);
    const second = await store.apply(three(2));
    expect(second.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 6],
      [true, 6],
      [false, 1],
    ]);
    expect([await left(store, a, policy), await left(store, b, policy)]).toEqual([6, 6]);
    expect((await store.apply(three(1))).every(({ allowed }) => allowed)).toBe(true);
    expect(store.stats().lostCancels).toBe(0);
  });

  it('answers in the order it was asked, shadows included', async () => {
    const store = begin();
    const [a = '', b = '', c = ''] = keys;
    await store.apply([check(b, { cost: 10 })]);
    const batch = [
      check(c),
      check(b, { shadow: true }),
      check(a, { cost: 2 }),
      check(c, { cost: 3 }),
      check(a, { name: 'x' }),
    ];
    const decisions = await store.apply(batch);
    expect(decisions.map(({ allowed, remaining, rule }) => [allowed, remaining, rule])).toEqual([
      [true, 9, 'rule'],
      [false, 0, 'rule'],
      [true, 8, 'rule'],
      [true, 6, 'rule'],
      [true, 9, 'x'],
    ]);
    expect(decisions[1]?.shadow).toBe(true);
    const refused = await store.apply([check(c, { shadow: true }), check(b), check(a)]);
    expect(refused.map(({ allowed }) => allowed)).toEqual([true, false, true]);
    expect([await left(store, c), await left(store, a)]).toEqual([6, 8]);
  });

  it('peeks at all, and takes from none', async () => {
    const store = begin();
    const peeks = keys.map((key) => check(key, { operation: 'peek', cost: 4 }));
    expect((await store.apply(peeks)).map(({ remaining }) => remaining)).toEqual([6, 6, 6]);
    expect(await Promise.all(keys.map((key) => left(store, key)))).toEqual([10, 10, 10]);
  });

  it('reserves on all, and each receipt is good', async () => {
    const store = begin();
    const reserved = await store.apply(keys.map((key) => check(key, { operation: 'reserve', cost: 4 })));
    const settled = keys.map((key, i) =>
      check(key, { operation: 'settle', cost: 4, actual: i, receipt: reserved[i]!.receipt! }),
    );
    expect((await store.apply(settled)).map(({ remaining }) => remaining)).toEqual([10, 9, 8]);
  });

  it('is one trip where the keys share a slot, and one to each slot where they do not', async () => {
    const store = begin();
    const [a = '', b = ''] = keys;
    const names = ['one', 'two', 'three'];
    await store.apply([...names.map((name) => check(a, { name })), ...names.map((name) => check(b, { name }))]);
    expect(await callsOf(() => store.apply(names.map((name) => check(a, { name }))))).toEqual([1, 0, 0]);
    const both = [...names.map((name) => check(a, { name })), check(b)];
    expect(await callsOf(() => store.apply(both))).toEqual([1, 1, 0]);
    await store.apply([check(b, { cost: 9 })]);
    // Refused: one more to give back.
    expect(await callsOf(() => store.apply(both))).toEqual([2, 1, 0]);
  });

  it('cannot hold what cannot be taken back', async () => {
    const store = begin();
    const [a = '', b = ''] = keys;
    for (const operation of ['take', 'penalize', 'block'] as const) {
      await expect(store.apply([check(a), check(b, { operation })])).rejects.toMatchObject({
        code: 'unsupported-operation',
        message: expect.stringContaining(`${operation}()`),
      });
    }
    expect(await left(store, a)).toBe(10);
    // Alone they cannot be refused.
    const resets = await store.apply([check(a, { operation: 'penalize' }), check(b, { operation: 'penalize' })]);
    expect(resets.map(({ remaining }) => remaining)).toEqual([9, 9]);
  });
});

describe('a request id over several slots', () => {
  it('gives the same answer, and is counted once', async () => {
    const store = begin();
    const batch = keys.map((key) => check(key, { cost: 3 }));
    const first = await store.apply(batch, undefined, 'one');
    expect(await store.apply(batch, undefined, 'one')).toEqual(first);
    const [a, b] = await Promise.all([store.apply(batch, undefined, 'two'), store.apply(batch, undefined, 'two')]);
    expect(b).toEqual(a);
    expect(await Promise.all(keys.map((key) => left(store, key)))).toEqual([4, 4, 4]);
  });

  it('gives the refusal again, and has taken nothing', async () => {
    const store = begin();
    const [a = '', b = ''] = keys;
    await store.apply([check(b, { cost: 10 })]);
    const first = await store.apply([check(a), check(b)], undefined, 'one');
    expect(first.map(({ allowed }) => allowed)).toEqual([true, false]);
    await store.apply([check(b, { operation: 'reset', cost: 0 })]);
    expect(await store.apply([check(a), check(b)], undefined, 'one')).toEqual(first);
    expect([await left(store, a), await left(store, b)]).toEqual([10, 10]);
  });

  it('of a batch that failed half-way is counted once on every slot when it is sent again', async () => {
    const prefix = freshPrefix();
    const store = redisStore({ client: faulty, prefix });
    const [a = '', b = ''] = keys;
    await store.apply([check(a), check(b)]);
    proxies[1]!.blackhole();
    const failed = store.apply([check(a), check(b)], undefined, 'one').catch((error: unknown) => error);
    await waitUntil('one slot has counted', async () => (await left(begin(prefix), a)) === 8);
    proxies[1]!.cut();
    proxies[1]!.resume();
    expect(await failed).toMatchObject({ code: 'store-unavailable' });
    await waitUntil('the other slot answers again', () =>
      left(store, b).then(
        () => true,
        () => false,
      ),
    );
    const again = await store.apply([check(a), check(b)], undefined, 'one');
    expect(again.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 8],
      [true, 8],
    ]);
    expect([await left(begin(prefix), a), await left(begin(prefix), b)]).toEqual([8, 8]);
  });
});

describe('when a connection is lost between the two steps', () => {
  it('what a slot took without an answer is spent, and what another took is given back', async () => {
    const prefix = freshPrefix();
    const store = redisStore({ client: faulty, prefix });
    const direct = begin(prefix);
    const [a = '', b = ''] = keys;
    await store.apply([check(a), check(b)]);
    proxies[1]!.dropReplies();
    const failed = store.apply([check(a), check(b)]).catch((error: unknown) => error);
    await waitUntil('both have counted', async () => (await left(direct, a)) === 8 && (await left(direct, b)) === 8);
    proxies[1]!.cut();
    proxies[1]!.resume();
    expect(await failed).toMatchObject({ code: 'store-unavailable', cause: expect.any(Error) });
    expect([await left(direct, a), await left(direct, b)]).toEqual([9, 8]);
    await waitUntil('it answers again', () =>
      left(store, b).then(
        () => true,
        () => false,
      ),
    );
  });

  it('what could not be given back is spent, and the store says how often', async () => {
    const prefix = freshPrefix();
    const store = redisStore({ client: faulty, prefix });
    const direct = begin(prefix);
    const [a = '', b = ''] = keys;
    await store.apply([check(a), check(b, { cost: 10 })]);
    // The refusal is late, so that the way to the other slot is lost before it could be told.
    proxies[1]!.blackhole();
    const refused = store.apply([check(a), check(b)]);
    await waitUntil('one slot has counted', async () => (await left(direct, a)) === 8);
    // And has said so: its answer was on the way before this one.
    await left(store, a);
    proxies[0]!.blackhole();
    proxies[1]!.resume();
    await waitUntil('there was nobody to give back to', async () => {
      proxies[0]!.cut();
      return store.stats().lostCancels === 1;
    });
    expect((await refused).map(({ allowed }) => allowed)).toEqual([true, false]);
    proxies[0]!.resume();
    // Spent, never free.
    expect([await left(direct, a), await left(direct, b)]).toEqual([8, 0]);
    await waitUntil('it answers again', () =>
      left(store, a).then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('many requests at once', () => {
  it.each(policies)('admit no more than the limit of any rule, and nothing is lost: %j', async (policy) => {
    const prefix = freshPrefix();
    const other = await clusterClients['node-redis 6'](cluster.seeds);
    const stores = [begin(prefix), redisStore({ client: other.client, prefix })];
    const random = seededRandom(7);
    const admitted = new Map(keys.map((key) => [key, 0]));
    await Promise.all(
      Array.from({ length: 120 }, async (_, i) => {
        const chosen = keys.filter(() => random() < 0.7);
        const batch = (chosen.length === 0 ? keys : chosen).map((key) => check(key, { policy }));
        const decisions = await stores[i % 2]!.apply(batch);
        if (!decisions.every(({ allowed }) => allowed)) return;
        for (const { key } of batch) admitted.set(key, admitted.get(key)! + 1);
      }),
    );
    for (const [key, count] of admitted) {
      expect(count).toBeLessThanOrEqual(10);
      // Only the last in a line can step back, so where departures are promised more may be spent than went.
      const remaining = await left(stores[0]!, key, policy);
      const isPromised = policy.algorithm === 'smooth' || (policy.algorithm === 'leaky-bucket' && 'delay' in policy);
      if (isPromised) expect(count + remaining).toBeLessThanOrEqual(10);
      else expect(count + remaining).toBe(10);
    }
    expect(Math.max(...admitted.values())).toBeGreaterThan(0);
    other.close();
  });
});
