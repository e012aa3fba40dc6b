/** Instances that talk through a real Redis: how wrong they are together, and what becomes of counts when it fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startFaultProxy, startRedis, waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { type Address, type Connected, standaloneClients } from '../../stores/redis/clients.test-support.ts';
import { parts } from '../../stores/redis/lua.generated.ts';
import type { Store } from '../../stores/store.ts';
import { audit } from '../../testing/auditor/auditor.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type ApproximateLayer, type ApproximateOptions, approximate } from './approximate.ts';
import type { Exchange } from './exchange.ts';
import { type RedisExchangeOptions, redisExchange } from './redis-exchange.ts';

const families = [standaloneClients['ioredis 6'], standaloneClients['node-redis 6']] as const;
const policy = slidingLog({ limit: 120, window: 1000 });
const intervalMs = 50;
const random = seededRandom(inject('propertySeed'));

let server: RedisServer;
let open: { close(): unknown }[];
beforeEach(async () => {
  server = await startRedis();
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((one) => one.close()));
  await server.stop();
});

async function connect(address: Address, family: number): Promise<Connected> {
  const connected = await families[family % families.length]!(address);
  open.push(connected);
  return connected;
}

interface Instance {
  readonly layer: ApproximateLayer;
  readonly store: Store<'sync'>;
  readonly uses: Grant[];
  /** The longest from the end of one exchange to the end of the next, so far. */
  readonly longestGapMs: () => number;
}

/** An instance with a client of its own. */
async function join(address: Address, family: number, options: Partial<ApproximateOptions> = {}): Promise<Instance> {
  const { client } = await connect(address, family);
  const { exchange, longestGapMs } = timed(redisExchange({ client }));
  const layer = approximate({ exchange, interval: intervalMs, ...options });
  // Before its client: what was not told yet is told.
  open.unshift(layer);
  return { layer, store: layer(memoryStore()), uses: [], longestGapMs };
}

function timed(exchange: Exchange): { exchange: Exchange; longestGapMs: () => number } {
  let endedMs = performance.now();
  let longestMs = 0;
  return {
    longestGapMs: () => longestMs,
    exchange: {
      async exchange(message, cursor) {
        const reply = await exchange.exchange(message, cursor);
        const nowMs = performance.now();
        longestMs = Math.max(longestMs, nowMs - endedMs);
        endedMs = nowMs;
        return reply;
      },
    },
  };
}

function call({ store, uses }: Instance, cost = 1, of: Policy = policy): Decision {
  const [decision] = store.apply([{ name: 'rule', key: 'key', policy: of, cost }]);
  if (decision?.allowed) uses.push({ key: 'key', atMs: performance.now(), cost });
  return decision!;
}

function usedBy(instances: readonly Instance[]): number {
  return instances.reduce((sum, { uses }) => sum + uses.reduce((own, { cost = 1 }) => own + cost, 0), 0);
}

/** Keeps the exchange awake until something is so. */
async function awake(instances: readonly Instance[], claim: string, isTrue: () => boolean): Promise<void> {
  await waitUntil(claim, () => {
    for (const { store } of instances) store.apply([{ name: 'rule', key: 'key', policy, cost: 0, operation: 'peek' }]);
    return isTrue();
  });
}

async function allHeard(instances: readonly Instance[]): Promise<void> {
  await awake(instances, 'all hear each other', () =>
    instances.every(({ layer }) => layer.stats().instances === instances.length && !layer.stats().isLost),
  );
}

