export type { ClusterNode, ClusterOptions } from './cluster-formation.ts';
export { ensureCompiler, ensureDebianPackage, ensureRedis } from './debian-package.ts';
export { type FaultProxy, type FaultProxyOptions, startFaultProxy } from './fault-proxy.ts';
export { type RedisCluster, startRedisCluster } from './redis-cluster.ts';
export { type RedisSentinel, type SentinelOptions, startSentinel } from './redis-sentinel.ts';
export { type Address, type RedisConfig, type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
export { type Reply, ReplyError } from './resp.ts';
export type { SlotMove } from './slot-move.ts';
export { type WaitOptions, waitUntil } from './wait-until.ts';
