/** The stack that the documentation shows, over a real Redis, with and without a fence: rules, a deny cache, and a way to fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedis, waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { type Rules, rules } from '../limit/rules.ts';
import { freshPrefix } from '../stores/redis/clients.test-support.ts';
import type { RedisClient } from '../stores/redis/connection.ts';
import { type FencedOptions, redisStore } from '../stores/redis/redis-store.ts';
import { audit } from '../testing/auditor/auditor.ts';
import type { Grant } from '../testing/auditor/grant.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { degrade } from './degrade/degrade.ts';
import { denyCache } from './deny-cache/deny-cache.ts';
import { layered } from './layered.ts';
import { type Clients, clientsOf, scriptCallsDuring } from './real-redis.test-support.ts';

const afterMs = 250;
const hourly = slidingLog({ limit: 5, window: '1h' });
/** For as long as the rule for each user; or a bucket that is full again soon. */
const everyoneFor = (fenced: FencedOptions | false) => gcra({ limit: 1000, window: fenced ? '1s' : '1h' });
// Alone it has nobody to take its place.
const fence: FencedOptions = { deadline: '500ms', skew: '100ms', nodeTimeout: '50ms' };

let server: RedisServer;
let clients: Clients;
beforeEach(async () => {
  server = await startRedis({ config: { 'repl-backlog-ttl': 0 } });
  clients = await clientsOf(server);
});
afterEach(async () => {
  clients.close();
  await server.stop();
});

interface Stack {
  readonly limits: Rules<'async'>;
  readonly cache: ReturnType<typeof denyCache>;
  readonly safety: ReturnType<typeof degrade>;
}

function stackOf(client: RedisClient, perUser: Policy, fenced: FencedOptions | false): Stack {
  const cache = denyCache();
  const safety = degrade({ after: afterMs, breaker: { openFor: '200ms', openForMax: '200ms' } });
  const store = layered(redisStore({ client, prefix: freshPrefix(), fenced }), cache, safety);
  const limits = rules(
    [
      { name: 'per-user', policy: perUser, key: 'user', onStoreFailure: 'closed' },
      { name: 'everyone', policy: everyoneFor(fenced), onStoreFailure: 'open' },
    ],
    { store },
  );
  return { limits, cache, safety };
}

/** Until Redis itself allows: it is reached, and nothing is in doubt. */
async function untilAllowed({ limits }: Stack): Promise<void> {
  await waitUntil('Redis allows', async () => {
    const { allowed, decisions } = await limits.check({ user: 'anybody' });
    return allowed && decisions.every(({ degraded }) => !degraded);
  });
}

