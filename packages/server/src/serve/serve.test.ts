/** The service as a process: all threads, reload, drain, state on disk, kill -9. */
import { writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SluiceService, startSluice, waitUntil } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';

const started: SluiceService[] = [];
const clients: Redis[] = [];

async function start(...args: Parameters<typeof startSluice>): Promise<SluiceService> {
  const service = await startSluice(...args);
  started.push(service);
  return service;
}

function connect({ respPort }: SluiceService): Redis {
  const client = new Redis(respPort, '127.0.0.1', { retryStrategy: () => null });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(started.splice(0).map((service) => service.stop()));
});

async function check({ url }: SluiceService, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const daily = (limit: number) =>
  `rules:\n  - { name: daily, key: user, algorithm: sliding-log, limit: ${limit}, window: 1d }\n`;
const ann = { subject: { user: 'ann' } };
const throttle = ['CL.THROTTLE', 'ann', '4', '5', '86400'] as const;

function call(client: Redis, [name, ...args]: readonly string[]): Promise<unknown> {
  return client.call(name as string, ...args);
}

describe.each([1, 3])('the service with %i threads', (workers) => {
  const env = { SLUICE_WORKERS: String(workers) };

  it('meets the same state whichever connection, thread and protocol asks', async () => {
    const service = await start({ config: daily(20), env });
    const connections = Array.from({ length: 12 }, () => connect(service));
    const limited = await Promise.all(connections.map((client) => call(client, throttle)));
    expect(limited.filter((reply) => (reply as number[])[0] === 0)).toHaveLength(5);
    const answers = await Promise.all([
      ...Array.from({ length: 12 }, async () => (await check(service, ann)).status === 200),
      ...connections.map(
        async (client) => ((await call(client, ['SLUICE.CHECK', 'daily', 'ann'])) as number[])[0] === 1,
      ),
    ]);
    expect(answers.filter(Boolean)).toHaveLength(20);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('sluice_checks_total{rule="daily",outcome="allowed"} 20');
    expect(metrics).toContain('sluice_checks_total{rule="daily",outcome="refused"} 4');
    expect(metrics).toContain('sluice_checks_total{rule="cl.throttle",outcome="refused"} 7');
  });

  it('keeps the state over a restart, and forgets it where no file was asked for', async () => {
    const config = `${daily(5)}snapshot: { path: state }\n`;
    const service = await start({ config, env });
    await check(service, { ...ann, cost: 3 });
    await call(connect(service), [...throttle, '3']);
    await service.restart();
    expect((await check(service, { ...ann, cost: 3 })).status).toBe(429);
    expect((await check(service, { ...ann, cost: 2 })).status).toBe(200);
    expect(((await call(connect(service), [...throttle, '0'])) as number[]).slice(0, 3)).toEqual([0, 5, 2]);
  });

  it('keeps overrides over a restart, and CL.THROTTLE also when the number of threads changes', async () => {
    const config = (threads: number) => `${daily(5)}snapshot: { path: state }\nworkers: ${threads}\n`;
    const service = await start({ config: config(workers) });
    const put = { method: 'PUT', body: JSON.stringify({ limit: 7, expiresIn: '1d' }) };
    expect((await fetch(`${service.url}/v1/overrides/daily/ann`, put)).status).toBe(204);
    expect((await check(service, { ...ann, cost: 6 })).status).toBe(200);
    const large = { policy: { algorithm: 'sliding-log', limit: 5, window: '1d' }, key: 'ann' };
    expect((await check(service, { ...large, cost: 3 })).status).toBe(200);
    for (const [threads, left] of [
      [4, 4],
      [2, 3],
    ] as const) {
      expect(((await call(connect(service), throttle)) as number[]).slice(0, 3)).toEqual([0, 5, left]);
      service.configure(config(threads));
      await service.restart();
    }
    expect((await check(service, { ...ann, cost: 2 })).status).toBe(429);
    expect((await check(service, ann)).status).toBe(200);
    expect((await check(service, { ...large, cost: 3 })).status).toBe(429);
  });

  it('finishes what was begun when it is told to end', async () => {
    const service = await start({ config: daily(1_000_000), env });
    let isEnding = false;
    const failures: unknown[] = [];
    let answered = 0;
    const callers = Array.from({ length: 8 }, async () => {
      for (;;) {
        try {
          const { status } = await check(service, ann);
          if (status !== 200) failures.push(status);
          answered += 1;
        } catch (error) {
          // A connection refused is what callers see once nobody listens; an answer cut off is not.
          const { code } = ((error as Error).cause ?? {}) as { code?: string };
          if (!isEnding || code !== 'ECONNREFUSED') failures.push(code ?? error);
          return;
        }
      }
    });
    await waitUntil('calls are answered', () => answered > 200);
    isEnding = true;
    await service.end('SIGTERM');
    await Promise.all(callers);
    expect(failures).toEqual([]);
    expect(service.log()).toContain('SIGTERM');
  });

  it('keeps live limits through a flood of other keys, in bounded memory', async () => {
    const service = await start({ config: 'store: { type: memory, maxKeys: 2000 }\n', env });
    const client = connect(service);
    const live = Array.from({ length: 20 }, (_, i) => ['CL.THROTTLE', `live-${i}`, '9', '10', '86400'] as const);
    for (const command of live) expect(((await call(client, [...command, '10'])) as number[])[0]).toBe(0);
    for (let from = 0; from < 10_000; from += 1000) {
      const flood = client.pipeline();
      for (let i = from; i < from + 1000; i += 1) flood.call('CL.THROTTLE', `flood-${i}`, '9', '10', '3600');
      for (const [error] of (await flood.exec()) ?? []) expect(error).toBeNull();
    }
    for (const command of live) expect(((await call(client, command)) as number[])[0]).toBe(1);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(Number(/^sluice_keys\{store="memory"\} (\d+)/m.exec(metrics)?.[1])).toBeLessThanOrEqual(3072);
    expect(Number(/^sluice_evicted_live_keys_total (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(6000);
  });

  it('is back after kill -9, with empty hands', async () => {
    const service = await start({ config: daily(5), env });
    await check(service, { ...ann, cost: 5 });
    await service.end('SIGKILL');
    await service.restart();
    expect((await check(service, { ...ann, cost: 5 })).status).toBe(200);
  });

  it('reloads in a loop under load: no call fails, and no limit is given twice', async () => {
    const service = await start({ config: daily(500), env });
    let allowed = 0;
    let isDone = false;
    const failures: unknown[] = [];
    const callers = Array.from({ length: 6 }, async () => {
      while (!isDone) {
        const { status } = await check(service, ann);
        if (status === 200) allowed += 1;
        else if (status !== 429) failures.push(status);
      }
    });
    for (let i = 0; i < 40; i += 1) {
      service.configure(i % 4 === 3 ? 'rules: [ {' : `${daily(500)}# ${i}\n`);
      if (i % 2) service.signal('SIGHUP');
      else await fetch(`${service.url}/v1/reload`, { method: 'POST' });
      await sleep(10);
    }
    await waitUntil('the limit is used up', () => allowed >= 500);
    isDone = true;
    await Promise.all(callers);
    expect(failures).toEqual([]);
    expect(allowed).toBe(500);
    expect(service.log()).toContain('the old one stays in force');
  });
});

describe('a reload', () => {
  it('applies a changed limit to what was used, by watching the file', async () => {
    const service = await start({ config: daily(2) });
    await check(service, { ...ann, cost: 2 });
    expect((await check(service, ann)).status).toBe(429);
    service.configure(daily(3));
    await waitUntil('the new limit is in force', async () => {
      const { tightest } = (await check(service, { ...ann, cost: 0 })).body as { tightest: { limit: number } };
      return tightest.limit === 3;
    });
    expect((await check(service, ann)).status).toBe(200);
    expect((await check(service, ann)).status).toBe(429);
  });

  it('says over HTTP what is wrong, and changes nothing', async () => {
    const service = await start({ config: daily(2) });
    writeFileSync(join(service.folder, 'sluice.yaml'), daily(0));
    const response = await fetch(`${service.url}/v1/reload`, { method: 'POST' });
    expect(await response.text()).toContain('sluice.yaml:2:');
    expect((await check(service, { ...ann, cost: 2 })).status).toBe(200);
  });
});

it('bounds the connections of a door over all its threads', async () => {
  const service = await start({ config: 'workers: 2\nlimits: { connections: 20 }\n' });
  const answers = await Promise.all(
    Array.from({ length: 80 }, async () => {
      const client = new Redis(service.respPort, '127.0.0.1', { retryStrategy: () => null, maxRetriesPerRequest: 0 });
      client.on('error', () => {});
      clients.push(client);
      return client.ping().catch(() => 'refused');
    }),
  );
  const served = answers.filter((answer) => answer === 'PONG').length;
  expect(served).toBeGreaterThan(5);
  expect(served).toBeLessThanOrEqual(20);
});

it('is not held up by a client that asks for metrics on and on and reads nothing', async () => {
  const service = await start({ config: daily(1000) });
  const greedy = connectSocket(service.httpPort, '127.0.0.1');
  greedy.on('error', () => {});
  greedy.pause();
  greedy.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20_000));
  await sleep(200);
  for (let i = 0; i < 20; i += 1) expect((await check(service, ann)).status).toBe(200);
  expect(service.residentMb()).toBeLessThan(400);
  greedy.destroy();
});

it.each([1, 2])('says as much as a reload asks for, in %i threads', async (workers) => {
  const service = await start({ config: `${daily(1)}workers: ${workers}\n` });
  service.configure(`${daily(1)}workers: ${workers}\nlogs: { level: debug }\n`);
  // What is no HTTP/2 is worth a line of that level, which the thread writes that it came to.
  await waitUntil('a thread says it', async () => {
    const socket = connectSocket(service.grpcPort, '127.0.0.1');
    socket.on('error', () => {});
    socket.end('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve).resume());
    return service.log().includes('a gRPC connection broke the protocol');
  });
});

describe('who may ask', () => {
  it.each([1, 2])('changes with a reload, in %i threads', async (workers) => {
    const config = (token: string) => `${daily(100)}security: { token: ${token} }\n`;
    const service = await start({ config: config('first'), env: { SLUICE_WORKERS: String(workers) } });
    const status = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${service.url}/v1/check`, { method: 'POST', headers, body: JSON.stringify(ann) });
      return response.status;
    };
    expect([await status('first'), await status('second')]).toEqual([200, 401]);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    service.configure(config('second'));
    await waitUntil('the new token opens every thread', async () => {
      const statuses = await Promise.all(Array.from({ length: 10 }, () => status('second')));
      return statuses.every((one) => one === 200);
    });
    expect(await status('first')).toBe(401);
    await expect(connect(service).call('PING')).rejects.toThrow('NOAUTH');
    expect(service.log()).not.toContain('second');
  });

  it('administers on a port of its own, and nowhere else', async () => {
    const service = await start({ config: `${daily(100)}listen: { admin: 0 }\n` });
    const { admin = '' } = (JSON.parse(service.log().split('\n')[0] as string) as { listening: { admin?: string } })
      .listening;
    for (const path of ['/v1/rules', '/metrics', '/v1/overrides', '/v1/refused', '/v1/keys/daily/ann']) {
      expect([path, (await fetch(service.url + path)).status]).toEqual([path, 404]);
      expect([path, (await fetch(`http://${admin}${path}`)).status]).toEqual([path, 200]);
    }
    expect((await check(service, ann)).status).toBe(200);
    // Checks too, which the studio there tries.
    expect((await fetch(`http://${admin}/v1/check`, { method: 'POST', body: JSON.stringify(ann) })).status).toBe(200);
  });
});

describe('a start', () => {
  it('that cannot be says why and ends with 2', async () => {
    const service = await start();
    const taken = startSluice({ args: ['--http', String(service.httpPort)] });
    await expect(taken).rejects.toThrow(`Port ${service.httpPort} (listen.http) is in use.`);
    await expect(startSluice({ config: 'rules: 7' })).rejects.toThrow('rules must be');
    await expect(startSluice({ args: ['--envoy-config', '/nowhere'] })).rejects.toThrow('/nowhere');
  });
});
