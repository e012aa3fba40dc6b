// With the real express-rate-limit, over HTTP.
import { type RedisServer, startRedis } from '@sluice/test-servers';
import type { RequestHandler } from 'express';
import { type Options, rateLimit } from 'express-rate-limit';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import type { Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { StartedApp } from '../middleware/conformance.test-support.ts';
import { listen, versions } from './express.test-support.ts';
import { type ExpressRateLimitStoreOptions, expressRateLimitStore } from './index.ts';

const apps: StartedApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

interface Running {
  readonly url: string;
  /** What express-rate-limit had to say. */
  readonly logged: string[];
  readonly limits: ReturnType<typeof rateLimit>[];
}

/** `/status/<code>` answers that status. */
async function start(...options: Partial<Options>[]): Promise<Running> {
  const [, [, express] = []] = versions;
  if (express === undefined) throw new Error('no Express');
  const logged: string[] = [];
  const log = (error: unknown) => void logged.push(String(error));
  const limits = options.map((one) => rateLimit({ logger: { warn: log, error: log }, ...one }));
  const app = express();
  app.set('env', 'test');
  const answer: RequestHandler = (request, response) => void response.sendStatus(Number(request.params.code));
  app.get('/status/:code', ...limits, answer);
  const started = await listen(app);
  apps.push(started);
  return { url: started.url, logged, limits };
}

async function statuses({ url }: Running, codes: readonly number[]): Promise<number[]> {
  const seen: number[] = [];
  for (const code of codes) {
    const response = await fetch(`${url}/status/${code}`, { redirect: 'manual' });
    await response.text();
    seen.push(response.status);
  }
  return seen;
}

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });
const minute = { windowMs: 60_000 };
const key = '127.0.0.1';

let redis: RedisServer;
let client: Redis;
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.port, { autoResendUnfulfilledCommands: false });
  client.on('error', () => {});
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

let opened = 0;
const newRedisStore = () => {
  opened += 1;
  return redisStore({ client, prefix: `test-${opened}:` });
};
const stores: readonly (readonly [name: string, open: () => Store | undefined])[] = [
  ['a memory store of its own', () => undefined],
  ['a memory store', () => memoryStore()],
  ['Redis', newRedisStore],
];

describe.each(stores)('express-rate-limit over %s', (_name, open) => {
  const storeOf = (policy: Policy, more: Partial<ExpressRateLimitStoreOptions> = {}) => {
    const store = open();
    return expressRateLimitStore({ policy, ...(store && { store }), ...more });
  };

  it('lets the limit pass and refuses the rest, with the headers that it writes', async () => {
    const app = await start({ ...minute, limit: 3, standardHeaders: 'draft-7', store: storeOf(perMinute(3)) });
    const seen = [];
    for (let i = 0; i < 5; i += 1) seen.push(await fetch(`${app.url}/status/200`));
    expect(
      seen.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining'), headers.get('retry-after')]),
    ).toEqual([
      [200, '2', null],
      [200, '1', null],
      [200, '0', null],
      [429, '0', '60'],
      [429, '0', '60'],
    ]);
    expect(seen[0]?.headers.get('ratelimit')).toBe('limit=3, remaining=2, reset=60');
    expect(app.logged).toEqual([]);
  });

  it('of many at once lets exactly the limit pass', async () => {
    const app = await start({ ...minute, limit: 10, store: storeOf(gcra({ limit: 10, window: '1m' })) });
    const seen = await Promise.all(Array.from({ length: 50 }, () => statuses(app, [200])));
    expect(seen.flat().filter((status) => status === 200)).toHaveLength(10);
  });

  it('gives back what succeeded, with skipSuccessfulRequests', async () => {
    const app = await start({ ...minute, limit: 2, skipSuccessfulRequests: true, store: storeOf(perMinute(2)) });
    expect(await statuses(app, [200, 200, 200, 401, 200, 200, 401])).toEqual([200, 200, 200, 401, 200, 200, 401]);
    expect(await statuses(app, [200, 401])).toEqual([429, 429]);
    expect(app.logged).toEqual([]);
  });

  it('gives back what failed, with skipFailedRequests, but not what was refused: that took nothing', async () => {
    const app = await start({ ...minute, limit: 2, skipFailedRequests: true, store: storeOf(perMinute(2)) });
    expect(await statuses(app, [500, 500, 500, 200, 404, 200])).toEqual([500, 500, 500, 200, 404, 200]);
    expect(await statuses(app, [200, 200, 500, 200, 200])).toEqual([429, 429, 429, 429, 429]);
    expect(app.logged).toEqual([]);
  });

  it('gives nothing back for a refusal that looks like a success', async () => {
    const handler: Options['handler'] = (_request, response) => response.redirect('/slow-down');
    const store = storeOf(perMinute(2));
    const app = await start({ ...minute, limit: 2, skipSuccessfulRequests: true, handler, store });
    expect(await statuses(app, [401, 401, 401, 401, 401, 401])).toEqual([401, 401, 302, 302, 302, 302]);
  });

  it('tells what a client has, and forgets it', async () => {
    const {
      limits: [limit],
      ...app
    } = await start({ ...minute, limit: 3, store: storeOf(perMinute(3)) });
    expect(await limit?.getKey(key)).toBeUndefined();
    await statuses({ ...app, limits: [] }, [200, 200, 200, 200]);
    const known = await limit?.getKey(key);
    expect(known?.totalHits).toBe(3);
    expect(Math.abs((known?.resetTime?.getTime() ?? 0) - Date.now() - 60_000)).toBeLessThan(5_000);
    await limit?.resetKey(key);
    expect(await limit?.getKey(key)).toBeUndefined();
    expect(await statuses({ ...app, limits: [] }, [200])).toEqual([200]);
  });

  it('forgets with a client what it was refused, and gives back to it as to anybody', async () => {
    const app = await start({ ...minute, limit: 2, skipSuccessfulRequests: true, store: storeOf(perMinute(2)) });
    expect(await statuses(app, [401, 401, 401, 401])).toEqual([401, 401, 429, 429]);
    await app.limits[0]?.resetKey(key);
    expect(await statuses(app, [200, 200, 200, 200, 200])).toEqual([200, 200, 200, 200, 200]);
  });
});

