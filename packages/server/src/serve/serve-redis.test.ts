/** The service over a real Redis: what several processes share, and what happens while Redis is gone. */
import {
  type RedisServer,
  type SluiceService,
  startRedis,
  startRedisCluster,
  startSluice,
  waitUntil,
} from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';

const toStop: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

async function redis(): Promise<RedisServer> {
  const server = await startRedis();
  toStop.push(() => server.stop());
  return server;
}

async function start(config: string, workers = 2): Promise<SluiceService> {
  const service = await startSluice({ config, env: { SLUICE_WORKERS: String(workers) } });
  toStop.push(() => service.stop());
  return service;
}

const rules = `
rules:
  - { name: closed, key: closed, algorithm: sliding-log, limit: 10, window: 1h, onStoreFailure: closed }
  - { name: open, key: open, algorithm: gcra, limit: 10, window: 1h, onStoreFailure: open }
  - { name: local, key: local, algorithm: gcra, limit: 2, window: 1h, onStoreFailure: local }
`;

// Longer than a busy machine ever keeps a Redis that is there from answering: only one that is gone may fail a call.
const over = ({ port }: { port: number }, more = '') =>
  `${rules}store: { type: redis, url: 'redis://127.0.0.1:${port}', timeout: 5s${more} }\n`;

interface Answer {
  readonly status: number;
  readonly body: {
    readonly allowed?: boolean;
    readonly tightest?: { readonly degraded?: string; readonly rule: string };
  };
}

async function check({ url }: SluiceService, subject: object): Promise<Answer> {
  const response = await fetch(`${url}/v1/check`, { method: 'POST', body: JSON.stringify({ subject }) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

function throttle({ respPort }: SluiceService): Promise<number[]> {
  const client = new Redis(respPort, '127.0.0.1');
  toStop.push(() => client.disconnect());
  return client.call('CL.THROTTLE', 'ann', '9', '10', '3600') as Promise<number[]>;
}

describe('the service over Redis', () => {
  it('shares every limit between processes, threads and protocols', async () => {
    const server = await redis();
    const services = await Promise.all([start(over(server)), start(over(server), 1)]);
    const asked = Array.from({ length: 30 }, (_, i) => services[i % 2] as SluiceService);
    const statuses = await Promise.all(asked.map(async (service) => (await check(service, { closed: 'ann' })).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    const limited = await Promise.all(asked.map((service) => throttle(service)));
    expect(limited.filter(([isLimited]) => isLimited === 0)).toHaveLength(10);
  });

  it('fails each rule as it was told while Redis is gone, and recovers by itself', async () => {
    const server = await redis();
    const service = await start(over(server));
    for (const key of ['closed', 'open', 'local']) expect((await check(service, { [key]: 'ann' })).status).toBe(200);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);

    await server.kill();
    const closed = await check(service, { closed: 'ann' });
    expect([closed.status, closed.body.tightest?.degraded]).toEqual([503, 'closed']);
    const opened = await check(service, { open: 'ann' });
    expect([opened.status, opened.body.tightest?.degraded]).toEqual([200, 'open']);
    const locally = [
      await check(service, { local: 'bob' }),
      await check(service, { local: 'bob' }),
      await check(service, { local: 'bob' }),
    ];
    expect(locally.map(({ status }) => status)).toEqual([200, 200, 429]);
    // What comes without a rule fails as the store was told to: closed, unless the configuration says otherwise.
    const [limited, limit, remaining, retryAfterSeconds] = await throttle(service);
    expect([limited, limit, remaining]).toEqual([1, 10, 0]);
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    await waitUntil('it is not ready', async () => {
      await check(service, { closed: 'ann' });
      return (await fetch(`${service.url}/readyz`)).status === 503;
    });
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(Number(/^sluice_degraded_total (\d+)/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(5);

    await server.restart();
    await waitUntil(
      'it answers again',
      async () => (await check(service, { closed: 'ann' })).body.tightest?.degraded === undefined,
    );
    await waitUntil('it is ready', async () => (await fetch(`${service.url}/readyz`)).status === 200);
  });

  it('starts without Redis, and says that it is not ready', async () => {
    const server = await redis();
    await server.kill();
    const service = await start(over(server));
    await waitUntil('it refuses', async () => (await check(service, { closed: 'ann' })).status === 503);
    await server.restart();
    await waitUntil('it allows', async () => (await check(service, { closed: 'ann' })).status === 200);
  });

  it('works over a cluster', async () => {
    const cluster = await startRedisCluster({ replicas: 0 });
    toStop.push(() => cluster.stop());
    const [seed] = cluster.seeds;
    const service = await start(over(seed as { port: number }, ', cluster: true'));
    await waitUntil(
      'the cluster is known',
      async () => (await check(service, { open: 'x', closed: 'y' })).body.tightest?.degraded === undefined,
    );
    const statuses = await Promise.all(
      Array.from({ length: 15 }, async (_, i) => (await check(service, { closed: 'ann', open: `o${i}` })).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  });
});
