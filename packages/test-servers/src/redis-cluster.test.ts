import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterNode } from './cluster-formation.ts';
import { type RedisCluster, startRedisCluster } from './redis-cluster.ts';

// Every test has a shard of its own of a cluster that it shares: starting one takes two seconds.
let cluster: RedisCluster;

function oneCluster(): void {
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster?.stop());
}

/** A key that lives on the node, and its slot. */
async function keyOn(node: ClusterNode): Promise<{ key: string; slot: number }> {
  for (let index = 0; index < 1000; index += 1) {
    const key = `{key${index}}`;
    const slot = await node.call<number>('CLUSTER', 'KEYSLOT', key);
    if ((await cluster.primaryOf(slot)) === node) return { key, slot };
  }
  throw new Error(`No key found for port ${node.port}.`);
}

/** Increments one after another; what was answered is acknowledged. */
async function increment(node: ClusterNode, key: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await node.call('INCR', key);
}

describe('the cluster', () => {
  oneCluster();

  test('serves every slot from three primaries, each with a replica in sync, when it has started', async () => {
    const { nodes, seeds } = cluster;
    expect(seeds).toEqual(nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
    expect(seeds.length).toBe(6);
    for (const [index, slot] of [0, 5461, 16_383].entries()) {
      const primary = await cluster.primaryOf(slot);
      expect(primary).toBe(nodes[index]);
      expect(await cluster.replicaOf(primary)).toBe(nodes[index + 3]);
      const { key, slot: slotOfKey } = await keyOn(primary);
      expect(await primary.call('SET', key, 'value')).toBe('OK');
      expect(await primary.call('WAIT', 1, 5000)).toBe(1);
      const stranger = nodes[(index + 1) % 3]!;
      await expect(stranger.call('GET', key)).rejects.toThrow(`MOVED ${slotOfKey} 127.0.0.1:${primary.port}`);
    }
  });

  test('moves a slot with its keys while it is in use', async () => {
    const [from, to] = cluster.nodes as [ClusterNode, ClusterNode];
    const { key, slot } = await keyOn(from);
    for (let index = 0; index < 250; index += 1) await from.call('SET', key + index, index);
    await from.call('DEL', key);

    const move = await cluster.beginSlotMove(slot, from, to);
    expect(await move.moveKeys(10)).toBe(10);
    const asked = Array.from({ length: 250 }, (_, index) => from.call('GET', key + index));
    const refusals = (await Promise.allSettled(asked)).flatMap((reply) =>
      reply.status === 'rejected' ? [String(reply.reason.message)] : [],
    );
    expect(refusals).toEqual(Array(10).fill(`ASK ${slot} 127.0.0.1:${to.port}`));
    expect(await move.moveKeys()).toBe(240);
    await move.finish();

    expect(await cluster.primaryOf(slot)).toBe(to);
    await expect(from.call('GET', `${key}7`)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${to.port}`);
    expect(await to.call('GET', `${key}7`)).toBe('7');
    await cluster.moveSlot(slot, to, from);
    expect(await cluster.primaryOf(slot)).toBe(from);
    expect(await from.call('CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(250);
  });

  test('changes roles on a planned failover and loses nothing, back and forth', async () => {
    const primary = cluster.nodes[1]!;
    const { key } = await keyOn(primary);
    await primary.call('DEL', key);
    await increment(primary, key, 50);
    const promoted = await cluster.failover(primary);
    expect(promoted).toBe(cluster.nodes[4]);
    expect(await promoted.call('GET', key)).toBe('50');
    expect(await cluster.replicaOf(promoted)).toBe(primary);
    expect(await cluster.failover(promoted)).toBe(primary);
    // The third within moments: votes about the first primary were given already.
    expect(await cluster.failover(primary)).toBe(promoted);
    expect(await promoted.call('GET', key)).toBe('50');
  });

  test('takes a killed primary back as the replica of the one that replaced it', async () => {
    const primary = cluster.nodes[2]!;
    const replica = await cluster.replicaOf(primary);
    await primary.kill();
    await cluster.waitForPromotion(replica);
    expect(await cluster.primaryOf(16_383)).toBe(replica);
    await primary.restart();
    await cluster.waitUntilSettled();
    expect(await cluster.replicaOf(replica)).toBe(primary);
  });
});

describe('what a failover loses', () => {
  oneCluster();

  /** The count that the promoted replica knows, of 100 acknowledged before the cut and 1000 behind it. */
  async function countAfterCrash(primary: ClusterNode, { isCut }: { isCut: boolean }): Promise<string | null> {
    const replica = await cluster.replicaOf(primary);
    const { key } = await keyOn(primary);
    await increment(primary, key, 100);
    expect(await primary.call('WAIT', 1, 5000)).toBe(1);
    if (isCut) await cluster.cutReplication(primary);
    await increment(primary, key, 1000);
    expect(await primary.call('GET', key)).toBe('1100');
    await primary.kill('SIGKILL');
    await cluster.waitForPromotion(replica);
    return replica.call('GET', key);
  }

  test('a cut that is restored in time loses nothing', async () => {
    const primary = cluster.nodes[0]!;
    const replica = await cluster.replicaOf(primary);
    const { key } = await keyOn(primary);
    await cluster.cutReplication(primary);
    await increment(primary, key, 100);
    expect(await primary.call('WAIT', 1, 50)).toBe(0);
    await replica.call('READONLY');
    expect(await replica.call('GET', key)).toBeNull();
    await cluster.restoreReplication(primary);
    expect(await primary.call('WAIT', 1, 5000)).toBe(1);
    expect(await replica.call('GET', key)).toBe('100');
  });

  test('writes acknowledged behind a cut are lost when the primary is killed', async () => {
    expect(await countAfterCrash(cluster.nodes[1]!, { isCut: true })).toBe('100');
  });

  test('without the cut they survive', async () => {
    expect(await countAfterCrash(cluster.nodes[2]!, { isCut: false })).toBe('1100');
  });
});

test('a cluster that is too small to vote is refused', async () => {
  await expect(startRedisCluster({ shards: 2 })).rejects.toThrow('shards must be a whole number of at least 3, got 2');
});