describe('express-rate-limit over Redis', () => {
  const at = (prefix: string, name: string) =>
    expressRateLimitStore({ policy: perMinute(3), store: redisStore({ client, prefix }), name });

  it('counts for all processes that share a name', async () => {
    const one = await start({ ...minute, limit: 3, store: at('shared:', 'api') });
    const two = await start({ ...minute, limit: 3, store: at('shared:', 'api') });
    const other = await start({ ...minute, limit: 3, store: at('shared:', 'other') });
    expect(await statuses(one, [200, 200])).toEqual([200, 200]);
    expect(await statuses(two, [200, 200])).toEqual([200, 429]);
    expect(await statuses(other, [200])).toEqual([200]);
  });

  it('is told apart by name where express-rate-limit looks for hits that are counted twice', async () => {
    const apart = await start(
      { ...minute, limit: 3, store: at('apart:', 'a') },
      { ...minute, limit: 3, store: at('apart:', 'b') },
    );
    await statuses(apart, [200]);
    expect(apart.logged).toEqual([]);
    const twice = await start(
      { ...minute, limit: 3, store: at('twice:', 'a') },
      { ...minute, limit: 3, store: at('twice:', 'a') },
    );
    await statuses(twice, [200]);
    expect(twice.logged).toEqual([expect.stringContaining('incremented more than once')]);
  });

  it.each([
    [true, 200],
    [false, 500],
  ])(
    'that does not answer is for express-rate-limit to judge: with passOnStoreError %s, %i',
    async (passOnStoreError, status) => {
      const gone = await startRedis();
      const lost = new Redis(gone.port, { autoResendUnfulfilledCommands: false, retryStrategy: () => null });
      lost.on('error', () => {});
      const store = expressRateLimitStore({ policy: perMinute(1), store: redisStore({ client: lost, prefix: 'x:' }) });
      const app = await start({ ...minute, limit: 1, store, passOnStoreError });
      expect(await statuses(app, [200, 200])).toEqual([200, 429]);
      await gone.stop();
      expect(await statuses(app, [200, 200])).toEqual([status, status]);
      lost.disconnect();
    },
  );
});

