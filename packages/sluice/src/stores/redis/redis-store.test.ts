import { type RedisServer, startRedis } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as IovalkeyRedis } from 'iovalkey';
import { createClient, RESP_TYPES } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { memoryStore } from '../memory/memory-store.ts';
import type { Check } from '../store.ts';
import { type Connected, freshPrefix, standaloneClients } from './clients.test-support.ts';
import type { RedisClient } from './connection.ts';
import { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.ts';

const hourly = fixedWindow({ limit: 10, window: '1h', align: 'first' });
const strict = slidingLog({ limit: 10, window: '1h' });

let server: RedisServer;
let connected: Connected;
let prefix: string;
beforeAll(async () => {
  server = await startRedis();
  connected = await standaloneClients['ioredis 6'](server);
});
afterAll(async () => {
  connected.close();
  await server.stop();
});
beforeEach(() => {
  prefix = freshPrefix();
});

function begin(options: Partial<RedisStoreOptions> = {}): RedisStore {
  return redisStore({ client: connected.client, prefix, ...options });
}

function check(fields: Partial<Check> = {}): Check {
  return { name: 'rule', key: 'key', policy: hourly, cost: 1, ...fields };
}

/** What is left of a limit of 10. */
async function left(fields: Partial<Check> = {}): Promise<number> {
  const [decision] = await begin().apply([check({ ...fields, operation: 'peek', cost: 0 })]);
  return (decision as Decision).remaining;
}

/** How often a command was called while something happened. */
async function counting(happening: () => Promise<unknown>): Promise<Record<string, number>> {
  await server.call('CONFIG', 'RESETSTAT');
  await happening();
  const stats = await server.call<string>('INFO', 'commandstats');
  return Object.fromEntries(
    [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, command = '', calls]) => [command, Number(calls)]),
  );
}

