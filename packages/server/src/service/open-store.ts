/** The store that a configuration asks for. */
import { Cluster, Redis } from 'ioredis';
import { type MemoryStore, memoryStore, type Store, tickClock } from 'sluice';
import { degrade, layered } from 'sluice/layers';
import { redisStore } from 'sluice/redis';
import type { RedisStoreConfig, StoreConfig } from '../config/config.ts';
import type { Log } from './log.ts';

export interface StoreStats {
  readonly type: 'memory' | 'redis';
  /** Undefined where the store does not know. */
  readonly keys: number | undefined;
  readonly evictedLiveKeys: number;
  readonly errors: number;
  readonly degraded: number;
}

export interface OpenStore {
  readonly store: Store;
  /** Only of memory, which can be saved. */
  readonly memory: MemoryStore | undefined;
  stats(): StoreStats;
  /** Why it cannot answer now; undefined when it can. */
  problem(): string | undefined;
  close(): Promise<void>;
}

export function openStore(config: StoreConfig, log: Log): OpenStore {
  return config.type === 'memory' ? openMemory(config.maxKeys) : openRedis(config, log);
}

function openMemory(maxKeys: number): OpenStore {
  const memory = memoryStore({ maxKeys, keys: 'fingerprint', clock: tickClock() });
  return {
    store: memory,
    memory,
    stats() {
      const { keys, evictedLiveKeys } = memory.stats();
      return { type: 'memory', keys, evictedLiveKeys, errors: 0, degraded: 0 };
    },
    problem: () => undefined,
    close: async () => {},
  };
}

// So often at most the log says that Redis does not answer.
const quietMs = 10_000;

function openRedis({ url, prefix, isCluster, isFenced, timeoutMs, onFailure }: RedisStoreConfig, log: Log): OpenStore {
  const client = isCluster ? clusterAt(url) : new Redis(url, { autoResendUnfulfilledCommands: false });
  const layer = degrade({ after: timeoutMs, to: onFailure });
  const store = layered(redisStore({ client, prefix, fenced: isFenced }), layer);
  let saidMs = Number.NEGATIVE_INFINITY;
  const complain = (error: unknown) => {
    if (performance.now() - saidMs < quietMs) return;
    saidMs = performance.now();
    log.warn({ error: (error as Error).message }, 'the store does not answer');
  };
  client.on('error', complain);
  layer.on('failure', ({ error }) => complain(error));
  return {
    store,
    memory: undefined,
    stats() {
      const { storeErrors, degraded } = layer.stats();
      const decided = degraded.closed + degraded.open + degraded.local;
      return { type: 'redis', keys: undefined, evictedLiveKeys: 0, errors: storeErrors, degraded: decided };
    },
    problem: () => (layer.stats().state === 'closed' ? undefined : 'Redis does not answer'),
    async close() {
      client.disconnect();
    },
  };
}

function clusterAt(url: string): Cluster {
  const { hostname, port, username, password, protocol } = new URL(url);
  const redisOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
  return new Cluster([{ host: hostname, port: Number(port || 6379) }], { retryDelayOnFailover: 0, redisOptions });
}
