import { type EtcdCluster, startEtcd, waitUntil } from '@sluice/test-servers';
import { type Decision, gcra, type Policy, slidingLog } from 'sluice';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterNode } from './cluster-node.ts';
import { prefixesOf } from './long-windows.ts';
import { type Neighbourhood, neighbourhood } from './nodes.test-support.ts';
import { defaultShards, firstSlotOf, shardOfSlot, slots } from './shards.ts';

let etcd: EtcdCluster;
let around: Neighbourhood;

beforeAll(async () => {
  etcd = await startEtcd({ members: 1 });
}, 60_000);
afterAll(() => etcd.stop());
afterEach(() => around?.close());

const hourly = slidingLog({ limit: 50, window: '1h' });

async function ask(node: ClusterNode, key: string, policy: Policy = hourly, cost = 1): Promise<Decision> {
  const [decision] = await node.apply([{ name: 'long', key, policy, cost }]);
  return decision!;
}

async function takeAll(node: ClusterNode, key: string, policy: Policy = hourly): Promise<number> {
  let taken = 0;
  while (taken <= policy.limit && (await ask(node, key, policy)).allowed) taken += 1;
  return taken;
}

/** All shards are this node's, and it may decide. */
async function waitForAll(node: ClusterNode): Promise<void> {
  await waitUntil(
    'all shards are there',
    () => node.stats().ownedShards === defaultShards && node.stats().rightForMs > 0,
  );
}

