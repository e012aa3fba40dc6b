import { expect, test } from 'vitest';
import type { Config } from './config.ts';
import { describeConfig, shownSettings, withoutCredentials } from './describe-config.ts';
import { durationWords } from './policy-words.ts';
import { readConfig } from './read-config.ts';

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

test('everything there is, in words', () => {
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
allow: [{ ip: a }]
deny: [{ ip: b }, { ip: c }]
store: { type: redis, url: "redis://user:hunter2@redis:6379/1?password=hunter2", timeout: 1s }
listen: { http: false, grpc: "[::1]:5", admin: 9 }
security: { tokens: [hunter2, hunter3], tls: { certificate: /etc/hosts, key: /etc/hosts, clientAuthority: /etc/hosts } }
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
