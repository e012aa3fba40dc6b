// What only Koa has. What all frameworks have is in conformance.test.ts.
import { request as httpRequest } from 'node:http';
import Koa, { type Context, type Middleware } from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { StartedApp } from '../middleware/conformance.test-support.ts';
import { type KoaRateLimitOptions, type RefusalHandler, rateLimit } from './index.ts';
import { listen } from './koa.test-support.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });
const quiet = { warn: false } as const;
const hello: Middleware = (context) => {
  context.body = 'hello';
};

let started: StartedApp | undefined;
afterEach(async () => {
  await started?.close();
  started = undefined;
});

async function start(...middleware: Middleware[]): Promise<Koa> {
  const app = new Koa();
  for (const one of middleware) app.use(one);
  started = await listen(app);
  return app;
}

const ask = (path: string, headers: Record<string, string> = {}) => fetch(`${started?.url}${path}`, { headers });

async function statuses(paths: readonly string[], headers?: Record<string, string>): Promise<number[]> {
  const seen: number[] = [];
  for (const path of paths) {
    const response = await ask(path, headers);
    await response.text();
    seen.push(response.status);
  }
  return seen;
}

function laterStore(): Store<'async'> {
  const store = memoryStore();
  return { mode: 'async', clock: store.clock, apply: async (checks: readonly Check[]) => store.apply(checks) };
}

