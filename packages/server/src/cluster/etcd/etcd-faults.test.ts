/** The client and three real members, some of which are killed, paused or out of reach. */
import { type EtcdCluster, type EtcdProxies, startEtcd, startEtcdProxies, waitUntil } from '@sluice/test-servers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../environment.ts';
import { silent } from './etcd.test-support.ts';
import { type EtcdClient, etcdClient } from './etcd-client.ts';

let etcd: EtcdCluster;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const opened: { close?(): unknown; stop?(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await (one.close?.() ?? one.stop?.());
  for (const member of etcd.members) {
    if (member.state === 'paused') member.resume();
    if (member.state === 'ended') await member.start();
  }
  await etcd.waitUntilHealthy();
});

/** Much shorter than an election: some calls must fail. */
const timeoutMs = 300;

function open(endpoints: readonly string[] = etcd.endpoints): EtcdClient {
  const client = etcdClient({ endpoints, log: silent });
  opened.push(client);
  return client;
}

async function proxied(): Promise<EtcdProxies> {
  const proxies = await startEtcdProxies(etcd);
  opened.push(proxies);
  return proxies;
}

const nothing: Transaction = { compare: [], change: [], read: [] };
const put = (key: string, value = ''): Transaction => ({ ...nothing, change: [{ put: key, value }] });
const read = (key: string, isPrefix = false): Transaction => ({ ...nothing, read: [{ key, isPrefix }] });

const unavailable = { code: 'store-unavailable' };

async function answersAgain(client: EtcdClient): Promise<void> {
  await waitUntil('etcd answers again', async () => (await client.transact(nothing, timeoutMs)).succeeded);
}

/** Puts one key after the other until it is stopped, and knows which were acknowledged. */
function puttingLoop(client: EtcdClient, at: string) {
  const acknowledged: string[] = [];
  const failures: unknown[] = [];
  let isStopped = false;
  const ended = (async () => {
    for (let count = 0; !isStopped; count += 1) {
      const key = `${at}${count}`;
      try {
        await client.transact(put(key), timeoutMs);
        acknowledged.push(key);
      } catch (error) {
        failures.push(error);
      }
    }
  })();
  return {
    acknowledged,
    failures,
    more: (count: number) => {
      const enough = acknowledged.length + count;
      return waitUntil(`${count} more puts are acknowledged`, () => acknowledged.length >= enough);
    },
    stop: () => {
      isStopped = true;
      return ended;
    },
  };
}

async function keysAt(at: string): Promise<string[]> {
  const { found } = await open().transact(read(at, true), 20_000);
  return found[0]!.map(({ key }) => key);
}

describe('the leader, which the client talks to,', () => {
  test.each(['killed', 'paused'] as const)('is %s: no acknowledged put is lost, and others go on', async (fault) => {
    const at = `/${fault}/`;
    const leader = await etcd.leader();
    const others = etcd.members.filter((member) => member !== leader);
    const loop = puttingLoop(open([leader, ...others].map(({ endpoint }) => endpoint)), at);
    await loop.more(50);
    await (fault === 'killed' ? leader.kill() : leader.pause());
    await loop.more(50);
    if (fault === 'paused') leader.resume();
    else await leader.start();
    await loop.more(50);
    await loop.stop();
    expect(loop.failures.length).toBeGreaterThan(0);
    for (const failure of loop.failures) expect(failure).toMatchObject(unavailable);
    const keys = new Set(await keysAt(at));
    expect(loop.acknowledged.filter((key) => !keys.has(key))).toEqual([]);
  });

  test('is killed while clients count together: what was acknowledged counts once, what was not at most once', async () => {
    const key = '/count';
    await open().transact(put(key, '0'), 20_000);
    const counts: number[] = [];
    let unknown = 0;
    let isStopped = false;
    const countUp = async (client: EtcdClient) => {
      while (!isStopped) {
        try {
          const record = (await client.transact(read(key), timeoutMs)).found[0]![0]!;
          const next = Number(record.value) + 1;
          unknown += 1;
          const compare = [{ key, modRevision: record.modRevision }];
          const { succeeded } = await client.transact({ ...put(key, String(next)), compare }, timeoutMs);
          unknown -= 1;
          if (succeeded) counts.push(next);
        } catch (error) {
          expect(error).toMatchObject(unavailable);
        }
      }
    };
    const more = (enough: number) => waitUntil(`${enough} counts`, () => counts.length >= enough);
    const counting = etcd.endpoints.map((first) => {
      return countUp(open([first, ...etcd.endpoints.filter((other) => other !== first)]));
    });
    await more(50);
    await (await etcd.leader()).kill();
    await more(counts.length + 50);
    isStopped = true;
    await Promise.all(counting);
    const total = Number((await open().transact(read(key), 20_000)).found[0]![0]!.value);
    expect(new Set(counts).size).toBe(counts.length);
    expect(total).toBeGreaterThanOrEqual(counts.length);
    expect(total).toBeLessThanOrEqual(counts.length + unknown);
  });
});

