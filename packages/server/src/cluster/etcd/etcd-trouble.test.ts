/** What an operator is told of an etcd that cannot be used: the cause, in what `/readyz` says and once in the log, and no secrets. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EtcdCluster, startEtcd, waitUntil } from '@sluice/test-servers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EtcdConfig } from '../../config/config.ts';
import { type Certificates, makeCertificates } from '../../service/certificates.test-support.ts';
import { openOwned } from '../../service/open-owned.ts';
import type { OpenStore } from '../../service/open-store.ts';
import { silent } from './etcd.test-support.ts';

let guarded: EtcdCluster;
let secure: EtcdCluster;
let stranger: Server;
let certificates: Certificates;

beforeAll(async () => {
  certificates = await makeCertificates();
  const { ca, server } = certificates;
  guarded = await startEtcd({ members: 1 });
  secure = await startEtcd({
    members: 1,
    tls: { ca: ca.toString(), cert: server.cert.toString(), key: server.key.toString() },
  });
  const member = guarded.members[0]!;
  await member.call('/v3/auth/user/add', { name: 'root', password: 'sesame' });
  await member.call('/v3/auth/role/add', { name: 'root' });
  await member.call('/v3/auth/user/grant', { user: 'root', role: 'root' });
  await member.call('/v3/auth/user/add', { name: 'guest', password: 'please' });
  await member.call('/v3/auth/enable', {});
  stranger = createServer((_, response) => response.writeHead(404).end('<html>\n<h1>Nothing here</h1>\n</html>'));
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
}, 60_000);
afterAll(async () => {
  stranger.close();
  await guarded.stop();
  await secure.stop();
});

let opened: OpenStore | undefined;
afterEach(() => opened?.close());

function open(etcd: Partial<EtcdConfig>, warned: string[]): OpenStore {
  opened = openOwned(
    {
      type: 'owned',
      etcd: { endpoints: [], username: undefined, password: undefined, tls: undefined, ...etcd },
      settings: {
        name: 'troubled',
        ttlMs: 8000,
        shared: { graceMs: 10, unreplicated: 0, durableFromMs: 3_600_000 },
        maxKeys: 1000,
        durableKeys: 100,
        patienceMs: 1000,
      },
      advertise: '127.0.0.1',
      onFailure: 'closed',
    },
    { ...silent, warn: (fields, text) => void warned.push(`${text}: ${(fields as { error: string }).error}`) },
    { token: undefined, tls: undefined },
  );
  void opened.cluster!.join({ resp: '127.0.0.1:1' });
  return opened;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

const rows: [what: string, etcd: () => Promise<Partial<EtcdConfig>>, says: RegExp][] = [
  ['a port where nobody is', async () => ({ endpoints: ['http://127.0.0.1:1'] }), /ECONNREFUSED/],
  [
    'a server that is none',
    async () => ({ endpoints: [`http://127.0.0.1:${portOf(stranger)}`] }),
    /its answer 404 is no JSON: <html> <h1>/,
  ],
  [
    'https where there is no TLS',
    async () => ({ endpoints: [`https://127.0.0.1:${portOf(stranger)}`] }),
    /there is no TLS: an address for it begins with http:/,
  ],
  [
    'a wrong password',
    async () => ({ endpoints: guarded.endpoints, username: 'root', password: 'basil' }),
    /the login of root failed: .*invalid user ID or password/,
  ],
  [
    'a user who may not use the name of the cluster',
    async () => ({ endpoints: guarded.endpoints, username: 'guest', password: 'please' }),
    /permission denied/,
  ],
  ['an authority that is not known', async () => ({ endpoints: secure.endpoints }), /self-signed|unable to verify/],
];

test.each(rows)('%s', async (_, etcdOf, says) => {
  const etcd = await etcdOf();
  const warned: string[] = [];
  const store = open(etcd, warned);
  await waitUntil('the cause is known', () => says.test(store.problem() ?? ''));
  const problem = store.problem()!;
  expect(problem).toMatch(/^etcd cannot be used, so this node may not decide: /);
  expect(problem.length).toBeLessThan(300);
  const told = warned.length;
  expect(warned.at(-1)).toMatch(says.source.includes('<html>') ? /404/ : says);
  for (const secret of ['basil', 'please']) expect(problem + warned).not.toContain(secret);
  // Some tries later it has said no more, and nothing of its own end.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await store.close();
  expect(warned).toHaveLength(told);
});