describe('instances with clients of their own', () => {
  it('share a limit within the bound', async () => {
    const instances = await Promise.all([0, 1, 2].map((family) => join(server, family)));
    await allHeard(instances);
    const endMs = performance.now() + 2200;
    while (performance.now() < endMs) {
      for (const instance of instances) {
        for (let calls = Math.floor(random() ** 4 * 12); calls > 0; calls -= 1) call(instance);
      }
      await sleep(5);
    }
    const { worst } = audit(
      instances.flatMap(({ uses }) => uses),
      policy,
    );
    // Told when the exchange under way or the next is over, heard with the one after.
    const unheardMs = 2 * Math.max(...instances.map(({ longestGapMs }) => longestGapMs()));
    const most = instances
      .map(({ uses }) => audit(uses, slidingLog({ limit: 1, window: unheardMs })).worst?.used ?? 0)
      .sort((a, b) => b - a);
    expect(worst!.used - worst!.limit).toBeLessThanOrEqual(most[0]! + most[1]!);
    // Whatever the machine did meanwhile, they were not three times the limit.
    expect(worst!.used).toBeLessThan(2 * policy.limit);
    expect(usedBy(instances)).toBeGreaterThan(2 * policy.limit);
    // Everything they used is told once and heard twice.
    await awake(instances, 'all was heard', () => {
      const heard = instances.reduce((sum, { layer }) => sum + layer.stats().heard, 0);
      return heard === 2 * usedBy(instances);
    });
  });

  it('lose nothing and count nothing twice when a message is posted and its answer is lost', async () => {
    const proxy = await startFaultProxy(server);
    open.push({ close: () => proxy.stop() });
    const many = slidingLog({ limit: 1_000_000, window: '1m' });
    const cutOff = [await join(proxy, 0), await join(proxy, 1)];
    const direct = await join(server, 0);
    const instances = [...cutOff, direct];
    for (const instance of instances) call(instance, 1, many);
    await allHeard(instances);
    for (let round = 0; round < 3; round += 1) {
      const lengthBefore = await server.call<number>('XLEN', 'sluice:usage');
      proxy.dropReplies();
      for (const instance of cutOff) call(instance, 7, many);
      await waitUntil('messages are posted', async () => {
        call(direct, 1, many);
        return (await server.call<number>('XLEN', 'sluice:usage')) > lengthBefore + 6;
      });
      proxy.cut();
      proxy.resume();
      await awake(instances, 'all exchange again', () => instances.every(({ layer }) => !layer.stats().isLost));
    }
    const used = instances.map((instance) => usedBy([instance]));
    const all = usedBy(instances);
    await awake(instances, 'all was told', () =>
      instances.every(({ layer }, i) => layer.stats().told === used[i] && layer.stats().heard >= all - used[i]!),
    );
    for (const [i, { layer, store }] of instances.entries()) {
      expect(layer.stats()).toMatchObject({ told: used[i], heard: all - used[i]!, uncounted: 0, isLost: false });
      const [peeked] = store.apply([{ name: 'rule', key: 'key', policy: many, cost: 0, operation: 'peek' }]);
      expect(peeked?.remaining).toBe(1_000_000 - all);
    }
    // Some messages are there twice: otherwise nothing was shown.
    const entries = await server.call<[string, [string, string]][]>('XRANGE', 'sluice:usage', '-', '+');
    const ids = entries.map(([, [, text]]) => (JSON.parse(text) as unknown[]).slice(0, 2).join(' '));
    expect(new Set(ids).size).toBeLessThan(ids.length);
  });

  it('have their share while Redis is gone, and tell everything when it is back', async () => {
    const instances = [await join(server, 0), await join(server, 1)];
    for (const instance of instances) call(instance);
    await allHeard(instances);
    await server.kill();
    await awake(instances, 'all are on their own', () => instances.every(({ layer }) => layer.stats().isLost));
    await sleep(1000);
    const before = instances.map((instance) => usedBy([instance]));
    for (const instance of instances) {
      for (let i = 0; i < 200; i += 1) expect(call(instance)).toMatchObject({ degraded: 'local', limit: 60, policy });
    }
    expect(instances.map((instance, i) => usedBy([instance]) - before[i]!)).toEqual([60, 60]);
    await server.restart();
    // What is not known of the time without is not relied on: until a window has passed since.
    const all = usedBy(instances);
    await awake(instances, 'all exchange again, and know what the others used', () =>
      instances.every((instance) => {
        const { isLost, told, heard } = instance.layer.stats();
        return !isLost && told === usedBy([instance]) && heard === all - told;
      }),
    );
    for (const instance of instances) expect(call(instance).degraded).toBeUndefined();
  });

  it('are careful for a window after everything was flushed', async () => {
    const instances = [await join(server, 0), await join(server, 1)];
    for (const instance of instances) call(instance);
    await allHeard(instances);
    await server.call('FLUSHALL');
    const flushedMs = performance.now();
    await awake(instances, 'all have noticed', () => instances.every(({ layer }) => layer.stats().isLost));
    expect(instances.map((instance) => call(instance).degraded)).toEqual(['local', 'local']);
    await allHeard(instances);
    expect(performance.now() - flushedMs).toBeGreaterThanOrEqual(1000);
  });

  it('that stand still behind a Redis that does not answer end when they are closed', async () => {
    const instance = await join(server, 1);
    call(instance);
    await allHeard([instance]);
    await server.pause();
    call(instance);
    await instance.layer.close();
    expect(instance.layer.stats().lastError).toBeDefined();
    server.resume();
  });
});

