/** Failover by Sentinel: another primary altogether, no slots, and nobody who tells the old one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisSentinel, type RedisServer, startSentinel } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../../limit/limiter.ts';
import { audit } from '../../../testing/auditor/auditor.ts';
import { type Connected, freshPrefix, sentinelClients } from '../clients.test-support.ts';
import { type RedisStore, redisStore } from '../redis-store.ts';
import { traffic, underTraffic } from './traffic.test-support.ts';

const limit = 20;
const log = slidingLog({ limit, window: '3s' });
const keys = Array.from({ length: 8 }, (_, index) => `key-${index}`);

const config = { 'repl-backlog-ttl': 0, 'min-replicas-to-write': 1, 'min-replicas-max-lag': 1 };
const fenced = { deadline: '500ms', skew: '250ms', nodeTimeout: '1s' } as const;

interface Watched {
  readonly sentinel: RedisSentinel;
  storeThrough(client: keyof typeof sentinelClients, prefix?: string): Promise<RedisStore>;
}

async function withSentinel(run: (watched: Watched) => Promise<void>): Promise<void> {
  const connections: Connected[] = [];
  const sentinel = await startSentinel({ config });
  try {
    await run({
      sentinel,
      async storeThrough(client, prefix = freshPrefix()) {
        const connected = await sentinelClients[client](sentinel.sentinels, sentinel.name);
        connections.push(connected);
        return redisStore({ client: connected.client, prefix, fenced });
      },
    });
  } finally {
    for (const { close } of connections) close();
    await sentinel.stop();
  }
}

describe.concurrent('behind a fence, a Redis with Sentinel', () => {
  it('does not start where a primary that was replaced would go on', () =>
    withSentinel(async ({ sentinel, storeThrough }) => {
      const store = await storeThrough('ioredis 6');
      const primary = await sentinel.primary();
      await primary.call('CONFIG', 'SET', 'min-replicas-to-write', 0);
      await expect(store.ready()).rejects.toMatchObject({ code: 'store-unsafe' });
      await expect(store.ready()).rejects.toThrow('min-replicas-to-write of the Redis server must be 1, got 0');
      await primary.call('CONFIG', 'SET', 'min-replicas-to-write', 1);
      await store.ready();
    }));

  it.each<[string, (old: RedisServer) => Promise<void>, (old: RedisServer) => Promise<void>]>([
    ['dies', (old) => old.kill(), (old) => old.restart()],
    ['is paused until another has taken its place', (old) => old.pause(), async (old) => old.resume()],
  ])('grants nothing twice when the primary %s', (_, takeAway, bringBack) =>
    withSentinel(async ({ sentinel, storeThrough }) => {
      const prefix = freshPrefix();
      const through = [await storeThrough('ioredis 6', prefix), await storeThrough('node-redis 6', prefix)];
      const all = through.map((store) => {
        const limits = limiter(log, { store, name: 'shared' });
        return traffic((key) => limits.check(key), { keys, policy: log });
      });
      await underTraffic(all, async (both) => {
        await Promise.all(both.map((each) => each.untilEachIsGranted(1)));
        const old = await sentinel.primary();
        await takeAway(old);
        await sentinel.waitForPromotion(old);
        await sleep(1000);
        await bringBack(old);
        await Promise.all(both.map((each) => each.untilEachIsGranted(1)));
        await Promise.all(both.map((each) => each.stop()));
        // They share their keys.
        const grants = both.flatMap((each) => each.grants);
        const verdict = audit(grants, log, { verdict: 'certain' });
        expect(verdict.ok, verdict.describe()).toBe(true);
      });
    }),
  );
});
