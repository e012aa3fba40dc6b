// What only Node's own servers have. What all frameworks have is in conformance.test.ts.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { type NodeMiddleware, type NodeRateLimitOptions, rateLimit } from './index.ts';

const policy = gcra({ limit: 1, window: '1m' });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listening(
  listener: RequestListener,
  at: { port: number; host: string } | { path: string },
): Promise<Server> {
  const server = createServer(listener);
  server.listen(at);
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

async function urlOf(listener: RequestListener): Promise<string> {
  const server = await listening(listener, { port: 0, host: '127.0.0.1' });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Waits for what another side does: by turns of the event loop, never by the clock. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns += 1) {
    if (isTrue()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect.fail('it did not come to pass');
}

describe('on a Unix socket', () => {
  async function statusesOf(given: object, addresses: readonly (string | undefined)[]) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-socket-'));
    closing.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 's');
    const warned: string[] = [];
    const limit = rateLimit({ policy, warn: (text) => warned.push(text), ...given });
    await listening((request, response) => limit(request, response, () => response.end('hello')), { path });
    const statuses: number[] = [];
    for (const address of addresses) {
      const headers = address === undefined ? {} : { 'x-forwarded-for': address };
      const sent = httpRequest({ socketPath: path, headers, agent: false }).end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      statuses.push(answer.statusCode ?? 0);
    }
    return { statuses, warned };
  }

  it('nobody has an address: all are limited as one, and it is warned of', async () => {
    const { statuses, warned } = await statusesOf({}, [undefined, undefined]);
    expect(statuses).toEqual([200, 429]);
    expect(warned).toHaveLength(1);
    expect(warned[0]).toMatch(/has no address.*#behind-a-proxy/);
  });

  it('the proxy in front says who it is, where it is trusted', async () => {
    const { statuses, warned } = await statusesOf({ trustProxy: 1 }, ['203.0.113.1', '203.0.113.2', 'x, 203.0.113.1']);
    expect(statuses).toEqual([200, 200, 429]);
    expect(warned).toEqual([]);
  });

  it('an address of a trusted proxy is not found, because the proxy has none', async () => {
    const { statuses } = await statusesOf({ trustProxy: 'loopback' }, ['203.0.113.1', '203.0.113.2']);
    expect(statuses).toEqual([200, 429]);
  });
});

describe('over HTTP/2', () => {
  type Options = NodeRateLimitOptions<Http2ServerRequest, Http2ServerResponse>;
  type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

  async function serving(options: Options, handle: Handler): Promise<ClientHttp2Session> {
    const limit = rateLimit<Http2ServerRequest, Http2ServerResponse>(options);
    const server: Http2Server = createHttp2Server((request, response) =>
      limit(request, response, () => handle(request, response)),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    closing.push(
      () => server.close(),
      () => session.destroy(),
    );
    return session;
  }

  async function ask(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
    const stream = session.request({ ':path': path, ...headers });
    const [seen] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    let body = '';
    for await (const chunk of stream.setEncoding('utf8')) body += chunk;
    return { status: Number(seen[':status']), headers: seen, body };
  }

  it('a client is told where it stands, on one connection', async () => {
    const session = await serving({ policy }, (_request, response) => response.end('hello'));
    const first = await ask(session, '/');
    expect([first.status, first.body, first.headers.ratelimit]).toEqual([200, 'hello', '"default";r=0;t=60']);
    const second = await ask(session, '/');
    expect([second.status, second.headers['retry-after']]).toEqual([429, '60']);
    expect(second.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(second.body)).toMatchObject({ status: 429, 'violated-policies': ['default'] });
  });

  it('rules go by the method, the path and the address', async () => {
    const subjects: unknown[] = [];
    const key = ({ ip, method, path }: Record<string, unknown>) => String(subjects.push([ip, method, path]));
    const session = await serving({ rules: [{ name: 'x', policy, key }] }, (_request, response) => response.end());
    await ask(session, '/a/b?c', { ':method': 'DELETE' });
    expect(subjects).toEqual([['127.0.0.1', 'DELETE', '/a/b']]);
  });

  it('of many streams at once exactly the limit is let in', async () => {
    const session = await serving({ policy: gcra({ limit: 10, window: '1m' }) }, (_request, response) =>
      response.end('x'),
    );
    const seen = await Promise.all(Array.from({ length: 50 }, () => ask(session, '/')));
    expect(seen.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  it('the end of a stream is told, and gives its place back: when all is sent, and when the client resets it', async () => {
    const outcomes: [path: string, status: number, isComplete: boolean][] = [];
    let reached = false;
    const session = await serving(
      {
        policy: concurrency({ limit: 1 }),
        costAfter({ url }, { status, isComplete }) {
          outcomes.push([url, status, isComplete]);
          return 1;
        },
      },
      ({ url }, response) => {
        if (url === '/hello') response.end('hello');
        else if (url === '/slow') response.write('first');
        else reached = true;
      },
    );
    expect((await ask(session, '/hello')).body).toBe('hello');
    await until(() => outcomes.length === 1);
    const stream = session.request({ ':path': '/slow' });
    stream.on('error', () => {});
    await once(stream, 'response');
    expect((await ask(session, '/hello')).status).toBe(429);
    stream.close(8); // as a browser cancels
    await until(() => outcomes.length === 2);
    expect((await ask(session, '/hello')).status).toBe(200);
    await until(() => outcomes.length === 3);
    const unanswered = session.request({ ':path': '/never' });
    unanswered.on('error', () => {});
    await until(() => reached);
    unanswered.close(8);
    await until(() => outcomes.length === 4);
    expect(outcomes).toEqual([
      ['/hello', 200, true],
      ['/slow', 200, false],
      ['/hello', 200, true],
      ['/never', 499, false],
    ]);
  });

  it('what is asked by HEAD, and reset before it is answered, gives its place back too', async () => {
    const outcomes: [status: number, isComplete: boolean][] = [];
    const methods: string[] = [];
    const session = await serving(
      {
        policy: concurrency({ limit: 1 }),
        costAfter: (_request, { status, isComplete }) => outcomes.push([status, isComplete]),
      },
      ({ method }, response) => {
        methods.push(method);
        if (method === 'GET') response.end('hello');
      },
    );
    const stream = session.request({ ':path': '/', ':method': 'HEAD' });
    stream.on('error', () => {});
    await until(() => methods.length === 1);
    stream.close(8);
    await until(() => outcomes.length === 1);
    expect(outcomes).toEqual([[499, false]]);
    expect((await ask(session, '/')).status).toBe(200);
  });

  it('what was held back does not go on when the client resets it', async () => {
    const clock = new TestClock(1_750_000_000_000);
    const paths: string[] = [];
    const session = await serving(
      { policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock },
      ({ url }, response) => {
        paths.push(url);
        response.end();
      },
    );
    await ask(session, '/first');
    const stream = session.request({ ':path': '/held' });
    stream.on('error', () => {});
    await until(() => clock.sleeping === 1);
    stream.close(8);
    await until(() => clock.sleeping === 0);
    expect(paths).toEqual(['/first']);
  });

  it('a handler of refusals has the response of HTTP/2', async () => {
    const session = await serving(
      {
        policy,
        handler(_request, response, { status }) {
          response.stream.respond({ ':status': status, 'retry-after': '7' });
          response.stream.end('slow down');
        },
      },
      (_request, response) => response.end(),
    );
    await ask(session, '/');
    const refused = await ask(session, '/');
    expect([refused.status, refused.body, refused.headers['retry-after']]).toEqual([429, 'slow down', '7']);
  });
});

describe('among handlers that call the next one', () => {
  /** As connect, and what is like it, calls them. */
  const chain =
    (...handlers: readonly NodeMiddleware[]): RequestListener =>
    (request, response) => {
      const call = (i: number): void => handlers[i]?.(request, response, () => call(i + 1));
      call(0);
    };

  it('it stands where it is put, and others see the headers that it wrote', async () => {
    const seen: unknown[] = [];
    const url = await urlOf(
      chain(
        (_request, _response, next) => {
          seen.push('before');
          next();
        },
        rateLimit({ policy }),
        (_request, response, next) => {
          seen.push(response.getHeader('ratelimit'));
          next();
        },
        (_request, response) => response.end('hello'),
      ),
    );
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url)).status).toBe(429);
    expect(seen).toEqual(['before', '"default";r=0;t=60', 'before']);
  });

  it('two of them speak together, in the last word of one', async () => {
    const url = await urlOf(
      chain(
        rateLimit({ policy: gcra({ limit: 10, window: '1m' }), name: 'all' }),
        rateLimit({ policy, name: 'one' }),
        (_request, response) => response.end('hello'),
      ),
    );
    const { headers } = await fetch(url);
    expect(headers.get('ratelimit-policy')).toBe('"all";q=10;w=60, "one";q=1;w=60');
    expect(headers.get('ratelimit')).toBe('"one";r=0;t=60');
  });
});

describe('without a next', () => {
  it('it says so when it is called, before anything is counted', () => {
    const limit = rateLimit({ policy, warn: false }) as (...args: unknown[]) => void;
    expect(() => limit({}, {})).toThrow(
      'next must be a function, got undefined. Call limit(request, response, () => response.end()).',
    );
  });
});

describe('where nobody else is there to answer', () => {
  const rows: [what: string, options: Partial<NodeRateLimitOptions>][] = [
    ['a key that throws', { key: () => raise('no such user') } as never],
    ['a key that rejects', { key: () => Promise.reject(new Error('no such user')) } as never],
    ['a skip that throws', { skip: () => raise('no such user') }],
    ['a handler of refusals that throws', { cost: 2, handler: () => raise('no such user') }],
    ['a handler of refusals that rejects', { cost: 2, handler: () => Promise.reject(new Error('no such user')) }],
  ];
  it.each(rows)('%s is a 500, and the operator is told', async (_what, given) => {
    const errors: unknown[] = [];
    let calls = 0;
    const limit = rateLimit({
      policy,
      onError: (error: unknown) => errors.push(error),
      ...given,
    } as NodeRateLimitOptions);
    const url = await urlOf((request, response) =>
      limit(request, response, () => {
        calls += 1;
        response.end('hello');
      }),
    );
    const seen = await fetch(url);
    expect([seen.status, await seen.text(), calls]).toEqual([500, '', 0]);
    expect(errors.map(String)).toEqual(['Error: no such user']);
  });

  it('a handler of refusals that fails when it has begun to answer is told too, and breaks nothing', async () => {
    const errors: unknown[] = [];
    const limit = rateLimit({
      policy,
      cost: 2,
      onError: (error) => errors.push(error),
      async handler(_request, response) {
        response.end('too late');
        throw new Error('no such template');
      },
    });
    const url = await urlOf((request, response) => limit(request, response, () => response.end()));
    expect(await (await fetch(url)).text()).toBe('too late');
    expect(errors.map(String)).toEqual(['Error: no such template']);
  });

  it('a client that left while the store was asked takes nothing with it', async () => {
    const memory = memoryStore();
    let answer: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const store: Store<'async'> = {
      mode: 'async',
      clock: memory.clock,
      async apply(checks: readonly Check[], atMs?: number) {
        if (checks[0]?.operation !== 'peek') await asked;
        return memory.apply(checks, atMs);
      },
    };
    const outcomes: [status: number, isComplete: boolean][] = [];
    const responses: ServerResponse[] = [];
    const limit = rateLimit({
      policy: concurrency({ limit: 1 }),
      store,
      onStoreFailure: { after: '1h' },
      costAfter: (_request, { status, isComplete }) => outcomes.push([status, isComplete]),
    });
    const url = await urlOf((request, response) => {
      responses.push(response);
      limit(request, response, () => response.end('hello'));
    });
    const left = new AbortController();
    const sent = fetch(url, { signal: left.signal }).catch(() => 'left');
    await until(() => responses.length === 1);
    left.abort();
    expect(await sent).toBe('left');
    await until(() => responses[0]?.closed === true);
    answer();
    await until(() => outcomes.length === 1);
    expect(outcomes).toEqual([[499, false]]);
    let status = 0;
    for (let tries = 0; tries < 500 && status !== 200; tries += 1) status = (await fetch(url)).status;
    expect(status).toBe(200);
  });
});

function raise(message: string): never {
  throw new Error(message);
}
