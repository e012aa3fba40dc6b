/** What becomes of a call when its connection is lost: it is counted at most once, and the caller is told. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type FaultProxy,
  type RedisCluster,
  type RedisServer,
  startFaultProxy,
  startRedis,
  startRedisCluster,
  startSentinel,
  waitUntil,
} from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as IovalkeyRedis } from 'iovalkey';
import { createCluster } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis-5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import type { SluiceError } from '../../vocabulary/errors.ts';
import { slotOf } from '../slot.ts';
import { type Connected, freshPrefix, sentinelClients, standaloneClients } from './clients.test-support.ts';
import type { RedisClient } from './connection.ts';
import { type RedisStore, redisStore } from './redis-store.ts';

const policy = fixedWindow({ limit: 100, window: '1h' });
const check = { name: 'rule', key: 'key', policy, cost: 1 };

/** How much of the limit is used, asked past the faults. */
async function usedIn(prefix: string, client: RedisClient): Promise<number> {
  const [decision] = await redisStore({ client, prefix }).apply([{ ...check, operation: 'peek', cost: 0 }]);
  return 100 - (decision?.remaining ?? 0);
}

/** Carries a call out on the server, and loses the answer and the connection. */
async function loseAnswer(
  store: RedisStore,
  proxy: FaultProxy,
  isCounted: () => Promise<boolean>,
): Promise<SluiceError> {
  proxy.dropReplies();
  const lost = store.apply([check]).then(
    () => undefined,
    (error: SluiceError) => error,
  );
  await waitUntil('the server has counted the call', isCounted);
  proxy.cut();
  proxy.resume();
  const error = await lost;
  expect(error).toBeDefined();
  return error as SluiceError;
}

describe('a connection that is cut after the server has counted a call', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let direct: Connected;
  beforeAll(async () => {
    server = await startRedis();
    direct = await standaloneClients['ioredis 6'](server);
  });
  afterAll(async () => {
    direct.close();
    await server.stop();
  });
  afterEach(() => proxy.stop());

  for (const [name, connect] of Object.entries(standaloneClients)) {
    it(`is an error with its cause, and one count, through ${name}`, async () => {
      proxy = await startFaultProxy(server);
      const { client, close } = await connect(proxy);
      const prefix = freshPrefix();
      const store = redisStore({ client, prefix });
      await store.apply([check]);
      const error = await loseAnswer(store, proxy, async () => (await usedIn(prefix, direct.client)) === 2);
      expect(error).toMatchObject({ code: 'store-unavailable', cause: expect.any(Error) });
      // The next call finds the way again, and nothing was sent twice.
      const [next] = await store.apply([check]);
      expect(next?.remaining).toBe(97);
      expect(await usedIn(prefix, direct.client)).toBe(3);
      close();
    });
  }

  it('lets no key pass by the answer to another one, although node-redis 5 mixes them up from then on', async () => {
    proxy = await startFaultProxy(server);
    // Without a command of its own after it has connected, it is one answer behind for good; with one, it never is ready again.
    const client = createClient5({ url: `redis://${proxy.host}:${proxy.port}`, disableClientInfo: true });
    client.on('error', () => undefined);
    await client.connect();
    const store = redisStore({ client, prefix: freshPrefix() });
    const two = fixedWindow({ limit: 2, window: '1h' });
    await store.apply([check]);
    // Reset between a command and its writing, which comes later in the same turn of the event loop.
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        proxy.cut();
        client.sendCommand(['PING']).catch(() => undefined);
        resolve();
      });
    });
    await waitUntil('the client is connected again', async () => client.isReady && proxy.connectionCount > 0);
    const calls: Promise<string>[] = [];
    for (let i = 0; i < 20; i += 1) {
      const key = i % 2 === 0 ? 'hot' : `cold-${i}`;
      const passed = store.apply([{ ...check, policy: two, key }]).then(([decision]) => decision?.allowed);
      calls.push(passed.then((isAllowed) => (isAllowed ? key : 'refused')).catch((error: SluiceError) => error.code));
      await new Promise((resolve) => setImmediate(resolve));
    }
    // Whoever gets the answer to the next call waits for one.
    client.sendCommand(['PING']).catch(() => undefined);
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter((outcome) => outcome === 'hot').length).toBeLessThanOrEqual(2);
    client.destroy();
  });

  it('leaves nothing behind, although ioredis never settles the command', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    proxy = await startFaultProxy(server);
    const { client, close } = await standaloneClients['ioredis 6'](proxy);
    const prefix = freshPrefix();
    const store = redisStore({ client, prefix });
    await store.apply([check]);
    const isCounted = async () => (await usedIn(prefix, direct.client)) === 2;
    const cause = new WeakRef((await loseAnswer(store, proxy, isCounted)).cause as Error);
    await waitUntil('nobody holds what the call ended with', async () => {
      collect();
      return cause.deref() === undefined;
    });
    close();
  });

  it('that was sent again with its request id is counted once, and gets its answer', async () => {
    proxy = await startFaultProxy(server);
    const { client, close } = await standaloneClients['node-redis 6'](proxy);
    const prefix = freshPrefix();
    const store = redisStore({ client, prefix });
    proxy.dropReplies();
    const lost = store.apply([check], undefined, 'request-1').catch((error: SluiceError) => error.code);
    await waitUntil('the server has counted the call', async () => (await usedIn(prefix, direct.client)) === 1);
    proxy.cut();
    proxy.resume();
    expect(await lost).toBe('store-unavailable');
    const [again] = await store.apply([check], undefined, 'request-1');
    expect(again).toMatchObject({ allowed: true, remaining: 99 });
    expect(await usedIn(prefix, direct.client)).toBe(1);
    close();
  });

  it('while nothing answers: calls that were never sent are not lost, and are counted once', async () => {
    proxy = await startFaultProxy(server);
    const { client, close } = await standaloneClients['ioredis 6'](proxy);
    const prefix = freshPrefix();
    const store = redisStore({ client, prefix });
    await store.apply([check]);
    proxy.cut();
    // The client notices on its own time; whether these were sent before, each is answered or fails, and none hangs.
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => store.apply([check])));
    const answered = outcomes.filter(({ status }) => status === 'fulfilled').length;
    const used = await usedIn(prefix, direct.client);
    expect(used).toBeGreaterThanOrEqual(1 + answered);
    expect(used).toBeLessThanOrEqual(6);
    close();
  });
});

