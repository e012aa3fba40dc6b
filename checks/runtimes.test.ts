// The built library under the other runtimes that it is for, each started for real and asked over HTTP.

import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Runtime, type RuntimeName, startRuntime } from '@sluice/test-servers';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { conformance } from '../packages/sluice/src/stores/conformance/conformance.ts';
import { root } from './repository.ts';

const names: readonly RuntimeName[] = ['bun', 'deno', 'workerd'];
// The first time they have to be fetched.
const startTimeoutMs = 600_000;

interface Seen {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface AskOptions {
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly agent?: Agent;
}

describe.each(names)('under %s', (name) => {
  const isWorkers = name === 'workerd';
  let runtime: Runtime;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bundle-'));

  beforeAll(async () => {
    expect(existsSync(join(root, 'packages/sluice/dist/index.js')), 'run `npm run build` first').toBe(true);
    const program = isWorkers ? await bundled(folder) : join(root, 'checks/runtimes/serve.ts');
    runtime = await startRuntime({ name, program });
  }, startTimeoutMs);

  afterAll(async () => {
    await runtime?.stop();
    rmSync(folder, { recursive: true });
  });

  /** Waits for the whole of the answer, unless told to leave after its first bytes. */
  function ask(path: string, { headers = {}, method = 'GET', agent }: AskOptions = {}): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const sent = request(`${runtime.url}${path}`, { headers, method, ...(agent && { agent }) }, (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
        answer.on('error', reject);
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  async function statuses(path: string, times: number, options?: AskOptions): Promise<number[]> {
    const seen: number[] = [];
    for (let i = 0; i < times; i += 1) seen.push((await ask(path, options)).status);
    return seen;
  }

  test('the library decides as everywhere: all that every store has to do, it does', async () => {
    const { body } = await ask('/conformance');
    expect(JSON.parse(body)).toEqual({ passed: conformance.length, failed: [] });
    expect(JSON.parse((await ask('/limiter')).body)).toEqual([true, true, false, true]);
  });

  test('its clock tells the time', async () => {
    const { now, wall } = JSON.parse((await ask('/clock')).body);
    expect(Math.abs(now - wall)).toBeLessThan(60_000);
  });

  test('a client is told where it stands, and why it is refused', async () => {
    const seen = [];
    for (let i = 0; i < 4; i += 1) seen.push(await ask('/hello'));
    expect(seen.map(({ status, headers }) => [status, headers['x-ratelimit-remaining']])).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ]);
    const [first, , , last] = seen as [Seen, Seen, Seen, Seen];
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"default";q=3;w=60',
      ratelimit: '"default";r=2;t=20',
      // As it would be without a limit.
      'content-length': '5',
      'content-type': expect.stringMatching(/^text\/plain/i),
    });
    expect([first.body, first.headers['retry-after']]).toEqual(['hello', undefined]);
    expect(last.headers).toMatchObject({ 'retry-after': '20', 'content-type': 'application/problem+json' });
    expect(JSON.parse(last.body)).toMatchObject({ status: 429, 'violated-policies': ['default'] });
  });

  test.each([
    ['/json', 200, '{"hello":"world"}'],
    ['/redirect', 307, ''],
    ['/fetched', 200, 'fetched'],
  ])('the headers are on %s too', async (path, status, body) => {
    const seen = await ask(path);
    expect([seen.status, seen.body]).toEqual([status, body]);
    expect(seen.headers['ratelimit-policy']).toBe('"default";q=100;w=60');
    if (path === '/redirect') expect(seen.headers.location).toBe('http://localhost/elsewhere');
  });

