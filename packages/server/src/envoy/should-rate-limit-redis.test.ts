// What is answered over memory is answered over Redis.
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { memoryStore } from 'sluice';
import { redisStore } from 'sluice/redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { request } from './envoy.test-support.ts';
import { loadEnvoyFiles } from './load-envoy-files.ts';
import { envoyLimiter } from './should-rate-limit.ts';

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, '127.0.0.1', { autoResendUnfulfilledCommands: false });
});
afterAll(async () => {
  await client.quit();
  await server.stop();
});

// Windows of a year: none ends while this runs.
const rules = loadEnvoyFiles(
  [
    {
      path: 'a.yaml',
      text: `domain: d
descriptors:
  - { key: five, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: none, rate_limit: { unit: year, requests_per_unit: 0 } }
  - { key: seen, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: q, value: one, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: q, value: two, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 2 } }
  - { key: log, rate_limit: { unit: year, requests_per_unit: 2, algorithm: sliding-log } }
`,
    },
  ],
  { mergeDomains: false },
);

const steps = [
  request('d', ['five=a', 'seen=a']),
  request('d', ['five=a', 'five=a'], 2),
  request('d', ['five=a', 'seen=a']),
  request('d', ['five=b', 'none=a']),
  request('d', [
    { of: 'five=b', hitsAddend: 0 },
    { of: 'none=a', hitsAddend: 0 },
  ]),
  request('d', ['five=b', 'q=one', 'q=two']),
  request('d', ['five=b', 'q=one', 'q=two']),
  request('d', ['five=b', 'q=one', 'q=two']),
  request('d', ['five=b']),
  request('d', [{ of: 'five=a', limit: { requestsPerUnit: 7, unit: 'YEAR' } }]),
  request('d', [{ of: 'user=%|{x}', limit: { requestsPerUnit: 1, unit: 'MONTH' } }]),
  request('d', [{ of: 'user=%|{x}', limit: { requestsPerUnit: 1, unit: 'MONTH' } }]),
  request('d', [{ of: 'five=a', hitsAddend: 3, isNegativeHits: true }]),
  request('d', ['five=a', 'log=', 'log=x']),
  request('d', ['log='], 2),
];

it('decides over Redis as over memory, status by status', async () => {
  const over = (store: Parameters<typeof envoyLimiter>[0]['store']) =>
    envoyLimiter({ rules: () => rules, store, responseHeaders: () => false });
  const memory = over(memoryStore());
  const redis = over(redisStore({ client }));
  for (const [i, asked] of steps.entries()) {
    const told = async (limiter: typeof memory) => {
      const { overallCode, statuses } = await limiter.shouldRateLimit(asked);
      return [i, overallCode, ...statuses.map(({ code, limitRemaining }) => `${code} ${limitRemaining}`)];
    };
    expect(await told(redis)).toEqual(await told(memory));
  }
  expect([...redis.counts()]).toEqual([...memory.counts()]);
});
