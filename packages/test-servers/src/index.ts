export { ensureChromium, type OpenPage, startBrowser, type TestBrowser } from './browser.ts';
export type { ClusterNode, ClusterOptions } from './cluster-formation.ts';
export { ensureCompiler, ensureDebianPackage, ensureRedis } from './debian-package.ts';
export { type EtcdCluster, type EtcdOptions, startEtcd } from './etcd-cluster.ts';
export { type EtcdMember, type EtcdTls, ensureEtcd } from './etcd-member.ts';
export { type EtcdProxies, startEtcdProxies } from './etcd-proxies.ts';
export { type FaultProxy, type FaultProxyOptions, startFaultProxy } from './fault-proxy.ts';
export { type ReservedPort, reservePort } from './free-port.ts';
export { type Runtime, type RuntimeName, type RuntimeOptions, startRuntime } from './javascript-runtime.ts';
export { ensureNginx, type NginxServer, startNginx } from './nginx-server.ts';
export { type RedisCluster, startRedisCluster } from './redis-cluster.ts';
export { type RedisSentinel, type SentinelOptions, startSentinel } from './redis-sentinel.ts';
export { type Address, type RedisConfig, type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
export { type Reply, ReplyError } from './resp.ts';
export type { SlotMove } from './slot-move.ts';
export {
  type NodeFigures,
  type SluiceCluster,
  type SluiceClusterOptions,
  type SluiceNode,
  startSluiceCluster,
} from './sluice-cluster.ts';
export { type GatewayProcess, startGateway } from './sluice-gateway.ts';
export { type SluiceOptions, type SluiceService, startSluice } from './sluice-service.ts';
export { startUpstream, type UpstreamServer } from './upstream-server.ts';
export { type WaitOptions, waitUntil } from './wait-until.ts';
