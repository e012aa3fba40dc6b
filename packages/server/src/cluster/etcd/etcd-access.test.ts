/** Who may ask: users with passwords, and certificates. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EtcdCluster, startEtcd } from '@sluice/test-servers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Certificates, makeCertificates } from '../../service/certificates.test-support.ts';
import type { Transaction } from '../environment.ts';
import { silent } from './etcd.test-support.ts';
import { type EtcdClient, type EtcdClientOptions, etcdClient } from './etcd-client.ts';

const opened: EtcdClient[] = [];
afterEach(() => {
  for (const client of opened.splice(0)) client.close();
});

function open(endpoints: readonly string[], options: Partial<EtcdClientOptions> = {}): EtcdClient {
  const client = etcdClient({ endpoints, log: silent, ...options });
  opened.push(client);
  return client;
}

const timeoutMs = 20_000;
const put: Transaction = { compare: [], change: [{ put: '/key', value: '' }], read: [] };

describe('an etcd with users', () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd({ members: 1 });
    const member = etcd.members[0]!;
    await member.call('/v3/auth/user/add', { name: 'root', password: 'sesame' });
    await member.call('/v3/auth/role/add', { name: 'root' });
    await member.call('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await member.call('/v3/auth/user/add', { name: 'guest', password: 'please' });
    await member.call('/v3/auth/enable', {});
  });
  afterAll(() => etcd.stop());

  test('lets one in who knows the password', async () => {
    const client = open(etcd.endpoints, { username: 'root', password: 'sesame' });
    expect((await client.transact(put, timeoutMs)).succeeded).toBe(true);
    expect((await client.transact(put, timeoutMs)).succeeded).toBe(true);
  });

  const refused: [who: string, options: Partial<EtcdClientOptions>, says: string][] = [
    ['knows it not', { username: 'root', password: 'basil' }, 'invalid user ID or password'],
    ['nobody knows', { username: 'nobody', password: 'basil' }, 'invalid user ID or password'],
    ['may not do it', { username: 'guest', password: 'please' }, 'permission denied'],
    ['does not say who it is', {}, 'user name is empty'],
  ];
  test.each(refused)('turns one away who %s', async (_, options, says) => {
    const failure: Error = await open(etcd.endpoints, options)
      .transact(put, timeoutMs)
      .then(
        () => Promise.reject(new Error('It was let in.')),
        (error) => error,
      );
    expect(failure).toMatchObject({ code: 'store-unavailable', message: expect.stringContaining(says) });
    expect(failure.message).toMatch(/The transaction did not happen\.$/);
    expect(failure.message).not.toContain('basil');
  });

  test('that takes the token back is given the password again, in the same call', async () => {
    const client = open(etcd.endpoints, { username: 'root', password: 'sesame' });
    await client.transact(put, timeoutMs);
    // Whoever changes a password, be it to the same, ends all that was begun with it.
    const { token } = await etcd.members[0]!.call<{ token: string }>('/v3/auth/authenticate', {
      name: 'root',
      password: 'sesame',
    });
    const changed = await fetch(`${etcd.endpoints[0]}/v3/auth/user/changepw`, {
      method: 'POST',
      headers: { authorization: token },
      body: '{"name":"root","password":"sesame"}',
    });
    expect(changed.status).toBe(200);
    expect((await client.transact(put, timeoutMs)).succeeded).toBe(true);
  });
});

test('an etcd without users does not take a login', async () => {
  const etcd = await startEtcd({ members: 1 });
  try {
    const client = open(etcd.endpoints, { username: 'root', password: 'sesame' });
    await expect(client.transact(put, timeoutMs)).rejects.toThrow(
      'the login of root failed: etcdserver: authentication is not enabled',
    );
  } finally {
    await etcd.stop();
  }
});

test('many calls at once log in once, and a token that is turned away twice is not asked for a third time', async () => {
  const asked: string[] = [];
  let isTokenGood = true;
  const server = createServer((request, response) => {
    asked.push(request.url!);
    request.resume().on('end', () => {
      if (request.url === '/v3/auth/authenticate') response.end('{"token":"t"}');
      else if (isTokenGood)
        response.end('{"header":{"cluster_id":"7","revision":"1"},"succeeded":true,"responses":[{}]}');
      else response.writeHead(401).end('{"message":"etcdserver: invalid auth token","code":16}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = open([endpoint], { username: 'root', password: 'sesame' });
    await Promise.all(Array.from({ length: 20 }, () => client.transact(put, timeoutMs)));
    const logins = () => asked.filter((path) => path === '/v3/auth/authenticate').length;
    expect([logins(), asked.length]).toEqual([1, 21]);
    isTokenGood = false;
    asked.length = 0;
    await expect(client.transact(put, timeoutMs)).rejects.toThrow('invalid auth token');
    expect([logins(), asked.length]).toEqual([1, 3]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe('an etcd with certificates', () => {
  let etcd: EtcdCluster;
  let certificates: Certificates;
  let ca: string;
  beforeAll(async () => {
    certificates = await makeCertificates();
    ca = certificates.ca.toString();
    etcd = await startEtcd({ tls: { ca, ...texts('server') } });
  });
  afterAll(() => etcd.stop());

  const texts = (of: 'server' | 'client' | 'stranger') => ({
    cert: certificates[of].cert.toString(),
    key: certificates[of].key.toString(),
  });

  test('is asked by one who shows a certificate of the same authority', async () => {
    expect(etcd.endpoints[0]).toMatch(/^https:/);
    const client = open(etcd.endpoints, { tls: { ca, ...texts('client') } });
    expect((await client.transact(put, timeoutMs)).succeeded).toBe(true);
    expect((await client.transact(put, timeoutMs)).succeeded).toBe(true);
  });

  test('takes no one who shows none, or a stranger’s', async () => {
    for (const tls of [{ ca }, { ca, ...texts('stranger') }]) {
      await expect(open(etcd.endpoints, { tls }).transact(put, timeoutMs)).rejects.toMatchObject({
        code: 'store-unavailable',
      });
    }
  });

  test('is not believed by one who does not know its authority', async () => {
    const client = open(etcd.endpoints, { tls: texts('client') });
    await expect(client.transact(put, timeoutMs)).rejects.toThrow(/self-signed certificate|unable to verify/);
  });
});