describe('windows of an hour and more', () => {
  it('are served at once by a node that knows nothing, and survive the loss of every node', async () => {
    around = neighbourhood(etcd.endpoints);
    const first = await around.node('a:1');
    for (let calls = 0; calls < 20; calls += 1) expect((await ask(first, 'bob')).allowed).toBe(true);
    around.crash(first);
    const second = await around.node('b:1');
    await waitForAll(second);
    const more = await takeAll(second, 'bob');
    expect(20 + more).toBeLessThanOrEqual(50);
    // What was left of a chunk is lost, and no more than that.
    expect(20 + more).toBeGreaterThanOrEqual(40);
    expect(await ask(second, 'bob')).toMatchObject({ allowed: false, reason: 'limit' });
    around.crash(second);
    const third = await around.node('a:1');
    await waitForAll(third);
    expect(await ask(third, 'bob')).toMatchObject({ allowed: false, reason: 'limit' });
    expect(await takeAll(third, 'never seen')).toBe(50);
  }, 60_000);

  it('are never used twice, however often nodes die', async () => {
    around = neighbourhood(etcd.endpoints);
    let used = 0;
    for (let lives = 0; lives < 4; lives += 1) {
      const node = await around.node(`${lives}:1`);
      await waitForAll(node);
      for (let calls = 0; calls < 9; calls += 1) if ((await ask(node, 'bob')).allowed) used += 1;
      around.crash(node);
    }
    expect(used).toBeLessThanOrEqual(50);
    expect(used).toBeGreaterThan(15);
  }, 60_000);

  it('are written down for all that a batch takes of a key, and for a `take` of more than is left', async () => {
    around = neighbourhood(etcd.endpoints);
    const first = await around.node('a:1');
    const twenty = { name: 'long', key: 'twice', policy: hourly, cost: 20 };
    expect((await first.apply([twenty, twenty])).every(({ allowed }) => allowed)).toBe(true);
    const takes = { name: 'long', key: 'greedy', policy: hourly, cost: 80, operation: 'take' } as const;
    expect((await first.apply([takes]))[0]).toMatchObject({ allowed: true, remaining: 0 });
    around.crash(first);
    const second = await around.node('b:1');
    await waitForAll(second);
    expect(await takeAll(second, 'twice')).toBeLessThanOrEqual(10);
    expect(await takeAll(second, 'greedy')).toBe(0);
  }, 60_000);

  it('move with their shards when a node leaves as planned, and nothing is lost on the way', async () => {
    around = neighbourhood(etcd.endpoints);
    const first = await around.node('a:1');
    for (let calls = 0; calls < 20; calls += 1) await ask(first, 'bob');
    const second = await around.node('b:1');
    await waitUntil('a share of the shards has come', () => second.stats().ownedShards > 0);
    await first.leave(10_000);
    await waitForAll(second);
    expect(await takeAll(second, 'bob')).toBe(30);
  }, 60_000);

  it('need fewer writes the more is asked', async () => {
    around = neighbourhood(etcd.endpoints);
    const node = await around.node('a:1');
    const policy = gcra({ limit: 10_000, window: '1h' });
    for (let calls = 0; calls < 2000; calls += 1) await ask(node, 'busy', policy);
    expect(node.stats().durableWrites).toBeLessThan(20);
  }, 60_000);

  it('of more keys than may be written down are refused', async () => {
    around = neighbourhood(etcd.endpoints);
    const node = await around.node('a:1', { durableKeys: 2 });
    expect((await ask(node, 'one')).allowed).toBe(true);
    expect((await ask(node, 'two')).allowed).toBe(true);
    expect(await ask(node, 'three')).toMatchObject({ allowed: false, reason: 'store-full', retryAfterMs: 1000 });
    expect((await ask(node, 'one')).allowed).toBe(true);
  }, 60_000);

  it('do not take a place for keys that are refused', async () => {
    around = neighbourhood(etcd.endpoints);
    const node = await around.node('a:1', { durableKeys: 2 });
    for (const key of ['one', 'two', 'three'])
      expect(await ask(node, key, hourly, 51)).toMatchObject({ allowed: false, reason: 'limit' });
    expect(node.stats().durableKeys).toBe(0);
    expect((await ask(node, 'four')).allowed).toBe(true);
  }, 60_000);

  it('are remembered whatever the number of shards', async () => {
    around = neighbourhood(etcd.endpoints);
    const first = await around.node('a:1');
    expect(await takeAll(first, 'bob')).toBe(50);
    await first.leave(10_000);
    const { shared } = around.settings();
    const second = await around.node('a:1', { shared: { ...shared, shards: 100 } });
    await waitUntil('all shards are there', () => second.stats().ownedShards === 100 && second.stats().rightForMs > 0);
    expect(await ask(second, 'bob')).toMatchObject({ allowed: false, reason: 'limit' });
  }, 60_000);

  it('are refused without etcd, except for what is written down already', async () => {
    const own = await startEtcd({ members: 1 });
    try {
      around = neighbourhood(own.endpoints, 60_000);
      const node = await around.node('a:1', { patienceMs: 500 });
      expect((await ask(node, 'bob', slidingLog({ limit: 1000, window: '1h' }))).allowed).toBe(true);
      await own.members[0]!.kill();
      expect((await ask(node, 'bob', slidingLog({ limit: 1000, window: '1h' }))).allowed).toBe(true);
      await expect(ask(node, 'alice')).rejects.toMatchObject({ code: 'store-unavailable' });
    } finally {
      await own.stop();
    }
  }, 60_000);
});

describe('the slots of a shard', () => {
  it.each([1, 7, 32, 100, 256, 1000, 1024])('are a few beginnings, of %i shards', (count) => {
    const shardOf: number[] = [];
    for (let shard = 0; shard < count; shard += 1) {
      const prefixes = prefixesOf(firstSlotOf(shard, count), firstSlotOf(shard + 1, count));
      expect(prefixes.length).toBeLessThanOrEqual(26);
      for (const prefix of prefixes) {
        const first = Number.parseInt(prefix.padEnd(14, '0'), 2);
        const last = Number.parseInt(prefix.padEnd(14, '1'), 2);
        for (let slot = first; slot <= last; slot += 1) {
          expect(shardOf[slot]).toBeUndefined();
          shardOf[slot] = shard;
        }
      }
    }
    expect(shardOf).toEqual(Array.from({ length: slots }, (_, slot) => shardOfSlot(slot, count)));
  });
});
