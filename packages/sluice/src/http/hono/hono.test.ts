// What only Hono has. What all frameworks have is in conformance.test.ts.
import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, type Env, Hono } from 'hono';
import { cors } from 'hono/cors';
import { HTTPException } from 'hono/http-exception';
import { stream, streamSSE } from 'hono/streaming';
import { afterEach, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { serve } from '../fetch/serve.test-support.ts';
import type { StartedApp } from '../middleware/conformance.test-support.ts';
import { type HonoRateLimitOptions, rateLimit } from './index.ts';

const perMinute = (limit: number) => gcra({ limit, window: '1m' });
const key = () => 'alice';

const apps: StartedApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

async function started(app: Hono): Promise<string> {
  const running = await serve(app.fetch);
  apps.push(running);
  return running.url;
}

describe('the headers of a response', () => {
  const proxied = new Hono().get('/', (c) => c.text('from elsewhere'));

  async function app(): Promise<Hono> {
    const elsewhere = await started(proxied);
    const made = new Hono();
    made.use(rateLimit({ policy: perMinute(10), headers: 'draft-8' }));
    made.get('/text', (c) => c.text('a text'));
    made.get('/raw', () => new Response('a text'));
    made.get('/redirect', () => Response.redirect('http://localhost/'));
    made.get('/own', (c) => c.redirect('/'));
    made.get('/proxy', () => fetch(elsewhere));
    made.get('/stream', (c) => stream(c, async (out) => void (await out.write('a text'))));
    made.get('/events', (c) => streamSSE(c, (out) => out.writeSSE({ data: 'a text' })));
    made.get('/throws', () => {
      throw new Error('no database');
    });
    made.get('/exception', () => {
      throw new HTTPException(403, { res: new Response('not you', { status: 403 }) });
    });
    made.get('/cookies', (c) => {
      c.header('set-cookie', 'a=1', { append: true });
      c.header('set-cookie', 'b=2', { append: true });
      return c.body(null, 204);
    });
    made.onError((error, c) =>
      error instanceof HTTPException ? error.getResponse() : c.text(`failed: ${error.message}`, 500),
    );
    made.notFound((c) => c.text('nothing here', 404));
    return made;
  }

  it.each<[path: string, status: number, body: string]>([
    ['/text', 200, 'a text'],
    ['/raw', 200, 'a text'],
    ['/redirect', 302, ''],
    ['/own', 302, ''],
    ['/proxy', 200, 'from elsewhere'],
    ['/stream', 200, 'a text'],
    ['/events', 200, 'data: a text\n\n'],
    ['/throws', 500, 'failed: no database'],
    ['/exception', 403, 'not you'],
    ['/cookies', 204, ''],
    ['/nothing', 404, 'nothing here'],
  ])('are on %s, whoever made it', async (path, status, body) => {
    const seen = await fetch(`${await started(await app())}${path}`, { redirect: 'manual' });
    expect([seen.status, await seen.text()]).toEqual([status, body]);
    expect(seen.headers.get('ratelimit')).toBe('"default";r=9;t=6');
    if (path === '/cookies') expect(seen.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('are on what is refused, also where its handler throws for Hono to answer', async () => {
    const made = new Hono();
    const handler = () => {
      throw new HTTPException(429, { message: 'slow down' });
    };
    made.use(rateLimit({ policy: perMinute(1), handler, key }));
    made.get('/', (c) => c.text('hello'));
    await made.request('/');
    const refused = await made.request('/');
    expect([refused.status, await refused.text()]).toEqual([429, 'slow down']);
    expect(refused.headers.get('retry-after')).toBe('60');
  });

  it('of what is refused are of the limit that refused, and those that were written before are kept', async () => {
    const made = new Hono();
    // It writes into the response before there is one.
    made.use('/cors', cors());
    made.use(async (c, next) => {
      c.header('x-request-id', '7');
      await next();
    });
    made.use(rateLimit({ policy: perMinute(100), name: 'everybody', headers: 'draft-8', key }));
    made.use(rateLimit({ policy: perMinute(1), name: 'few', headers: 'draft-8', key }));
    made.get('/*', (c) => c.text('hello'));
    const url = await started(made);
    expect((await fetch(`${url}/`)).status).toBe(200);
    for (const path of ['/', '/cors']) {
      const { status, headers } = await fetch(`${url}${path}`);
      expect([status, headers.get('content-type')]).toEqual([429, 'application/problem+json']);
      expect(headers.get('x-request-id')).toBe('7');
      expect(headers.get('ratelimit')).toMatch(/^"few";r=0;/);
      expect(headers.get('access-control-allow-origin')).toBe(path === '/cors' ? '*' : null);
    }
  });

  it('are on what is thrown for `onError` to answer, except for those that it brings', async () => {
    const made = new Hono();
    const handler = () => {
      throw new HTTPException(429, {
        res: new Response('slow down', { status: 429, headers: { 'retry-after': '7' } }),
      });
    };
    made.use(rateLimit({ policy: perMinute(1), handler, key }));
    made.get('/', (c) => c.text('hello'));
    const seen = [];
    for (const app of [made, made, made.onError((error) => (error as HTTPException).getResponse())]) {
      const { status, headers } = await app.request('/');
      seen.push([status, headers.get('retry-after'), headers.get('ratelimit')]);
    }
    expect(seen).toEqual([
      [200, null, '"default";r=0;t=60'],
      [429, '7', '"default";r=0;t=60'],
      [429, '7', '"default";r=0;t=60'],
    ]);
  });

  it.each<[string, (c: Context) => Response]>([
    ['in its response', (c) => c.text('slow down', 429, { 'retry-after': '7' })],
    [
      'before it throws',
      (c) => {
        c.header('retry-after', '7');
        throw new HTTPException(429);
      },
    ],
  ])('leave alone what a handler has written itself, %s', async (_where, handler) => {
    const made = new Hono();
    made.use(rateLimit({ policy: perMinute(1), handler, key }));
    made.get('/', (c) => c.text('hello'));
    await made.request('/');
    const { headers } = await made.request('/');
    expect([headers.get('retry-after'), headers.get('ratelimit')]).toEqual(['7', '"default";r=0;t=60']);
  });

  it('do not make a stream of what is none', async () => {
    const made = new Hono();
    const own = new Response('hello');
    made.use(rateLimit({ policy: perMinute(1), key }));
    made.get('/', () => own);
    expect(await made.request('/')).toBe(own);
  });
});

describe('what the limits said', () => {
  it('is there for the handler, of all of them together', async () => {
    const seen: (RulesResult | undefined)[] = [];
    const made = new Hono();
    made.use(rateLimit({ policy: perMinute(10), name: 'everybody', key }));
    made.get('/none', (c) => c.json(seen.push(c.get('rateLimit'))));
    made.get('/own', rateLimit({ policy: perMinute(4), name: 'own', key }), (c) => c.json(seen.push(c.var.rateLimit)));
    await made.request('/none');
    await made.request('/own');
    expect(seen.map((result) => result?.decisions.map(({ rule, remaining }) => [rule, remaining]))).toEqual([
      [['everybody', 9]],
      [
        ['everybody', 8],
        ['own', 3],
      ],
    ]);
    expect(seen[1]?.tightest?.rule).toBe('own');
  });

  it('is absent for what was skipped, and is there for the handler of refusals', async () => {
    const seen: (RulesResult | undefined)[] = [];
    const made = new Hono();
    const note = (c: Context) => c.json(seen.push(c.get('rateLimit')));
    made.use(rateLimit({ policy: perMinute(1), key, skip: (c) => c.req.path === '/skip', handler: note }));
    made.get('/*', note);
    for (const path of ['/skip', '/', '/']) await made.request(path);
    expect(seen.map((result) => result?.allowed)).toEqual([undefined, true, false]);
  });
});

describe('a limit', () => {
  it('is of a route, of a group, or of a path', async () => {
    const made = new Hono();
    const group = new Hono().use(rateLimit({ policy: perMinute(2), key })).get('/*', (c) => c.text('group'));
    made.route('/group', group);
    made.use('/path/*', rateLimit({ policy: perMinute(1), key }));
    made.get('/route', rateLimit({ policy: perMinute(1), key }), (c) => c.text('route'));
    made.post('/route', (c) => c.text('free'));
    made.get('/path/a', (c) => c.text('path'));
    const rows: [path: string, method: string, status: number][] = [
      ['/group/a', 'GET', 200],
      ['/group/b', 'GET', 200],
      ['/group/c', 'GET', 429],
      ['/route', 'GET', 200],
      ['/route', 'GET', 429],
      ['/route', 'POST', 200],
      ['/path/a', 'GET', 200],
      ['/path/a', 'GET', 429],
      ['/other', 'GET', 404],
    ];
    for (const [path, method, status] of rows) {
      expect([path, method, (await made.request(path, { method })).status]).toEqual([path, method, status]);
    }
  });

  it('goes by the path of the app, wherever that is mounted', async () => {
    const results: RulesResult[] = [];
    const inner = new Hono();
    inner.use(
      rateLimit({
        rules: [{ name: 'inner', policy: perMinute(1), match: { path: '/outer/a', method: 'GET' } }],
        onResult: (_c, result) => results.push(result),
      }),
    );
    inner.get('/a', (c) => c.text('a'));
    await new Hono().route('/outer', inner).request('/outer/a?b=/c');
    expect(results.map(({ decisions }) => decisions.length)).toEqual([1]);
  });

  it('by what the app knows of its caller has that when it comes after', async () => {
    type AppEnv = { Variables: { user: string } };
    const made = new Hono<AppEnv>();
    made.use(async (c, next) => {
      c.set('user', c.req.header('x-user') ?? 'nobody');
      await next();
    });
    made.use(rateLimit<AppEnv>({ policy: perMinute(1), key: (c) => c.get('user') }));
    made.get('/', (c) => c.text('hello'));
    const status = async (user: string) => (await made.request('/', { headers: { 'x-user': user } })).status;
    expect([await status('alice'), await status('bob'), await status('alice')]).toEqual([200, 200, 429]);
  });
});

describe('the address of a request', () => {
  type Row = [what: string, given: object, env: object, headers: object, address: string];
  const rows: Row[] = [
    ['Bun', {}, { requestIP: () => ({ address: '203.0.113.1' }) }, {}, '203.0.113.1'],
    ['Bun, as server', {}, { server: { requestIP: () => ({ address: '203.0.113.1' }) } }, {}, '203.0.113.1'],
    ['Deno', {}, { remoteAddr: { hostname: '203.0.113.2' } }, {}, '203.0.113.2'],
    ['Node', {}, { incoming: { socket: { remoteAddress: '203.0.113.3' } } }, {}, '203.0.113.3'],
    ['nobody', {}, {}, { 'cf-connecting-ip': '203.0.113.5' }, 'unknown'],
    ['`address`', { address: (c: Context) => c.req.header('fly') }, {}, { fly: '203.0.113.4' }, '203.0.113.4'],
  ];
  it.each(rows)('is what %s says', async (_what, given, env, headers, address) => {
    const seen: unknown[] = [];
    const made = new Hono();
    const rule = { name: 'x', policy: perMinute(1), key: ({ ip }: Record<string, unknown>) => String(seen.push(ip)) };
    made.use(rateLimit({ rules: [rule], warn: false, ...given } as HonoRateLimitOptions<Env>));
    await made.request('/', { headers: headers as Record<string, string> }, env);
    expect(seen).toEqual([address]);
  });

  it('is what Cloudflare says, where it is Cloudflare', async () => {
    const warned: string[] = [];
    const made = new Hono();
    made.use(rateLimit({ policy: perMinute(1), warn: (text) => warned.push(text) }));
    made.get('/', (c) => c.text('hello'));
    const from = (address: string) => {
      const headers = { 'cf-connecting-ip': address, 'x-forwarded-for': address };
      return Object.assign(new Request('http://localhost/', { headers }), { cf: {} });
    };
    const status = async (address: string) => (await made.request(from(address))).status;
    expect([await status('203.0.113.1'), await status('203.0.113.1'), await status('203.0.113.2')]).toEqual([
      200, 429, 200,
    ]);
    expect(warned).toEqual([]);
  });

  it('may be asked of Hono', async () => {
    const made = new Hono();
    made.use(rateLimit({ policy: perMinute(1), address: (c) => `v4-${getConnInfo(c).remote.address}` }));
    made.get('/', (c) => c.text(c.var.rateLimit?.decisions.length === 1 ? 'limited' : 'not'));
    const url = await started(made);
    expect(await (await fetch(url)).text()).toBe('limited');
    expect((await fetch(url)).status).toBe(429);
  });
});

describe('the end of a response', () => {
  function watched() {
    const outcomes: [path: string, status: number, isComplete: boolean][] = [];
    let finish: () => void = () => {};
    const made = new Hono();
    made.use(
      rateLimit({
        policy: concurrency({ limit: 1 }),
        key,
        costAfter(c, { status, isComplete }) {
          if (c.req.path !== '/probe') outcomes.push([c.req.path, status, isComplete]);
          return 1;
        },
      }),
    );
    made.get('/probe', (c) => c.text('free'));
    made.get('/stream', (c) =>
      stream(c, async (out) => {
        await out.write('first');
        await new Promise<void>((resolve) => {
          finish = resolve;
          out.onAbort(resolve);
        });
      }),
    );
    made.get('/throws', () => {
      throw new Error('no database');
    });
    made.get('/throws-text', () => {
      throw 'no error';
    });
    made.onError((_error, c) => c.text('failed', 503));
    return { made, outcomes, finish: () => finish() };
  }

  const probe = async (url: string) => {
    const seen = await fetch(`${url}/probe`);
    await seen.text();
    return seen.status;
  };
  const whenFree = async (url: string) => {
    let status = 0;
    for (let tries = 0; tries < 500 && status !== 200; tries += 1) status = await probe(url);
    return status;
  };

  it('of a stream is when the client has all of it', async () => {
    const { made, outcomes, finish } = watched();
    const url = await started(made);
    const seen = await fetch(`${url}/stream`);
    expect([await probe(url), outcomes]).toEqual([429, []]);
    finish();
    expect(await seen.text()).toBe('first');
    expect(await whenFree(url)).toBe(200);
    expect(outcomes).toEqual([['/stream', 200, true]]);
  });

  it('of a stream is when the client leaves', async () => {
    const { made, outcomes } = watched();
    const url = await started(made);
    const left = new AbortController();
    await fetch(`${url}/stream`, { signal: left.signal });
    expect(await probe(url)).toBe(429);
    left.abort();
    expect(await whenFree(url)).toBe(200);
    expect(outcomes).toEqual([['/stream', 200, false]]);
  });

  it('of what was thrown is what Hono made of it', async () => {
    const { made, outcomes } = watched();
    const url = await started(made);
    expect(await (await fetch(`${url}/throws`)).text()).toBe('failed');
    expect(await whenFree(url)).toBe(200);
    expect(outcomes).toEqual([['/throws', 503, true]]);
  });

  it('of what Hono does not catch is told too', async () => {
    const { made, outcomes } = watched();
    await expect((async () => made.request('/throws-text'))()).rejects.toBe('no error');
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcomes).toEqual([['/throws-text', 500, false]]);
  });
});

describe('what is given', () => {
  it.each<[unknown, string]>([
    [{ policy: perMinute(1), address: 'ip' }, 'address must be a function, got "ip".'],
    [{ policy: perMinute(1), keyGenerator: () => 'x' }, 'rateLimit options has no field "keyGenerator".'],
    [undefined, 'what rateLimit options is given must be an object'],
  ])('as options %j is refused when it is made', (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message);
  });
});