describe('the script', () => {
  it('is called by its hash, and sent in full only where the server does not know it', async () => {
    await server.call('SCRIPT', 'FLUSH');
    expect(await counting(() => begin().apply([check()]))).toMatchObject({ evalsha: 1, eval: 1 });
    const again = await counting(() => begin().apply([check()]));
    expect(again).toMatchObject({ evalsha: 1 });
    expect(again).not.toHaveProperty('eval');
    await server.call('SCRIPT', 'FLUSH');
    expect(await counting(() => begin().apply([check()]))).toMatchObject({ evalsha: 1, eval: 1 });
    expect(await left()).toBe(7);
  });

  it('takes over a key whose state is of an algorithm that it does not have', async () => {
    const store = begin();
    await store.apply([check({ cost: 4, policy: gcra({ limit: 10, window: '1h' }) })]);
    const [bucket] = await store.apply([check({ cost: 1, policy: tokenBucket({ limit: 10, window: '1h' }) })]);
    expect(bucket).toMatchObject({ allowed: true, remaining: 5 });
    const [leases] = await store.apply([check({ policy: concurrency({ limit: 10, lease: '1h' }) })]);
    expect(leases).toMatchObject({ allowed: true, remaining: 4 });
    const [log] = await store.apply([check({ policy: strict })]);
    // What was used before, nobody wrote down exactly: all of the window counts as spent.
    expect(log).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe('a server that is too old', () => {
  it('is named where it does not know an option', async () => {
    // As none knows this one.
    const old = new Proxy(connected.client as Redis, {
      get: (client, name) =>
        name === 'call'
          ? async (command: string, ...args: string[]) => {
              if (command === 'EVALSHA') throw new Error('NOSCRIPT');
              return client.call(command, ...args.map((arg) => arg.replaceAll("'KEEPTTL'", "'NO_TTL'")));
            }
          : Reflect.get(client, name),
    });
    const store = begin({ client: old });
    const bucket = check({ policy: gcra({ limit: 1000, window: '1m' }) });
    for (let count = 0; count < 2; count += 1) await store.apply([bucket]);
    await expect(store.apply([bucket])).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/ERR syntax error.*Redis 6\.0 or later is needed\.$/),
    });
  });
});

describe('batches of one turn', () => {
  it('travel in one call', async () => {
    const store = begin();
    await store.apply([check()]);
    const answers: Decision[][] = [];
    const calls = await counting(async () => {
      answers.push(
        ...(await Promise.all(Array.from({ length: 5 }, (_, i) => store.apply([check({ key: `key-${i % 2}` })])))),
      );
    });
    expect(calls).toMatchObject({ evalsha: 1 });
    // Each is answered after those before it.
    expect(answers.map(([decision]) => decision?.remaining)).toEqual([9, 9, 8, 8, 7]);
  });

  it('travel in as many calls as mostTogether makes of them', async () => {
    for (const [mostTogether, expected] of [
      [64, 4],
      [100, 2],
      [1, 200],
    ] as const) {
      const store = begin({ mostTogether });
      await store.apply([check()]);
      const all = () => Array.from({ length: 200 }, (_, i) => store.apply([check({ key: `key-${i}` })]));
      expect(await counting(() => Promise.all(all()))).toMatchObject({ evalsha: expected });
    }
  });

  it('are refused and allowed one by one: what one takes, the next does not have', async () => {
    const store = begin();
    const answers = await Promise.all(Array.from({ length: 15 }, () => store.apply([check()])));
    expect(answers.filter(([decision]) => decision?.allowed)).toHaveLength(10);
    const mixed = await Promise.all([
      store.apply([check({ key: 'a', cost: 6 }), check({ key: 'b' })]),
      store.apply([check({ key: 'b' }), check({ key: 'a', cost: 6 })]),
      store.apply([check({ key: 'a', cost: 4 }), check({ key: 'b', cost: 9 })]),
    ]);
    expect(mixed.map((decisions) => decisions.every(({ allowed }) => allowed))).toEqual([true, false, true]);
  });

  // Nothing drains within the test, so that what the server's clock says makes no difference.
  it.each([
    ['buckets', gcra({ limit: 3, window: '30d' }), tokenBucket({ limit: 2, window: '30d' })],
    ['buckets that never have room', gcra({ limit: 3, window: '30d' }), gcra({ limit: 1, window: '30d', burst: 0.5 })],
    ['a bucket and a log', gcra({ limit: 3, window: '30d' }), slidingLog({ limit: 2, window: '30d' })],
  ])(
    'of several %s decide as they would one after the other, also those that share a key',
    async (_, first, second) => {
      const store = begin();
      const memory = memoryStore();
      const random = seededRandom(inject('propertySeed'));
      const drawn = (count: number) => String(Math.floor(random() * count));
      const batches = Array.from({ length: 200 }, () => [
        check({ name: 'first', key: drawn(30), policy: first }),
        check({ name: 'second', key: drawn(60), policy: second }),
      ]);
      const told = ({ allowed, remaining, retryAfterMs, reason }: Decision) => ({
        allowed,
        remaining,
        never: retryAfterMs === Number.POSITIVE_INFINITY,
        reason,
      });
      for (const together of [batches.slice(0, 100), batches.slice(100)]) {
        const decisions = await Promise.all(together.map((batch) => store.apply(batch)));
        const expected = together.map((batch) => memory.apply(batch).map(told));
        expect(decisions.map((decision) => decision.map(told))).toEqual(expected);
      }
    },
  );

  it('find what a key used under other numbers, however alike they look', async () => {
    const store = begin();
    const five = limiter(gcra({ limit: 5, window: '30d' }), { store, name: 'rule' });
    const six = limiter(gcra({ limit: 6, window: '30d' }), { store, name: 'rule' });
    await Promise.all(Array.from({ length: 5 }, () => five.check('key')));
    expect(await six.check('key')).toMatchObject({ allowed: true, remaining: 0 });
    expect(await six.check('key')).toMatchObject({ allowed: false });
  });

  it('of different algorithms are all answered', async () => {
    const store = begin();
    const answers = await Promise.all([
      store.apply([check({ name: 'a' })]),
      store.apply([check({ name: 'b', policy: strict })]),
      store.apply([check({ name: 'c', policy: gcra({ limit: 10, window: '1h' }) })]),
      store.apply([check({ name: 'd', policy: smooth({ limit: 10, window: '1h' }) }), check({ name: 'a' })]),
    ]);
    expect(answers.flat().map(({ allowed }) => allowed)).toEqual([true, true, true, true, true]);
  });

  it('that cannot be sent fail together, and later ones do not', async () => {
    const store = begin();
    await expect(store.apply([check({ key: 5 as unknown as string })])).rejects.toThrow('key must be a string, got 5');
    await expect(store.apply([check({ cost: Number.NaN })])).rejects.toThrow('cost must be a finite number');
    expect(await store.apply([])).toEqual([]);
    expect((await store.apply([check()]))[0]?.allowed).toBe(true);
  });
});

describe('a request id', () => {
  it('gives the answer it gave before, and is counted once', async () => {
    const store = begin();
    const first = await store.apply([check({ cost: 3 })], undefined, 'one');
    expect(await store.apply([check({ cost: 3 })], undefined, 'one')).toEqual(first);
    expect(await begin().apply([check({ cost: 3 })], undefined, 'one')).toEqual(first);
    expect(await left()).toBe(7);
    await store.apply([check({ cost: 3 })], undefined, 'two');
    expect(await left()).toBe(4);
  });

  it('is counted once when it comes twice in the same turn', async () => {
    const store = begin();
    const [one, again] = await Promise.all([
      store.apply([check({ cost: 3 })], undefined, 'one'),
      store.apply([check({ cost: 3 })], undefined, 'one'),
      store.apply([check({ cost: 2 })]),
    ]);
    expect(again).toEqual(one);
    expect(await left()).toBe(5);
  });

  it('gives the refusal again that it gave before, even when there is room by then', async () => {
    const store = begin();
    await store.apply([check({ cost: 9 })]);
    const refused = await store.apply([check({ cost: 3 })], undefined, 'one');
    expect(refused[0]).toMatchObject({ allowed: false, reason: 'limit' });
    await store.apply([check({ operation: 'reset', cost: 0 })]);
    expect(await store.apply([check({ cost: 3 })], undefined, 'one')).toEqual(refused);
    expect(await left()).toBe(10);
  });

  it('gives the receipt again', async () => {
    const store = begin();
    const [reserved] = await store.apply([check({ operation: 'reserve', cost: 3 })], undefined, 'one');
    const [again] = await store.apply([check({ operation: 'reserve', cost: 3 })], undefined, 'one');
    expect(again?.receipt).toEqual(reserved?.receipt);
    await store.apply([check({ operation: 'settle', cost: 3, actual: 0, receipt: again!.receipt! })]);
    expect(await left()).toBe(10);
  });

  it('is one caller’s: the same one about another key is another request', async () => {
    const store = begin();
    await store.apply([check()], undefined, 'one');
    await store.apply([check({ key: 'other' })], undefined, 'one');
    expect([await left(), await left({ key: 'other' })]).toEqual([9, 9]);
  });

  it('of another batch is another request', async () => {
    const store = begin();
    await store.apply([check(), check({ name: 'two' })], undefined, 'one');
    const others = [{}, { name: 'other' }, { key: 'other' }, { cost: 2 }, { operation: 'reserve' as const }];
    for (const other of others) {
      const [decision] = await store.apply([check(other)], undefined, 'one');
      const [peeked] = await store.apply([check({ ...other, operation: 'peek', cost: 0 })]);
      expect(decision?.remaining).toBe(peeked?.remaining);
    }
    const [left] = await store.apply([check({ operation: 'peek', cost: 0 })]);
    expect(left?.remaining).toBe(10 - 1 - 1 - 2 - 1);
  });

  it('is remembered for as long as the store was told', async () => {
    await begin({ replay: '5m' }).apply([check()], undefined, 'one');
    const expiryMs = await expiryOf('one');
    expect(expiryMs).toBeGreaterThan(290_000);
    expect(expiryMs).toBeLessThanOrEqual(300_000);
  });

  it('is remembered for as long as Redis can count, where that is less than the store was told', async () => {
    const [decision] = await begin({ replay: Number.MAX_VALUE }).apply([check()], undefined, 'one');
    expect(decision?.remaining).toBe(9);
    expect(await expiryOf('one')).toBeGreaterThan(2 ** 51);
  });

  it('that settles is remembered for as long as it might be settled otherwise, whatever that one says', async () => {
    const store = begin();
    const [held] = await store.apply([check({ operation: 'reserve', cost: 5 })]);
    const settle = (actual: number, durationMs: number) =>
      store.apply(
        [check({ operation: 'settle', cost: 5, receipt: held?.receipt, actual, durationMs })],
        undefined,
        'settled',
      );
    await settle(4, 600_000);
    expect(await expiryOf('settled')).toBeGreaterThan(650_000);
    expect((await settle(0, 500_000))[0]?.remaining).toBe(6);
  });

  async function expiryOf(requestId: string): Promise<number> {
    const [answer] = (await server.call<string[]>('KEYS', `${prefix}*"${requestId}"*`)) as [string];
    return server.call<number>('PTTL', answer);
  }

  it('must be a text', async () => {
    for (const id of ['', 5 as unknown as string]) {
      await expect(begin().apply([check()], undefined, id)).rejects.toThrow('requestId must be a text');
    }
  });
});

describe('a receipt', () => {
  it('from before a reset is void, also when all happens in one turn', async () => {
    const store = begin();
    const [before, , after] = await Promise.all([
      store.apply([check({ operation: 'reserve', cost: 3 })]),
      store.apply([check({ operation: 'reset', cost: 0 })]),
      store.apply([check({ operation: 'reserve', cost: 4 })]),
    ]);
    await store.apply([check({ operation: 'settle', cost: 3, actual: 0, receipt: before![0]!.receipt! })]);
    expect(await left()).toBe(6);
    await store.apply([check({ operation: 'settle', cost: 4, actual: 0, receipt: after![0]!.receipt! })]);
    expect(await left()).toBe(10);
  });

  it('of another policy is void, also before the key was charged under the new one', async () => {
    const store = begin();
    for (const [key, other] of [
      ['a', tokenBucket({ limit: 10, window: '30s' })],
      ['b', gcra({ limit: 10, window: '2h' })],
      ['c', smooth({ limit: 10, window: '1h' })],
      ['d', fixedWindow({ limit: 10, window: '2h', align: 'first' })],
    ] as const) {
      const policy = key === 'a' || key === 'c' ? strict : key === 'b' ? gcra({ limit: 10, window: '1h' }) : hourly;
      const [reserved] = await store.apply([check({ key, policy, operation: 'reserve', cost: 6 })]);
      const peek = check({ key, policy: other, operation: 'peek', cost: 0 });
      const [before] = await store.apply([peek]);
      const settle = { operation: 'settle', cost: 6, actual: 0, receipt: reserved!.receipt! } as const;
      await store.apply([check({ key, policy: other, ...settle })]);
      const [after] = await store.apply([peek]);
      expect(after?.remaining).toBe(before?.remaining);
    }
  });
});

describe('options', () => {
  const bad: [options: object, message: string][] = [
    [{ client: undefined }, 'client must be an ioredis, iovalkey or node-redis client, got undefined'],
    [{ client: {} }, 'client must be an ioredis, iovalkey or node-redis client, got {}'],
    [
      { client: 'redis://localhost' },
      'client must be an ioredis, iovalkey or node-redis client, got "redis://localhost"',
    ],
    [{ prefix: 5 }, 'prefix must be a string, got 5'],
    [{ prefix: '{}:' }, 'prefix must be'],
    [{ mostTogether: 0 }, 'mostTogether must be'],
    [{ mostTogether: 1.5 }, 'mostTogether must be a whole number above 0, got 1.5'],
    [{ replay: 'soon' }, 'replay must be'],
    [{ replay: 0 }, 'replay must be'],
    [{ fenced: { deadline: '25d' } }, 'deadline must be at most 2147483647 ms, got "25d"'],
    [{ clock: {} }, 'clock must be'],
    [{ prefx: 'a' }, 'redisStore options has no field "prefx"'],
  ];
  it.each(bad)('%j: %s', (options, message) => {
    const given = { client: connected.client, ...options } as RedisStoreOptions;
    expect(() => redisStore(given)).toThrow(message);
    try {
      redisStore(given);
    } catch (error) {
      expect(error).toMatchObject({ name: 'SluiceError', code: 'invalid-option' });
    }
  });
});

describe('a client that', () => {
  const { host, port } = { host: '127.0.0.1', port: 1 };

  function refusedFor(client: RedisClient & { disconnect(): void }): string {
    try {
      redisStore({ client });
    } catch (error) {
      return (error as Error).message;
    } finally {
      client.disconnect();
    }
    return 'accepted';
  }

  it('would send calls again after a lost connection is refused', () => {
    expect(refusedFor(new Redis({ host, port, lazyConnect: true }))).toBe(
      'autoResendUnfulfilledCommands of the client must be false, got true. After a lost connection the client would send calls again that the server may have counted already.',
    );
    expect(refusedFor(new Redis.Cluster([{ host, port }], { lazyConnect: true }))).toMatch(
      /^retryDelayOnFailover of the client must be 0, got 100\. After a lost connection/,
    );
  });

  it('would put a prefix of its own before the keys is refused', () => {
    const options = { host, port, lazyConnect: true, autoResendUnfulfilledCommands: false };
    expect(refusedFor(new Redis({ ...options, keyPrefix: 'mine:' }))).toBe(
      'keyPrefix of the client must be left out, got "mine:". Give it to redisStore({ prefix }) instead.',
    );
    const cluster = { lazyConnect: true, retryDelayOnFailover: 0 };
    for (const own of [{ keyPrefix: 'mine:' }, { redisOptions: { keyPrefix: 'mine:' } }]) {
      expect(refusedFor(new Redis.Cluster([{ host, port }], { ...cluster, ...own } as object))).toContain(
        'keyPrefix of the client must be left out, got "mine:"',
      );
    }
  });

  it('would put calls together by itself is refused', () => {
    const own = { lazyConnect: true, enableAutoPipelining: true };
    const message =
      'enableAutoPipelining of the client must be false, got true. After a lost answer it would send no more calls. Give the store a client without it: it puts calls together itself.';
    const one = { host, port, autoResendUnfulfilledCommands: false, ...own };
    const cluster = { retryDelayOnFailover: 0, ...own };
    const clients = [
      ...[new Redis(one), new Redis5(one), new IovalkeyRedis(one)],
      new Redis.Cluster([{ host, port }], cluster),
      new Redis5.Cluster([{ host, port }], cluster),
      new IovalkeyRedis.Cluster([{ host, port }], cluster),
    ];
    for (const client of clients) expect(refusedFor(client)).toBe(message);
  });

  it('gives numbers as texts, or texts as bytes, is understood', async () => {
    const texts = new Redis(server.port, server.host, { autoResendUnfulfilledCommands: false, stringNumbers: true });
    const plain = await createClient({ url: `redis://${server.host}:${server.port}` }).connect();
    const bytes = plain.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    for (const client of [texts, bytes] as RedisClient[]) {
      prefix = freshPrefix();
      const store = begin({ client });
      expect((await store.apply([check()]))[0]).toMatchObject({ allowed: true, remaining: 9 });
      expect((await store.apply([check({ operation: 'take', cost: 20 })]))[0]).toMatchObject({ granted: 9 });
      expect((await store.apply([check()]))[0]).toMatchObject({ allowed: false, reason: 'limit' });
      await store.apply([check({ operation: 'block', durationMs: 1000, cost: 0 })]);
      expect((await store.apply([check()]))[0]).toMatchObject({ allowed: false, reason: 'blocked' });
      // Another algorithm, which the script has to be told of.
      expect((await store.apply([check({ policy: strict, operation: 'peek' })]))[0]?.allowed).toBe(false);
    }
    texts.disconnect();
    plain.destroy();
  });
});

describe('somebody else’s value under a key of ours', () => {
  /** Lua's way to write bytes, since a text would be sent as UTF-8. */
  const bytes = (lua: string) => ['EVAL', `return redis.call('SET', KEYS[1], '${lua}')`, 1];
  const garbage: [what: string, command: (string | number)[], value: string][] = [
    ['a list', ['RPUSH'], 'value'],
    ['a set', ['SADD'], 'value'],
    ['a word', ['SET'], 'hello'],
    ['a number', ['SET'], '42'],
    ['nothing', ['SET'], ''],
    ['JSON', ['SET'], '{"count":1}'],
    ['a message pack of nil', bytes('\\192'), ''],
    ['a message pack of true', bytes('\\195'), ''],
    ['a message pack of a list', bytes('\\145\\1'), ''],
    ['half a message pack', bytes('\\203\\1'), ''],
    ['the code of an algorithm and nothing more', bytes('\\1'), ''],
    ['the code of a log and something else', bytes('\\10this is not a log, but long enough'), ''],
    ['a block without an end', bytes('\\0'), ''],
  ];
  it.each(garbage)('%s is a clear error, and stays as it is', async (_what, [command = '', ...args], value) => {
    const key = `${prefix}{key}rule`;
    await server.call(String(command), ...args, key, value);
    const before = await server.call('DUMP', key);
    for (const policy of [hourly, strict, gcra({ limit: 10, window: '1h' }), concurrency({ limit: 3 })]) {
      await expect(begin().apply([check({ policy })])).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringMatching(/Redis|unknown algorithm/),
      });
    }
    expect(await server.call('DUMP', key)).toEqual(before);
    // Nothing was charged to the other key of the batch either.
    await expect(begin().apply([check({ name: 'other' }), check()])).rejects.toMatchObject({
      code: 'store-unavailable',
    });
    expect(await left({ name: 'other' })).toBe(10);
    await server.call('DEL', key);
    expect((await begin().apply([check()]))[0]?.allowed).toBe(true);
  });
});

