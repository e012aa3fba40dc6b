/** A local limit in front of a real Redis: what it refuses costs no trip, and what Redis refuses is given back. */
import { type RedisServer, startRedis, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../limit/limiter.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { freshPrefix } from '../../stores/redis/clients.test-support.ts';
import type { RedisClient } from '../../stores/redis/connection.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { layered } from '../layered.ts';
import { type Clients, clientsOf, scriptCallsDuring } from '../real-redis.test-support.ts';
import { preLimit } from './pre-limit.ts';

let server: RedisServer;
let clients: Clients;
beforeAll(async () => {
  server = await startRedis();
  clients = await clientsOf(server);
});
afterAll(async () => {
  clients.close();
  await server.stop();
});

const local = fixedWindow({ limit: 20, window: '1h', align: 'first' });

function begin(client: RedisClient, policy: Policy) {
  const memory = memoryStore();
  const layer = preLimit({ policy: local, store: memory });
  const redis = redisStore({ client, prefix: freshPrefix() });
  const left = (of: 'here' | 'there') => {
    const peek = {
      name: 'api',
      key: 'alice',
      policy: of === 'here' ? local : policy,
      cost: 0,
      operation: 'peek',
    } as const;
    return of === 'here'
      ? memory.apply([peek])[0]!.remaining
      : redis.apply([peek]).then(([decision]) => decision!.remaining);
  };
  return { layer, left, limits: limiter(policy, { store: layered(redis, layer), name: 'api' }) };
}

it('what the local limit refuses costs no trip, and Redis nothing', async () => {
  for (const { limits, layer, left } of clients.each((_, client) =>
    begin(client, slidingLog({ limit: 100, window: '1h' })),
  )) {
    await Promise.all(Array.from({ length: 20 }, () => limits.check('alice')));
    const trips = await scriptCallsDuring(server, async () => {
      for (let i = 0; i < 1000; i += 1) {
        expect(await limits.check('alice')).toMatchObject({ allowed: false, policy: local });
      }
    });
    expect(trips).toBe(0);
    expect(layer.stats()).toEqual({ refused: 1000, givenBack: 0 });
    expect(await left('there')).toBe(80);
  }
});

it('what Redis refuses is given back here, also when all come at once', async () => {
  for (const { limits, layer, left } of clients.each((_, client) =>
    begin(client, slidingLog({ limit: 5, window: '1h' })),
  )) {
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limits.check('alice')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(layer.stats()).toEqual({ refused: 0, givenBack: 15 });
    expect(left('here')).toBe(15);
    expect(await left('there')).toBe(0);
    // For as long as one likes: nothing is taken by being refused.
    for (let i = 0; i < 50; i += 1) expect((await limits.check('alice')).policy.limit).toBe(5);
    expect(left('here')).toBe(15);
  }
});

it('a part is taken of what both have, and a reservation is settled in both', async () => {
  for (const { limits, left } of clients.each((_, client) => begin(client, slidingLog({ limit: 15, window: '1h' })))) {
    const reservation = await limits.reserve('alice', 6);
    expect([left('here'), await left('there')]).toEqual([14, 9]);
    await reservation.commit(2);
    expect([left('here'), await left('there')]).toEqual([18, 13]);
    expect(await limits.take('alice', 100)).toMatchObject({ allowed: true, granted: 13 });
    expect([left('here'), await left('there')]).toEqual([5, 0]);
  }
});

it('what was taken here for a call that failed stays taken: Redis may have counted it', async () => {
  const own = await startRedis();
  const connected = await clientsOf(own);
  const subjects = connected.each((_, client) => begin(client, slidingLog({ limit: 15, window: '1h' })));
  for (const { limits } of subjects) await limits.check('alice');
  await own.call('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction');
  for (const { limits, left } of subjects) {
    await expect(limits.check('alice')).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(left('here')).toBe(18);
  }
  await own.call('CONFIG', 'SET', 'maxmemory', '0');
  for (const { limits } of subjects) {
    await waitUntil('Redis takes calls again', async () => (await limits.check('alice')).allowed);
  }
  connected.close();
  await own.stop();
});
