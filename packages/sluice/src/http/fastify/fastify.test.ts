import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:http2';
import fc from 'fast-check';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Outcome } from '../middleware/options.ts';
import { type FastifyRateLimitOptions, rateLimit } from './index.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });

const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

function application(options: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, ...options });
  apps.push(app);
  return app;
}

async function limited(options: FastifyRateLimitOptions, server?: FastifyServerOptions): Promise<FastifyInstance> {
  const app = application(server);
  await app.register(rateLimit({ warn: false, ...options }));
  return app;
}

const hello = () => 'hello';

/** Over a real connection; the server listens from the first request on. */
async function ask(app: FastifyInstance, path: string, init?: RequestInit): Promise<Response> {
  const url = app.server.listening ? app.listeningOrigin : await app.listen({ host: '127.0.0.1', port: 0 });
  return fetch(`${url}${path}`, init);
}

async function statuses(app: FastifyInstance, paths: readonly string[], init?: RequestInit): Promise<number[]> {
  const seen: number[] = [];
  for (const path of paths) seen.push((await ask(app, path, init)).status);
  return seen;
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

function door() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns += 1) {
    if (isTrue()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect.fail('it did not come to pass');
}

describe('the scope of a registration', () => {
  it('is the one it is registered in, with all scopes inside', async () => {
    const app = application();
    app.get('/outside', hello);
    await app.register(
      async (api) => {
        await api.register(rateLimit({ policy: perMinute(1) }));
        api.get('/users', hello);
        await api.register(async (inner) => void inner.get('/posts', hello), { prefix: '/v1' });
      },
      { prefix: '/api' },
    );
    expect(await statuses(app, ['/api/users', '/api/v1/posts', '/api/users'])).toEqual([200, 429, 429]);
    expect(await statuses(app, ['/outside', '/outside'])).toEqual([200, 200]);
  });

  it('holds what was declared before the plugin was loaded', async () => {
    const app = application();
    app.get('/before', hello);
    app.register(rateLimit({ policy: perMinute(1) }));
    app.get('/after', hello);
    expect(await statuses(app, ['/before', '/after'])).toEqual([200, 429]);
  });

  it('holds what is not found', async () => {
    const app = await limited({ policy: perMinute(2) });
    expect(await statuses(app, ['/admin.php', '/.env', '/wp-login.php'])).toEqual([404, 404, 429]);
  });

  it('holds scopes that were registered before it, and limits in the hook it is told', async () => {
    const app = application();
    app.register(async (earlier) => void earlier.get('/earlier', hello));
    app.register(rateLimit({ policy: perMinute(2), hook: 'preHandler' }));
    app.register(async (later) => void later.get('/later', hello));
    expect(await statuses(app, ['/later', '/nowhere', '/earlier', '/later', '/nowhere'])).toEqual([
      200, 404, 429, 429, 429,
    ]);
  });

  it('is every scope inside, and no other: each request is counted by what stands above it, from the outside in', async () => {
    interface Tree {
      readonly isLimited: boolean;
      readonly inside: readonly Tree[];
    }
    const scopes = (inside: fc.Arbitrary<Tree[]>) => fc.record<Tree>({ isLimited: fc.boolean(), inside });
    const leaves = scopes(fc.constant([]));
    const tree = scopes(fc.array(scopes(fc.array(leaves, { maxLength: 2 })), { maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(tree, async (root) => {
        const app = Fastify();
        const counted: string[] = [];
        const expected = new Map<string, string[]>();
        const grow = async (scope: FastifyInstance, { isLimited, inside }: Tree, path: string, above: string[]) => {
          const names = isLimited ? [...above, path] : above;
          expected.set(`${path}/here`, names);
          const onResult = () => counted.push(path);
          // Before the plugin is loaded or after: it makes no difference.
          scope.get(`${path}/here`, hello);
          // One more than there can be scopes: none of them refuses.
          if (isLimited) await scope.register(rateLimit({ policy: perMinute(10), name: path, onResult, warn: false }));
          for (const [i, tree] of inside.entries()) {
            await scope.register(async (child) => grow(child, tree, `${path}/${i}`, names));
          }
        };
        await grow(app, root, '', []);
        for (const [path, names] of expected) {
          counted.length = 0;
          await app.inject(path);
          expect([path, ...counted]).toEqual([path, ...names]);
        }
        await app.close();
      }),
      { numRuns: 30 },
    );
  });

  it('is one of several: each counts by itself, and the headers speak of all', async () => {
    const app = await limited({ policy: perMinute(3), name: 'everybody' });
    app.get('/', hello);
    await app.register(async (api) => {
      await api.register(rateLimit({ policy: perMinute(2), name: 'api' }));
      api.get('/api', hello);
    });
    const seen = await ask(app, '/api');
    expect(seen.headers.get('ratelimit-policy')).toBe('"everybody";q=3;w=60, "api";q=2;w=60');
    expect(seen.headers.get('ratelimit')).toBe('"api";r=1;t=60');
    expect(await statuses(app, ['/api', '/api', '/'])).toEqual([200, 429, 429]);
  });

  it('may be registered twice in one place, with options of each', async () => {
    const app = await limited({ policy: perMinute(5), name: 'first' });
    await app.register(rateLimit({ policy: perMinute(1), name: 'second', key: ({ url }) => url }));
    app.get('/a', hello);
    app.get('/b', { config: { rateLimit: { policy: perMinute(2) } } }, hello);
    expect(await statuses(app, ['/a', '/a'])).toEqual([200, 429]);
    // By the latest registration, and by no other: its key, and nothing taken from the first.
    expect(await statuses(app, ['/b', '/b', '/b', '/b?x'])).toEqual([200, 200, 429, 200]);
  });

  it('shares its budget where one plugin is registered in two scopes', async () => {
    const app = application();
    const limit = rateLimit({ policy: perMinute(1) });
    for (const path of ['/a', '/b']) {
      await app.register(async (scope) => {
        await scope.register(limit);
        scope.get(path, hello);
      });
    }
    expect(await statuses(app, ['/a', '/b'])).toEqual([200, 429]);
  });
});

describe('the options of a route', () => {
  it('are of one application, also where many have the same plugin', async () => {
    const limit = rateLimit({ policy: perMinute(9), warn: false });
    for (let i = 0; i < 2; i += 1) {
      const app = application();
      await app.register(limit);
      await app.register(limit);
      app.get('/', { config: { rateLimit: { policy: perMinute(9) } } }, hello);
      expect((await ask(app, '/')).headers.get('ratelimit')).toBe(`"GET /";r=${8 - i};t=60`);
    }
  });

  it('do not tell of the same mistake again', async () => {
    const warned: string[] = [];
    const app = await limited({ policy: perMinute(9), warn: (text) => warned.push(text) });
    const own = { policy: perMinute(9) };
    app.get('/', hello);
    app.get('/a', { config: { rateLimit: own } }, hello);
    app.get('/b', { config: { rateLimit: { ...own, warn: (text) => warned.push(`b: ${text}`) } } }, hello);
    await statuses(app, ['/', '/a', '/b', '/a'], { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect(warned).toEqual([expect.stringMatching(/^There is an X-F/), expect.stringMatching(/^b: There is an X-F/)]);
  });

  it('false: it is not limited', async () => {
    const app = await limited({ policy: perMinute(1) });
    app.get('/health', { config: { rateLimit: false } }, hello);
    app.get('/', hello);
    const seen = await ask(app, '/health');
    expect([seen.status, seen.headers.get('ratelimit')]).toEqual([200, null]);
    expect(await statuses(app, ['/', '/', '/health'])).toEqual([200, 429, 200]);
  });

  it('a policy: a budget of its own instead, named by the route, with all else as registered', async () => {
    const app = await limited({ policy: perMinute(1), key: ({ headers }) => headers['x-user'] as string });
    const strict = { config: { rateLimit: { policy: perMinute(2) } } };
    await app.register(async (api) => void api.get('/report', strict, hello), { prefix: '/v1' });
    app.get('/', hello);
    const alice = { headers: { 'x-user': 'alice' } };
    expect((await ask(app, '/v1/report', alice)).headers.get('ratelimit')).toBe('"GET /v1/report";r=1;t=60');
    expect(await statuses(app, ['/v1/report', '/v1/report', '/', '/'], alice)).toEqual([200, 429, 200, 429]);
    expect(await statuses(app, ['/v1/report'], { headers: { 'x-user': 'bob' } })).toEqual([200]);
  });

  it('a policy: GET and the HEAD that Fastify makes of it are one budget, GET and POST are two', async () => {
    const app = await limited({ policy: perMinute(1) });
    const strict = { config: { rateLimit: { policy: perMinute(2) } } };
    app.get('/a', strict, hello);
    app.post('/a', strict, hello);
    expect(await statuses(app, ['/a'])).toEqual([200]);
    expect(await statuses(app, ['/a', '/a'], { method: 'HEAD' })).toEqual([200, 429]);
    expect(await statuses(app, ['/a'])).toEqual([429]);
    expect(await statuses(app, ['/a', '/a', '/a'], { method: 'POST' })).toEqual([200, 200, 429]);
  });

  it('a policy: the HEAD that Fastify makes of a route of several methods is of its budget too', async () => {
    const app = await limited({ policy: perMinute(9) });
    const config = { rateLimit: { policy: perMinute(2) } };
    app.route({ method: ['POST', 'GET'], url: '/a', config, handler: hello });
    app.route({ method: ['POST', 'GET'], url: '/b/a', config, handler: hello });
    expect(await statuses(app, ['/a'])).toEqual([200]);
    expect(await statuses(app, ['/a', '/a', '/b/a'], { method: 'HEAD' })).toEqual([200, 429, 200]);
    expect(await statuses(app, ['/a', '/b/a', '/b/a'], { method: 'POST' })).toEqual([429, 200, 429]);
  });

  it('a policy: the root of a prefix is one budget with the slash and without', async () => {
    const app = await limited({ policy: perMinute(9) });
    const strict = { config: { rateLimit: { policy: perMinute(1) } } };
    await app.register(async (api) => void api.get('/', strict, hello), { prefix: '/api' });
    expect(await statuses(app, ['/api', '/api/', '/api'])).toEqual([200, 429, 429]);
  });

  it('a cost: more of the budget that all share', async () => {
    const app = await limited({ policy: perMinute(12) });
    app.get('/report', { config: { rateLimit: { cost: 10 } } }, hello);
    app.get('/', hello);
    expect((await ask(app, '/report')).headers.get('ratelimit')).toBe('"default";r=2;t=60');
    expect(await statuses(app, ['/', '/report', '/', '/'])).toEqual([200, 429, 200, 429]);
  });

  it('a name: the same policy, counted apart; and together where the name is the same', async () => {
    const app = await limited({ policy: perMinute(1) });
    const search = { config: { rateLimit: { name: 'search' } } };
    app.get('/users', search, hello);
    app.get('/posts', search, hello);
    app.get('/', hello);
    expect(await statuses(app, ['/users', '/posts', '/', '/'])).toEqual([200, 429, 200, 429]);
  });

  it('rules: all or nothing, in place of a policy, and a policy in place of rules', async () => {
    const app = await limited({ rules: [{ name: 'all', policy: perMinute(2) }], subject: () => ({ user: 'alice' }) });
    const own = {
      rules: [
        { name: 'all', policy: perMinute(2) },
        { name: 'mine', key: 'user', policy: perMinute(1) },
      ],
    };
    app.get('/rules', { config: { rateLimit: own } }, hello);
    app.get('/made', { config: { rateLimit: { rules: rules([{ name: 'all', policy: perMinute(1) }]) } } }, hello);
    app.get('/policy', { config: { rateLimit: { policy: perMinute(1) } } }, hello);
    app.get('/', hello);
    // 'all' is one budget with that of the whole; and what 'mine' refuses takes nothing from it.
    expect(await statuses(app, ['/rules', '/rules', '/rules', '/', '/'])).toEqual([200, 429, 429, 200, 429]);
    expect(await statuses(app, ['/made', '/made', '/policy', '/policy'])).toEqual([200, 429, 200, 429]);
  });

  it('a hook: after the body is parsed, so that it can be the key', async () => {
    const app = await limited({ policy: perMinute(9) });
    const logIn = {
      hook: 'preHandler',
      policy: perMinute(1),
      key: ({ body }: { body: unknown }) => (body as { email: string }).email,
    } as const;
    app.post('/log-in', { config: { rateLimit: logIn } }, hello);
    expect(await statuses(app, ['/log-in', '/log-in'], json({ email: 'alice@example.com' }))).toEqual([200, 429]);
    expect(await statuses(app, ['/log-in'], json({ email: 'bob@example.com' }))).toEqual([200]);
  });

  it('come after the hooks of the route itself, and leave those of others alone', async () => {
    const app = await limited({ policy: perMinute(9) });
    const ran: string[] = [];
    const onRequest = [
      (_request: unknown, _reply: unknown, done: () => void) => {
        ran.push('own');
        done();
      },
    ];
    app.get(
      '/',
      { onRequest, config: { rateLimit: { policy: perMinute(1), onResult: () => ran.push('limit') } } },
      hello,
    );
    await ask(app, '/');
    expect([ran, onRequest.length]).toEqual([['own', 'limit'], 1]);
  });

  it('are by the nearest registration, and replace those further out', async () => {
    const app = await limited({ policy: perMinute(1), name: 'out' });
    await app.register(async (api) => {
      await api.register(rateLimit({ policy: perMinute(1), name: 'in', headers: 'draft-7', warn: false }));
      api.get('/a', { config: { rateLimit: { policy: perMinute(2) } } }, hello);
    });
    const seen = await ask(app, '/a');
    expect(seen.headers.get('ratelimit')).toBe('limit=2, remaining=1, reset=60');
    expect(await statuses(app, ['/a', '/a'])).toEqual([200, 429]);
  });

  it('are refused where they would be counted with those of another route', async () => {
    const app = await limited({ policy: perMinute(9) });
    const route = (host: string, limit: number) =>
      app.get('/', { constraints: { host }, config: { rateLimit: { policy: perMinute(limit) } } }, hello);
    route('a.example', 1);
    expect(() => route('b.example', 2)).toThrow('name must be given where two routes are GET / and have a policy each');
  });

  it('are not passed over where the route was declared too early, but say so', async () => {
    for (const options of [{ policy: perMinute(1) }, { global: false } as const]) {
      const app = application();
      app.register(rateLimit({ ...options, warn: false }));
      app.get('/', { config: { rateLimit: { policy: perMinute(1) } } }, hello);
      const seen = await ask(app, '/');
      expect(seen.status).toBe(500);
      expect(await seen.text()).toContain('GET / has a rateLimit of its own, but was declared before the plugin');
    }
  });

  it.each([
    [true, 'must be an object of policy, name'],
    ['off', 'must be an object of policy, name'],
    [{ max: 5 }, 'rateLimit options has no field "max"'],
    [{ hook: 'onSend' }, 'hook must be one of "onRequest", "preValidation", "preHandler", got "onSend".'],
    [{ policy: perMinute(1), rules: [] }, 'rateLimit needs a policy or rules, not both'],
    [{ maxKeys: 5 }, 'maxKeys must be left out beside a store'],
    [{ global: true }, 'rateLimit options has no field "global"'],
  ])('of %j are refused when the route is declared', async (own, message) => {
    const app = await limited({ policy: perMinute(1) });
    expect(() => app.get('/', { config: { rateLimit: own as never } }, hello)).toThrow(message);
  });
});

describe('global: false', () => {
  it('limits nothing but what says so', async () => {
    const app = await limited({ global: false, policy: perMinute(1) });
    app.get('/', hello);
    app.get('/as-registered', { config: { rateLimit: {} } }, hello);
    app.get('/too', { onRequest: app.rateLimit() }, hello);
    expect(await statuses(app, ['/', '/', '/as-registered', '/as-registered', '/too'])).toEqual([
      200, 200, 200, 429, 429,
    ]);
  });

  it('needs no policy, but then routes do', async () => {
    const app = await limited({ global: false });
    app.get('/', { config: { rateLimit: { policy: perMinute(1) } } }, hello);
    expect(await statuses(app, ['/', '/'])).toEqual([200, 429]);
    expect(() => app.rateLimit()).toThrow('app.rateLimit() needs a policy or rules');
    const other = await limited({ global: false });
    expect(() => other.get('/', { config: { rateLimit: {} } }, hello)).toThrow('rateLimit needs a policy or rules');
  });

  it.each([
    [{ global: false, polcy: 1 }, 'rateLimit options has no field "polcy"'],
    [{ global: 'no', policy: perMinute(1) }, 'global must be one of true, false, got "no".'],
    [{ hook: 'preParsing', policy: perMinute(1) }, 'hook must be one of "onRequest", "preValidation", "preHandler"'],
    [undefined, 'what rateLimit options is given must be an object'],
  ])('and wrong options: %j', (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message);
  });
});

describe('app.rateLimit()', () => {
  it('is one more limit, for one route or several together', async () => {
    const app = await limited({ policy: perMinute(9) });
    const writes = app.rateLimit({ name: 'writes', policy: perMinute(2) });
    app.post('/users', { onRequest: writes }, hello);
    app.post('/posts', { preValidation: [writes] }, hello);
    app.get('/', hello);
    expect(await statuses(app, ['/users', '/posts', '/users'], { method: 'POST' })).toEqual([200, 200, 429]);
    // Each took from the limit of the whole too.
    expect((await ask(app, '/')).headers.get('ratelimit')).toBe('"default";r=5;t=60');
  });

  it('limits what is not found apart from the rest', async () => {
    const app = await limited({ global: false });
    app.setNotFoundHandler(
      { preHandler: app.rateLimit({ name: 'guesses', policy: perMinute(1) }) },
      (_request, reply) => reply.code(404).send('nothing here'),
    );
    app.get('/', hello);
    expect(await statuses(app, ['/x', '/y', '/'])).toEqual([404, 429, 200]);
  });

  it('is of the nearest scope', async () => {
    const app = await limited({ global: false, headers: 'draft-7' });
    await app.register(async (api) => {
      await api.register(rateLimit({ global: false, headers: 'draft-6' }));
      api.get('/in', { onRequest: api.rateLimit({ name: 'in', policy: perMinute(1) }) }, hello);
    });
    app.get('/out', { onRequest: app.rateLimit({ name: 'out', policy: perMinute(1) }) }, hello);
    expect((await ask(app, '/in')).headers.get('ratelimit-limit')).toBe('1');
    expect((await ask(app, '/out')).headers.get('ratelimit')).toBe('limit=1, remaining=0, reset=60');
  });

  it.each([
    [{ policy: perMinute(1) }, 'name must be given beside a policy, got undefined. Limits of one name'],
    [{ hook: 'preHandler' }, 'rateLimit options has no field "hook"'],
    [null, 'what rateLimit options is given must be an object'],
  ])('of %j is refused', async (own, message) => {
    const app = await limited({ policy: perMinute(1) });
    expect(() => app.rateLimit(own as never)).toThrow(message);
  });

  it('is a method, and says so', async () => {
    const { rateLimit: alone } = await limited({ policy: perMinute(1) });
    expect(() => alone()).toThrow('call it as app.rateLimit()');
  });

  it('does not take the place of what others decorate', async () => {
    const app = application();
    app.decorate('rateLimit', hello as never);
    await expect(async () => app.register(rateLimit({ policy: perMinute(1) }))).rejects.toThrow(
      "'rateLimit' has already been added",
    );
  });
});

describe('a refusal', () => {
  it('is what the handler returns, with status and headers set', async () => {
    const app = await limited({
      policy: perMinute(1),
      handler: async (_request, _reply, { problem }) => ({ error: problem.title }),
    });
    app.get('/', hello);
    await ask(app, '/');
    const seen = await ask(app, '/');
    expect([seen.status, seen.headers.get('retry-after'), await seen.json()]).toEqual([
      429,
      '60',
      { error: 'Quota exceeded' },
    ]);
  });

  it('is answered by the error handler where the handler throws, at once or later', async () => {
    for (const later of [false, true]) {
      const app = await limited({
        policy: perMinute(1),
        handler: (_request, _reply, { problem }) => {
          const error = Object.assign(new Error(problem.detail), { code: 'TOO_MANY' });
          if (later) return Promise.reject(error);
          throw error;
        },
      });
      app.setErrorHandler((error: { code?: string; message: string }, _request, reply) =>
        reply.send({ code: error.code, message: error.message }),
      );
      app.get('/', hello);
      await ask(app, '/');
      const seen = await ask(app, '/');
      expect([seen.status, seen.headers.get('retry-after'), await seen.json()]).toEqual([
        429,
        '60',
        { code: 'TOO_MANY', message: 'default allows 1 in 60 s. Try again in 60 s.' },
      ]);
    }
  });

  it('that cannot be sent is an error, and not the end of the process', async () => {
    const handlers = [async () => () => 'a function', (_request: unknown, _reply: unknown) => () => 'a function'];
    for (const handler of handlers) {
      const app = await limited({ policy: perMinute(1), handler });
      app.setReplySerializer((payload) => payload as never);
      app.get('/', () => ({}));
      await ask(app, '/');
      expect((await ask(app, '/')).status).toBe(500);
    }
  });

  it('is told as it is, whatever the schema of the response and the hooks for what routes answer', async () => {
    const app = await limited({ policy: perMinute(1) });
    app.addHook('preSerialization', async () => ({ data: 'wrapped' }));
    app.addHook('onSend', async (_request, reply) => void reply.header('x-sent', 'yes'));
    const response = { 429: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] } };
    app.get('/', { schema: { response } }, () => ({}));
    await ask(app, '/');
    const seen = await ask(app, '/');
    expect([seen.status, seen.headers.get('x-sent')]).toEqual([429, 'yes']);
    expect(seen.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await seen.json()).toMatchObject({ 'violated-policies': ['default'] });
  });

  it('comes before the body is read, and leaves it unread', async () => {
    const app = await limited({ policy: perMinute(1) });
    const parsed = vi.fn();
    app.addHook('preParsing', async () => parsed());
    app.post('/', hello);
    expect(await statuses(app, ['/', '/'], json({ text: 'x'.repeat(500_000) }))).toEqual([200, 429]);
    expect(parsed).toHaveBeenCalledTimes(1);
  });

  it('is not the answer to what Fastify has answered already, because it took too long', async () => {
    const held = door();
    const store = memoryStore();
    const later: Store<'async'> = {
      mode: 'async',
      clock: new TestClock(),
      apply: async (checks, atMs, id) => {
        await held.opened;
        return store.apply(checks, atMs, id);
      },
    };
    const app = await limited(
      { rules: rules([{ name: 'x', policy: perMinute(1) }], { store: later }) },
      { handlerTimeout: 5 },
    );
    let handled = 0;
    app.get('/', () => {
      handled += 1;
      return 'hello';
    });
    const [first, second] = await Promise.all([ask(app, '/'), ask(app, '/')]);
    expect([first.status, second.status]).toEqual([503, 503]);
    held.open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(handled).toBe(0);
  });
});

describe('the address', () => {
  const from = (address: string): RequestInit => ({ headers: { 'x-forwarded-for': address } });

  it('is what Fastify makes of its trustProxy', async () => {
    const warned: string[] = [];
    const app = await limited({ policy: perMinute(1), warn: (text) => warned.push(text) }, { trustProxy: 'loopback' });
    app.get('/', hello);
    expect(await statuses(app, ['/', '/'], from('198.51.100.1, 203.0.113.9'))).toEqual([200, 429]);
    expect(await statuses(app, ['/'], from('203.0.113.10'))).toEqual([200]);
    expect(warned).toEqual([]);
  });

  it.each([true, () => true])(
    "is anybody's choice where Fastify trusts everybody, and a warning says so (%s)",
    async (trustProxy) => {
      const warned: string[] = [];
      const app = await limited({ policy: perMinute(1), warn: (text) => warned.push(text) }, { trustProxy });
      app.get('/', hello);
      await app.register(async (scope) => void scope.decorateRequest('user', '').get('/in', hello));
      expect(await statuses(app, ['/', '/in'], from('203.0.113.9'))).toEqual([200, 429]);
      expect(await statuses(app, ['/'], from('203.0.113.10'))).toEqual([200]);
      expect(warned).toEqual([expect.stringContaining('trusts every proxy')]);
    },
  );
});

describe('a trustProxy that believes nobody', () => {
  it.each([1, '203.0.113.0/24', () => false])('is told of where there is a proxy (%s)', async (trustProxy) => {
    const warned: string[] = [];
    const options = { policy: perMinute(9), warn: (text: string) => warned.push(text) };
    const app = await limited(options, { trustProxy: trustProxy as never });
    app.get('/', hello);
    await ask(app, '/');
    expect(warned).toEqual([]);
    const forwarded = { headers: { 'x-forwarded-for': '203.0.113.9' } };
    await statuses(app, ['/', '/'], forwarded);
    expect(warned).toEqual([expect.stringContaining('no proxy is trusted')]);
  });
});

describe('the end of a response', () => {
  const outcomes = async (server: FastifyServerOptions, run: (app: FastifyInstance) => Promise<unknown>) => {
    const seen: [status: number, isComplete: boolean, isOfFastify: boolean][] = [];
    const app = await limited(
      {
        policy: perMinute(9),
        costAfter(_request, { status, isComplete, response }: Outcome<{ getHeader?: unknown }>) {
          seen.push([status, isComplete, typeof response.getHeader === 'function']);
          return 1;
        },
      },
      server,
    );
    app.get('/', hello);
    app.get('/hijacked', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(202).end('by hand');
    });
    app.get('/cut', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write('half', () => reply.raw.destroy?.());
    });
    await run(app);
    await until(() => seen.length === 1);
    return seen[0];
  };

  it('is seen however it ends', async () => {
    expect(await outcomes({}, (app) => ask(app, '/'))).toEqual([200, true, true]);
    expect(await outcomes({}, (app) => ask(app, '/hijacked'))).toEqual([202, true, true]);
    expect(await outcomes({}, async (app) => (await ask(app, '/cut')).text().catch(() => ''))).toEqual([
      200,
      false,
      true,
    ]);
    expect(await outcomes({}, (app) => app.inject('/'))).toEqual([200, true, true]);
  });

  it('is seen over HTTP/2 too', async () => {
    const over2 = (path: string, leave: boolean) => async (app: FastifyInstance) => {
      const session = connect(await app.listen({ host: '127.0.0.1', port: 0 }));
      const stream = session.request({ ':path': path });
      stream.on('error', () => {});
      stream.resume();
      if (leave) stream.on('response', () => stream.close());
      await once(stream, 'close');
      session.close();
    };
    const http2 = { http2: true } as unknown as FastifyServerOptions;
    expect(await outcomes(http2, over2('/', false))).toEqual([200, true, true]);
    expect(await outcomes(http2, over2('/cut', true))).toEqual([200, false, true]);
  });

  it('of a client that left while the store was asked frees what was taken', async () => {
    const asked = door();
    const held = door();
    const own = memoryStore({ clock: new TestClock() });
    const store: Store<'async'> = {
      mode: 'async',
      clock: own.clock,
      async apply(checks, atMs, id) {
        asked.open();
        await held.opened;
        return own.apply(checks, atMs, id);
      },
    };
    const app = await limited({ policy: concurrency({ limit: 1 }), store });
    app.get('/', hello);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const closed = new Promise((resolve) => app.server.on('connection', (socket) => socket.on('close', resolve)));
    const request = httpRequest(url);
    request.on('error', () => {});
    request.end();
    await asked.opened;
    request.destroy();
    await closed;
    held.open();
    let status = 0;
    for (let tries = 0; tries < 100 && status !== 200; tries += 1) status = (await ask(app, '/')).status;
    expect(status).toBe(200);
  });

  it('of a client that left while it was held back is the end of the request', async () => {
    const clock = new TestClock();
    const handled = vi.fn(hello);
    const app = await limited({ policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock }, {
      http2: true,
    } as never);
    app.get('/', handled);
    const session = connect(await app.listen({ host: '127.0.0.1', port: 0 }));
    const first = session.request();
    first.resume();
    await once(first, 'close');
    const second = session.request();
    second.on('error', () => {});
    await until(() => clock.sleeping === 1);
    second.close();
    await until(() => clock.sleeping === 0);
    session.close();
    expect(handled).toHaveBeenCalledTimes(1);
  });
});

it.each([undefined, null, '', 0, 'no'])('what throws %j lets nobody in, at once or later', async (thrown) => {
  const fail = () => {
    throw thrown;
  };
  for (const key of [fail, async () => fail()]) {
    const app = await limited({ policy: perMinute(1), key });
    app.get('/', hello);
    expect((await ask(app, '/')).status).toBe(500);
  }
});

it('is a plugin for Fastify 5, with a name that others can depend on', async () => {
  const app = await limited({ policy: perMinute(1) });
  expect(app.hasPlugin('sluice/fastify')).toBe(true);
  expect(app.printPlugins()).toContain('sluice/fastify');
  const older = application();
  Object.defineProperty(older, 'version', { value: '4.29.0' });
  await expect(async () => older.register(rateLimit, { policy: perMinute(1) })).rejects.toThrow(
    "expected '>=5' fastify version",
  );
});
