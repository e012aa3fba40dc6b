/** Clients as they are: whatever they send on connecting, over plain TCP, with a token, and over TLS. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureDebianPackage } from '@sluice/test-servers';
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import { Redis as Valkey, Cluster as ValkeyCluster } from 'iovalkey';
import { createClient as createClient6, createCluster as createCluster6 } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis-5';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Certificates, makeCertificates } from '../service/certificates.test-support.ts';
import { openDoor, rawClient, rawTlsClient } from './resp-door.test-support.ts';

const run = promisify(execFile);
const token = 'open sesame';
const throttled = [0, 16, 15, -1, 2];

let certificates: Certificates;
let folder: string;

beforeAll(async () => {
  await ensureDebianPackage('redis-cli', ['redis-tools']);
  certificates = await makeCertificates();
  folder = mkdtempSync(join(tmpdir(), 'sluice-resp-'));
  for (const [name, bytes] of Object.entries({
    'ca.crt': certificates.ca,
    'client.crt': certificates.client.cert,
    'client.key': certificates.client.key,
  })) {
    writeFileSync(join(folder, name), bytes);
  }
  return () => rmSync(folder, { recursive: true });
});

const ways = ['plain', 'token', 'tls', 'mutual tls and token'] as const;
type Way = (typeof ways)[number];

const hasToken = (way: Way) => way.includes('token');
const hasTls = (way: Way) => way.includes('tls');

async function doorFor(way: Way) {
  const ca = way.includes('mutual') ? certificates.ca : undefined;
  return await openDoor({
    ...(hasToken(way) && { tokens: ['another', token] }),
    ...(hasTls(way) && { tls: { ...certificates.server, ca } }),
  });
}

const clientTls = (way: Way) => (hasTls(way) ? { ca: certificates.ca, ...certificates.client } : undefined);

describe.each(ways)('%s', (way) => {
  test('redis-cli', async () => {
    const { port, complaints } = await doorFor(way);
    const tls = hasTls(way)
      ? [
          '--tls',
          '--cacert',
          join(folder, 'ca.crt'),
          '--cert',
          join(folder, 'client.crt'),
          '--key',
          join(folder, 'client.key'),
        ]
      : [];
    const connection = ['-p', String(port), ...tls, ...(hasToken(way) ? ['--no-auth-warning', '-a', token] : [])];
    const cli = async (...args: string[]) => (await run('redis-cli', [...connection, ...args])).stdout;
    expect(await cli('PING')).toBe('PONG\n');
    expect(await cli('CL.THROTTLE', 'user123', '15', '30', '60')).toBe('0\n16\n15\n-1\n2\n');
    expect(await cli('-3', 'SLUICE.CHECK', 'per-user', '42')).toBe('1\n3\n2\n0\n60000\nper-user\n');
    expect(await cli('-c', 'CL.THROTTLE', 'other', '15', '30', '60')).toBe('0\n16\n15\n-1\n2\n');
    expect(await cli('-3', 'INFO', 'replication')).toContain('role:master');
    expect(await cli('NOSUCH')).toContain("ERR unknown command 'NOSUCH'");
    expect(complaints).toEqual([]);
  });

  test.each([
    ['ioredis 5', Redis5],
    ['ioredis 6', Redis6],
    ['iovalkey', Valkey],
  ])('%s', async (_, Client) => {
    const { port, complaints } = await doorFor(way);
    const tls = clientTls(way);
    const client = new (Client as unknown as typeof Redis6)({
      port,
      host: '127.0.0.1',
      ...(hasToken(way) && { password: token }),
      ...(tls && { tls }),
      connectionName: 'tested',
      maxRetriesPerRequest: 0,
    });
    onTestFinished(() => client.disconnect());
    expect(await client.ping()).toBe('PONG');
    expect(await client.call('CL.THROTTLE', 'user123', 15, 30, 60)).toEqual(throttled);
    const replies = await client
      .pipeline(Array.from({ length: 100 }, (_, i) => ['call', 'CL.THROTTLE', `k${i}`, 15, 30, 60]))
      .exec();
    expect(replies).toEqual(Array.from({ length: 100 }, () => [null, throttled]));
    expect(await client.client('GETNAME')).toBe('tested');
    await expect(client.get('x')).rejects.toThrow("ERR unknown command 'get', with args beginning with: 'x' ");
    expect(await client.quit()).toBe('OK');
    expect(complaints).toEqual([]);
  });

  test.each([
    ['node-redis 5, RESP2', createClient5, 2],
    ['node-redis 5, RESP3', createClient5, 3],
    ['node-redis 6, RESP2', createClient6, 2],
    ['node-redis 6, RESP3', createClient6, 3],
  ] as const)('%s', async (_, create, RESP) => {
    const { port, complaints } = await doorFor(way);
    const tls = clientTls(way);
    const client = (create as typeof createClient6)({
      RESP,
      name: 'tested',
      ...(hasToken(way) && { password: token }),
      socket: { port, host: '127.0.0.1', reconnectStrategy: false, ...(tls && { tls: true as const, ...tls }) },
    });
    // What is wrong rejects the command that was asked.
    client.on('error', () => undefined);
    await client.connect();
    onTestFinished(() => client.destroy());
    expect(await client.ping()).toBe('PONG');
    expect(await client.sendCommand(['CL.THROTTLE', 'user123', '15', '30', '60'])).toEqual(throttled);
    const many = Array.from({ length: 100 }, (_, i) => client.sendCommand(['CL.THROTTLE', `k${i}`, '15', '30', '60']));
    expect(await Promise.all(many)).toEqual(many.map(() => throttled));
    expect(await client.clientGetName()).toBe('tested');
    expect((await client.clientInfo()).name).toBe('tested');
    await expect(client.get('x')).rejects.toThrow("ERR unknown command 'GET', with args beginning with: 'x' ");
    expect(complaints).toEqual([]);
  });
});

describe('clients that only speak to a cluster find one of one node', () => {
  test.each([
    ['ioredis 5', Cluster5],
    ['ioredis 6', Cluster6],
    ['iovalkey', ValkeyCluster],
  ])('%s', async (_, Client) => {
    const { port, complaints } = await openDoor();
    const cluster = new (Client as typeof Cluster6)([{ host: '127.0.0.1', port }]);
    onTestFinished(() => cluster.disconnect());
    expect(await cluster.call('CL.THROTTLE', 'user123', 15, 30, 60)).toEqual(throttled);
    expect(cluster.nodes('master')).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  test.each([
    ['node-redis 5', createCluster5],
    ['node-redis 6', createCluster6],
  ])('%s', async (_, create) => {
    const { port, complaints } = await openDoor();
    const cluster = (create as typeof createCluster6)({ rootNodes: [{ socket: { host: '127.0.0.1', port } }] });
    await cluster.connect();
    onTestFinished(() => cluster.destroy());
    expect(await cluster.sendCommand('user123', false, ['CL.THROTTLE', 'user123', '15', '30', '60'])).toEqual(
      throttled,
    );
    expect(cluster.masters).toHaveLength(1);
    expect(complaints).toEqual([]);
  });
});

test.each(['1', '16', '64'])('redis-benchmark with %s in a pipeline gets an answer to everything', async (pipeline) => {
  const { port, meter } = await openDoor();
  const { stdout, stderr } = await run('redis-benchmark', [
    ...['-p', String(port), '-n', '20000', '-P', pipeline, '-r', '5000'],
    ...['CL.THROTTLE', 'key:__rand_int__', '10', '100', '60'],
  ]);
  // Whole pipelines: a few more than were ordered.
  expect(stdout).toMatch(/20\d{3} requests completed/);
  expect(stderr).not.toMatch(/error|warning/i);
  expect(meter.requests).toBeGreaterThanOrEqual(20_000);
  expect(meter.malformed).toBe(0);
});

test('a person with a terminal may type commands', async () => {
  const { port } = await openDoor();
  const client = await rawClient(port);
  client.send('ping\r\n\r\nCL.THROTTLE "user 1" 15 30 60\r\n');
  expect(await client.reply()).toBe('PONG');
  expect(await client.reply()).toEqual(throttled);
});

describe('TLS', () => {
  test('a client without a certificate of the authority is turned away, and nobody else', async () => {
    const { port, meter } = await doorFor('mutual tls and token');
    const { ca } = certificates;
    for (const wrong of [{ ca }, { ca, ...certificates.stranger }]) {
      // In TLS 1.3 the client is through before the server has seen its certificate.
      const client = await rawTlsClient(port, wrong);
      client.send('PING\r\n');
      expect(await client.untilEnd()).toBe('');
    }
    expect(meter.malformed).toBe(2);
    const client = await rawTlsClient(port, { ca, ...certificates.client });
    expect(await client.call('AUTH', token)).toBe('OK');
  });

  test('what is not TLS is closed, and counts as malformed', async () => {
    const { port, meter } = await doorFor('tls');
    const client = await rawClient(port);
    client.send('PING\r\n');
    expect(await client.untilEnd()).not.toContain('PONG');
    expect(meter.malformed).toBe(1);
    expect(await (await rawTlsClient(port, { ca: certificates.ca })).call('PING')).toBe('PONG');
  });

  test('connections count from the first byte, before the handshake', async () => {
    const { port, meter } = await openDoor({
      tls: { ...certificates.server, ca: undefined },
      limits: { connections: 1 },
    });
    await rawClient(port);
    const refused = await rawClient(port);
    expect(await refused.untilEnd()).toBe('');
    expect(meter).toMatchObject({ connections: 1, refusedConnections: 1 });
  });
});
