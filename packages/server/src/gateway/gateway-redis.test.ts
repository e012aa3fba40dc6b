/** The gateway over a real Redis: limits shared between gateways, and what becomes of requests while Redis is gone. */
import { startRedis, waitUntil } from '@sluice/test-servers';
import { expect, it } from 'vitest';
import { ask, gateway, member } from './gateway.test-support.ts';

it('shares limits between gateways, and fails each rule as it was told while Redis is gone', async () => {
  const redis = await startRedis();
  try {
    const one = await member();
    const config = {
      rules: [
        { name: 'closed', match: { path: '/closed' }, algorithm: 'sliding-log', limit: 5, window: '1h' },
        { name: 'open', match: { path: '/open' }, algorithm: 'gcra', limit: 5, window: '1h', onStoreFailure: 'open' },
      ],
      // Longer than the default: a busy machine must not look like a store that fails.
      store: { type: 'redis', url: `redis://127.0.0.1:${redis.port}`, timeout: '5s' },
      gateway: { upstreams: { app: { members: [one.id] } } },
    };
    const gateways = [await gateway(config), await gateway(config)];
    const asked = Array.from({ length: 12 }, (_, i) => ask(`${gateways[i % 2]!.url}/closed`));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);

    await redis.kill();
    const closed = await ask(`${gateways[0]!.url}/closed`);
    expect([closed.status, closed.headers['content-type']]).toEqual([503, 'application/problem+json']);
    expect(Number(closed.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await ask(`${gateways[0]!.url}/open`)).status).toBe(200);
    expect((await ask(`${gateways[0]!.url}/unlimited`)).status).toBe(200);

    await redis.restart();
    await waitUntil('it is sure again', async () => (await ask(`${gateways[0]!.url}/closed`)).status !== 503);
  } finally {
    await redis.stop();
  }
});