test('a member that is paused costs one call, and then the next is asked', async () => {
  const [first, second] = etcd.members;
  const client = open([first!.endpoint, second!.endpoint]);
  await client.transact(nothing, 20_000);
  await first!.pause();
  await expect(client.transact(put('/late'), timeoutMs)).rejects.toMatchObject({
    ...unavailable,
    message: `etcd at ${first!.endpoint}: no answer within ${timeoutMs} ms. Whether the transaction happened is not known.`,
  });
  await answersAgain(client);
});

test.each(['killed', 'paused'] as const)(
  'all members %s: every call fails in its time, until they are back',
  async (fault) => {
    const client = open();
    await client.transact(nothing, 20_000);
    await Promise.all(etcd.members.map((member) => (fault === 'killed' ? member.kill() : member.pause())));
    for (let call = 0; call < 4; call += 1) {
      await expect(client.transact(put('/down'), timeoutMs)).rejects.toMatchObject(unavailable);
    }
    for (const member of etcd.members) await (fault === 'killed' ? member.start() : member.resume());
    await answersAgain(client);
  },
);

test('a majority that is away: what is left answers nobody', async () => {
  const [left, ...away] = etcd.members;
  await Promise.all(away.map((member) => member.kill()));
  const client = open([left!.endpoint]);
  const rows: Transaction[] = [
    nothing,
    { ...nothing, compare: [{ key: '/minority', modRevision: 0 }] },
    read('/minority'),
    put('/minority'),
  ];
  for (const row of rows) await expect(client.transact(row, timeoutMs)).rejects.toMatchObject(unavailable);
  for (const member of away) await member.start();
  await answersAgain(client);
});

describe('a client that is cut off', () => {
  test('hears nothing until the partition heals, while others are served', async () => {
    const proxies = await proxied();
    const client = open(proxies.endpoints);
    await client.transact(nothing, 20_000);
    proxies.blackhole();
    for (let call = 0; call < 4; call += 1) {
      await expect(client.transact(nothing, timeoutMs)).rejects.toMatchObject(unavailable);
    }
    expect((await open().transact(nothing, 20_000)).succeeded).toBe(true);
    proxies.resume();
    await answersAgain(client);
  });

  test('does not know that its transaction happened when the answer is lost, and has sent it once', async () => {
    const proxies = await proxied();
    const client = open(proxies.endpoints);
    const before = (await client.transact(put('/lost', 'first'), 20_000)).revision;
    for (const proxy of proxies.proxies) proxy.dropReplies();
    await expect(client.transact(put('/lost', 'second'), timeoutMs)).rejects.toThrow('is not known.');
    proxies.resume();
    const { revision, found } = await open().transact(read('/lost'), 20_000);
    expect(found[0]![0]).toMatchObject({ value: 'second', modRevision: before + 1 });
    expect(revision).toBe(before + 1);
  });
});

test('of clients that compare the same revision at different members, exactly one changes it', async () => {
  const key = '/contended';
  const clients = [...etcd.endpoints, ...etcd.endpoints].map((endpoint) => open([endpoint]));
  let current = (await clients[0]!.transact(put(key), 20_000)).revision;
  for (let round = 0; round < 20; round += 1) {
    const compare = [{ key, modRevision: current }];
    const outcomes = await Promise.all(
      clients.map((client, index) => client.transact({ ...put(key, `${round} ${index}`), compare }, 20_000)),
    );
    const winners = outcomes.flatMap(({ succeeded }, index) => (succeeded ? [`${round} ${index}`] : []));
    const record = (await clients[0]!.transact(read(key), 20_000)).found[0]![0]!;
    expect(winners).toEqual([record.value]);
    current = record.modRevision;
  }
});
