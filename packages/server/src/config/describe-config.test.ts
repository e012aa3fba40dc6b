import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import type { Config } from './config.ts';
import { describeConfig, shownSettings } from './describe-config.ts';
import { durationWords } from './policy-words.ts';
import { readConfig } from './read-config.ts';
import { withoutCredentials } from './secrets.ts';

function config(text: string): Config {
  const read = readConfig({ text, environment: { SLUICE_WORKERS: '2' } });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

test('the least there is, in words', () => {
  expect(describeConfig(config('rules: []'))).toEqual([
    'No rules: only policies that come with a request.',
    'Doors',
    '  HTTP  127.0.0.1:8080',
    '  gRPC  127.0.0.1:8081',
    '  RESP  127.0.0.1:6380',
    '  no TLS, no token is asked for',
    'Store: memory, at most 1,000,000 keys',
    'Workers: 2',
  ]);
});

test('everything there is, in words', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'describe-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { cert, key } = (await makeCertificates()).server;
  writeFileSync(join(folder, 'server.pem'), Buffer.concat([cert, key]));
  const file = join(folder, 'server.pem');
  const text = `
rules:
  - { name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m, burst: 20 }
  - { name: whole, algorithm: token-bucket, limit: 50000, window: 1s }
  - { name: waiting, key: ip, algorithm: leaky-bucket, limit: 5, window: 250ms, burst: 3, shadow: true }
  - { name: open, key: user, algorithm: concurrency, limit: 5 }
  - name: uploads
    key: [user, path]
    algorithm: sliding-log
    match: { path: [/upload, /put], method: POST }
    skip: { user: admin }
    limit: 1
    window: 10s
    tiers: { free: { limit: 10, window: 1m }, paid: { algorithm: fixed-window, limit: 1000, window: 1d } }
    onStoreFailure: local
allow: [{ ip: 192.0.2.1 }]
deny: [{ ip: 192.0.2.2 }, { ip: 192.0.2.3 }]
store: { type: redis, url: "redis://user:hunter2@redis:6379/1?password=hunter2", timeout: 1s }
listen: { http: false, grpc: "[::1]:5", admin: 9 }
security: { tokens: [hunter2, hunter3], tls: { certificate: ${file}, key: ${file}, clientAuthority: ${file} } }
envoy: { directory: /etc }
tracing: { endpoint: "https://me:hunter2@traces/v1/traces" }`;
  const lines = describeConfig(config(text));
  expect(lines).toEqual([
    'Rules',
    '  per-ip: 100 per minute, 20 at once, by gcra, for each ip',
    '  whole: 50,000 per second, by token-bucket, for all together',
    '  waiting: 5 per 250 ms, 3 waiting, delay all, by leaky-bucket, for each ip, as a shadow',
    '  open: 5 at once, lease 1 minute, by concurrency, for each user',
    '  uploads: sliding-log 1 per 10 seconds, for each user and path, where path is /upload or /put and method is POST, except where user is admin, local when the store fails',
    '    free: sliding-log 10 per minute',
    '    paid: fixed-window 1,000 per day',
    '  always pass: 1 match',
    '  never pass: 2 matches',
    '  and the Envoy descriptors in /etc',
    'Doors',
    '  HTTP  closed',
    '  gRPC  [::1]:5',
    '  RESP  127.0.0.1:6380',
    '  admin 127.0.0.1:9',
    '  TLS, clients need one of 2 tokens and a client certificate',
    'Store: Redis at redis://redis:6379/1, answers within 1 second, else closed',
    'Workers: 2',
    'Traces: https://traces/v1/traces, 1% of requests',
  ]);
  const shown = JSON.stringify(shownSettings(config(text)));
  expect(shown).not.toContain('hunter');
  expect(shown).toContain('"security.tokens":["(hidden)","(hidden)"]');
});