describe('a server without memory', () => {
  it('is an error, and of a batch of two keys nothing is written', async () => {
    const small = await startRedis({ config: { 'maxmemory-policy': 'noeviction' } });
    const { client, close } = await standaloneClients['ioredis 6'](small);
    const store = begin({ client });
    await store.apply([check({ key: 'old', cost: 2 })]);
    const both = [check({ key: 'old' }), check({ key: 'new' })];
    const used = Number((await small.call<string>('INFO', 'memory')).match(/used_memory:(\d+)/)?.[1]);
    await small.call('CONFIG', 'SET', 'maxmemory', Math.floor(used / 2));
    for (const batch of [both, [...both].reverse(), [check({ key: 'new' })]]) {
      await expect(store.apply(batch)).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringContaining('OOM'),
      });
    }
    await small.call('CONFIG', 'SET', 'maxmemory', 0);
    const [old, fresh] = await store.apply(both.map((each) => ({ ...each, operation: 'peek' as const, cost: 0 })));
    expect([old?.remaining, fresh?.remaining]).toEqual([8, 10]);
    close();
    await small.stop();
  });
});

describe('the time', () => {
  it('is the server’s: clients an hour apart see one truth', async () => {
    const here = begin({ clock: new TestClock(Date.now()) });
    const there = begin({ clock: new TestClock(Date.now() + 3_600_000) });
    const policy = slidingLog({ limit: 4, window: '10m' });
    for (const [store, remaining] of [
      [here, 3],
      [there, 2],
      [here, 1],
      [there, 0],
    ] as const) {
      expect((await store.apply([check({ policy })]))[0]).toMatchObject({ allowed: true, remaining });
    }
    for (const store of [here, there]) {
      const [refused] = await store.apply([check({ policy })]);
      expect(refused?.allowed).toBe(false);
      expect(refused?.retryAfterMs).toBeGreaterThan(590_000);
      expect(refused?.retryAfterMs).toBeLessThanOrEqual(600_000);
    }
  });

  it('since when a limiter was idle, and a policy in force, is told by how long ago that was', async () => {
    const clock = new TestClock(5_000_000);
    const store = begin({ clock });
    const policy = smooth({ limit: 10, window: '1h', maxBurst: 5 });
    // Idle for half an hour by the client's clock, whatever that shows: five permits are stored.
    const [decision] = await store.apply([
      check({ policy, operation: 'peek', sinceMs: 5_000_000 - 1_800_000, cost: 0 }),
    ]);
    expect(decision?.remaining).toBe(6);
    // Half of the hour's ten had drained when the policy changed, and at the new rate nothing since.
    const before = gcra({ limit: 10, window: '1h' });
    const after = gcra({ limit: 20, window: '10h', burst: 10 });
    await store.apply([check({ policy: before, cost: 10 })]);
    clock.advance(1_800_000);
    const [changed] = await store.apply([
      check({ policy: after, operation: 'peek', cost: 0, sinceMs: 1, changedMs: clock.now() }),
    ]);
    // By the server's clock no time has passed, so nothing has drained.
    expect(changed?.remaining).toBe(0);
  });

  it('of the caller must be a time', async () => {
    await expect(begin().apply([check()], Number.NaN)).rejects.toThrow('atMs must be milliseconds since the epoch');
  });
});