describe.each<[string, FencedOptions | false]>([
  ['without a fence', false],
  ['behind a fence', fence],
])('%s, layered(redisStore, denyCache, degrade)', (_, fenced) => {
  // A fence begins in doubt, for as long as the longest window; so where it is part of it, windows are short.
  const strict = fenced ? slidingLog({ limit: 5, window: '1s' }) : hourly;

  it('decides as Redis does, all or nothing, and remembers what is refused', async () => {
    const stacks = clients.each((__, client) => stackOf(client, strict, fenced));
    await Promise.all(stacks.map(untilAllowed));
    for (const { limits, cache } of stacks) {
      const { remaining: before } = (await limits.check({})).decisions.at(-1)!;
      const results = await Promise.all(Array.from({ length: 20 }, () => limits.check({ user: 'alice' })));
      expect(results.filter(({ allowed }) => allowed)).toHaveLength(5);
      expect(results.find(({ allowed }) => !allowed)).toMatchObject({
        tightest: { rule: 'per-user', reason: 'limit' },
      });
      const answered = cache.stats().answered;
      const trips = await scriptCallsDuring(server, async () => {
        for (let i = 0; i < 50; i += 1) expect((await limits.check({ user: 'alice' })).allowed).toBe(false);
      });
      expect(trips).toBeLessThan(5);
      expect(cache.stats().answered - answered).toBeGreaterThan(45);
      const { remaining } = (await limits.check({})).decisions.at(-1)!;
      // What was refused by one rule was charged by none: five, and the one that looks. (A bucket of a second is full again.)
      if (!fenced) expect(before - remaining).toBe(6);
    }
  });

  it('fails for each rule as it was told while Redis stands still, and comes back with everything it had', async () => {
    const stacks = clients.each((__, client) => stackOf(client, strict, fenced));
    await Promise.all(stacks.map(untilAllowed));
    for (const { limits } of stacks) for (let i = 0; i < 5; i += 1) await limits.check({ user: 'dave' });
    await server.pause();
    await Promise.all(
      stacks.map(async ({ limits, safety, cache }) => {
        const answered = cache.stats().answered;
        for (let i = 0; i < 200; i += 1) {
          expect(await limits.check({ user: 'bob' })).toMatchObject({
            allowed: false,
            tightest: { rule: 'per-user', reason: 'store-failure', degraded: 'closed' },
          });
          // A request that only the other rule is about.
          expect(await limits.check({})).toMatchObject({ allowed: true, decisions: [{ degraded: 'open' }] });
        }
        expect(safety.stats().storeErrors).toBeLessThan(50);
        // Nothing of that is remembered as if Redis had said it.
        expect(cache.stats().answered).toBe(answered);
      }),
    );
    server.resume();
    await Promise.all(stacks.map(untilAllowed));
    for (const { limits, safety } of stacks) {
      expect(safety.stats().state).toBe('closed');
      const { tightest } = await limits.check({ user: 'dave' });
      expect(tightest?.degraded).toBeUndefined();
      // The short window of the other may be over by now.
      if (!fenced) expect(tightest).toMatchObject({ allowed: false, rule: 'per-user', reason: 'limit', remaining: 0 });
    }
  });
});

describe('when Redis comes back with nothing', () => {
  const short = slidingLog({ limit: 20, window: '2s' });
  const shorter = slidingLog({ limit: 20, window: '1s' });

  /** Hammers one user through a restart; what was granted. */
  async function throughRestart(stack: Stack): Promise<{ grants: Grant[]; reasons: Set<string | undefined> }> {
    await untilAllowed(stack);
    const grants: Grant[] = [];
    const reasons = new Set<string | undefined>();
    let isOver = false;
    const hammering = (async () => {
      while (!isOver) {
        const sentMs = performance.now();
        const { allowed, tightest } = await stack.limits.check({ user: 'alice' });
        if (allowed) grants.push({ key: 'alice', sentMs, receivedMs: performance.now() });
        reasons.add(tightest?.reason);
        await sleep(2);
      }
    })();
    await waitUntil('all of it is used', () => grants.length >= 20 && reasons.has('limit'));
    await server.kill();
    await server.restart();
    const { length } = grants;
    await waitUntil('it grants again', () => grants.length >= length + 20);
    isOver = true;
    await hammering;
    return { grants, reasons };
  }

  it('without a fence it begins from zero, and the layers do not hide that', async () => {
    const { grants } = await throughRestart(stackOf(clients.ioredis, short, false));
    expect(audit(grants, short).ok).toBe(false);
  });

  it('behind a fence nothing is granted twice, through all of the layers', async () => {
    const { grants, reasons } = await throughRestart(stackOf(clients.ioredis, shorter, fence));
    const report = audit(grants, shorter);
    expect(report.ok, report.describe()).toBe(true);
    expect([...reasons]).toEqual(expect.arrayContaining([undefined, 'limit', 'quarantine']));
  });
});

it('a server that no fence can trust has failed, and the rules say what then', async () => {
  await server.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  for (const { limits } of clients.each((__, client) => stackOf(client, hourly, fence))) {
    const isDegraded = async () => (await limits.check({})).decisions[0]?.degraded !== undefined;
    await waitUntil('it says so', isDegraded);
  }
  const store = redisStore({ client: clients.ioredis, fenced: true });
  await expect(store.ready()).rejects.toThrow('maxmemory-policy of the Redis server must be noeviction');
});
