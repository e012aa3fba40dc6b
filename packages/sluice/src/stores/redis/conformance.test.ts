import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startSentinel,
} from '@sluice/test-servers';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { conformance } from '../conformance/conformance.ts';
import {
  type Connected,
  clusterClients,
  freshPrefix,
  sentinelClients,
  standaloneClients,
} from './clients.test-support.ts';
import { redisStore } from './redis-store.ts';

// The long random lives try the server's side, which is the same for every client; one client of each kind lives them.
const withoutLives = conformance.filter(({ name }) => !name.includes('a random life'));

// All are begun together: every test has keys of its own, and the trips of one fill the waits of the others.
function conforms(connect: () => Promise<Connected>, tests = conformance): void {
  let connected: Connected;
  let outcomes: Promise<PromiseSettledResult<void>>[];
  beforeAll(async () => {
    connected = await connect();
    outcomes = tests.map(async ({ run }) => {
      const [outcome] = await Promise.allSettled([
        run(({ clock }) => redisStore({ client: connected.client, clock, prefix: freshPrefix() })),
      ]);
      return outcome;
    });
  });
  afterAll(() => connected.close());
  for (const [i, { name }] of tests.entries()) {
    it(name, async () => {
      const outcome = await outcomes[i];
      if (outcome?.status === 'rejected') throw outcome.reason;
    });
  }
}

describe('a Redis server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const [client, connect] of Object.entries(standaloneClients)) {
    const tests = client.endsWith('6') ? conformance : withoutLives;
    describe(`through ${client}`, () => conforms(() => connect(server), tests));
  }
});

describe('a Redis Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  for (const client of ['ioredis 6', 'node-redis 6'] as const) {
    describe(`through ${client}`, () => conforms(() => clusterClients[client](cluster.seeds)));
  }
});

describe('a Redis with Sentinel', () => {
  let sentinel: Awaited<ReturnType<typeof startSentinel>>;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(() => sentinel.stop());

  for (const [client, connect] of Object.entries(sentinelClients)) {
    // Behind Sentinel, ioredis is the client of one server; node-redis may send a call again, so each has a request id.
    const tests = client === 'node-redis 6' ? conformance : withoutLives;
    describe(`through ${client}`, () => conforms(() => connect(sentinel.sentinels, sentinel.name), tests));
  }
});