describe('a debt longer than Redis can count', () => {
  it('is remembered, and what else is in the batch too', async () => {
    const store = begin();
    const slow = gcra({ limit: 1, window: '30d' });
    await store.apply([
      check({ key: 'a', operation: 'penalize' }),
      check({ key: 'b', policy: slow, operation: 'penalize', cost: 2 ** 50 }),
      check({ key: 'c', operation: 'penalize' }),
    ]);
    expect([await left({ key: 'a' }), await left({ key: 'c' })]).toEqual([9, 9]);
    const [refused] = await store.apply([check({ key: 'b', policy: slow })]);
    expect(refused?.allowed).toBe(false);
    expect(refused?.retryAfterMs).toBeGreaterThan(2 ** 50 * 2_000_000_000);
    expect(refused?.resetAfterMs).toBeGreaterThanOrEqual(refused?.retryAfterMs ?? 0);
  });
});

describe('keys and names', () => {
  const odd = [
    '',
    ' ',
    '%',
    '%%',
    '%25',
    '%7b',
    '{',
    '}',
    '{}',
    '{a}',
    'a',
    'a}b',
    '}{',
    'a\nb',
    'a\r\nb',
    '\n',
    '\0',
    '+1 1 1',
    'each',
    'a b',
    'request=1',
    'ä',
    'a\u0308',
    '日本語',
    '🚦',
    '\ud83d',
    '\ud83e',
    '\ufffd',
    'x'.repeat(10_000),
    `${'x'.repeat(9_999)}y`,
    '__proto__',
    'constructor',
  ];

  it('of any characters are different, one from another', async () => {
    const store = begin();
    const pairs = [
      ...odd.map((key) => ({ key, name: 'rule' })),
      ...odd.map((name) => ({ key: 'key', name })),
      ...odd.map((both) => ({ key: both, name: both })),
    ];
    // Each with a cost of its own, all in one turn and then each alone.
    await Promise.all(pairs.map((pair, i) => store.apply([check({ ...pair, cost: i / 128 })])));
    for (const [i, pair] of pairs.entries()) {
      const [taken] = await store.apply([check({ ...pair, operation: 'take', cost: 10 })]);
      expect([pair, taken?.granted]).toEqual([pair, i === 0 ? 10 : Math.floor(10 - i / 128)]);
    }
  });

  it('of any characters go with any request id', async () => {
    const store = begin();
    for (const id of odd.filter((each) => each !== '')) {
      const batch = [check({ key: id, name: id }), check({ key: 'key', name: id })];
      const first = await store.apply(batch, undefined, id);
      expect(await store.apply(batch, undefined, id)).toEqual(first);
      expect(first.map(({ remaining }) => remaining)).toEqual([9, 9]);
    }
  });
});