describe('rateLimit of Koa', () => {
  // biome-ignore format: aligned rows
  it.each<[settings: object, own: KoaRateLimitOptions['trustProxy'], forwarded: string, key: string, warns: RegExp | undefined]>([
    // settings of the application           trustProxy    X-Forwarded-For           limited by       warned
    [ {},                                    undefined,   '203.0.113.9',            '127.0.0.1',     /no proxy is trusted/ ],
    [ { proxy: true },                       undefined,   '203.0.113.8, 10.0.0.1',  '203.0.113.8',   /trusts every proxy/ ],  // the caller's own word
    [ { proxy: true, maxIpsCount: 1 },       undefined,   'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],
    [ { proxy: true, maxIpsCount: 2 },       undefined,   'x, 203.0.113.9, 10.0.0.7', '203.0.113.9', undefined ],
    [ { proxy: true, maxIpsCount: 1 },       undefined,   '203.0.113.9:4711',       '203.0.113.9',   undefined ],             // some proxies write the port, too
    [ { maxIpsCount: 1 },                    undefined,   '203.0.113.9',            '127.0.0.1',     /no proxy is trusted/ ],
    [ { proxy: true },                       1,           'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],             // ours is asked, and not Koa's
    [ {},                                    'loopback',  'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],
  ])('with %j and trustProxy %s, %s is limited as %s', async (settings, trustProxy, forwarded, key, warns) => {
    const warned: string[] = [];
    const addresses: unknown[] = [];
    const limit = rateLimit({
      rules: [{ name: 'x', policy: perMinute(9), key: (subject) => String(addresses.push(subject.ip)) }],
      warn: (text) => warned.push(text),
      ...(trustProxy !== undefined && { trustProxy }),
    });
    Object.assign(await start(limit, hello), settings);
    expect(await statuses(['/', '/'], { 'x-forwarded-for': forwarded })).toEqual([200, 200]);
    expect(addresses).toEqual([key, key]);
    expect(warned).toHaveLength(warns ? 1 : 0);
    if (warns) expect(warned[0]).toMatch(warns);
  });

  it('is told the address by whoever sets it further out', async () => {
    const addresses: unknown[] = [];
    const edge: Middleware = async (context, next) => {
      context.request.ip = context.get('cf-connecting-ip');
      await next();
    };
    await start(edge, rateLimit({ policy: perMinute(1), ...quiet, onResult: ({ ip }) => addresses.push(ip) }), hello);
    expect(await statuses(['/', '/'], { 'cf-connecting-ip': '203.0.113.9' })).toEqual([200, 429]);
    expect(await statuses(['/'], { 'cf-connecting-ip': '203.0.113.10' })).toEqual([200]);
    expect(addresses).toEqual(['203.0.113.9', '203.0.113.9', '203.0.113.10']);
  });

  it('answers as a context does, so that those further out see it', async () => {
    const log: string[] = [];
    const logger: Middleware = async (context, next) => {
      await next();
      log.push(`${context.method} ${context.path} ${context.status} ${context.response.get('content-type')}`);
    };
    await start(logger, rateLimit({ policy: perMinute(1), ...quiet }), hello);
    expect(await statuses(['/a', '/b'])).toEqual([200, 429]);
    expect(log).toEqual(['GET /a 200 text/plain; charset=utf-8', 'GET /b 429 application/problem+json']);
  });

  it('puts what the limits said into the state, for handlers further in', async () => {
    const seen: (RulesResult | undefined)[] = [];
    const see: Middleware = (context) => {
      seen.push(context.state.rateLimit);
      context.body = 'seen';
    };
    await start(
      rateLimit({ policy: perMinute(100), name: 'everybody', ...quiet, skip: ({ path }) => path === '/free' }),
      rateLimit({ policy: perMinute(5), name: 'few', ...quiet, skip: ({ path }) => path !== '/two' }),
      see,
    );
    await statuses(['/free', '/one']);
    const { headers } = await ask('/two');
    expect(seen[0]).toBeUndefined();
    expect(seen.slice(1)).toMatchObject([
      { allowed: true, tightest: { rule: 'everybody', remaining: 99 }, decisions: [{}] },
      { allowed: true, tightest: { rule: 'few' }, decisions: [{ rule: 'everybody', remaining: 98 }, { rule: 'few' }] },
    ]);
    expect(headers.get('ratelimit-policy')).toBe('"everybody";q=100;w=60, "few";q=5;w=60');
    expect(headers.get('ratelimit')).toBe('"few";r=4;t=60');
  });

  it('matches rules by the whole path of the request, wherever it is mounted', async () => {
    const mounted: Middleware = async (context, next) => {
      context.path = context.path.slice('/api'.length);
      await next();
    };
    const limit = rateLimit({ rules: [{ name: 'x', policy: perMinute(1), match: { path: '/api/log-in' } }], ...quiet });
    await start(mounted, limit, hello);
    expect(await statuses(['/api/other', '/api/log-in?a=1', '/api/log-in'])).toEqual([200, 200, 429]);
    // Koa has the same path for it, and so have rules.
    const { hostname, port } = new URL(started?.url ?? '');
    const status = await new Promise((resolve) =>
      httpRequest({ hostname, port, path: 'http://any.example/api/log-in' }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end(),
    );
    expect(status).toBe(429);
  });

  describe('when a handler throws', () => {
    const throws: Middleware = (context) =>
      context.throw(401, 'who are you?', { headers: { 'www-authenticate': 'Basic' } });

    it('still tells the client where it stands, beside what the error has for headers', async () => {
      await start(
        rateLimit({ policy: perMinute(9), name: 'everybody', ...quiet }),
        rateLimit({ policy: perMinute(2), name: 'few', ...quiet }),
        (context) => {
          context.set('x-forgotten', 'by Koa');
          return throws(context, async () => {});
        },
      );
      const { status, headers } = await ask('/');
      expect([status, headers.get('www-authenticate'), headers.get('x-forgotten')]).toEqual([401, 'Basic', null]);
      expect(headers.get('ratelimit-policy')).toBe('"everybody";q=9;w=60, "few";q=2;w=60');
      expect(headers.get('ratelimit')).toBe('"few";r=1;t=60');
      expect(headers.get('x-ratelimit-remaining')).toBe('1');
    });

    it('leaves the answer to whoever catches it further out', async () => {
      const rescue: Middleware = async (context, next) => {
        await next().catch((error: Error) => {
          context.status = 503;
          context.body = error.message;
        });
      };
      await start(rescue, rateLimit({ policy: perMinute(2), ...quiet }), throws);
      const seen = await ask('/');
      expect([seen.status, await seen.text(), seen.headers.get('ratelimit')]).toEqual([
        503,
        'who are you?',
        '"default";r=1;t=60',
      ]);
    });

    it('charges by that outcome', async () => {
      const outcomes: unknown[] = [];
      const limit = rateLimit({
        policy: perMinute(2),
        ...quiet,
        costAfter(context, { status, isComplete, response }) {
          outcomes.push([status, isComplete, response === context, response.path]);
          return status === 401 ? 2 : 0;
        },
      });
      await start(limit, (context, next) => (context.path === '/wrong' ? throws(context, next) : hello(context, next)));
      expect(await statuses(['/right', '/wrong', '/right'])).toEqual([200, 401, 429]);
      expect(outcomes).toEqual([
        [200, true, true, '/right'],
        [401, true, true, '/wrong'],
      ]);
    });
  });

  describe('what goes wrong', () => {
    const failing: readonly (readonly [string, Partial<KoaRateLimitOptions>])[] = [
      [
        'key throws',
        {
          key: () => {
            throw new Error('no such user');
          },
        },
      ],
      [
        'key throws nothing',
        {
          key: () => {
            throw undefined;
          },
        },
      ],
      ['key rejects with nothing', { key: () => Promise.reject() }],
      [
        'onResult throws',
        {
          onResult: () => {
            throw null;
          },
        },
      ],
    ];
    it.each(failing)('is answered with 500, and nobody is let in: %s', async (_what, options) => {
      const reached: Context[] = [];
      await start(rateLimit({ policy: perMinute(9), ...quiet, ...options } as KoaRateLimitOptions), (context) => {
        reached.push(context);
        context.body = 'let in';
      });
      expect(await statuses(['/'])).toEqual([500]);
      expect(reached).toEqual([]);
    });

    const handlers: readonly (readonly [string, RefusalHandler])[] = [
      [
        'throws',
        () => {
          throw new Error('in the handler');
        },
      ],
      [
        'throws nothing',
        () => {
          throw undefined;
        },
      ],
      ['rejects', () => Promise.reject(new Error('in the handler'))],
    ];
    const stores = [
      ['at once', undefined],
      ['later', laterStore()],
    ] as const;
    it.each(handlers.flatMap(([how, handler]) => stores.map(([when, store]) => [how, when, handler, store] as const)))(
      'a handler that %s, over a store that answers %s, ends in an answer',
      async (how, _when, handler, store) => {
        await start(rateLimit({ policy: perMinute(1), name: how, ...quiet, handler, ...(store && { store }) }), hello);
        expect(await statuses(['/', '/'])).toEqual([200, 500]);
      },
    );
  });

  it('waits for a handler that answers later', async () => {
    const handler: RefusalHandler = async (context, { status, result }) => {
      await new Promise((resolve) => setImmediate(resolve));
      context.status = status;
      context.body = `slow down: ${result.tightest?.rule}`;
    };
    await start(rateLimit({ policy: perMinute(1), name: 'strict', ...quiet, handler }), hello);
    await statuses(['/']);
    const refused = await ask('/');
    expect([refused.status, await refused.text()]).toEqual([429, 'slow down: strict']);
  });

  it('lets those further out go on when the client has left while it was held back', async () => {
    const clock = new TestClock(0);
    let isOver = false;
    const outer: Middleware = async (context, next) => {
      await next();
      if (context.path === '/held') isOver = true;
    };
    const until = async (isTrue: () => boolean) => {
      for (let turns = 0; turns < 20_000 && !isTrue(); turns += 1)
        await new Promise((resolve) => setImmediate(resolve));
      expect(isTrue()).toBe(true);
    };
    await start(
      outer,
      rateLimit({ policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock, ...quiet }),
      hello,
    );
    await statuses(['/']);
    const gone = new AbortController();
    const held = fetch(`${started?.url}/held`, { signal: gone.signal }).catch(() => 'left');
    await until(() => clock.sleeping === 1);
    gone.abort();
    expect(await held).toBe('left');
    await until(() => isOver);
  });
});
