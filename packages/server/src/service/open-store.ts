/** The store that a configuration asks for. */
import { type Clock, type MemoryStore, memoryStore, type Store, tickClock } from 'sluice';
import type { NodeStats } from '../cluster/cluster-node.ts';
import type { ClusterDoor, NodeAddresses } from '../cluster/view.ts';
import type { ClientStoreConfig, Config, RedisStoreConfig, StoreConfig } from '../config/config.ts';
import { mostLargeKeys } from './ad-hoc-policies.ts';
import type { Log } from './log.ts';
import { readTls } from './read-tls.ts';
import { redisClient, redisClusterClient } from './redis-client.ts';
import { failsByItself, failureNumbers } from './store-failures.ts';

export interface StoreStats {
  readonly type: StoreConfig['type'];
  /** Undefined where the store does not know. */
  readonly keys: number | undefined;
  readonly evictedLiveKeys: number;
  readonly errors: number;
  readonly degraded: number;
}

export interface OpenStore {
  readonly store: Store;
  /** For policies of requests that need much room. */
  readonly largeStore: Store;
  /** For checks of clients that have a way to fail of their own. Default: the store. */
  readonly sentStore?: Store;
  /** Only of memory, which can be saved: each with what its file is called beside the first one's. */
  readonly memories: readonly { readonly suffix: string; readonly memory: MemoryStore }[];
  stats(): StoreStats;
  /** Why it cannot answer now; undefined when it can. */
  problem(): string | undefined;
  /** Where this process is a node of a cluster. */
  readonly cluster?: OpenCluster;
  close(): Promise<void>;
}

export interface OpenCluster {
  readonly door: ClusterDoor;
  /** Undefined until it was told to join. */
  stats(): NodeStats | undefined;
  /** Once the doors are open, which the other nodes are told of. Resolves when it has joined, however long etcd takes. */
  join(addresses: NodeAddresses): Promise<void>;
  /** Hands over what it has. */
  leave(withinMs: number): Promise<void>;
}

/** @param clock of memory; the others have their own */
export async function openStore(
  { store, security }: Pick<Config, 'store' | 'security'>,
  log: Log,
  clock = tickClock(),
): Promise<OpenStore> {
  switch (store.type) {
    case 'memory':
      return openMemory(store.maxKeys, clock);
    case 'redis':
      return openRedis(store, log);
    case 'cluster':
      return openClient(store, log);
    case 'owned': {
      const { openOwned } = await import('./open-owned.ts');
      return openOwned(store, log, { token: security.tokens[0], tls: readTls(security.tls) });
    }
  }
}

function openMemory(maxKeys: number, clock: Clock): OpenStore {
  const memory = memoryStore({ maxKeys, keys: 'fingerprint', clock });
  const large = memoryStore({ maxKeys: Math.min(maxKeys, mostLargeKeys), keys: 'fingerprint', clock });
  return {
    store: memory,
    largeStore: large,
    memories: [
      { suffix: '', memory },
      { suffix: '.policies', memory: large },
    ],
    stats() {
      const all = [memory.stats(), large.stats()];
      const sum = (field: 'keys' | 'evictedLiveKeys' | 'refusedNewcomers') =>
        all.reduce((total, one) => total + one[field], 0);
      // The one way in which memory fails: what it may not forget leaves no room.
      const errors = sum('refusedNewcomers');
      return { type: 'memory', keys: sum('keys'), evictedLiveKeys: sum('evictedLiveKeys'), errors, degraded: 0 };
    },
    problem: () => undefined,
    close: async () => {},
  };
}

// So often at most the log says that a store does not answer.
const quietMs = 10_000;

/** Says that a store does not answer, now and then, and at once when it is well again. */
function complaints(log: Log) {
  let saidMs = Number.NEGATIVE_INFINITY;
  return {
    failed(error: unknown): void {
      if (performance.now() - saidMs < quietMs) return;
      saidMs = performance.now();
      log.warn({ error: (error as Error).message }, 'the store does not answer');
    },
    recovered(): void {
      saidMs = Number.NEGATIVE_INFINITY;
      log.info({}, 'the store answers again');
    },
  };
}

/** A cluster of nodes, asked as its clients ask it. */
async function openClient(config: ClientStoreConfig, log: Log): Promise<OpenStore> {
  const [{ degrade, layered }, { clusterStore }] = await Promise.all([
    import('sluice/layers'),
    import('sluice/client'),
  ]);
  const { nodes, isTls, token, deadlineMs, onFailure } = config;
  const client = clusterStore({ nodes, tls: isTls, deadline: deadlineMs, ...(token !== undefined && { token }) });
  const layer = degrade({ ...failsByItself, to: onFailure });
  const store = layered(client, layer);
  const { failed } = complaints(log);
  layer.on('failure', ({ error }) => failed(error));
  return {
    store,
    largeStore: store,
    memories: [],
    stats: () => ({ type: 'cluster', keys: undefined, evictedLiveKeys: 0, ...failureNumbers(layer) }),
    problem: () => undefined,
    close: () => client.close(),
  };
}

/** What stands between is loaded only by who uses it, as the client is. */
async function openRedis(config: RedisStoreConfig, log: Log): Promise<OpenStore> {
  const [{ degrade, layered }, { redisStore }] = await Promise.all([import('sluice/layers'), import('sluice/redis')]);
  const { url, isCluster } = config;
  const client = await (isCluster ? redisClusterClient(url) : redisClient(url));
  const { prefix, isFenced, timeoutMs, onFailure } = config;
  const layer = degrade({ after: timeoutMs, to: onFailure });
  const store = layered(redisStore({ client, prefix, fenced: isFenced }), layer);
  const { failed, recovered } = complaints(log);
  client.on('error', failed);
  layer.on('failure', ({ error }) => failed(error));
  layer.breaker.on('change', ({ to }) => {
    if (to === 'closed') recovered();
  });
  return {
    store,
    largeStore: store,
    memories: [],
    stats: () => ({ type: 'redis', keys: undefined, evictedLiveKeys: 0, ...failureNumbers(layer) }),
    problem: () => (layer.stats().state === 'closed' ? undefined : 'Redis does not answer'),
    async close() {
      client.disconnect();
    },
  };
}