describe('limiters and rules', () => {
  it('work over Redis as over memory, but later', async () => {
    const api = limiter(gcra({ limit: 3, window: '1h' }), { store: begin(), name: 'api' });
    expect(await api.allow('alice')).toBe(true);
    expect((await api.peek('alice')).remaining).toBe(1);
    const reservation = await api.reserve('alice', 2);
    expect(await api.allow('alice')).toBe(false);
    await reservation.cancel();
    expect(await api.allow('alice')).toBe(true);
    const both = rules(
      [
        { name: 'user', policy: fixedWindow({ limit: 2, window: '1h' }), key: 'user' },
        { name: 'all', policy: slidingLog({ limit: 3, window: '1h' }), key: 'all' },
      ],
      { store: begin() },
    );
    const allowed = [];
    for (const user of ['a', 'a', 'a', 'b', 'b']) allowed.push((await both.check({ user, all: 'all' })).allowed);
    expect(allowed).toEqual([true, true, false, true, false]);
  });

  it('hold leases over Redis', async () => {
    const jobs = limiter(concurrency({ limit: 2, lease: '1h' }), { store: begin(), name: 'jobs' });
    const [one, two, three] = await Promise.all([jobs.acquire('key'), jobs.acquire('key'), jobs.acquire('key')]);
    expect([one.allowed, two.allowed, three.allowed]).toEqual([true, true, false]);
    expect(await one.renew()).toBe(true);
    expect(await one.release()).toBe(true);
    expect(await one.release()).toBe(false);
    expect((await jobs.acquire('key')).allowed).toBe(true);
  });
});

