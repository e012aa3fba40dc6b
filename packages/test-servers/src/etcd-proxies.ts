/**
 * A fault proxy in front of each member of an etcd, for clients only: the members reach each other as before.
 *
 *   client ──► proxy 0 ──► member 0
 *          ──► proxy 1 ──► member 1
 *          ──► proxy 2 ──► member 2
 *
 * One set of proxies per client makes a partition of that client alone.
 */
import type { EtcdCluster } from './etcd-cluster.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

export interface EtcdProxies {
  /** What the client is given instead of the cluster's own. */
  readonly endpoints: string[];
  /** In the order of the members. */
  readonly proxies: readonly FaultProxy[];
  /** Nothing passes between the client and any member, and nobody is told. */
  blackhole(): void;
  /** Everything passes again, also what was held. */
  resume(): void;
  stop(): Promise<void>;
}

export async function startEtcdProxies(etcd: EtcdCluster): Promise<EtcdProxies> {
  const proxies = await Promise.all(etcd.members.map(({ port }) => startFaultProxy({ port })));
  return {
    endpoints: proxies.map(({ host, port }, index) => {
      return `${new URL(etcd.endpoints[index]!).protocol}//${host}:${port}`;
    }),
    proxies,
    blackhole() {
      for (const proxy of proxies) proxy.blackhole();
    },
    resume() {
      for (const proxy of proxies) proxy.resume();
    },
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
}