describe('the exchange in Redis', () => {
  async function begin(options: Partial<RedisExchangeOptions> = {}, family = 0) {
    const { client } = await connect(server, family);
    const exchange = redisExchange({ client, ...options });
    let sequence = 0;
    return async (instance: string, cursor?: string) => {
      sequence += 1;
      return exchange.exchange({ instance, sequence, used: new Map([['key', sequence]]) }, cursor);
    };
  }

  it.each([0, 1])('tells every message once to whoever gives its cursor, with its age (client %i)', async (family) => {
    const post = await begin({}, family);
    const first = await post('a');
    expect(first).toMatchObject({ messages: [{ instance: 'a', sequence: 1 }], hasGap: false });
    await sleep(30);
    const second = await post('b', first.cursor);
    expect(second).toMatchObject({ messages: [{ instance: 'b', sequence: 2 }], hasGap: false });
    expect(second.messages[0]?.used).toEqual(new Map([['key', 2]]));
    const all = await post('c');
    expect(all.messages.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(all.messages[0]?.ageMs).toBeGreaterThanOrEqual(30);
    expect(all.messages[2]?.ageMs).toBe(0);
  });

  it('keeps no more messages than it may, and says when some that were not read are gone', async () => {
    const post = await begin({ maxMessages: 100 });
    let cursor = (await post('reader')).cursor;
    let posted = 1;
    let read = 1;
    let gaps = 0;
    // However the line is cut, nothing goes missing in silence.
    for (let round = 0; round < 30; round += 1) {
      const others = Math.floor(random() * 60);
      for (let i = 0; i < others; i += 1) await post('other');
      const reply = await post('reader', cursor);
      posted += others + 1;
      read += reply.messages.length;
      if (reply.hasGap) {
        gaps += 1;
        read = posted;
      }
      expect(read, `round ${round}`).toBe(posted);
      cursor = reply.cursor;
    }
    for (let i = 0; i < 300; i += 1) await post('other');
    expect((await post('reader', cursor)).hasGap).toBe(true);
    expect(await server.call<number>('XLEN', 'sluice:usage')).toBeLessThanOrEqual(200);
    expect(gaps).toBeLessThan(30);
  });

  it('says so when everything is gone, however many were posted since', async () => {
    const post = await begin();
    const { cursor } = await post('reader');
    // Messages are named by their millisecond: a line that is begun twice in the same one cannot be told from itself.
    await sleep(2);
    await server.call('FLUSHALL');
    for (let others = 0; others < 3; others += 1) await post('other');
    const reply = await post('reader', cursor);
    expect(reply.hasGap).toBe(true);
    expect((await post('reader', reply.cursor)).hasGap).toBe(false);
  });

  it('forgets what is older than it keeps, and says so to whoever had not read it', async () => {
    const post = await begin({ retain: '300ms' });
    const { cursor } = await post('reader');
    // The server lets go of a hundred at a time.
    for (let i = 0; i < 150; i += 1) await post('other');
    await sleep(400);
    const reply = await post('reader', cursor);
    expect(reply.messages.length).toBeLessThan(151);
    expect(reply.hasGap).toBe(true);
    expect(await post('reader', reply.cursor)).toMatchObject({ hasGap: false });
  });

  it('leaves nothing behind: the stream ends a day after its last message', async () => {
    const post = await begin({ key: 'other:usage', retain: '200ms' });
    await post('a');
    const leftMs = await server.call<number>('PTTL', 'other:usage');
    expect(leftMs).toBeGreaterThan(86_390_000);
    expect(leftMs).toBeLessThanOrEqual(86_400_400);
  });

  it('sees no gap where nothing was posted, however long ago that was', async () => {
    const post = await begin({ key: 'idle:usage', retain: '50ms' });
    const { cursor } = await post('a');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await post('a', cursor)).hasGap).toBe(false);
  });

  it('says what Redis said when the key is something else', async () => {
    await server.call('SET', 'sluice:usage', 'something else');
    const post = await begin();
    await expect(post('a')).rejects.toMatchObject({ code: 'store-unavailable', message: /WRONGTYPE/ });
  });

  it('says what it needs to a server that does not count what was posted', async () => {
    // What a script sees of one before 7.0.
    const script = `local redis = { call = redis.call, error_reply = redis.error_reply }\n${parts.exchange}`;
    await expect(server.call('EVAL', script, 1, 'sluice:usage', '', '["a",1,[]]', 1000, 10)).rejects.toThrow(
      'Redis 7.0 or later is needed to exchange usage',
    );
    expect(await server.call('EXISTS', 'sluice:usage')).toBe(0);
  });

  it('names wrong options', async () => {
    const { client } = await connect(server, 0);
    expect(() => redisExchange({} as never)).toThrow('client must be an ioredis, iovalkey or node-redis client');
    expect(() => redisExchange({ client, key: '' })).toThrow('key must be the name of a key in Redis, got ""');
    expect(() => redisExchange({ client, retain: 0 })).toThrow('retain must be');
    expect(() => redisExchange({ client, maxMessages: 0 })).toThrow('maxMessages must be');
    expect(() => redisExchange({ client, stream: 'x' } as never)).toThrow('redisExchange has no field "stream"');
  });
});
