import { expect, test } from 'vitest';
import type { Config } from './config.ts';
import { type ConfigDiff, diffConfig } from './diff-config.ts';
import { readConfig } from './read-config.ts';
import { settings } from './settings.ts';

function config(text: string): Config {
  const read = readConfig({ text });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

const none: ConfigDiff = { added: [], changed: [], removed: [], applied: [], needsRestart: [] };
const a = '{ name: a, key: ip, algorithm: gcra, limit: 1, window: 1m }';
const b = '{ name: b, algorithm: sliding-log, tiers: { free: { limit: 1, window: 1s } }, match: { path: /x } }';

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
  ['allow: []', 'allow: [{ ip: a }]', { applied: ['allow'] }],
  ['deny: []', 'deny: [{ ip: a }]', { applied: ['deny'] }],
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
  ['listen: { http: 1 }', 'listen: { http: false }', { needsRestart: ['listen.http'] }],
  ['listen: { admin: 1 }', 'listen: { admin: 2 }', { needsRestart: ['listen.admin'] }],
  ['store: { maxKeys: 1 }', 'store: { maxKeys: 2 }', { needsRestart: ['store.maxKeys'] }],
  ['limits: { keyBytes: 1 }', 'limits: { keyBytes: 2 }', { needsRestart: ['limits.keyBytes'] }],
  ['snapshot: { path: /etc/none, every: 1m }', 'snapshot: { path: /etc/none }', { needsRestart: ['snapshot.every'] }],
  [
    'security: { tls: { certificate: /etc/passwd, key: /etc/group } }',
    'security: { tls: { certificate: /etc/passwd, key: /etc/hosts } }',
    { needsRestart: ['security.tls.key'] },
  ],
  [
    'store: { type: redis, url: "redis://:one@a" }',
    'store: { type: redis, url: "redis://:two@a", cluster: true }',
    { needsRestart: ['store.url', 'store.cluster'] },
  ],
  [
    'tracing: { endpoint: "http://a" }',
    'tracing: { endpoint: "http://a", sampleRatio: 1 }',
    { needsRestart: ['tracing.sampleRatio'] },
  ],
];

test.each(rows)('%s, then %s', (before, after, expected) => {
  expect(diffConfig(config(before), config(after))).toEqual({ ...none, ...expected });
});

test('it names what it finds as the file does', () => {
  const diff = diffConfig(
    config('rules: []'),
    config(`
store: { type: redis, url: "redis://a", prefix: x, cluster: true, fenced: true, timeout: 1, onFailure: open }
listen: { host: "::1", http: 1, grpc: 2, resp: 3, admin: 4 }
security: { token: x, tls: { certificate: /etc/hosts, key: /etc/hosts, clientAuthority: /etc/hosts } }
limits: { bodyBytes: 1, keyBytes: 1, batchItems: 1, connections: 1, pipelineDepth: 1, idle: 1, request: 1 }
workers: 100
tracing: { endpoint: "http://a" }
envoy: { directory: /etc }
ipv6Subnet: 32
logs: { level: fatal }
drain: 1`),
  );
  const names = [...diff.applied, ...diff.needsRestart];
  const known = new Set([...settings.map(({ path }) => path), 'security.tokens', 'allow', 'deny']);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  // Everything the file can set is compared; what is told by another name, or is only of the other store, is listed here.
  const missing = settings.map(({ path }) => path).filter((path) => !names.includes(path));
  expect(missing).toEqual(['listen.host', 'security.token', 'security.tokenFile', 'snapshot.path', 'snapshot.every']);
});
