/**
 * A Redis Cluster under load, with a fence and without: two stores on the same servers, so that the same fault happens to
 * both. Where the one without a fence gives out more than its limit, the fault was real.
 */
import { type ClusterNode, type RedisCluster, startRedisCluster } from '@sluice/test-servers';
import { gcra } from '../../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../../limit/limiter.ts';
import type { Policy } from '../../../vocabulary/policy.ts';
import { slotOf } from '../../slot.ts';
import { type Connected, clusterClients, freshPrefix } from '../clients.test-support.ts';
import { fencedKeys, redisKeys } from '../key.ts';
import { type RedisStore, redisStore } from '../redis-store.ts';
import { freshName, type Traffic, traffic } from './traffic.test-support.ts';

export const partitions = 4096;
export const limit = 20;
/** Longer than a failover takes, so that what was granted before it still counts after it. */
export const log = slidingLog({ limit, window: '4s' });
export const bucket = gcra({ limit, window: '4s' });

const nodeTimeoutMs = 750;
// Generous, because the machine may be busy: an answer too late is an error, and errors are not what is tested.
const fenced = { deadline: '500ms', skew: '250ms' } as const;

export interface FencedCluster {
  readonly cluster: RedisCluster;
  /** The store behind the fence, ready. */
  readonly store: RedisStore;
  readonly prefix: string;
  /** A connection of its own, through whoever runs. */
  connect(): Promise<Connected>;
  /** The same state through another connection. */
  storeOn(connection: Connected): RedisStore;
  slotOfKey(key: string): number;
  /** Some primary and its replica, once the cluster has settled. */
  pair(): Promise<{ readonly primary: ClusterNode; readonly replica: ClusterNode }>;
  /** So many keys whose state behind the fence is on one node. */
  keysOn(node: ClusterNode, count: number): Promise<string[]>;
  /** Traffic on keys that live on one node: a strict log and a bucket behind the fence, and the log without one. */
  trafficOn(node: ClusterNode): Promise<[strict: Traffic, buckets: Traffic, unfenced: Traffic]>;
  stop(): Promise<void>;
}

export async function startFencedCluster(): Promise<FencedCluster> {
  const cluster = await startRedisCluster({ nodeTimeoutMs, config: { 'repl-backlog-ttl': 0 } });
  const [prefix, plainPrefix] = [freshPrefix(), freshPrefix()];
  const connected = await clusterClients['ioredis 6'](cluster.seeds);
  const storeOn = ({ client }: Connected) => redisStore({ client, prefix, fenced });
  const store = storeOn(connected);
  const plain = redisStore({ client: connected.client, prefix: plainPrefix });
  const slotOfKey = (key: string) => slotOf(fencedKeys(prefix, partitions).record('any', key));
  const plainSlotOfKey = (key: string) => slotOf(redisKeys(plainPrefix).record('any', key));

  async function stop(): Promise<void> {
    connected.close();
    await cluster.stop();
  }

  const keysOn = (node: ClusterNode, count: number, slotOfEach = slotOfKey) =>
    keysWhere(count, async (key) => (await cluster.primaryOf(slotOfEach(key))) === node);

  function on(keys: string[], policy: Policy, each: RedisStore): Traffic {
    const limits = limiter(policy, { store: each, name: freshName() });
    return traffic((key) => limits.check(key), { keys, policy });
  }

  try {
    await store.ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    cluster,
    store,
    prefix,
    // One that is paused would accept the connection, and say nothing.
    connect: () => clusterClients['ioredis 6'](cluster.nodes.filter(({ state }) => state === 'running')),
    storeOn,
    slotOfKey,
    async pair() {
      await cluster.waitUntilSettled();
      const primary = await cluster.primaryOf(0);
      return { primary, replica: await cluster.replicaOf(primary) };
    },
    keysOn,
    async trafficOn(node) {
      const [strictKeys, bucketKeys, plainKeys] = [
        await keysOn(node, 8),
        await keysOn(node, 4),
        await keysOn(node, 16, plainSlotOfKey),
      ];
      return [on(strictKeys, log, store), on(bucketKeys, bucket, store), on(plainKeys, log, plain)];
    },
    stop,
  };
}

/** So many keys that are fit, found by trying. */
export async function keysWhere(count: number, isFit: (key: string) => boolean | Promise<boolean>): Promise<string[]> {
  const found: string[] = [];
  for (let number = 0; found.length < count; number += 1) {
    const key = `key-${number}`;
    if (await isFit(key)) found.push(key);
  }
  return found;
}

/** The replication id of a server. */
export async function replicationIdOf(node: ClusterNode): Promise<string> {
  return /master_replid:(\w+)/.exec(await node.call<string>('INFO', 'replication'))?.[1] ?? '';
}

/** The values of the guards that a node holds. */
export async function guardsOn(node: ClusterNode, prefix: string): Promise<string[]> {
  const keys = await node.call<string[]>('KEYS', `${prefix}{p*}`);
  return Promise.all(keys.map((key) => node.call<string>('GET', key)));
}