describe('in a cluster, a connection that is cut after the server has counted a call', () => {
  let cluster: RedisCluster;
  let proxies: FaultProxy[];
  let toProxy: Record<string, { host: string; port: number }>;
  let direct: Redis;
  beforeAll(async () => {
    cluster = await startRedisCluster({ shards: 3, replicas: 0 });
    proxies = await Promise.all(cluster.nodes.map((node) => startFaultProxy(node)));
    toProxy = Object.fromEntries(
      cluster.nodes.map(({ host, port }, i) => [`${host}:${port}`, { host, port: proxies[i]!.port }]),
    );
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await cluster.stop();
  });
  afterEach(() => direct.disconnect());

  const seeds = () => proxies.map(({ host, port }) => ({ host, port }));
  const rootNodes = () => proxies.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
  const clients: Record<string, () => Promise<Connected>> = {
    'ioredis 6': async () => {
      const client = new Redis.Cluster(seeds(), { retryDelayOnFailover: 0, natMap: toProxy });
      client.on('error', () => undefined);
      return { client, close: () => client.disconnect() };
    },
    'ioredis 5': async () => {
      const client = new Redis5.Cluster(seeds(), { retryDelayOnFailover: 0, natMap: toProxy });
      client.on('error', () => undefined);
      return { client, close: () => client.disconnect() };
    },
    iovalkey: async () => {
      const client = new IovalkeyRedis.Cluster(seeds(), { retryDelayOnFailover: 0, natMap: toProxy });
      client.on('error', () => undefined);
      return { client, close: () => client.disconnect() };
    },
    'node-redis 6': async () => {
      const client = createCluster({ rootNodes: rootNodes(), nodeAddressMap: toProxy });
      client.on('error', () => undefined);
      await client.connect();
      return { client, close: () => client.destroy() };
    },
    'node-redis 5': async () => {
      const client = createCluster5({ rootNodes: rootNodes(), nodeAddressMap: toProxy });
      client.on('error', () => undefined);
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  };

  for (const [name, connect] of Object.entries(clients)) {
    it(`is an error with its cause, and one count, through ${name}`, async () => {
      const { client, close } = await connect();
      const prefix = freshPrefix();
      const store = redisStore({ client, prefix });
      await store.apply([check]);
      const owner = await cluster.primaryOf(slotOf('key'));
      const proxy = proxies[cluster.nodes.indexOf(owner)]!;
      direct = new Redis(owner.port, owner.host, { autoResendUnfulfilledCommands: false });
      const error = await loseAnswer(store, proxy, async () => (await usedIn(prefix, direct)) === 2);
      expect(error).toMatchObject({ code: 'store-unavailable', cause: expect.any(Error) });
      await waitUntil('the client has found its way again', () =>
        store.apply([{ ...check, operation: 'peek' }]).then(
          () => true,
          () => false,
        ),
      );
      expect(await usedIn(prefix, direct)).toBe(2);
      close();
    });
  }
});

describe('through Sentinel', () => {
  it('a failover changes nothing of what was counted, and each call counts at most once', async () => {
    const sentinel = await startSentinel();
    for (const connect of Object.values(sentinelClients)) {
      const { client, close } = await connect(sentinel.sentinels, sentinel.name);
      const prefix = freshPrefix();
      const store = redisStore({ client, prefix });
      await store.apply([check]);
      // A failover loses what the replica does not have yet; here it has all.
      await waitUntil('both servers have the key', async () => {
        const found = await Promise.all(sentinel.servers.map((each) => each.call('EXISTS', `${prefix}{key}rule`)));
        return found.every((one) => one === 1);
      });
      await sentinel.failover();
      const outcomes: unknown[] = [];
      // The client may have to notice first.
      await waitUntil('the new primary answers', async () => {
        const [outcome] = await Promise.allSettled([store.apply([check])]);
        outcomes.push(outcome);
        return outcome?.status === 'fulfilled';
      });
      const primary = await sentinel.primary();
      const direct = new Redis(primary.port, primary.host, { autoResendUnfulfilledCommands: false });
      const used = await usedIn(prefix, direct);
      expect(used).toBeGreaterThanOrEqual(2);
      expect(used).toBeLessThanOrEqual(1 + outcomes.length);
      direct.disconnect();
      close();
    }
    await sentinel.stop();
  });
});