const words: [store: string, line: string][] = [
  [
    '{ type: owned, etcd: ["http://a:1", "http://b:2"], etcdUsername: root, etcdPassword: hunter2 }',
    'a node of cluster default by etcd at http://a:1, http://b:2, reached as 127.0.0.1, at most 1,000,000 keys, copies at most 10 behind, windows from 1 hour in etcd, answers within 1 second, else closed',
  ],
  [
    '{ type: owned, etcd: "http://a:1", clusterName: eu, advertise: n1, unreplicated: 0, onFailure: local }',
    'a node of cluster eu by etcd at http://a:1, reached as n1, at most 1,000,000 keys, no copies, windows from 1 hour in etcd, answers within 1 second, else local',
  ],
  [
    '{ type: cluster, nodes: [a:1, b:2], token: hunter2 }',
    'the cluster of a:1, b:2, answers within 10 ms, else closed',
  ],
  [
    '{ type: cluster, nodes: [a:1], nodesTls: true, deadline: 1s, onFailure: open }',
    'the cluster of a:1 by TLS, answers within 1 second, else open',
  ],
];
test.each(words)('store: %s', (store, line) => {
  const read = readConfig({ text: `store: ${store}` });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  expect(describeConfig(read.config)).toContain(`Store: ${line}`);
  const shown = shownSettings(read.config);
  expect(JSON.stringify(shown)).not.toContain('hunter');
  for (const secret of ['etcdPassword', 'token'])
    if (store.includes(secret)) expect(shown[`store.${secret}`]).toBe('(hidden)');
});

test('a gateway, in words', () => {
  const text = `
rules:
  - { name: per-ip, key: ip, algorithm: gcra, limit: 1, window: 1s }
  - { name: per-user, key: [user, path], algorithm: gcra, limit: 1, window: 1s }
gateway:
  listen: "[::]:80"
  accessLog: { path: "-" }
  admissions:
    main: { concurrency: 100, tenant: header:x-tenant, priority: header:x-priority }
    other: { queue: 0 }
  routes:
    - name: api
      match: { host: [a.example, b.example], path: /v1/*, method: GET, headers: { x-beta: "*" } }
      upstream: api
      rules: [per-ip]
      admission: main
      stripPrefix: /v1
    - { name: free, upstream: web, match: { path: /free }, rules: [] }
    - { name: rest, upstream: web }
  upstreams:
    api:
      members: [10.0.0.1:9001, { address: 10.0.0.2:9001, weight: 3 }]
      balancer: hash-ring
      stickyBy: cookie:sid
      health: { path: /healthz }
      breaker: { failureRatio: 0.25 }
      retries: { attempts: 2 }
    web: { members: [web:80], outliers: false, retries: { attempts: 0 } }`;
  const lines = describeConfig(config(text));
  expect(lines.slice(lines.indexOf('Gateway'))).toEqual([
    'Gateway',
    '  [::]:80, HTTP/1.1 and HTTP/2; administration on 127.0.0.1:8001',
    '  route api: host a.example or b.example, path /v1/*, GET, x-beta: * to api; rules per-ip; through main; without /v1',
    '  route free: path /free to web; no rules',
    '  route rest: everything to web',
    '  upstream api: 10.0.0.1:9001, 10.0.0.2:9001 (weight 3), by hash-ring of cookie:sid, asked for /healthz every 5 seconds, out for 30 seconds after 5 failures in a row, broken at 25% failures, 2 more tries',
    '  upstream web: web:80, by two-choices, no retries',
    '  admission main: 100 at once, 1,000 waiting for at most 1 second, fair by header:x-tenant, urgent by header:x-priority',
    '  admission other: 1 to 200 (gradient) at once, nobody waits',
    '  access log: combined, to standard output',
    '  rule per-user limits nobody here: gateway.identify does not say where user comes from',
    '  admission other holds back nobody: no route has it',
  ]);
  expect(shownSettings(config(text))).toMatchObject({
    'gateway.listen': '[::]:80',
    'gateway.http2': true,
    'gateway.upstreams.web': { name: 'web', balancer: 'two-choices' },
  });
});

test.each([
  [0, '0 ms'],
  [1, '1 ms'],
  [250, '250 ms'],
  [1500, '1500 ms'],
  [1000, '1 second'],
  [10_000, '10 seconds'],
  [60_000, '1 minute'],
  [90_000, '90 seconds'],
  [3_600_000, '1 hour'],
  [86_400_000, '1 day'],
  [604_800_000, '1 week'],
  [2_592_000_000, '30 days'],
])('%i ms is "%s" in words', (ms, words) => expect(durationWords(ms)).toBe(words));

test('an address that cannot be understood is not shown at all', () => {
  expect(withoutCredentials('redis://:hunter2@a:x')).toBe('(hidden)');
});
