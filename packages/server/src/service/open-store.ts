/** The store that a configuration asks for. */
import type { Cluster, Redis } from 'ioredis';
import { type Clock, type MemoryStore, memoryStore, type Store, tickClock } from 'sluice';
import type { RedisStoreConfig, StoreConfig } from '../config/config.ts';
import { mostLargeKeys } from './ad-hoc-policies.ts';
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
  /** For policies of requests that need much room. */
  readonly largeStore: Store;
  /** Only of memory, which can be saved: each with what its file is called beside the first one's. */
  readonly memories: readonly { readonly suffix: string; readonly memory: MemoryStore }[];
  stats(): StoreStats;
  /** Why it cannot answer now; undefined when it can. */
  problem(): string | undefined;
  close(): Promise<void>;
}

/** @param clock of memory; Redis has its own */
export async function openStore(config: StoreConfig, log: Log, clock = tickClock()): Promise<OpenStore> {
  return config.type === 'memory' ? openMemory(config.maxKeys, clock) : openRedis(config, log);
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
      const sum = (field: 'keys' | 'evictedLiveKeys') => all.reduce((total, one) => total + one[field], 0);
      return { type: 'memory', keys: sum('keys'), evictedLiveKeys: sum('evictedLiveKeys'), errors: 0, degraded: 0 };
    },
    problem: () => undefined,
    close: async () => {},
  };
}

// So often at most the log says that Redis does not answer.
const quietMs = 10_000;

async function openRedis(config: RedisStoreConfig, log: Log): Promise<OpenStore> {
  const [{ degrade, layered }, { redisStore }] = await Promise.all([import('sluice/layers'), import('sluice/redis')]);
  const client = await clientFor(config);
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
  layer.breaker.on('change', ({ to }) => {
    if (to !== 'closed') return;
    saidMs = Number.NEGATIVE_INFINITY;
    log.info({}, 'the store answers again');
  });
  return {
    store,
    largeStore: store,
    memories: [],
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
