import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { rateLimitHeaders } from '../../http/rate-limit-headers.ts';
import { limiter } from '../../limit/limiter.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { PassingClock } from '../passing-clock.test-support.ts';
import type { OutboundOptions } from './options.ts';
import { clients, inPassingTime, type RealServer, startServer } from './real-server.test-support.ts';

const toClose: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

type Handle = (request: IncomingMessage, response: ServerResponse, number: number) => void;

async function serve(handle: Handle): Promise<RealServer> {
  let number = 0;
  const server = await startServer((request, response) => {
    number += 1;
    handle(request, response, number);
  });
  toClose.push(server);
  return server;
}

function reply(response: ServerResponse, status: number, text = '', headers: Record<string, string> = {}): void {
  response.writeHead(status, headers).end(text);
}

function textOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => resolve(text));
  });
}

async function eventually(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !holds(); i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(holds()).toBe(true);
}

describe.each(Object.entries(clients))('%s', (name, make) => {
  const quick = { retry: { baseDelay: 1 } };
  function begin(options: OutboundOptions = quick) {
    const client = make(options);
    toClose.push(client);
    return client;
  }

  it('makes the call again until it works', async () => {
    const { url } = await serve((_, response, number) => reply(response, number < 3 ? 503 : 200, `answer ${number}`));
    const response = await begin().send(url);
    expect([response.status, await response.text()]).toEqual([200, 'answer 3']);
  });

  it('answers with the last of the failures, body and all', async () => {
    const { url } = await serve((_, response, number) =>
      reply(response, 503, `answer ${number}`, { 'x-number': `${number}` }),
    );
    const response = await begin().send(url);
    expect([response.status, response.headers.get('X-Number'), await response.text()]).toEqual([503, '3', 'answer 3']);
  });

  it('sends the whole body with each attempt', async () => {
    const bodies: string[] = [];
    const { url } = await serve(async (request, response, number) => {
      bodies.push(await textOf(request));
      reply(response, number < 3 ? 502 : 200);
    });
    const body = 'x'.repeat(100_000);
    const { status } = await begin().send(url, { method: 'PUT', body });
    // undici's fetch hands every body to its dispatcher as a stream, and a stream is sent once.
    const isStream = name === "resilientInterceptor under undici's fetch";
    expect([status, ...bodies]).toEqual(isStream ? [502, body] : [200, body, body, body]);
  });

  it('does not repeat a POST', async () => {
    let posts = 0;
    const { url } = await serve((_, response) => {
      posts += 1;
      reply(response, 503);
    });
    expect((await begin().send(url, { method: 'POST', body: 'once' })).status).toBe(503);
    expect(posts).toBe(1);
  });

  it('a refused answer that never ends holds no connection', async () => {
    const server = await serve((_, response, number) => {
      if (number % 3 === 0) return reply(response, 200, 'ok');
      response.writeHead(503);
      response.write('and it goes on');
    });
    const client = begin({ ...quick, circuitBreaker: false, adaptiveThrottle: false });
    for (let i = 0; i < 5; i += 1) {
      const response = await client.send(server.url);
      expect([response.status, await response.text()]).toEqual([200, 'ok']);
    }
    await eventually(() => server.pending() === 0);
  });

  it('a refused answer that has ended leaves its connection to the next', async () => {
    const server = await serve((_, response, number) => reply(response, number % 2 === 0 ? 200 : 503, 'short'));
    const client = begin({ ...quick, circuitBreaker: false, adaptiveThrottle: false, retry: { baseDelay: 20 } });
    for (let i = 0; i < 10; i += 1) await (await client.send(server.url)).text();
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  it('fails as ever where nobody listens, and then stops trying', async () => {
    const gone = await startServer(() => undefined);
    await gone.close();
    const client = begin({ ...quick, circuitBreaker: { consecutiveFailures: 3 } });
    const retries: number[] = [];
    client.on('retry', ({ attempt }) => retries.push(attempt));
    const error = await client.send(gone.url).catch((thrown) => thrown);
    expect(String(error.cause ?? error)).toContain('ECONNREFUSED');
    expect(retries).toEqual([1, 2]);
    const second = await client.send(gone.url).catch((thrown) => thrown);
    expect((second.cause ?? second).code).toBe('circuit-open');
    expect(client.origins()).toMatchObject([{ origin: new URL(gone.url).origin, circuit: 'open', inFlight: 0 }]);
  });

  it('hands on a long answer whole', async () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i}\n`).join('');
    const { url } = await serve((_, response) => reply(response, 200, lines));
    expect(await (await begin().send(url)).text()).toBe(lines);
  });

  it('hands on an answer in pieces, and one that is packed', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/packed') {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('packed text'));
        return;
      }
      response.write('one, ');
      setTimeout(() => response.write('two, '), 5);
      setTimeout(() => response.end('three'), 10);
    });
    const client = begin();
    expect(await (await client.send(url)).text()).toBe('one, two, three');
    const packed = await client.send(`${url}packed`);
    // Only fetch unpacks.
    if (!name.endsWith('request')) expect(await packed.text()).toBe('packed text');
    else expect(await packed.text()).not.toBe('');
  });

  it('hands on an answer that breaks off in the middle as one', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half of it', () => response.destroy());
    });
    const response = await begin().send(url);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('ends with the signal: before the head, between attempts, and in the body', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/503') return reply(response, 503, '', { 'retry-after': '30' });
      if (request.url === '/body') {
        response.write('it begins');
        return;
      }
    });
    const client = begin({ retry: { baseDelay: 1 }, pacer: false });
    for (const path of ['head', '503']) {
      const given = new AbortController();
      const sent = client.send(`${server.url}${path}`, { signal: given.signal });
      sent.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 30));
      given.abort();
      await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    }
    const given = new AbortController();
    const response = await client.send(`${server.url}body`, { signal: given.signal });
    const text = response.text();
    text.catch(() => undefined);
    given.abort();
    await expect(text).rejects.toMatchObject({ name: 'AbortError' });
    await eventually(() => server.pending() === 0);
    expect(client.origins()).toMatchObject([{ inFlight: 0, circuit: 'closed' }]);
  });

  it('gives up on a server that does not answer, and leaves its connection', async () => {
    const clock = new PassingClock(1_750_000_000_000);
    const server = await serve(() => undefined);
    const client = begin({ clock, timeout: '2s', retry: { attempts: 2 } });
    const ended = inPassingTime(
      clock,
      client.send(server.url).catch((thrown) => thrown),
    );
    const error = await ended;
    expect((error.cause ?? error).code).toBe('timed-out');
    await eventually(() => server.pending() === 0);
    expect(clock.sleeping).toBe(0);
  });

  it('serves many at once', async () => {
    // By path, not by number: which call comes when is the machine's choice, and no call may fail more often than it is made again.
    const failed = new Set<string>();
    const { url } = await serve((request, response) => {
      const path = request.url!;
      const fails = path.endsWith('7') && !failed.has(path);
      if (fails) failed.add(path);
      reply(response, fails ? 503 : 200, path);
    });
    const client = begin({ retry: { baseDelay: 1, budget: { ratio: 1 } }, circuitBreaker: false });
    const paths = Array.from({ length: 200 }, (_, i) => `item-${i}`);
    const texts = await Promise.all(paths.map(async (path) => (await client.send(`${url}${path}`)).text()));
    expect(texts).toEqual(paths.map((path) => `/${path}`));
    expect(failed.size).toBe(20);
    expect(client.origins()).toMatchObject([{ inFlight: 0 }]);
  });

  it.each([
    ['gcra', gcra({ limit: 20, window: '10s' })],
    ['fixed-window', fixedWindow({ limit: 20, window: '10s' })],
    ['sliding-log', slidingLog({ limit: 20, window: '10s' })],
  ])('is not refused by a server that limits by %s and says so', async (_, policy) => {
    const clock = new PassingClock(1_750_000_000_000);
    const limit = limiter(policy as ReturnType<typeof gcra>, { clock, name: 'api' });
    let refused = 0;
    const { url } = await serve((_request, response) => {
      const decision: Decision = limit.check('all');
      if (!decision.allowed) refused += 1;
      reply(response, decision.allowed ? 200 : 429, '', rateLimitHeaders(decision, { nowMs: clock.now() }));
    });
    const client = begin({ clock, retry: false, timeout: false, pacer: { maxDelay: '10m' } });
    const startMs = clock.now();
    async function work(): Promise<number[]> {
      const statuses: number[] = [];
      for (let i = 0; i < 14; i += 1) statuses.push((await client.send(url)).status);
      return statuses;
    }
    // What was not read of an answer is dropped at the end of the test, with its connection.
    const statuses = (await inPassingTime(clock, Promise.all([work(), work(), work()]))).flat();
    expect(statuses.filter((status) => status === 200)).toHaveLength(42);
    expect(refused).toBe(0);
    // 42 calls at 20 in 10 s, of which 20 may go at once.
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(10_000);
    expect(clock.now() - startMs).toBeLessThan(40_000);
  });

  it('comes back when a server that refused it told it to', async () => {
    const clock = new PassingClock(1_750_000_000_000);
    const limit = limiter(gcra({ limit: 1, window: '5s' }), { clock, name: 'api' });
    const arrivals: number[] = [];
    const { url } = await serve((_, response) => {
      const decision = limit.check('all');
      arrivals.push(clock.now());
      reply(
        response,
        decision.allowed ? 200 : 429,
        '',
        rateLimitHeaders(decision, { nowMs: clock.now(), dialect: [] }),
      );
    });
    limit.check('all');
    const client = begin({ clock, timeout: false });
    expect((await inPassingTime(clock, client.send(url))).status).toBe(200);
    expect(arrivals).toHaveLength(2);
    expect(arrivals[1]! - arrivals[0]!).toBeGreaterThanOrEqual(5000);
  });
});