describe('more places than Redis can count', () => {
  it('are never fewer than none', async () => {
    const policy = concurrency({ limit: 1e19 });
    const [decision] = await begin().apply([check({ policy, operation: 'acquire' })]);
    expect(decision).toMatchObject({ allowed: true, remaining: 1e19 });
  });
});

describe('many callers of one store', () => {
  it('who changes tier keeps what was used and no more, also where another process served the other tier', async () => {
    const tiers = { free: slidingLog({ limit: 1, window: '1m' }), paid: slidingLog({ limit: 1000, window: '1h' }) };
    const processes = [begin(), begin()].map((store) => rules([{ name: 'plan', key: 'user', tiers }], { store }));
    await processes[0]!.check({ user: 'alice', tier: 'free' });
    const { allowed, tightest } = await processes[1]!.check({ user: 'alice', tier: 'paid' });
    expect([allowed, tightest?.remaining]).toEqual([true, 998]);
  });

  it.each([
    ['of another type', 'HSET', ['field', 'value']],
    ['that begins as if it were ours', 'SET', ['42']],
  ])(
    'somebody else’s value %s under one key fails that key only, and is left as it is',
    async (_what, command, value) => {
      const store = begin();
      const limit = limiter(gcra({ limit: 10, window: '1h' }), { store, name: 'shared' });
      await limit.check('bad');
      const [key] = (await server.call<string[]>('KEYS', `${prefix}*{bad}shared`)) as [string];
      await server.call('DEL', key);
      await server.call(command, key, ...value);
      const held = await server.call('DUMP', key);
      const [before, bad, after] = await Promise.allSettled(['a', 'bad', 'b'].map((each) => limit.check(each)));
      expect(before).toMatchObject({ status: 'fulfilled', value: { remaining: 9 } });
      expect(after).toMatchObject({ status: 'fulfilled', value: { remaining: 9 } });
      expect((bad as PromiseRejectedResult).reason.message).toContain(key);
      expect(await server.call('DUMP', key)).toEqual(held);
    },
  );
});
