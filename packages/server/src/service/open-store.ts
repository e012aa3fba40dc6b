/** The store that a configuration asks for. */
import type { Cluster, Redis } from 'ioredis';
import { type MemoryStore, memoryStore, type Store, tickClock } from 'sluice';
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

export async function openStore(config: StoreConfig, log: Log): Promise<OpenStore> {
  if (config.type === 'memory') return openMemory(config.maxKeys);
  return openRedis(config, await clientFor(config), log);
}

/** The client library takes as much memory as half a million keys, so only who uses it loads it; likewise what stands between. */
async function clientFor({ url, isCluster }: RedisStoreConfig): Promise<Redis | Cluster> {
  const ioredis = await import('ioredis');
  if (!isCluster) return new ioredis.Redis(url, { autoResendUnfulfilledCommands: false });
  const { hostname, port, username, password, protocol } = new URL(url);
  const redisOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
  const seeds = [{ host: hostname, port: Number(port || 6379) }];
  return new ioredis.Cluster(seeds, { retryDelayOnFailover: 0, redisOptions });
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

async function openRedis(config: RedisStoreConfig, client: Redis | Cluster, log: Log): Promise<OpenStore> {
  const [{ degrade, layered }, { redisStore }] = await Promise.all([import('sluice/layers'), import('sluice/redis')]);
  const { prefix, isFenced, timeoutMs, onFailure } = config;
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
