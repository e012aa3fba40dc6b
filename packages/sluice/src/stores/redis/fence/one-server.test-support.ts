/** A Redis server of one test's own, fit for a fence, and a client of it. */
import { type RedisOptions, type RedisServer, startRedis } from '@sluice/test-servers';
import { limiter } from '../../../limit/limiter.ts';
import type { Policy } from '../../../vocabulary/policy.ts';
import { type Connected, freshPrefix, standaloneClients } from '../clients.test-support.ts';
import { type FencedOptions, type RedisStore, redisStore } from '../redis-store.ts';
import { freshName, type Traffic, traffic } from './traffic.test-support.ts';

export const limit = 20;

/** Alone it has nobody to take its place. Generous with late answers, because the machine may be busy. */
export const fenced: FencedOptions = { deadline: '500ms', skew: '250ms', nodeTimeout: '100ms' };

export const config = { 'repl-backlog-ttl': 0 };

export interface OneServer {
  readonly server: RedisServer;
  readonly client: Connected['client'];
  /** A store behind the fence. */
  behind(options?: FencedOptions, prefix?: string): RedisStore;
  /** One without. */
  plain(prefix?: string): RedisStore;
}

export async function withServer(run: (one: OneServer) => Promise<void>, options: RedisOptions = {}): Promise<void> {
  const server = await startRedis({ ...options, config: { ...config, ...options.config } });
  try {
    const { client, close } = await standaloneClients['ioredis 6'](server);
    try {
      await run({
        server,
        client,
        behind: (given = fenced, prefix = freshPrefix()) => redisStore({ client, prefix, fenced: given }),
        plain: (prefix = freshPrefix()) => redisStore({ client, prefix }),
      });
    } finally {
      close();
    }
  } finally {
    await server.stop();
  }
}

const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);

export function trafficOn(store: RedisStore, policy: Policy): Traffic {
  const limits = limiter(policy, { store, name: freshName() });
  return traffic((key) => limits.check(key), { keys, policy });
}
