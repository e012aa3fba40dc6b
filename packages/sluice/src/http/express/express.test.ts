// What only Express has. What all frameworks have is in conformance.test.ts.
import { request as httpRequest } from 'node:http';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { rateLimit as otherRateLimit } from 'express-rate-limit';
import { afterEach, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import type { StartedApp } from '../middleware/conformance.test-support.ts';
import { listen, versions } from './express.test-support.ts';
import { type ExpressRateLimitOptions, type RefusalHandler, rateLimit } from './index.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });
const quiet = { warn: false } as const;
const hello: RequestHandler = (_request, response) => void response.send('hello');

let started: StartedApp | undefined;
afterEach(async () => {
  await started?.close();
  started = undefined;
});

async function start(app: Parameters<typeof listen>[0]): Promise<void> {
  // Express prints what handlers throw, except in tests.
  app.set('env', 'test');
  started = await listen(app);
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

/** A target as it is written here; `fetch` would put it in order first. */
function statusOfTarget(target: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(started?.url ?? '');
    httpRequest({ hostname, port, path: target }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

function laterStore(): Store<'async'> {
  const store = memoryStore();
  return { mode: 'async', clock: store.clock, apply: async (checks: readonly Check[]) => store.apply(checks) };
}

describe.each(versions)('rateLimit of %s', (_name, express) => {
  describe('who is calling', () => {
    // biome-ignore format: aligned rows
    it.each<[setting: unknown, own: ExpressRateLimitOptions['trustProxy'], forwarded: string, key: string, warns: RegExp | undefined]>([
      // `trust proxy`  trustProxy    X-Forwarded-For           limited by       warned
      [ undefined,      undefined,   '203.0.113.9',            '127.0.0.1',     /no proxy is trusted/ ],
      [ 0,              undefined,   '203.0.113.9',            '127.0.0.1',     /no proxy is trusted/ ],
      [ 1,              undefined,   'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],
      [ 'loopback',     undefined,   'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],
      [ () => true,     undefined,   '203.0.113.8, 10.0.0.1',  '203.0.113.8',   undefined ],
      [ true,           undefined,   '203.0.113.8, 10.0.0.1',  '203.0.113.8',   /trusts every proxy/ ],  // the caller's own word
      [ true,           1,           'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],             // ours is asked, and not Express's
      [ undefined,      'loopback',  'made-up, 203.0.113.9',   '203.0.113.9',   undefined ],
      [ 1,              0,           '203.0.113.9',            '127.0.0.1',     undefined ],             // there is none, we are told
      [ 1,              undefined,   '203.0.113.9:4711',       '203.0.113.9',   undefined ],             // some proxies write the port, too
      [ 1,              undefined,   '[2001:db8::1]:4711',     '2001:db8::1',   undefined ],
    ])('with trust proxy %s and trustProxy %s, %s is limited as %s', async (setting, trustProxy, forwarded, key, warns) => {
      const warned: string[] = [];
      const subjects: unknown[] = [];
      const app = express();
      if (setting !== undefined) app.set('trust proxy', setting);
      app.use(
        rateLimit({
          rules: [{ name: 'x', policy: perMinute(9), key: (subject) => String(subjects.push(subject.ip)) }],
          warn: (text) => warned.push(text),
          ...(trustProxy !== undefined && { trustProxy }),
        }),
        hello,
      );
      await start(app);
      expect(await statuses(['/', '/'], { 'x-forwarded-for': forwarded })).toEqual([200, 200]);
      expect(subjects).toEqual([key, key]);
      expect(warned).toHaveLength(warns ? 1 : 0);
      if (warns) expect(warned[0]).toMatch(warns);
    });

    it('in an application in an application is asked of the one that it is mounted in', async () => {
      const keys: unknown[] = [];
      const inner = express();
      inner.use(rateLimit({ policy: perMinute(9), ...quiet, key: ({ ip }) => String(keys.push(ip)) }), hello);
      const outer = express();
      outer.set('trust proxy', 1);
      outer.use('/inner', inner);
      await start(outer);
      await statuses(['/inner'], { 'x-forwarded-for': '203.0.113.9' });
      expect(keys).toEqual(['203.0.113.9']);
    });
  });

  describe('where it stands', () => {
    it('limits a route alone', async () => {
      const app = express();
      app.get('/limited', rateLimit({ policy: perMinute(1), ...quiet }), hello);
      app.get('/free', hello);
      await start(app);
      expect(await statuses(['/limited', '/limited', '/free', '/free'])).toEqual([200, 429, 200, 200]);
    });

    it('matches rules by the whole path of the request, wherever it is mounted', async () => {
      const router = express.Router();
      router.use(
        rateLimit({ rules: [{ name: 'x', policy: perMinute(1), match: { path: '/api/v1/users' } }], ...quiet }),
      );
      router.get('/users', hello);
      router.get('/other', hello);
      const app = express();
      app.use('/api/v1', router);
      await start(app);
      expect(await statuses(['/api/v1/users?page=1', '/api/v1/other', '/api/v1/users?page=2'])).toEqual([
        200, 200, 429,
      ]);
    });

    it.each([
      'http://any.example/api/log-in',
      'http://any.example:99/api/log-in?x=1',
      'http://any.example/api\\log-in',
      'http:///api/log-in',
      '/api/log-in#',
      '/api/log-in?x#y',
      '/api\\log-in#',
      '/api\\log-in?x#',
    ])('limits %s too, since Express routes it to /api/log-in', async (target) => {
      const app = express();
      app.use(rateLimit({ rules: [{ name: 'x', policy: perMinute(1), match: { path: '/api/log-in' } }], ...quiet }));
      app.get('/api/log-in', hello);
      await start(app);
      expect([await statusOfTarget('/api/log-in'), await statusOfTarget(target)]).toEqual([200, 429]);
    });
  });

  describe('what goes wrong', () => {
    const thrown = [
      ['an error', new Error('no such user')],
      ['nothing', undefined],
      ['null', null],
      ['a word', 'route'],
      ['router', 'router'],
    ] as const;
    const failing: readonly (readonly [string, (thrown: unknown) => Partial<ExpressRateLimitOptions>])[] = [
      [
        'key that throws',
        (error) => ({
          key: () => {
            throw error;
          },
        }),
      ],
      ['key that rejects', (error) => ({ key: () => Promise.reject(error) })],
      ['cost that rejects', (error) => ({ cost: () => Promise.reject(error) })],
      [
        'skip that throws',
        (error) => ({
          skip: () => {
            throw error;
          },
        }),
      ],
      [
        'onResult that throws',
        (error) => ({
          onResult: () => {
            throw error;
          },
        }),
      ],
    ];

    it.each(
      failing.flatMap(([what, options]) => thrown.map(([name, error]) => [what, name, options(error), error] as const)),
    )('is handed to next, and nobody is let in: a %s %s', async (_what, _name, options, error) => {
      const errors: unknown[] = [];
      const app = express();
      const sawError: ErrorRequestHandler = (seen, _request, response, _next) => {
        errors.push(seen);
        response.status(500).send('failed');
      };
      app.get('/', rateLimit({ policy: perMinute(9), ...quiet, ...options } as never), hello);
      app.get('/', hello);
      app.use(sawError);
      await start(app);
      expect(await statuses(['/'])).toEqual([500]);
      if (error instanceof Error) expect(errors).toEqual([error]);
      else expect(errors).toMatchObject([{ message: expect.stringContaining('was thrown'), cause: error }]);
    });

    const handlers: readonly (readonly [string, RefusalHandler])[] = [
      [
        'throws',
        () => {
          throw new Error('in the handler');
        },
      ],
      ['rejects', () => Promise.reject(new Error('in the handler'))],
      ['rejects with nothing', () => Promise.reject()],
    ];
    const stores = [
      ['at once', undefined],
      ['later', laterStore()],
    ] as const;

    it.each(handlers.flatMap(([how, handler]) => stores.map(([when, store]) => [how, when, handler, store] as const)))(
      'a handler that %s, over a store that answers %s, ends in an answer',
      async (_how, _when, handler, store) => {
        const app = express();
        app.use(
          rateLimit({ policy: perMinute(1), name: String(_how), ...quiet, handler, ...(store && { store }) }),
          hello,
        );
        await start(app);
        expect(await statuses(['/', '/'])).toEqual([200, 500]);
      },
    );
  });

  it('lets a handler answer in the way of Express, or let the request go on', async () => {
    const app = express();
    const handler: RefusalHandler = (request, response, next, { result, status, problem }) => {
      if (request.query.soft === '1') next();
      else response.status(status).json({ rule: result.tightest?.rule, detail: problem.detail });
    };
    app.use(rateLimit({ policy: perMinute(1), name: 'strict', ...quiet, handler }), hello);
    await start(app);
    expect(await statuses(['/', '/?soft=1'])).toEqual([200, 200]);
    const refused = await ask('/');
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({ rule: 'strict', detail: 'strict allows 1 in 60 s. Try again in 60 s.' });
  });

  it('gives costAfter the response of Express', async () => {
    const app = express();
    const costAfter: ExpressRateLimitOptions['costAfter'] = (_request, { response }) => response.locals.tokens;
    app.use(
      rateLimit({ policy: perMinute(100), ...quiet, cost: 10, costAfter }),
      (_request: Request, response: Response) => {
        response.locals.tokens = 40;
        response.send('hello');
      },
    );
    await start(app);
    await statuses(['/']);
    expect((await ask('/')).headers.get('x-ratelimit-remaining')).toBe('50');
  });

  describe('the request', () => {
    it('has what the limits said, for handlers further in', async () => {
      const seen: (RulesResult | undefined)[] = [];
      const app = express();
      const see: RequestHandler = (request, response) => {
        seen.push(request.rateLimit);
        response.send('seen');
      };
      app.get('/free', see);
      app.use(rateLimit({ policy: perMinute(100), name: 'everybody', ...quiet }));
      app.get('/one', see);
      app.get('/two', rateLimit({ policy: perMinute(5), name: 'few', ...quiet, headers: false }), see);
      await start(app);
      await statuses(['/free', '/one', '/two']);
      expect(seen[0]).toBeUndefined();
      expect(seen.slice(1)).toMatchObject([
        { allowed: true, tightest: { rule: 'everybody', remaining: 99 }, decisions: [{}] },
        {
          allowed: true,
          tightest: { rule: 'few', remaining: 4 },
          decisions: [{ rule: 'everybody', remaining: 98 }, { rule: 'few' }],
        },
      ]);
    });

    it('is read past what another limiter put there', async () => {
      const seen: unknown[] = [];
      const app = express();
      app.use(otherRateLimit({ limit: 9, validate: false }), rateLimit({ policy: perMinute(9), ...quiet }));
      app.get('/', (request, response) => {
        seen.push(request.rateLimit);
        response.send('seen');
      });
      await start(app);
      expect(await statuses(['/'])).toEqual([200]);
      expect(seen).toMatchObject([{ tightest: { remaining: 8 }, decisions: [{}] }]);
    });
  });

  describe('several on one request', () => {
    const headersOf = async (path: string) => {
      const { status, headers } = await ask(path);
      return [status, headers.get('ratelimit-policy'), headers.get('ratelimit'), headers.get('x-ratelimit-remaining')];
    };
    const both = '"everybody";q=9;w=60, "few";q=2;w=60';

    it.each([
      ['the tighter one last', ['everybody', 'few']],
      ['the tighter one first', ['few', 'everybody']],
    ] as const)('list all policies and speak of the tightest: %s', async (_which, order) => {
      const limits = {
        everybody: rateLimit({ policy: perMinute(9), name: 'everybody', ...quiet }),
        few: rateLimit({ policy: perMinute(2), name: 'few', ...quiet }),
      };
      const app = express();
      app.get('/', ...order.map((name) => limits[name]), hello);
      app.get('/only', limits.everybody, hello);
      await start(app);
      const [, policies, available, remaining] = await headersOf('/');
      expect(String(policies).split(', ').sort()).toEqual(both.split(', '));
      expect([available, remaining]).toEqual(['"few";r=1;t=60', '1']);
      // What one request was told is not told to the next.
      expect(await headersOf('/only')).toEqual([200, '"everybody";q=9;w=60', '"everybody";r=7;t=60', '7']);
    });

    it('show the one that refused, with its wait', async () => {
      const app = express();
      app.use(rateLimit({ policy: perMinute(2), name: 'everybody', ...quiet }));
      app.get(
        '/few',
        rateLimit({ policy: fixedWindow({ limit: 1, window: '1h', align: 'first' }), name: 'few', ...quiet }),
        hello,
      );
      app.get('/', hello);
      await start(app);
      expect(await statuses(['/few'])).toEqual([200]);
      const refused = await ask('/few');
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('3600');
      expect(refused.headers.get('ratelimit')).toBe('"few";r=0;t=3600');
      expect(refused.headers.get('ratelimit-policy')).toBe('"everybody";q=2;w=60, "few";q=1;w=3600');
      expect(await refused.json()).toMatchObject({ 'violated-policies': ['few'] });
      // The outer one refuses now, and the inner one is not asked.
      const outer = await ask('/few');
      expect(outer.headers.get('ratelimit')).toBe('"everybody";r=0;t=60');
      expect(outer.headers.get('ratelimit-policy')).toBe('"everybody";q=2;w=60');
    });

    it('that share a policy are told of once, as the tighter of the two', async () => {
      const policy = perMinute(9);
      const byUser = rateLimit({ policy, ...quiet, key: (request) => request.get('x-user') });
      const byAddress = rateLimit({ policy, ...quiet });
      const app = express();
      app.use(byUser, byAddress, hello);
      await start(app);
      await ask('/', { 'x-user': 'alice' });
      await ask('/', { 'x-user': 'bob' });
      const { headers } = await ask('/', { 'x-user': 'carol' });
      expect(headers.get('ratelimit-policy')).toBe('"default";q=9;w=60');
      expect(headers.get('x-ratelimit-remaining')).toBe('6');
    });

    it('say nothing of one that shows no headers, whichever comes first', async () => {
      const hidden = rateLimit({ policy: perMinute(3), name: 'hidden', ...quiet, headers: false });
      const shown = rateLimit({ policy: perMinute(9), name: 'shown', ...quiet });
      const app = express();
      app.get('/a', hidden, shown, hello);
      app.get('/b', shown, hidden, hello);
      await start(app);
      expect(await headersOf('/a')).toEqual([200, '"shown";q=9;w=60', '"shown";r=8;t=60', '8']);
      expect(await headersOf('/b')).toEqual([200, '"shown";q=9;w=60', '"shown";r=7;t=60', '7']);
    });
  });

  it('says nothing where the answer has begun already', async () => {
    const app = express();
    app.use((_request, response, next) => {
      response.write('begun, ');
      next();
    });
    app.use(
      rateLimit({ policy: perMinute(1), ...quiet }),
      (_request: Request, response: Response) => void response.end('and ended'),
    );
    await start(app);
    const seen = await ask('/');
    expect([await seen.text(), seen.headers.get('ratelimit')]).toEqual(['begun, and ended', null]);
  });
});
