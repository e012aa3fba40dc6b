/** What one server may do to its clients: lose everything, lose its function, lose answers, and be set wrongly. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startFaultProxy, startRedis, waitUntil } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { tokenBucket } from '../../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../../limit/limiter.ts';
import type { Policy } from '../../../vocabulary/policy.ts';
import { freshPrefix, standaloneClients } from '../clients.test-support.ts';
import type { RedisClient } from '../connection.ts';
import { redisStore } from '../redis-store.ts';
import { config, fenced, limit, trafficOn, withServer } from './one-server.test-support.ts';
import { freshName, quarantineOver, traffic, underTraffic } from './traffic.test-support.ts';

const log = slidingLog({ limit, window: '3s' });

// All at the same time: each has a server of its own, and mostly waits for a quarantine to end.
describe.concurrent('behind a fence, one Redis server', () => {
  it('has one guard when it is ready', () =>
    withServer(async ({ server, behind }) => {
      const prefix = freshPrefix();
      await behind(fenced, prefix).ready();
      expect(await server.call('KEYS', `${prefix}*`)).toEqual([`${prefix}{p0}`]);
    }));

  it.each<[string, (server: RedisServer) => Promise<unknown>]>([
    ['restarts at once with nothing', (server) => server.kill().then(() => server.restart())],
    ['is flushed', (server) => server.call('FLUSHALL')],
  ])('grants nothing twice when it %s', (_, lose) =>
    withServer(async ({ server, behind, plain }) => {
      const store = behind();
      await quarantineOver(store, log);
      const all = [
        trafficOn(store, log),
        trafficOn(store, gcra({ limit, window: '3s' })),
        trafficOn(plain(), log),
      ] as const;
      await underTraffic(all, async ([strict, buckets, unfenced]) => {
        await Promise.all([strict.untilEachIsGranted(limit), unfenced.untilEachIsGranted(limit)]);
        await lose(server);
        await Promise.all([strict.untilEachIsGranted(limit), buckets.untilEachIsGranted(limit)]);
        await Promise.all([strict.stop(), buckets.stop(), unfenced.stop()]);
        strict.mustHold();
        buckets.mustHold();
        unfenced.mustBreak();
      });
    }),
  );

  it('loads its function again where the server lost it, once for all who miss it', () =>
    withServer(async ({ server, behind }) => {
      const limits = limiter(log, { store: behind(), name: freshName() });
      await limits.peek('alice');
      await server.call('FUNCTION', 'FLUSH');
      const before = await loadCount(server);
      await Promise.all(Array.from({ length: 200 }, (_, index) => limits.peek(`key-${index}`)));
      expect(await server.call('FUNCTION', 'LIST')).toHaveLength(1);
      expect((await loadCount(server)) - before).toBe(1);
    }));

  it.each([
    ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
    ['repl-backlog-ttl', '3600', '0'],
  ])('does not start with a %s of %s, and does once it is right', (setting, wrong, right) =>
    withServer(async ({ server, behind }) => {
      const store = behind();
      await server.call('CONFIG', 'SET', setting, wrong);
      await expect(store.ready()).rejects.toMatchObject({ code: 'store-unsafe' });
      await expect(store.ready()).rejects.toThrow(`${setting} of the Redis server must be ${right}, got ${wrong}`);
      await expect(store.ready()).rejects.toThrow(`CONFIG SET ${setting} ${right}`);
      await expect(limiter(log, { store, name: freshName() }).check('alice')).rejects.toMatchObject({
        code: 'store-unsafe',
      });
      await server.call('CONFIG', 'SET', setting, right);
      await store.ready();
    }),
  );

  it('looks at the settings again when the server is another', () =>
    withServer(async ({ server, behind }) => {
      const limits = limiter(log, { store: behind(), name: freshName() });
      await limits.peek('alice');
      await server.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      await server.call('FLUSHALL');
      await waitUntil('calls fail for the setting', () =>
        limits.peek('alice').then(
          () => false,
          ({ code }) => code === 'store-unsafe',
        ),
      );
      await server.call('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await waitUntil('it is looked at once more', () =>
        limits.peek('alice').then(
          ({ reason }) => reason === 'quarantine',
          () => false,
        ),
      );
    }));

  it('fails the one key that holds what is none of ours, and says what it is', () =>
    withServer(async ({ server, behind }) => {
      const prefix = freshPrefix();
      const limits = limiter(gcra({ limit: 10, window: '1s' }), { store: behind(fenced, prefix), name: 'api' });
      await limits.check('alice');
      await server.call('SET', `${prefix}{p0}bad}api`, '42');
      const [good, bad] = await Promise.allSettled(['alice', 'bad'].map((key) => limits.peek(key)));
      expect(good?.status).toBe('fulfilled');
      expect((bad as PromiseRejectedResult).reason.message).toMatch(/unknown algorithm \(code 52\).*bad\}api/);
    }));

  it('asks a server little when it cannot start, however many calls there are', () =>
    withServer(async ({ server, behind }) => {
      await server.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      const limits = limiter(log, { store: behind(), name: freshName() });
      for (let count = 0; count < 50; count += 1) {
        await expect(limits.check('alice')).rejects.toMatchObject({ code: 'store-unsafe' });
      }
      const statistics = await server.call<string>('INFO', 'commandstats');
      expect(Number(/cmdstat_config\|get:calls=(\d+)/.exec(statistics)?.[1])).toBeLessThan(20);
    }));

  it('is unsafe when it has no functions, or nobody may load one', () =>
    withServer(
      async ({ behind }) => {
        const store = behind();
        await expect(store.ready()).rejects.toMatchObject({ code: 'store-unsafe' });
        await expect(store.ready()).rejects.toThrow(/^FUNCTION LOAD failed.*Redis 7 or later is needed: ERR unknown/);
      },
      { config: { 'rename-command': 'FUNCTION ""' } },
    ));

  it('is unavailable, not unsafe, when it does not answer', async () => {
    const server = await startRedis({ config });
    const client = new Redis(server.port, server.host, {
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 1,
    });
    client.on('error', () => undefined);
    try {
      const store = redisStore({ client, prefix: freshPrefix(), fenced });
      await server.kill();
      await expect(store.ready()).rejects.toMatchObject({ code: 'store-unavailable' });
    } finally {
      client.disconnect();
      await server.stop();
    }
  });

  it('is not taken for a primary when it is a replica, though it can be written to', () =>
    withServer(async ({ server }) => {
      const replicaof = `${server.host} ${server.port}`;
      await withServer(
        async ({ behind }) => {
          const store = behind();
          await expect(store.ready()).rejects.toMatchObject({ code: 'store-unavailable' });
          await expect(store.ready()).rejects.toThrow('This server is a replica.');
        },
        { config: { replicaof, 'replica-read-only': 'no' } },
      );
    }));

  it('refuses a long strict window for as long as it takes, and says how long', () =>
    withServer(async ({ behind }) => {
      const decision = await limiter(slidingLog({ limit: 100, window: '1h' }), {
        store: behind(),
        name: freshName(),
      }).check('alice');
      // The hour, what strict windows are longer by, and what a deposed server may still have granted.
      const mostMs = 3_600_000 + 2 * 250 + 2 * 500 + 100 + 500;
      expect(decision).toMatchObject({ allowed: false, reason: 'quarantine', remaining: 0 });
      expect(decision.retryAfterMs).toBeGreaterThan(3_600_000);
      expect(decision.retryAfterMs).toBeLessThanOrEqual(mostMs);
      expect(decision.resetAfterMs).toBe(decision.retryAfterMs);
    }));

  it('gives the answer to a request id again only while the grant may be used', () =>
    withServer(async ({ behind }) => {
      const limits = limiter(slidingLog({ limit: 1, window: '1h' }), { store: behind(), name: freshName() });
      const first = await limits.check('alice', { requestId: 'r1' });
      expect(await limits.check('alice', { requestId: 'r1' })).toEqual(first);
      await sleep(600);
      // The deadline is over: the same id is another request.
      expect((await limits.check('alice', { requestId: 'r1' })).retryAfterMs).toBeLessThan(first.retryAfterMs);
    }));

  it('allows when it said it would, and not before', () =>
    withServer(async ({ behind }) => {
      const limits = limiter(slidingLog({ limit: 1, window: '200ms' }), { store: behind(), name: freshName() });
      const { retryAfterMs, reason } = await limits.check('alice');
      expect(reason).toBe('quarantine');
      await sleep(retryAfterMs / 4);
      expect((await limits.check('alice')).reason).toBe('quarantine');
      await sleep((retryAfterMs * 3) / 4 + 5);
      expect((await limits.check('alice')).allowed).toBe(true);
    }));

  it('starts a bucket from empty, rather than refuse for an hour', () =>
    withServer(async ({ behind }) => {
      const store = behind();
      const slow = await limiter(gcra({ limit: 100, window: '1h' }), { store, name: freshName() }).check('alice');
      expect(slow).toMatchObject({ allowed: false, reason: 'quarantine' });
      // One token at its rate, and the margin.
      expect(slow.retryAfterMs).toBeGreaterThan(36_000);
      expect(slow.retryAfterMs).toBeLessThanOrEqual(36_000 + 600);
      // Fifty a second, of which an hour's worth would fit.
      const policy = gcra({ limit: 180_000, window: '1h' });
      const limits = limiter(policy, { store, name: freshName() });
      const fast = traffic((key) => limits.check(key), { keys: ['alice'], policy });
      await underTraffic([fast], async () => {
        const startMs = performance.now();
        await fast.untilEachIsGranted(40);
        await fast.stop();
        expect(fast.grants.length).toBeLessThanOrEqual(((performance.now() - startMs) / 1000) * 50 + 1);
      });
    }));

  it.each<[string, Policy]>([
    ['counts rejected calls', slidingLog({ limit: 5, window: '5s', countRejected: true })],
    ['starts short of tokens', tokenBucket({ limit: 5, window: '5s', burst: 10, initial: 5, refill: 'interval' })],
    ['counts windows', fixedWindow({ limit: 5, window: '5s' })],
  ])('refuses in quarantine where a policy %s', (_, policy) =>
    withServer(async ({ behind }) => {
      const limits = limiter(policy, { store: behind(), name: freshName() });
      for (let count = 0; count < 3; count += 1) {
        expect(await limits.check('alice')).toMatchObject({ allowed: false, reason: 'quarantine' });
      }
    }),
  );

  it('refuses a bucket that fills by intervals until all it held would have come back', () =>
    withServer(async ({ behind }) => {
      const policy = tokenBucket({ limit: 1, window: '1s', burst: 10, refill: 'interval' });
      const { retryAfterMs } = await limiter(policy, { store: behind(), name: freshName() }).check('alice');
      expect(retryAfterMs).toBeGreaterThan(10_000);
    }));

  it('gives nothing back for receipts from before a restart, though it kept its data', () =>
    withServer(
      async ({ server, behind }) => {
        const store = behind();
        // So slow that nothing comes back by itself: 3.6 seconds each.
        const bucket = limiter(gcra({ limit: 1000, window: '1h', burst: 50 }), { store, name: freshName() });
        const leases = limiter(concurrency({ limit: 2, lease: '2s' }), { store, name: freshName() });
        await waitUntil('there is something to reserve', async () => (await bucket.peek('alice', 2)).allowed);
        const [kept, cancelled] = [await bucket.reserve('alice', 1), await bucket.reserve('alice', 1)];
        const held = await leases.acquire('alice');
        expect([kept.allowed, cancelled.allowed, held.allowed]).toEqual([true, true, true]);
        const before = await bucket.peek('alice', 50);
        await cancelled.cancel();
        expect((await bucket.peek('alice', 50)).retryAfterMs).toBeLessThan(before.retryAfterMs - 3000);

        await server.restart();
        await waitUntil('it answers again', () => leases.peek('alice').then(() => true));
        const after = await bucket.peek('alice', 50);
        await kept.cancel();
        expect((await bucket.peek('alice', 50)).retryAfterMs).toBeGreaterThan(after.retryAfterMs - 3000);
        await held.release();
        expect(await leases.check('alice')).toMatchObject({ allowed: false, reason: 'quarantine' });
      },
      { config: { appendonly: 'yes', appendfsync: 'always' } },
    ));
});

describe.concurrent('behind a fence, a connection that breaks', () => {
  it('counts a call once whose answer was lost with it', () =>
    withServer(async ({ server, client }) => {
      const proxy = await startFaultProxy(server);
      const broken = await standaloneClients['ioredis 6'](proxy);
      try {
        const prefix = freshPrefix();
        // A day each: nothing comes back while it runs.
        const policy = gcra({ limit: 1, window: '1d', burst: 1000 });
        const through = (one: RedisClient) =>
          limiter(policy, { store: redisStore({ client: one, prefix, fenced }), name: 'lost' });
        const [watcher, caller] = [through(client), through(broken.client)];
        await Promise.all([watcher.peek('alice'), caller.peek('alice')]);
        const debt = async () => Math.round((await watcher.peek('alice')).resetAfterMs / 86_400_000);
        const start = await debt();
        proxy.dropReplies();
        const calls = Array.from({ length: 10 }, () => caller.penalize('alice'));
        const outcomes = Promise.allSettled(calls);
        await waitUntil('the server has carried them out', async () => (await debt()) === start + 10);
        proxy.resume();
        expect((await outcomes).map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
        await waitUntil('the caller is connected again', () => caller.peek('alice').then(() => true));
        expect(await debt()).toBe(start + 10);
      } finally {
        broken.close();
        await proxy.stop();
      }
    }));

  it('grants nothing more when it is cut again and again', () =>
    withServer(async ({ server }) => {
      const proxy = await startFaultProxy(server);
      const broken = await standaloneClients['ioredis 6'](proxy);
      try {
        const strict = trafficOn(redisStore({ client: broken.client, prefix: freshPrefix(), fenced }), log);
        await underTraffic([strict], async () => {
          await strict.untilEachIsGranted(limit);
          for (let round = 0; round < 5; round += 1) {
            proxy.dropReplies();
            await sleep(100);
            proxy.resume();
            await sleep(200);
            proxy.cut();
            await sleep(200);
          }
          await strict.untilEachIsGranted(1);
          await strict.stop();
          expect(strict.errors.size).toBeGreaterThan(0);
          strict.mustHold();
        });
      } finally {
        broken.close();
        await proxy.stop();
      }
    }));
});

/** How often a function was loaded. */
async function loadCount(server: RedisServer): Promise<number> {
  const statistics = await server.call<string>('INFO', 'commandstats');
  return Number(/cmdstat_function\|load:calls=(\d+)/.exec(statistics)?.[1] ?? 0);
}
