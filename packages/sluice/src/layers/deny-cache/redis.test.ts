/** Over a real Redis: what is refused costs no network, and nothing is refused that Redis would allow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { freshPrefix } from '../../stores/redis/clients.test-support.ts';
import type { RedisClient } from '../../stores/redis/connection.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import type { Check, Operation } from '../../stores/store.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { layered } from '../layered.ts';
import { type Clients, clientsOf, scriptCallsDuring } from '../real-redis.test-support.ts';
import { denyCache } from './deny-cache.ts';

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

describe('a key that was refused', () => {
  it('makes no network traffic, however often it comes back', async () => {
    for (const limits of clients.each((_, client) => {
      const store = layered(redisStore({ client, prefix: freshPrefix() }), denyCache({ atMost: '1h' }));
      return limiter(slidingLog({ limit: 3, window: '1h' }), { store, name: 'api' });
    })) {
      const keys = Array.from({ length: 20 }, (_, i) => `user-${i}`);
      for (const key of keys) for (let i = 0; i < 4; i += 1) await limits.check(key);
      const trips = await scriptCallsDuring(server, async () => {
        for (let i = 0; i < 500; i += 1) {
          const decisions = await Promise.all(keys.map((key) => limits.check(key)));
          for (const decision of decisions) expect(decision).toMatchObject({ allowed: false, remembered: true });
        }
      });
      expect(trips).toBe(0);
      expect(await scriptCallsDuring(server, () => limits.check('somebody else'))).toBe(1);
    }
  });

  it('is asked for again after `atMost`, once for all who ask at the same time', async () => {
    const store = layered(
      redisStore({ client: clients.ioredis, prefix: freshPrefix() }),
      denyCache({ atMost: '200ms' }),
    );
    const limits = limiter(slidingLog({ limit: 1, window: '1h' }), { store, name: 'api' });
    await limits.check('alice');
    await limits.check('alice');
    await sleep(250);
    const trips = await scriptCallsDuring(server, async () => {
      expect(await limits.check('alice')).not.toHaveProperty('remembered');
      await limits.check('alice');
    });
    expect(trips).toBe(1);
  });
});

describe('on random traces through both clients', () => {
  // Short windows, so that refusals end while they are remembered.
  const policies: readonly Policy[] = [
    gcra({ limit: 50, window: '1s', burst: 3 }),
    tokenBucket({ limit: 40, window: '1s', burst: 4 }),
    slidingLog({ limit: 4, window: '60ms' }),
    slidingWindow({ limit: 5, window: '50ms' }),
    fixedWindow({ limit: 4, window: '40ms' }),
  ];
  const operations: readonly Operation[] = [
    ...Array<Operation>(25).fill('check'),
    'peek',
    'reset',
    'reward',
    'penalize',
  ];
  const pick = <T>(random: () => number, list: readonly T[]) => list[Math.floor(random() * list.length)]!;

  it('nothing is refused that Redis would allow', async () => {
    await Promise.all(clients.each((name, client) => trace(client, name.length)));
  });

  /** Time only ever makes room: what Redis would have allowed before the cache was asked, the cache must not refuse. */
  async function trace(client: RedisClient, seed: number): Promise<void> {
    const random = seededRandom(seed);
    const layer = denyCache();
    const bare = redisStore({ client, prefix: freshPrefix() });
    const store = layered(bare, layer);
    let recent: Check[][] = [];
    for (let step = 0; step < 4000; step += 1) {
      const question = (): Check => {
        const place = Math.floor(random() * policies.length);
        const [policy, key] = [policies[place]!, pick(random, ['a', 'b'])];
        return {
          name: `rule-${place}`,
          key,
          policy,
          cost: pick(random, [1, 1, 1, 2]),
          operation: pick(random, operations),
        };
      };
      const batch =
        random() < 0.8 && recent.length > 0
          ? pick(random, recent)
          : Array.from({ length: pick(random, [1, 1, 2]) }, question);
      if (batch.every(({ operation }) => operation === 'check')) recent = [...recent.slice(-5), batch];
      // The batch as a question: what Redis would have said before the cache was asked.
      const peeks = batch.map((check): Check => ({ ...check, operation: 'peek' }));
      const expected = await bare.apply(peeks);
      const actual = await store.apply(batch);
      const isRemembered = actual.some(({ remembered }) => remembered);
      if (isRemembered && expected.every(({ allowed }) => allowed))
        expect.fail(`seed ${seed}, step ${step}: refused what Redis would allow: ${JSON.stringify(batch)}`);
    }
    // Else there was nothing to see.
    expect(layer.stats().answered).toBeGreaterThan(400);
  }

  it('as much is admitted as by a bare store that gets the same calls', async () => {
    const policy = gcra({ limit: 100, window: '1s', burst: 5 });
    const counts = await Promise.all(
      clients.each(async (_, client) => {
        const layer = denyCache();
        const cached = limiter(policy, {
          store: layered(redisStore({ client, prefix: freshPrefix() }), layer),
          name: 'api',
        });
        const bare = limiter(policy, { store: redisStore({ client, prefix: freshPrefix() }), name: 'api' });
        const admitted = { cached: 0, bare: 0 };
        const endMs = performance.now() + 2000;
        while (performance.now() < endMs) {
          const [one, other] = await Promise.all([cached.check('alice'), bare.check('alice')]);
          if (one.allowed) admitted.cached += 1;
          if (other.allowed) admitted.bare += 1;
        }
        return { ...admitted, answered: layer.stats().answered };
      }),
    );
    for (const { cached, bare, answered } of counts) {
      expect(answered).toBeGreaterThan(100);
      expect(bare).toBeGreaterThan(100);
      expect(Math.abs(cached - bare)).toBeLessThanOrEqual(0.05 * bare);
    }
  });
});
