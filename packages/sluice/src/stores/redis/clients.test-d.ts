/** The clients' own types fit without a cast: this file only has to compile. */
import type { Cluster, Redis } from 'ioredis';
import type { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import type { Cluster as ClusterIovalkey, Redis as RedisIovalkey } from 'iovalkey';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis-5';
import type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './connection.ts';
import { redisStore } from './redis-store.ts';

declare const redis: Redis;
declare const redis5: Redis5;
declare const redisIovalkey: RedisIovalkey;
declare const cluster: Cluster;
declare const cluster5: Cluster5;
declare const clusterIovalkey: ClusterIovalkey;

const node = { url: 'redis://127.0.0.1' };
const sentinels = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 26_379 }] };

// Each is what it is, and not something that happens to fit too.
export const single: IoredisClient[] = [redis, redis5, redisIovalkey];
export const clusters: IoredisCluster[] = [cluster, cluster5, clusterIovalkey];
export const nodeClients = (): NodeRedisClient[] => [
  createClient(node),
  createClientPool(node),
  createClient5(node),
  createClientPool5(node),
  createClient({ ...node, RESP: 3 }),
  createClient5({ ...node, RESP: 3 }),
];
export const nodeClusters = (): NodeRedisCluster[] => [
  createCluster({ rootNodes: [node] }),
  createCluster5({ rootNodes: [node] }),
];
export const nodeSentinels = (): NodeRedisSentinel[] => [createSentinel(sentinels), createSentinel5(sentinels)];

// And so each can be given to the store.
export const clients = (): RedisClient[] => [
  redis,
  redis5,
  redisIovalkey,
  cluster,
  cluster5,
  clusterIovalkey,
  createClient(node),
  createClient5(node),
  createClientPool(node),
  createClientPool5(node),
  createCluster({ rootNodes: [node] }),
  createCluster5({ rootNodes: [node] }),
  createSentinel(sentinels),
  createSentinel5(sentinels),
];
export const stores = () => clients().map((client) => redisStore({ client }));

// @ts-expect-error: the address of a server is no client.
export const address: RedisClient = 'redis://127.0.0.1';
