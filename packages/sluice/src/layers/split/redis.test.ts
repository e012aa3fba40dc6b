/** Instances that each count in a Redis of their own, and never talk: together they keep the limit. */
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { freshPrefix } from '../../stores/redis/clients.test-support.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import { audit } from '../../testing/auditor/auditor.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { layered } from '../layered.ts';
import { type Clients, clientsOf } from '../real-redis.test-support.ts';
import { split } from './split.ts';

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

const rate = { limit: 41, window: 400 };
const policies: readonly Policy[] = [
  slidingLog(rate),
  slidingSlots({ ...rate, slots: 8 }),
  gcra({ ...rate, burst: 15 }),
  tokenBucket(rate),
  leakyBucket({ ...rate, burst: 9, delay: 'none' }),
];

it('instances that split keep every promise together, and use nearly all of it', async () => {
  const uses = policies.map((): Grant[] => []);
  let rounds = 0;
  const own = clients.each((_, client) => client);
  const startMs = performance.now();
  await Promise.all(
    own.map(async (client, index) => {
      const store = layered(redisStore({ client, prefix: freshPrefix() }), split({ instances: 2, index }));
      const limits = policies.map((policy, i) => limiter(policy, { store, name: `rule-${i}` }));
      while (performance.now() < startMs + 1200) {
        rounds += 1;
        await Promise.all(
          limits.map(async (each, i) => {
            const sentMs = performance.now();
            const { allowed, policy } = await each.check('alice');
            expect(policy).toBe(policies[i]);
            if (allowed) uses[i]!.push({ key: 'alice', sentMs, receivedMs: performance.now() });
          }),
        );
      }
    }),
  );
  for (const [i, policy] of policies.entries()) {
    const report = audit(uses[i]!, policy);
    expect(report.ok, report.describe()).toBe(true);
    // Two windows' worth at least, of three; on a machine too busy to ask for as much, half of what was asked for.
    expect(uses[i]!.length).toBeGreaterThan(Math.min(1.8 * rate.limit, rounds / 2));
  }
});
