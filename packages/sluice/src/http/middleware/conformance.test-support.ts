/**
 * One table of cases for the middleware of every framework: each is started for real and asked over HTTP, and what a client sees is the same
 * everywhere. An adapter's test says how its framework is started, and adds what only its framework has.
 */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { type RulesResult, rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';

// biome-ignore lint/suspicious/noExplicitAny: every framework has requests, responses and handlers of its own
export type AnyOptions = Record<string, any>;

/** What the framework serves behind the middleware. */
export interface Routes {
  /** `GET /slow` answers 'done' once this has resolved. */
  slow(): Promise<void>;
}

export interface StartedApp {
  /** Without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

export interface MiddlewareUnderTest {
  /**
   * Starts the framework on a free loopback port, with `rateLimit(options)` in front of these routes:
   *
   *      GET /hello            200 'hello'
   *      GET /status/<code>    that status, 'done'
   *      GET /slow             200 'done', once routes.slow() has resolved
   *      GET /throws           the handler throws; the framework answers 500
   */
  start(options: AnyOptions, routes: Routes): Promise<StartedApp>;
  /** The same, with the very same middleware mounted twice. Left out where that cannot be. */
  startTwice?(options: AnyOptions, routes: Routes): Promise<StartedApp>;
  /** A header of the framework's request, as `key` and the other options get it. */
  header(request: never, name: string): string | undefined;
  /** A `handler` that answers 418 with the text 'slow down', in the framework's way. */
  teapot: unknown;
  /** A `handler` that throws an error of status 418, in the framework's way. Left out where nobody would answer for it. */
  throwsTeapot?: unknown;
}

interface Seen {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the client's side: one connection, one port. */
  readonly port: number | undefined;
}

interface AskOptions {
  readonly headers?: Record<string, string>;
  readonly agent?: Agent;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

function ask(app: StartedApp, path: string, options: AskOptions = {}): Promise<Seen> {
  const { pathname, search } = new URL(`${app.url}${path}`);
  return askTarget(app, `${pathname}${search}`, options);
}

/** Asks for a target as it is written, which no URL would leave as it is. */
export function askTarget(
  app: Pick<StartedApp, 'url'>,
  target: string,
  { headers = {}, agent, method, signal }: AskOptions = {},
): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = { headers, ...(agent && { agent }), ...(method && { method }), ...(signal && { signal }) };
    const sent = httpRequest(app.url, { ...options, path: target }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, port: sent.socket?.localPort }),
      );
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Sends requests over one connection without waiting for their answers. */
function sendAtOnce({ url }: StartedApp, requests: readonly { path: string; headers?: string }[]): Socket {
  const { hostname, port, pathname } = new URL(url);
  const base = pathname === '/' ? '' : pathname;
  const client = connect(Number(port), hostname);
  for (const { path, headers = '' } of requests)
    client.write(`GET ${base}${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
  return client;
}

/** A door that stays shut until it is opened; and how many wait at it. */
function door() {
  let waiting = 0;
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    open,
    get waiting() {
      return waiting;
    },
    slow() {
      waiting += 1;
      return opened;
    },
  };
}

const noWait: Routes = { slow: async () => {} };

/** Waits for what another side of a socket does: by turns of the event loop, never by the clock. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns += 1) {
    if (isTrue()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect.fail('it did not come to pass');
}

/** A store that answers later, and fails as told. */
function laterStore(store: Store<'sync'>, answer?: () => Promise<Decision[]>): Store<'async'> {
  return {
    mode: 'async',
    clock: store.clock,
    apply: async (checks: readonly Check[], atMs?: number, requestId?: string) =>
      answer && checks[0]?.operation !== 'peek' ? answer() : store.apply(checks, atMs, requestId),
  };
}

const unavailable = () => Promise.reject(new SluiceError('store-unavailable', 'The store is down.'));
const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });
const quiet = { warn: false } as const;

export function describeMiddleware(name: string, underTest: MiddlewareUnderTest): void {
  const { header, teapot, throwsTeapot } = underTest;
  const apps: StartedApp[] = [];
  const agents: Agent[] = [];

  afterEach(async () => {
    for (const agent of agents.splice(0)) agent.destroy();
    for (const app of apps.splice(0)) await app.close();
  });

  async function start(options: AnyOptions, routes = noWait): Promise<StartedApp> {
    const app = await underTest.start({ ...quiet, ...options }, routes);
    apps.push(app);
    return app;
  }

  function keepAlive(maxSockets: number): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets });
    agents.push(agent);
    return agent;
  }

  const statuses = async (app: StartedApp, paths: readonly string[], options?: AskOptions) => {
    const seen: number[] = [];
    for (const path of paths) seen.push((await ask(app, path, options)).status);
    return seen;
  };

  describe(`the middleware of ${name}`, () => {
    it('lets in what fits, and tells the client where it stands', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const app = await start({ policy: perMinute(2), clock });
      const seen = await ask(app, '/hello');
      expect([seen.status, seen.body]).toEqual([200, 'hello']);
      expect(seen.headers).toMatchObject({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '1',
        'ratelimit-policy': '"default";q=2;w=60',
        ratelimit: '"default";r=1;t=60',
      });
      expect(seen.headers['retry-after']).toBeUndefined();
    });

    it('answers 429 to what does not, with the wait and the violated policy', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const app = await start({ policy: perMinute(1), name: 'burst', clock });
      await ask(app, '/hello');
      clock.advance(500);
      const seen = await ask(app, '/hello');
      expect(seen.status).toBe(429);
      expect(seen.headers).toMatchObject({
        'retry-after': '60',
        ratelimit: '"burst";r=0;t=60',
        'x-ratelimit-remaining': '0',
      });
      expect(seen.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(seen.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Quota exceeded',
        status: 429,
        detail: 'burst allows 1 in 60 s. Try again in 60 s.',
        'violated-policies': ['burst'],
      });
      clock.advance(59_499);
      expect((await ask(app, '/hello')).headers['retry-after']).toBe('1');
      clock.advance(1);
      expect((await ask(app, '/hello')).status).toBe(200);
    });

    it('answers a HEAD like a GET, without the body', async () => {
      const app = await start({ policy: perMinute(1) });
      await ask(app, '/hello');
      const seen = await ask(app, '/hello', { method: 'HEAD' });
      expect([seen.status, seen.body]).toEqual([429, '']);
      expect(seen.headers['retry-after']).toBe('60');
    });

    it('of many at once on connections that stay open lets in exactly the limit', async () => {
      const app = await start({ policy: perMinute(20) });
      const agent = keepAlive(10);
      const seen = await Promise.all(Array.from({ length: 100 }, () => ask(app, '/hello', { agent })));
      expect(seen.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(seen.filter(({ status }) => status === 429)).toHaveLength(80);
      expect(
        seen.every(({ status, body }) => (status === 200 ? body === 'hello' : body.includes('Quota exceeded'))),
      ).toBe(true);
      expect(new Set(seen.map(({ port }) => port)).size).toBeLessThanOrEqual(10);
    });

    it('leaves the connection open when it refuses', async () => {
      const app = await start({ policy: perMinute(1) });
      const agent = keepAlive(1);
      const seen = [];
      for (let i = 0; i < 5; i += 1) seen.push(await ask(app, '/hello', { agent }));
      expect(seen.map(({ status }) => status)).toEqual([200, 429, 429, 429, 429]);
      expect(new Set(seen.map(({ port }) => port)).size).toBe(1);
    });

    it('limits by the key it is told, and by address where there is none', async () => {
      const app = await start({
        policy: perMinute(1),
        key: async (request: never) => header(request, 'x-api-key'),
      });
      const alice = { headers: { 'x-api-key': 'alice' } };
      const bob = { headers: { 'x-api-key': 'bob' } };
      expect(await statuses(app, ['/hello', '/hello'], alice)).toEqual([200, 429]);
      expect(await statuses(app, ['/hello', '/hello'], bob)).toEqual([200, 429]);
      expect(await statuses(app, ['/hello', '/hello'])).toEqual([200, 429]);
    });

    it('passes only what every rule allows, and charges none when one refuses', async () => {
      const results: RulesResult[] = [];
      const app = await start({
        rules: [
          { name: 'everyone', policy: perMinute(3) },
          { name: 'per-user', policy: perMinute(1), key: 'user' },
          { name: 'no-hello', policy: perMinute(1), key: 'ip', match: { path: '/status/*', method: 'GET' } },
        ],
        subject: (request: never) => ({ user: header(request, 'x-user') }),
        onResult: (_request: never, result: RulesResult) => results.push(result),
      });
      const alice = { headers: { 'x-user': 'alice' } };
      expect(await statuses(app, ['/hello', '/hello', '/hello'], alice)).toEqual([200, 429, 429]);
      // The refusals have cost everybody nothing.
      expect(results.at(-1)?.decisions.map(({ rule, remaining }) => [rule, remaining])).toEqual([
        ['everyone', 2],
        ['per-user', 0],
      ]);
      expect(await statuses(app, ['/status/204?x=1', '/status/204'])).toEqual([204, 429]);
      const bob = await ask(app, '/hello', { headers: { 'x-user': 'bob' } });
      expect(bob.headers['ratelimit-policy']).toBe('"everyone";q=3;w=60, "per-user";q=1;w=60');
      const refused = await ask(app, '/hello', { headers: { 'x-user': 'bob' } });
      expect(JSON.parse(refused.body)['violated-policies']).toEqual(['everyone', 'per-user']);
    });

    it.each(['/hel%6Co', '/%68%65%6c%6c%6f', '/hell%6f?x=%2F', '/hello#'])(
      'limits by path what comes as %s: it is not let in beyond the limit',
      async (written) => {
        const app = await start({ rules: [{ name: 'hello', policy: perMinute(1), match: { path: '/hello' } }] });
        expect((await ask(app, '/hello')).status).toBe(200);
        // 404 where the router takes it for another path.
        expect([404, 429]).toContain((await askTarget(app, written)).status);
        expect((await ask(app, '/hello')).status).toBe(429);
      },
    );

    it('takes rules that were made elsewhere, and answers 503 when their store fails', async () => {
      const own = rules([{ name: 'shared', policy: perMinute(1) }]);
      const app = await start({ rules: own });
      expect(own.check({}).allowed).toBe(true);
      expect((await ask(app, '/hello')).status).toBe(429);
      const down = rules([{ name: 'x', policy: perMinute(1) }], { store: laterStore(memoryStore(), unavailable) });
      const failing = await start({ rules: down });
      const seen = await ask(failing, '/hello');
      expect([seen.status, seen.headers['retry-after']]).toEqual([503, '1']);
      expect(JSON.parse(seen.body)).toMatchObject({ status: 503, 'violated-policies': [] });
    });

    it('skips what it is told to', async () => {
      const app = await start({
        policy: perMinute(1),
        skip: async (request: never) => header(request, 'x-probe') === 'yes',
      });
      const probe = { headers: { 'x-probe': 'yes' } };
      const seen = await ask(app, '/hello', probe);
      expect([seen.status, seen.headers.ratelimit]).toEqual([200, undefined]);
      expect(await statuses(app, ['/hello', '/hello'])).toEqual([200, 429]);
      expect(await statuses(app, ['/hello'], probe)).toEqual([200]);
    });

    it('charges what a request costs; what never fits is refused without a time to come back', async () => {
      const app = await start({
        policy: perMinute(10),
        cost: async (request: never) => Number(header(request, 'x-cost') ?? 1),
      });
      const cost = (x: string) => ({ headers: { 'x-cost': x } });
      expect((await ask(app, '/hello', cost('8'))).headers['x-ratelimit-remaining']).toBe('2');
      expect((await ask(app, '/hello', cost('3'))).status).toBe(429);
      expect((await ask(app, '/hello', cost('2'))).status).toBe(200);
      const never = await ask(app, '/hello', cost('11'));
      expect([never.status, never.headers['retry-after']]).toEqual([429, undefined]);
    });

    it('charges by outcome: only failures count, and no more at once than could all fail', async () => {
      const shut = door();
      const app = await start(
        {
          policy: perMinute(2),
          costAfter: (_request: never, { status, isComplete }: { status: number; isComplete: boolean }) =>
            isComplete && status < 400 ? 0 : 1,
        },
        shut,
      );
      expect(await statuses(app, ['/hello', '/hello', '/hello', '/hello'])).toEqual([200, 200, 200, 200]);
      const held = [ask(app, '/slow'), ask(app, '/slow')];
      await until(() => shut.waiting === 2);
      expect((await ask(app, '/hello')).status).toBe(429);
      shut.open();
      await Promise.all(held);
      expect(await statuses(app, ['/status/401', '/hello', '/throws'])).toEqual([401, 200, 500]);
      expect(await statuses(app, ['/hello'])).toEqual([429]);
    });

    it('charges whoever leaves before the head is written, whatever it would have said', async () => {
      const shut = door();
      const outcomes: { status: number; isComplete: boolean }[] = [];
      const app = await start(
        {
          policy: perMinute(1),
          costAfter(_request: never, { status, isComplete }: { status: number; isComplete: boolean }) {
            outcomes.push({ status, isComplete });
            return status < 400 ? 0 : 1;
          },
        },
        shut,
      );
      const gone = new AbortController();
      const held = ask(app, '/slow', { signal: gone.signal }).catch(() => 'left');
      await until(() => shut.waiting === 1);
      gone.abort();
      expect(await held).toBe('left');
      await until(() => outcomes.length === 1);
      shut.open();
      expect(await statuses(app, ['/hello'])).toEqual([429]);
      expect(outcomes).toEqual([{ status: 499, isComplete: false }]);
    });

    it('gives a place back when the response is over, and when the client leaves', async () => {
      const shut = door();
      const app = await start({ policy: concurrency({ limit: 1 }), name: 'in-flight' }, shut);
      const gone = new AbortController();
      const held = ask(app, '/slow', { signal: gone.signal }).catch(() => 'left');
      await until(() => shut.waiting === 1);
      expect((await ask(app, '/hello')).status).toBe(429);
      gone.abort();
      expect(await held).toBe('left');
      let status = 0;
      for (let tries = 0; tries < 500 && status !== 200; tries += 1) status = (await ask(app, '/hello')).status;
      expect(status).toBe(200);
      expect(await statuses(app, ['/throws', '/hello', '/hello'])).toEqual([500, 200, 200]);
      shut.open();
    });

    it('gives a place back when the client leaves whose responses wait for one another', async () => {
      const shut = door();
      const skip = (request: never) => header(request, 'x-unlimited') !== undefined;
      const app = await start({ policy: concurrency({ limit: 1 }), name: 'in-flight', skip }, shut);
      const client = sendAtOnce(app, [{ path: '/slow', headers: 'X-Unlimited: 1\r\n' }, { path: '/slow' }]);
      await until(() => shut.waiting === 2);
      expect((await ask(app, '/hello')).status).toBe(429);
      client.destroy();
      let status = 0;
      for (let tries = 0; tries < 500 && status !== 200; tries += 1) status = (await ask(app, '/hello')).status;
      expect(status).toBe(200);
      shut.open();
    });

    it('counts a request by its own address also when the client leaves before it is known what is counted', async () => {
      const shut = door();
      const warned: string[] = [];
      const results: RulesResult[] = [];
      const app = await start({
        policy: perMinute(2),
        skip: async (request: never) => {
          if (header(request, 'x-leaves') !== undefined) await shut.slow();
          return header(request, 'x-unlimited') !== undefined;
        },
        onResult: (_request: never, result: RulesResult) => results.push(result),
        warn: (text: string) => warned.push(text),
      });
      const gone = new AbortController();
      const left = ask(app, '/hello', { headers: { 'x-leaves': '1' }, signal: gone.signal }).catch(() => 'left');
      await until(() => shut.waiting === 1);
      gone.abort();
      expect(await left).toBe('left');
      // The server sees it by the time that it has answered others.
      await statuses(app, ['/hello', '/hello'], { headers: { 'x-unlimited': '1' } });
      shut.open();
      await until(() => results.length === 1);
      expect(await statuses(app, ['/hello', '/hello'])).toEqual([200, 429]);
      expect(warned).toEqual([]);
    });

    it('in shadow counts and reports, and refuses nobody', async () => {
      const results: RulesResult[] = [];
      const app = await start({
        policy: perMinute(1),
        shadow: true,
        onResult: (_request: never, result: RulesResult) => results.push(result),
      });
      const seen = [await ask(app, '/hello'), await ask(app, '/hello')];
      expect(seen.map(({ status, headers }) => [status, headers.ratelimit])).toEqual([
        [200, undefined],
        [200, undefined],
      ]);
      expect(results.map(({ decisions }) => decisions[0]?.allowed)).toEqual([true, false]);
    });

    it.each([
      ['x-ratelimit', { 'x-ratelimit-limit': '1' }, ['ratelimit', 'ratelimit-policy']],
      ['draft-6', { 'ratelimit-limit': '1', 'ratelimit-reset': '60' }, ['x-ratelimit-limit', 'ratelimit']],
      ['draft-7', { ratelimit: 'limit=1, remaining=0, reset=60' }, ['x-ratelimit-limit']],
      [false, {}, ['ratelimit', 'x-ratelimit-limit', 'ratelimit-policy']],
    ] as const)('speaks the dialect %s', async (headers, present, absent) => {
      const app = await start({ policy: perMinute(1), headers });
      await ask(app, '/hello');
      const seen = await ask(app, '/hello');
      expect(seen.headers).toMatchObject({ ...present, 'retry-after': '60' });
      for (const field of absent) expect(seen.headers[field]).toBeUndefined();
    });

    it('leaves the answer to a handler, with the headers written', async () => {
      const app = await start({ policy: perMinute(1), handler: teapot });
      await ask(app, '/hello');
      const seen = await ask(app, '/hello');
      expect([seen.status, seen.body, seen.headers['retry-after']]).toEqual([418, 'slow down', '60']);
    });

    it.skipIf(throwsTeapot === undefined)(
      'keeps the headers when a handler throws what the framework answers',
      async () => {
        const app = await start({ policy: perMinute(1), handler: throwsTeapot });
        await ask(app, '/hello');
        const seen = await ask(app, '/hello');
        expect(seen.status).toBe(418);
        expect(seen.headers).toMatchObject({
          'retry-after': '60',
          ratelimit: '"default";r=0;t=60',
          'ratelimit-policy': '"default";q=1;w=60',
          'x-ratelimit-remaining': '0',
        });
      },
    );

    it('holds back what a shaping policy delays, and refuses what it would hold too long', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const policy = leakyBucket({ limit: 1, window: '10s', burst: 5 });
      const app = await start({ policy, clock, maxDelay: '15s' });
      expect((await ask(app, '/hello')).status).toBe(200);
      const held = ask(app, '/hello');
      await until(() => clock.sleeping === 1);
      // It would have to wait 20 seconds.
      expect((await ask(app, '/hello')).status).toBe(429);
      clock.advance(9_999);
      expect(clock.sleeping).toBe(1);
      clock.advance(1);
      expect((await held).status).toBe(200);
    });

    it('does not go on with what it held back when the client has left', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const shut = door();
      const app = await start({ policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock }, shut);
      await ask(app, '/hello');
      const gone = new AbortController();
      const held = ask(app, '/slow', { signal: gone.signal }).catch(() => 'left');
      await until(() => clock.sleeping === 1);
      gone.abort();
      expect(await held).toBe('left');
      await until(() => clock.sleeping === 0);
      expect(shut.waiting).toBe(0);
      shut.open();
    });

    it('does not go on with what it held back behind another response when the client has left', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const shut = door();
      const app = await start({ policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock }, shut);
      const client = sendAtOnce(app, [{ path: '/slow' }, { path: '/slow' }]);
      await until(() => shut.waiting === 1 && clock.sleeping === 1);
      client.destroy();
      await until(() => clock.sleeping === 0);
      expect(shut.waiting).toBe(1);
      shut.open();
    });

    it('answers the same over a store that answers later', async () => {
      const app = await start({ policy: perMinute(1), store: laterStore(memoryStore()) });
      expect(await statuses(app, ['/hello', '/hello'])).toEqual([200, 429]);
    });

    it.each([
      [undefined, 503],
      ['closed', 503],
      ['open', 200],
      [{ to: 'local' }, 200],
    ] as const)('when the store fails and the rule is %j, answers %i', async (onStoreFailure, status) => {
      const store = laterStore(memoryStore(), unavailable);
      const app = await start({ policy: perMinute(1), store, ...(onStoreFailure && { onStoreFailure }) });
      const seen = await ask(app, '/hello');
      expect(seen.status).toBe(status);
      if (status === 503)
        expect(JSON.parse(seen.body)).toMatchObject({ status: 503, 'violated-policies': ['default'] });
    });

    it('does not wait for ever for a store that never answers', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const store = laterStore(memoryStore({ clock }), () => new Promise<never>(() => {}));
      const app = await start({ policy: perMinute(1), store });
      const held = ask(app, '/hello');
      await until(() => clock.sleeping > 0);
      clock.advance(1000);
      expect((await held).status).toBe(503);
    });

    it('believes the proxies it is told of, and warns once when there is one it was not told of', async () => {
      const warned: string[] = [];
      const trusting = await start({
        policy: perMinute(1),
        trustProxy: 'loopback',
        warn: (text: string) => warned.push(text),
      });
      const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
      expect(await statuses(trusting, ['/hello', '/hello'], from('203.0.113.9'))).toEqual([200, 429]);
      expect(await statuses(trusting, ['/hello'], from('203.0.113.10'))).toEqual([200]);
      expect(await statuses(trusting, ['/hello', '/hello'], from('made-up, 203.0.113.11'))).toEqual([200, 429]);
      // One network of IPv6 is one caller.
      expect(await statuses(trusting, ['/hello'], from('2001:db8:0:100::1'))).toEqual([200]);
      expect(await statuses(trusting, ['/hello'], from('2001:db8:0:1ff::2'))).toEqual([429]);
      expect(await statuses(trusting, ['/hello'], from('2001:db8:0:200::2'))).toEqual([200]);
      expect(warned).toEqual([]);
      const plain = await start({ policy: perMinute(1), warn: (text: string) => warned.push(text) });
      expect(await statuses(plain, ['/hello', '/hello'], from('203.0.113.9'))).toEqual([200, 429]);
      expect(await statuses(plain, ['/hello'], from('203.0.113.10'))).toEqual([429]);
      expect(warned).toHaveLength(1);
      expect(warned[0]).toMatch(/no proxy is trusted.*README\.md#behind-a-proxy/);
    });

    it('warns when it is mounted twice, and counts twice', async () => {
      if (!underTest.startTwice) return;
      const warned: string[] = [];
      const app = await underTest.startTwice(
        { policy: perMinute(10), warn: (text: string) => warned.push(text) },
        noWait,
      );
      apps.push(app);
      await ask(app, '/hello');
      expect(warned).toHaveLength(1);
      expect(warned[0]).toMatch(/saw the same request twice/);
      expect((await ask(app, '/hello')).headers['x-ratelimit-remaining']).toBe('6');
    });

    it('lets nobody in when it cannot tell whom to limit', async () => {
      const errors: unknown[] = [];
      const app = await start({
        policy: perMinute(1),
        key: () => {
          throw new Error('no such user');
        },
        onError: (error: unknown) => errors.push(error),
      });
      const seen = await ask(app, '/hello');
      expect([seen.status, seen.body.includes('hello')]).toEqual([500, false]);
    });

    it.each<[AnyOptions, string]>([
      [{}, 'rateLimit needs a policy or rules, and got neither'],
      [{ policy: perMinute(1), rules: [] }, 'rateLimit needs a policy or rules, not both'],
      [{ polcy: perMinute(1) }, 'rateLimit options has no field "polcy".'],
      [{ policy: { limit: 1 } }, 'policy must be'],
      [{ policy: perMinute(1), cost: -1 }, 'cost must be a finite number of 0 or more, got -1.'],
      [
        { policy: perMinute(1), headers: 'draft-9' },
        'headers must be one of "x-ratelimit", "draft-6", "draft-7", "draft-8"',
      ],
      [{ policy: perMinute(1), headers: true }, 'headers must be one of "x-ratelimit",'],
      [{ policy: perMinute(1), headers: null }, 'what headers is given must be an object of dialect, reset, got null.'],
      [{ policy: perMinute(1), headers: { dialect: 'draft-9' } }, 'dialect must be one of "x-ratelimit",'],
      [{ policy: perMinute(1), headers: { reset: 'date' } }, 'reset must be one of "epoch", "delta", got "date".'],
      [{ policy: perMinute(1), headers: { dialects: [] } }, 'headers has no field "dialects".'],
      [{ policy: perMinute(1), headers: ['draft-6', 'draft-8'] }, 'they share header names'],
      [{ policy: perMinute(1), key: 'ip' }, 'key must be a function, got "ip".'],
      [{ policy: perMinute(1), trustProxy: true }, 'trustProxy must be a number of proxies'],
      [{ policy: perMinute(1), store: {} }, 'store must be a store such as memoryStore()'],
      [{ policy: perMinute(1), onStoreFailure: 'shut' }, 'onStoreFailure must be one of "closed",'],
      [{ policy: perMinute(1), onStoreFailure: { to: 'shut' } }, 'to must be one of "closed", "open", "local"'],
      [
        { policy: perMinute(1), costAfter: () => 1, expiresIn: 'soon' },
        'expiresIn must be a time above 0, got "soon".',
      ],
      [{ policy: perMinute(1), maxDelay: 'soon' }, 'maxDelay must be'],
      [
        { policy: gcra({ limit: 1, window: '1s' }), ipv6Subnet: 8 },
        'ipv6Subnet must be a whole number from 32 to 128, got 8.',
      ],
      [{ rules: [], key: () => 'x' }, 'key and name must be left out beside rules'],
      [{ rules: 'all' }, 'rules must be a list of rules, or what rules() made of one, got "all".'],
    ])('refuses %j when it is made', async (options, message) => {
      await expect((async () => start(options))()).rejects.toThrow(message);
    });

    it('limits a route by gcra as the library does', async () => {
      const clock = new TestClock(1_750_000_000_000);
      const app = await start({ policy: gcra({ limit: 2, window: '10s' }), clock });
      expect(await statuses(app, ['/hello', '/hello', '/hello'])).toEqual([200, 200, 429]);
      clock.advance(4_999);
      expect(await statuses(app, ['/hello'])).toEqual([429]);
      clock.advance(1);
      expect(await statuses(app, ['/hello', '/hello'])).toEqual([200, 429]);
    });
  });
}