describe('express-rate-limit by any policy', () => {
  it('refuses when gcra does, and says truly when to come back', async () => {
    const clock = new TestClock(0);
    const policy = gcra({ limit: 2, window: '10s' });
    const app = await start({
      windowMs: 10_000,
      limit: 2,
      store: expressRateLimitStore({ policy, store: memoryStore({ clock }) }),
    });
    const seen: unknown[] = [];
    // express-rate-limit counts down by the clock on the wall: nearly a second is left where it is to say 1.
    for (const advance of [0, 0, 0, 4_001, 999, 0, 5_000]) {
      clock.advance(advance);
      const { status, headers } = await fetch(`${app.url}/status/200`);
      seen.push([status, headers.get('x-ratelimit-remaining'), headers.get('retry-after')]);
    }
    expect(seen).toEqual([
      [200, '1', null],
      [200, '0', null],
      [429, '0', '5'],
      [429, '0', '1'],
      [200, '0', null],
      [429, '0', '5'],
      [200, '0', null],
    ]);
    expect(app.logged).toEqual([]);
  });

  const policies: readonly Policy[] = [
    gcra({ limit: 5, window: '10s' }),
    gcra({ limit: 5, window: '10s', burst: 2 }),
    tokenBucket({ limit: 5, window: '10s', burst: 8 }),
    leakyBucket({ limit: 5, window: '10s', burst: 3, delay: 'none' }),
    fixedWindow({ limit: 5, window: '10s' }),
    slidingWindow({ limit: 5, window: '10s' }),
    slidingSlots({ limit: 5, window: '10s', slots: 10 }),
    slidingLog({ limit: 5, window: '10s' }),
    gcra({ limit: 7.5, window: '10s' }),
  ];

  it.each(policies.map((policy) => [policy.algorithm, policy] as const))('decides as %s does: %j', (_name, policy) => {
    const times = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(times, (steps) => {
        const clock = new TestClock(0);
        const twin = limiter(policy, { clock });
        const { limit: most } = twin.peek('other');
        const store = expressRateLimitStore({ policy, store: memoryStore({ clock }) });
        store.init({
          limit: Math.floor(most),
          windowMs: 10_000,
          skipFailedRequests: false,
          skipSuccessfulRequests: false,
        });
        for (const step of steps) {
          clock.advance(step);
          const { allowed, remaining } = twin.check('a');
          const hits = store.increment('a') as { totalHits: number };
          expect(hits.totalHits > Math.floor(most)).toBe(!allowed);
          expect(Math.max(0, Math.floor(most) - hits.totalHits)).toBe(allowed ? remaining : 0);
          expect(Number.isInteger(hits.totalHits) && hits.totalHits >= 1).toBe(true);
        }
      }),
    );
  });

  it.each([
    ['grants and refusals that end in any order', false],
    ['all of them failing', true],
  ])('never gives back more than was taken: %s', (_what, all) => {
    const calls = fc.array(fc.tuple(fc.constantFrom('ask', 'ask', 'end'), fc.nat()), { minLength: 20, maxLength: 80 });
    fc.assert(
      fc.property(calls, (steps) => {
        const store = expressRateLimitStore({ policy: perMinute(3) });
        const open: boolean[] = [];
        let held = 0;
        for (const [step, choice] of steps) {
          if (step === 'ask') {
            const allowed = (store.increment('a') as { totalHits: number }).totalHits <= 3;
            if (allowed) held += 1;
            open.push(allowed);
          } else if (open.length > 0) {
            const [wasAllowed] = open.splice(choice % open.length, 1);
            if (all || choice % 2 === 0) {
              store.decrement('a');
              if (wasAllowed) held -= 1;
            }
          }
          // Never more at once than there is room for. (That a refusal's end is taken for a grant's may hold some back, for a while.)
          expect(held).toBeLessThanOrEqual(3);
        }
      }),
    );
  });

  it.each<[ExpressRateLimitStoreOptions, string]>([
    [{ policy: concurrency({ limit: 1 }) }, 'policy must be one of hits in a window'],
    [{ policy: leakyBucket({ limit: 1, window: '1s', burst: 1 }) }, 'policy must be one that never delays'],
    [{ policy: fixedWindow({ limit: 1, window: '1s', wait: '1s' }) }, 'policy must be one that never delays'],
    [{ policy: smooth({ limit: 1, window: '1s' }) }, 'policy must be one that never delays'],
    [{ policy: {} as Policy }, 'policy must be built by a factory such as gcra()'],
    [{ policy: perMinute(1), nam: 'x' } as never, 'expressRateLimitStore options has no field "nam".'],
    [{ policy: perMinute(1), store: {} as Store }, 'store must be a store such as memoryStore()'],
  ])('refuses %j when it is made', (options, message) => {
    expect(() => expressRateLimitStore(options)).toThrow(message);
  });

  it.each<[Partial<Options>, string]>([
    [
      { ...minute, limit: 5 },
      'limit of express-rate-limit must be 3, the most at once by the policy of its store, got 5.',
    ],
    [{ ...minute }, 'limit of express-rate-limit must be 3, the most at once by the policy of its store, got 5.'],
    [{ ...minute, limit: () => 3 }, 'limit of express-rate-limit must be 3'],
    [
      { limit: 3, windowMs: 1000 },
      "windowMs of express-rate-limit must be 60000, the window of its store's policy, got 1000.",
    ],
  ])(
    'says so at once, and lets nobody in, where express-rate-limit is told otherwise: %j',
    async (options, message) => {
      const app = await start({ ...options, store: expressRateLimitStore({ policy: perMinute(3) }) });
      expect(app.logged).toEqual([expect.stringContaining(message)]);
      expect(await statuses(app, [200, 200])).toEqual([500, 500]);
    },
  );
});
