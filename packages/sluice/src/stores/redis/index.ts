export type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './connection.ts';
export {
  type FencedOptions,
  type RedisStore,
  type RedisStoreOptions,
  type RedisStoreStats,
  redisStore,
} from './redis-store.ts';