  test('of many at once exactly the limit is let in', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const taken = Number((await ask('/hundred', { agent })).headers['x-ratelimit-remaining']);
    const seen = await Promise.all(Array.from({ length: 200 }, () => ask('/hundred', { agent })));
    agent.destroy();
    // One more comes back every 0.6 s.
    const letIn = seen.filter(({ status }) => status === 200).length;
    expect(letIn).toBeGreaterThanOrEqual(taken);
    expect(letIn).toBeLessThanOrEqual(taken + 10);
    expect(seen.filter(({ status }) => status === 429)).toHaveLength(200 - letIn);
  });

  test('what counts can be known from the response', async () => {
    expect(await statuses('/outcome?200', 4)).toEqual([200, 200, 200, 200]);
    expect(await statuses('/outcome?404', 2)).toEqual([404, 404]);
    expect(await statuses('/outcome?200', 1)).toEqual([429]);
  });

  /** A request whose answer has begun. */
  async function begin(path: string): Promise<ClientRequest> {
    const sent = request(`${runtime.url}${path}`, { method: 'POST' });
    sent.on('error', () => {});
    const answered = once(sent, 'response');
    sent.write('first');
    const [answer] = (await answered) as [IncomingMessage];
    answer.on('error', () => {});
    await once(answer, 'data');
    answer.resume();
    return sent;
  }

  test('a stream keeps its place until all of it is sent', async () => {
    const sent = await begin('/echo');
    expect(await statuses('/probe', 2)).toEqual([429, 429]);
    sent.end('last');
    await until(async () => (await ask('/probe')).status === 200);
  });

  test('a client that leaves gives its place back', async ({ skip }) => {
    const sent = await begin('/endless');
    expect(await statuses('/endless', 2)).toEqual([429, 429]);
    sent.destroy();
    skip(isWorkers, 'a Worker is stopped when its client leaves; the place comes back when its lease ends');
    await until(async () => (await ask('/endless')).status === 200);
  });

  test('a handler that throws gives its place back', async () => {
    expect(await statuses('/throws', 2)).toEqual([500, 500]);
    expect(await statuses('/probe', 1)).toEqual([200]);
  });

  test('what a policy delays is held back, and goes on', async () => {
    const seen = await Promise.all(Array.from({ length: 5 }, () => ask('/shaped')));
    expect(seen.map(({ status, body }) => [status, body])).toEqual(Array(5).fill([200, 'let in']));
  });

  const fromCloudflare = (address: string) => ({ 'cf-blob': '{"colo":"AMS"}', 'cf-connecting-ip': address });

  test('a caller is known by its address', async () => {
    const headers = isWorkers ? fromCloudflare('203.0.113.9') : { 'cf-connecting-ip': '203.0.113.9' };
    const ip = isWorkers ? '203.0.113.9' : '127.0.0.1';
    const { body } = await ask('/known?x=/y', { headers, method: 'POST' });
    expect(JSON.parse(body)).toEqual({ ip, method: 'POST', path: '/known' });
    expect(await statuses('/address', 2, { headers })).toEqual([200, 429]);
    expect(await statuses('/hono/address', 2, { headers })).toEqual([200, 429]);
    expect(runtime.log()).not.toContain('SluiceWarning');
  });

  test('a caller without an address is warned of once', async ({ skip }) => {
    skip(!isWorkers, 'here every caller has one');
    expect(await statuses('/address', 2, { headers: { 'cf-connecting-ip': '203.0.113.10' } })).toEqual([200, 429]);
    expect(runtime.log().match(/SluiceWarning: A request has no address/g)).toHaveLength(1);
  });

  test('Hono has its limits there as well', async () => {
    const first = await ask('/hono/route');
    expect([first.status, JSON.parse(first.body)]).toEqual([
      200,
      [
        ['app', expect.any(Number)],
        ['route', 0],
      ],
    ]);
    expect(first.headers['ratelimit-policy']).toBe('"app";q=100;w=60, "route";q=1;w=60');
    const rows: [path: string, status: number, body: RegExp][] = [
      ['/hono/route', 429, /"violated-policies":\["route"\]/],
      ['/hono/nothing', 404, /Not Found/],
      ['/hono/throws', 500, /^as it should$/],
    ];
    for (const [path, status, body] of rows) {
      const seen = await ask(path);
      expect([path, seen.status, seen.headers['x-ratelimit-limit']]).toEqual([
        path,
        status,
        path === '/hono/route' ? '1' : '100',
      ]);
      expect(seen.body).toMatch(body);
    }
  });
});

async function bundled(folder: string): Promise<string> {
  const file = join(folder, 'program.js');
  const bundle = await rolldown({ input: join(root, 'checks/runtimes/program.ts'), platform: 'neutral' });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return file;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) if (await isTrue()) return;
  expect.fail('it did not come to pass');
}
