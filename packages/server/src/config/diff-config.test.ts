import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import type { Config } from './config.ts';
import { type ConfigDiff, diffConfig } from './diff-config.ts';
import { readConfig } from './read-config.ts';
import { places, settings } from './settings.ts';

function config(text: string): Config {
  const read = readConfig({ text });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

const none: ConfigDiff = { added: [], changed: [], removed: [], applied: [], needsRestart: [] };
const a = '{ name: a, key: ip, algorithm: gcra, limit: 1, window: 1m }';
const b = '{ name: b, algorithm: sliding-log, tiers: { free: { limit: 1, window: 1s } }, match: { path: /x } }';

const gateway = (fields: string, upstreams = '') =>
  `gateway: { upstreams: { api: { members: [a:1] }, ${upstreams} }, ${fields} }`;

const rows: [before: string, after: string, expected: Partial<ConfigDiff>][] = [
  ['rules: []', 'rules: []', {}],
  [`rules: [${a}, ${b}]`, `rules: [${a}, ${b}]`, {}],
  [`rules: [${a}]`, `rules: [${a}, ${b}]`, { added: ['b'] }],
  [`rules: [${a}, ${b}]`, `rules: [${b}]`, { removed: ['a'] }],
  [`rules: [${a}]`, `rules: [${a.replace('limit: 1', 'limit: 2')}]`, { changed: ['a'] }],
  [`rules: [${a}]`, `rules: [${a.replace('key: ip', 'key: user')}]`, { changed: ['a'] }],
  [`rules: [${b}]`, `rules: [${b.replace('/x', '/y')}]`, { changed: ['b'] }],
  [`rules: [${b}]`, `rules: [${b.replace('free: { limit: 1', 'free: { limit: 2')}]`, { changed: ['b'] }],
  [`rules: [${a}]`, `rules: [${a.replace('gcra', 'token-bucket')}]`, { changed: ['a'] }],
  // The same, written otherwise.
  [`rules: [${a}]`, `rules: [${a.replace('1m', '60s')}]`, {}],
  [`rules: [${a}]`, `rules: [${a.replace('1m', '60000')}, ${b}]`, { added: ['b'] }],
  ['limits: { idle: 1m }', 'limits: { idle: 60000 }', {}],
  // What applies at once.
  ['allow: []', 'allow: [{ ip: 192.0.2.1 }]', { applied: ['allow'] }],
  ['deny: []', 'deny: [{ ip: 192.0.2.1 }]', { applied: ['deny'] }],
  ['ipv6Subnet: 56', 'ipv6Subnet: 64', { applied: ['ipv6Subnet'] }],
  ['logs: { level: info }', 'logs: { level: warn }', { applied: ['logs.level'] }],
  ['security: { token: x }', 'security: { token: y }', { applied: ['security.tokens'] }],
  ['security: { token: x }', 'security: { tokens: [x] }', {}],
  [
    'rules: []',
    'envoy: { directory: /etc }',
    { applied: ['envoy.directory', 'envoy.mergeDomains', 'envoy.responseHeaders'] },
  ],
  // What does not.
  ['workers: 1', 'workers: 2', { needsRestart: ['workers'] }],
  ['drain: 1s', 'drain: 2s', { needsRestart: ['drain'] }],
  ['studio: true', 'studio: false', { needsRestart: ['studio'] }],
  ['listen: { http: 1 }', 'listen: { http: false }', { needsRestart: ['listen.http'] }],
  ['listen: { admin: 1 }', 'listen: { admin: 2 }', { needsRestart: ['listen.admin'] }],
  ['store: { maxKeys: 1 }', 'store: { maxKeys: 2 }', { needsRestart: ['store.maxKeys'] }],
  ['limits: { keyBytes: 1 }', 'limits: { keyBytes: 2 }', { needsRestart: ['limits.keyBytes'] }],
  ['snapshot: { path: /etc/none, every: 1m }', 'snapshot: { path: /etc/none }', { needsRestart: ['snapshot.every'] }],
  [
    'store: { type: redis, url: "redis://:one@a" }',
    'store: { type: redis, url: "redis://:two@a", cluster: true }',
    { needsRestart: ['store.url', 'store.cluster'] },
  ],
  [
    'store: { type: owned, etcd: "http://a:1", etcdUsername: a, etcdPassword: one }',
    'store: { type: owned, etcd: "http://a:1,http://b:1", etcdUsername: a, etcdPassword: two, ttl: 5s }',
    { needsRestart: ['store.etcd', 'store.etcdPassword', 'store.ttl'] },
  ],
  ['store: { type: owned, etcd: "http://a:1" }', 'store: { type: owned, etcd: ["http://a:1/"] }', {}],
  [
    'store: { type: cluster, nodes: [a:1], token: one }',
    'store: { type: cluster, nodes: [a:1, b:1], token: two }',
    { needsRestart: ['store.nodes', 'store.token'] },
  ],
  [
    'tracing: { endpoint: "http://a" }',
    'tracing: { endpoint: "http://a", sampleRatio: 1 }',
    { needsRestart: ['tracing.sampleRatio'] },
  ],
  // The gateway: what is decided for each request applies at once, what was settled when its doors were opened does not.
  [gateway(''), gateway(''), {}],
  [gateway(''), gateway('trustProxy: 1'), { applied: ['gateway.trustProxy'] }],
  [gateway(''), gateway('identify: { user: header:x }'), { applied: ['gateway.identify'] }],
  [gateway('identify: { user: header:X }'), gateway('identify: { user: header:x }'), {}],
  [gateway(''), gateway('routes: [{ name: a }]'), { applied: ['gateway.routes'] }],
  [
    gateway(''),
    gateway('accessLog: { path: "-" }'),
    { applied: ['gateway.accessLog.path', 'gateway.accessLog.format'] },
  ],
  [
    gateway('admissions: { a: {}, b: {} }'),
    gateway('admissions: { a: { queue: 1 }, c: {} }'),
    { applied: ['gateway.admissions.a', 'gateway.admissions.b', 'gateway.admissions.c'] },
  ],
  [
    gateway('routes: [{ name: a, upstream: api }]'),
    gateway('routes: [{ name: a, upstream: api }]', 'web: { members: [b:1] }'),
    { applied: ['gateway.upstreams.web'] },
  ],
  [gateway('listen: 1'), gateway('listen: 2'), { needsRestart: ['gateway.listen'] }],
  [gateway('admin: 1'), gateway('admin: false'), { needsRestart: ['gateway.admin'] }],
  [gateway('http2: true'), gateway('http2: false'), { needsRestart: ['gateway.http2'] }],
  [gateway('limits: { head: 1s }'), gateway('limits: { head: 2s }'), { needsRestart: ['gateway.limits.head'] }],
];

test.each(rows)('%s, then %s', (before, after, expected) => {
  expect(diffConfig(config(before), config(after))).toEqual({ ...none, ...expected });
});

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'diff-config-'));
  const { server, client } = await makeCertificates();
  for (const [name, { cert, key }] of Object.entries({ server, client })) {
    writeFileSync(join(folder, `${name}.crt`), cert);
    writeFileSync(join(folder, `${name}.key`), key);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test('another certificate of the service needs a restart', () => {
  const tls = (name: string) =>
    config(`security: { tls: { certificate: ${folder}/${name}.crt, key: ${folder}/${name}.key } }`);
  const needsRestart = ['security.tls.certificate', 'security.tls.key'];
  expect(diffConfig(tls('server'), tls('client'))).toEqual({ ...none, needsRestart });
});

describe('TLS of the gateway', () => {
  const tls = (name: string, more = '') =>
    config(gateway(`tls: { certificate: ${folder}/${name}.crt, key: ${folder}/${name}.key ${more} }`));

  test('another certificate applies at once', () => {
    const applied = ['gateway.tls.certificate', 'gateway.tls.key'];
    expect(diffConfig(tls('server'), tls('client'))).toEqual({ ...none, applied });
  });

  test('to begin or end speaking TLS needs a restart', () => {
    const needsRestart = ['gateway.tls.certificate', 'gateway.tls.key'];
    expect(diffConfig(config(gateway('')), tls('server'))).toEqual({ ...none, needsRestart });
    expect(diffConfig(tls('server'), config(gateway('')))).toEqual({ ...none, needsRestart });
  });

  test('to ask clients for a certificate needs a restart', () => {
    expect(diffConfig(tls('server'), tls('server', `, clientAuthority: ${folder}/client.crt`))).toEqual({
      ...none,
      needsRestart: ['gateway.tls.clientAuthority'],
    });
  });
});

test('a gateway that comes or goes is told by every setting that it has', () => {
  const { applied, needsRestart } = diffConfig(config('rules: []'), config(gateway('accessLog: { path: "-" }')));
  const ofTls = ['gateway.tls.certificate', 'gateway.tls.key', 'gateway.tls.clientAuthority'];
  const known = places.map(({ path }) => path).filter((path) => path.startsWith('gateway.'));
  const named = [...applied, ...needsRestart].map((name) => name.replace(/^(gateway\.upstreams)\..*/, '$1'));
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  const sections = ['gateway.tls', 'gateway.limits', 'gateway.accessLog', 'gateway.admissions'];
  expect(known.filter((path) => !named.includes(path) && !sections.includes(path))).toEqual(ofTls);
});

test('it names what it finds as the file does', () => {
  const diff = diffConfig(
    config('rules: []'),
    config(`
store: { type: redis, url: "redis://a", prefix: x, cluster: true, fenced: true, timeout: 1, onFailure: open }
listen: { host: "::1", http: 1, grpc: 2, resp: 3, admin: 4 }
security: { token: x, tls: { certificate: ${folder}/server.crt, key: ${folder}/server.key, clientAuthority: ${folder}/server.crt } }
limits: { bodyBytes: 1, keyBytes: 1, batchItems: 1, connections: 1, pipelineDepth: 1, idle: 1, request: 1 }
workers: 100
tracing: { endpoint: "http://a" }
envoy: { directory: /etc }
ipv6Subnet: 32
logs: { level: fatal }
drain: 1
studio: false`),
  );
  const otherStores = [
    `{ type: owned, etcd: "https://a:1", etcdUsername: a, etcdPassword: b,
       etcdTls: { authority: /etc/hosts, certificate: /etc/hosts, key: /etc/hosts } }`,
    '{ type: cluster, nodes: [a:1], token: b }',
  ].map((store) => diffConfig(config('workers: 1'), config(`workers: 1\nstore: ${store}`)));
  const names = [diff, ...otherStores].flatMap(({ applied, needsRestart }) => [...applied, ...needsRestart]);
  const known = new Set([...settings.map(({ path }) => path), 'security.tokens', 'allow', 'deny']);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  // Everything the file can set is compared; what is told by another name, or needs the memory store, is listed here.
  const missing = settings
    .map(({ path }) => path)
    .filter((path) => !names.includes(path) && !path.startsWith('gateway.'));
  expect(missing).toEqual(['listen.host', 'security.token', 'security.tokenFile', 'snapshot.path', 'snapshot.every']);
});
