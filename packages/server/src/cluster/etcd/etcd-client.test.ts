import { cpSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EtcdCluster, startEtcd, waitUntil } from '@sluice/test-servers';
import { SluiceError } from 'sluice';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../environment.ts';
import { etcdConformance } from './conformance.test-support.ts';
import { silent } from './etcd.test-support.ts';
import { type EtcdClient, type EtcdClientOptions, etcdClient } from './etcd-client.ts';

let etcd: EtcdCluster;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

etcdConformance('etcd by its gateway', async () => {
  const client = etcdClient({ endpoints: etcd.endpoints, log: silent });
  return { etcd: client, close: () => client.close() };
});

const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function open(endpoints: readonly string[], options: Partial<EtcdClientOptions> = {}): EtcdClient {
  const client = etcdClient({ endpoints, log: silent, ...options });
  opened.push(client);
  return client;
}

const nothing: Transaction = { compare: [], change: [], read: [] };
const put = (key: string): Transaction => ({ ...nothing, change: [{ put: key, value: '' }] });

/** An address that nobody listens on. */
async function deafEndpoint(): Promise<string> {
  const server = await listen(() => {});
  const endpoint = endpointOf(server);
  await new Promise((resolve) => server.close(resolve));
  return endpoint;
}

const endpointOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** A server that answers as it is told, and counts what it was asked. What etcd never says is said by it. */
async function impostor(answer: (asked: number) => { status?: number; text: string } | undefined) {
  let asked = 0;
  const server = await listen((request, response) => {
    asked += 1;
    const said = answer(asked);
    request.resume();
    request.on('end', () => {
      if (said === undefined) response.destroy();
      else response.writeHead(said.status ?? 200).end(said.text);
    });
  });
  opened.push({ close: () => server.closeAllConnections() }, server);
  return { endpoint: endpointOf(server), asked: () => asked };
}

const header = (revision: number, clusterId = '7') => ({
  text: `{"header":{"cluster_id":"${clusterId}","revision":"${revision}"},"succeeded":true,"responses":[{}]}`,
});

describe('which member is asked', () => {
  test('one that refuses the connection is passed by at once, and not asked again', async () => {
    const seen: object[] = [];
    const deaf = await deafEndpoint();
    const log = { ...silent, info: (fields: object) => void seen.push(fields) };
    const client = open([deaf, etcd.endpoints[1]!], { log });
    expect((await client.transact(nothing, 10_000)).succeeded).toBe(true);
    expect((await client.transact(nothing, 10_000)).succeeded).toBe(true);
    expect(seen).toEqual([{ endpoint: etcd.endpoints[1], before: deaf, why: expect.stringContaining('ECONNREFUSED') }]);
  });

  test('when all refuse the connection, the error says that nothing happened', async () => {
    const client = open([await deafEndpoint(), await deafEndpoint()]);
    await expect(client.transact(nothing, 10_000)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/^etcd at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.* did not happen\.$/),
    });
  });

  test('what may have arrived is not sent again; the next call goes to the next member', async () => {
    const first = await impostor(() => undefined);
    const client = open([first.endpoint, etcd.endpoints[0]!]);
    await expect(client.transact(put('/once'), 10_000)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/is not known\.$/),
    });
    expect(first.asked()).toBe(1);
    expect((await client.transact(put('/once'), 10_000)).succeeded).toBe(true);
    expect(first.asked()).toBe(1);
  });

  test('a member that is not well is left, one that refuses the transaction is not', async () => {
    const unwell = await impostor(() => ({ status: 503, text: '{"message":"etcdserver: no leader","code":14}' }));
    const unwilling = await impostor(() => ({ status: 403, text: '{"message":"permission denied","code":7}' }));
    const client = open([unwell.endpoint, unwilling.endpoint]);
    await expect(client.transact(nothing, 10_000)).rejects.toThrow(/no leader.*is not known\.$/);
    await expect(client.transact(nothing, 10_000)).rejects.toThrow(/permission denied.*did not happen\.$/);
    await expect(client.transact(nothing, 10_000)).rejects.toThrow('permission denied');
    expect([unwell.asked(), unwilling.asked()]).toEqual([1, 2]);
  });

  test('an answer that makes no sense is not believed', async () => {
    const texts = [
      'hello',
      '[]',
      '{}',
      '{"header":{"cluster_id":"7"}}',
      '{"header":{"cluster_id":"7","revision":"x"}}',
    ];
    const server = await impostor((asked) => ({ text: texts[asked - 1]! }));
    const client = open([server.endpoint]);
    for (const _ of texts) await expect(client.transact(nothing, 10_000)).rejects.toThrow(/is not known\.$/);
  });

  test('an answer that lacks a reading is not believed', async () => {
    const server = await impostor(() => header(5));
    const client = open([server.endpoint]);
    const read = [{ key: 'a' }, { key: 'b' }];
    await expect(client.transact({ ...nothing, read }, 10_000)).rejects.toThrow('it answered 1 of 2 readings');
  });
});

describe('an etcd that has gone back', () => {
  /** It has nobody to wait for when it starts again. */
  const single = { members: 1, electionTimeoutMs: 100, heartbeatMs: 10 };
  const goneBack = {
    code: 'store-unsafe',
    message: expect.stringMatching(/^etcd has gone back: a backup was restored/),
  };

  test('is never trusted again once it has answered a change with an older revision', async () => {
    const server = await impostor((asked) => header([10, 9, 11][asked - 1]!));
    const client = open([server.endpoint]);
    expect((await client.transact(put('a'), 10_000)).revision).toBe(10);
    await expect(client.transact(put('a'), 10_000)).rejects.toMatchObject(goneBack);
    await expect(client.transact(put('a'), 10_000)).rejects.toMatchObject(goneBack);
    expect(server.asked()).toBe(2);
  });

  test('is not believed when a reading has an older revision, and the next member is asked from then on', async () => {
    const stale = await impostor((asked) => header([10, 9][asked - 1]!));
    const fresh = await impostor(() => header(10));
    const client = open([stale.endpoint, fresh.endpoint]);
    const read: Transaction = { ...nothing, read: [{ key: 'a' }] };
    expect((await client.transact(read, 10_000)).revision).toBe(10);
    await expect(client.transact(read, 10_000)).rejects.toMatchObject(goneBack);
    expect((await client.transact(read, 10_000)).revision).toBe(10);
    expect([stale.asked(), fresh.asked()]).toEqual([2, 1]);
  });

  test('is found out when a backup was put back', async () => {
    const alone = await startEtcd(single);
    const member = alone.members[0]!;
    const backup = `${member.dataFolder}-backup`;
    const restart = async (whileDown: () => void) => {
      await member.kill();
      whileDown();
      await member.start();
      await alone.waitUntilHealthy();
    };
    try {
      const client = open(alone.endpoints);
      await client.transact(put('/before'), 10_000);
      await restart(() => cpSync(member.dataFolder, backup, { recursive: true }));
      expect((await client.transact(put('/after'), 10_000)).succeeded).toBe(true);
      await restart(() => {
        rmSync(member.dataFolder, { recursive: true });
        cpSync(backup, member.dataFolder, { recursive: true });
      });
      const read: Transaction = { ...nothing, read: [{ key: '/after' }] };
      await expect(client.transact(read, 10_000)).rejects.toMatchObject(goneBack);
    } finally {
      await alone.stop();
    }
  });

  test('is not believed when it is another cluster', async () => {
    const [mine, other] = await Promise.all([startEtcd(single), startEtcd(single)]);
    try {
      const client = open([mine.endpoints[0]!, other.endpoints[0]!]);
      await client.transact(put('/mine'), 10_000);
      // Its revision gives it away no more than that of any cluster which has lived longer.
      for (const key of ['/a', '/b', '/c']) await open(other.endpoints).transact(put(key), 10_000);
      await mine.members[0]!.kill();
      // The first call may still go out on the connection to the one that was killed.
      await waitUntil('the other cluster is met', async () => {
        const failure = await client.transact(nothing, 10_000).catch((error) => error);
        expect(failure).toBeInstanceOf(SluiceError);
        return failure.code === goneBack.code;
      });
      await mine.members[0]!.start();
      await mine.waitUntilHealthy();
      expect((await client.transact(nothing, 10_000)).succeeded).toBe(true);
    } finally {
      await Promise.all([mine.stop(), other.stop()]);
    }
  });

  test('is not suspected because answers overtake each other', async () => {
    const held: (() => void)[] = [];
    const server = await listen((request, response) => {
      const revision = 20 + held.length;
      held.push(() => response.end(header(revision).text));
      request.resume();
    });
    opened.push({ close: () => server.close() });
    const client = open([endpointOf(server)]);
    const first = client.transact(put('a'), 10_000);
    const second = client.transact(put('b'), 10_000);
    await expect.poll(() => held.length).toBe(2);
    held[1]!();
    const revisions = [(await Promise.race([first, second])).revision];
    held[0]!();
    revisions.push(...(await Promise.all([first, second])).map(({ revision }) => revision));
    expect(revisions[0]).toBe(21);
    expect(revisions.slice(1).sort()).toEqual([20, 21]);
  });
});

describe('a client', () => {
  test('that is closed ends what is under way, and takes no more', async () => {
    const server = await listen((request) => request.resume());
    opened.push({ close: () => server.closeAllConnections() }, server);
    const client = open([endpointOf(server)]);
    const waiting = client.transact(nothing, 60_000);
    client.close();
    await expect(waiting).rejects.toThrow('the client was closed');
    await expect(client.transact(nothing, 60_000)).rejects.toThrow('This client of etcd is closed.');
  });

  const wrong: [what: string, options: Partial<EtcdClientOptions>, says: string][] = [
    ['no endpoint', { endpoints: [] }, 'endpoints must name a member of etcd'],
    ['no scheme', { endpoints: ['localhost:2379'] }, 'endpoints must be addresses such as'],
    ['a path', { endpoints: ['http://localhost:2379/v3'] }, 'endpoints must be addresses such as'],
    ['a user in an endpoint', { endpoints: ['http://a:secret@localhost:2379'] }, 'options of their own'],
    ['a user without a password', { username: 'ann' }, 'username and password must be given both'],
    ['a password without a user', { password: 'secret' }, 'username and password must be given both'],
    ['no certificate', { tls: { cert: 'secret', key: 'secret' } }, 'tls must be PEM texts that fit'],
  ];
  test.each(wrong)('is not made with %s', (_, options, says) => {
    const make = () => etcdClient({ endpoints: ['http://localhost:2379'], log: silent, ...options });
    expect(make).toThrow(says);
    expect(make).not.toThrow('secret');
  });
});
