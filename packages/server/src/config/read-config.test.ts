import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import type { Config } from './config.ts';
import { formatProblems, problemLine } from './format-problems.ts';
import type { Problem } from './problem.ts';
import { type ReadConfigOptions, readConfig } from './read-config.ts';
import { settings } from './settings.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'read-config-'));
  writeFileSync(join(folder, 'tokens'), '  first-of-file \n\nsecond-of-file\r\n');
  writeFileSync(join(folder, 'no-tokens'), '\n \n');
  mkdirSync(join(folder, 'limits'));
  const { server } = await makeCertificates();
  writeFileSync(join(folder, 'server.crt'), server.cert);
  writeFileSync(join(folder, 'server.key'), server.key);
});
afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(options: ReadConfigOptions): readonly Problem[] {
  const read = readConfig(options);
  return 'problems' in read ? read.problems : [];
}

function configOf(options: ReadConfigOptions): Config {
  const read = readConfig(options);
  if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
  return read.config;
}

test('without a file there are no rules, and every setting has its default', () => {
  expect(configOf({})).toEqual({
    rules: [],
    ruleData: [],
    allow: [],
    deny: [],
    ipv6Subnet: 56,
    store: { type: 'memory', maxKeys: 1_000_000 },
    listen: {
      http: { host: '127.0.0.1', port: 8080 },
      grpc: { host: '127.0.0.1', port: 8081 },
      resp: { host: '127.0.0.1', port: 6380 },
      admin: undefined,
    },
    security: { tokens: [], tls: undefined },
    limits: {
      bodyBytes: 1_048_576,
      keyBytes: 1024,
      batchItems: 1000,
      connections: 20_000,
      pipelineDepth: 10_000,
      idleMs: 300_000,
      requestMs: 30_000,
    },
    workers: availableParallelism(),
    snapshot: undefined,
    envoy: undefined,
    logs: { level: 'info' },
    tracing: undefined,
    drainMs: 10_000,
    studio: true,
    gateway: undefined,
  });
});

test('a whole file is read, and its paths start from its folder', () => {
  const path = join(folder, 'sluice.yaml');
  writeFileSync(
    path,
    `
rules:
  - { name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m, burst: 20 }
  - name: per-user
    key: [user, path]
    algorithm: sliding-log
    tiers: { free: { limit: 10, window: 1m }, paid: { limit: 1000, window: 1m } }
    match: { path: [/upload, /api/*], method: POST }
    skip: { user: admin }
    shadow: true
    onStoreFailure: local
allow: { ip: 10.0.0.* }
deny: [{ ip: 192.0.2.1 }, { user: mallory }]
ipv6Subnet: 64
store: { type: redis, url: "redis://redis:6379/1", prefix: "a:", cluster: true, fenced: true, timeout: 50, onFailure: open }
listen: { host: "::", http: 9000, grpc: "10.0.0.1:9001", resp: { port: 9002, host: localhost }, admin: "[::1]:9003" }
security:
  token: one
  tokens: [two, one]
  tokenFile: tokens
  tls: { certificate: server.crt, key: ./server.key, clientAuthority: ${folder}/server.crt }
limits: { bodyBytes: 64kb, keyBytes: 100, batchItems: 5, connections: 6, pipelineDepth: 7, idle: 0, request: 1.5s }
workers: 3
envoy: { directory: limits, mergeDomains: true, responseHeaders: true }
logs: { level: warn }
tracing: { endpoint: "http://127.0.0.1:4318/v1/traces", sampleRatio: 0.5, serviceName: edge }
drain: 0s
studio: false
`,
  );
  const read = readConfig({ path });
  expect('config' in read && read.watched).toEqual([path, join(folder, 'limits'), join(folder, 'tokens')]);
  const { rules, ruleData, ...rest } = configOf({ path });
  expect(JSON.parse(JSON.stringify(rules))).toEqual([
    { name: 'per-ip', key: 'ip', policy: { algorithm: 'gcra', limit: 100, window: 60_000, burst: 20 } },
    {
      name: 'per-user',
      key: ['user', 'path'],
      tiers: {
        free: { algorithm: 'sliding-log', limit: 10, window: 60_000 },
        paid: { algorithm: 'sliding-log', limit: 1000, window: 60_000 },
      },
      match: { path: ['/upload', '/api/*'], method: 'POST' },
      skip: { user: 'admin' },
      shadow: true,
      onStoreFailure: 'local',
    },
  ]);
  expect(ruleData[0]).toEqual({ name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 100, window: '1m', burst: 20 });
  expect(rest).toEqual({
    allow: [{ ip: '10.0.0.*' }],
    deny: [{ ip: '192.0.2.1' }, { user: 'mallory' }],
    ipv6Subnet: 64,
    store: {
      type: 'redis',
      url: 'redis://redis:6379/1',
      prefix: 'a:',
      isCluster: true,
      isFenced: true,
      timeoutMs: 50,
      onFailure: 'open',
    },
    listen: {
      http: { host: '::', port: 9000 },
      grpc: { host: '10.0.0.1', port: 9001 },
      resp: { host: 'localhost', port: 9002 },
      admin: { host: '::1', port: 9003 },
    },
    security: {
      tokens: ['one', 'two', 'first-of-file', 'second-of-file'],
      tls: {
        certificate: join(folder, 'server.crt'),
        key: join(folder, 'server.key'),
        clientAuthority: join(folder, 'server.crt'),
      },
    },
    limits: {
      bodyBytes: 65_536,
      keyBytes: 100,
      batchItems: 5,
      connections: 6,
      pipelineDepth: 7,
      idleMs: 0,
      requestMs: 1500,
    },
    workers: 3,
    snapshot: undefined,
    envoy: { directory: join(folder, 'limits'), mergeDomains: true, responseHeaders: true },
    logs: { level: 'warn' },
    tracing: { endpoint: 'http://127.0.0.1:4318/v1/traces', sampleRatio: 0.5, serviceName: 'edge' },
    drainMs: 0,
    studio: false,
    gateway: undefined,
  });
});

test('a rule may take over a map by an anchor, an alias and a merge', () => {
  const text = `
rules:
  - &base { name: a, algorithm: gcra, limit: 1, window: 1s }
  - { <<: *base, name: b, limit: 2 }
`;
  expect(configOf({ text }).ruleData[1]).toEqual({ name: 'b', algorithm: 'gcra', limit: 2, window: '1s' });
});

test('all problems of a file are told at once, from its top', () => {
  const text = `
workers: 0
rules:
  - { name: a, algorithm: gcra, limit: 0, window: never, slots: 1, brust: 2 }
  - { name: a, algorithm: smooth, limit: 1, window: 1s, coldFactor: 0 }
listen: { http: 1, grpc: 1 }
logs: { levle: info }
`;
  expect(problemsOf({ text }).map(({ line, path }) => `${line} ${path}`)).toEqual([
    '2 workers',
    '4 rules[0].limit',
    '4 rules[0].window',
    '4 rules[0].slots',
    '4 rules[0].brust',
    '5 rules[1].name',
    '5 rules[1].coldFactor',
    '6 listen.grpc',
    '7 logs.levle',
  ]);
});

test('a file that is wrong in every line is told so a hundred times at most', () => {
  const text = Array.from({ length: 500 }, (_, i) => `wrong${i}: 1`).join('\n');
  const problems = problemsOf({ text });
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)?.message).toBe('There are 400 more problems.');
});

test('nor more often where fields are given twice as well', () => {
  const rule = (i: number) => `  - { name: r${i}, name: s${i}, key: ip, algorithm: gcra, limit: 1, windw: 1m }\n`;
  const problems = problemsOf({ text: `rules:\n${Array.from({ length: 300 }, (_, i) => rule(i)).join('')}` });
  expect(problems).toHaveLength(101);
  expect(problems.filter(({ message }) => message.includes('more problems'))).toHaveLength(1);
});

test('nor is a file told more often that is no YAML in any line', () => {
  const problems = problemsOf({ text: '\ta: [x\n'.repeat(500) });
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toMatchObject({ line: 0, message: 'There are 401 more problems.' });
});

test('a byte order mark is no column, and is not shown', () => {
  writeFileSync(join(folder, 'marked.yaml'), '\uFEFFrule: []\n');
  const path = join(folder, 'marked.yaml');
  const read = readConfig({ path });
  expect(read).toMatchObject({ problems: [{ line: 1, column: 1 }], sources: { [path]: 'rule: []\n' } });
});

describe('a file that cannot be read is a problem without a line', () => {
  test.each([
    ['nowhere.yaml', 'The file cannot be read: it does not exist.'],
    ['limits', 'The file cannot be read: it is a folder.'],
    ['tokens/x.yaml', 'The file cannot be read: a part of its path is not a folder.'],
    ['no-tokens', 'The file is empty. For a service without rules write "rules: []".'],
  ])('%s', (name, message) => {
    const path = join(folder, name);
    expect(problemsOf({ path })).toEqual([{ file: path, line: 0, column: 0, path: '', message }]);
  });

  test('one of more than 4 MiB', () => {
    const path = join(folder, 'large.yaml');
    writeFileSync(path, '#'.repeat(4 * 1024 * 1024 + 1));
    expect(problemsOf({ path })[0]?.message).toBe('The file has 4194305 bytes; the most is 4194304.');
  });
});

test.each(['a b', 'pässwort'])(
  'a file with %j, which is no token, is a problem that names the line and not the text',
  (wrong) => {
    const path = join(folder, 'wrong-tokens');
    writeFileSync(path, `good\n\n${wrong}\n`);
    expect(problemsOf({ text: `security: { tokenFile: ${path} }` }).map(problemLine)).toEqual([
      `configuration:1:24  security.tokenFile names ${path}, whose line 3 is no token: it must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints.`,
    ]);
  },
);

test('a file of tokens without a token is a problem that names the file', () => {
  const path = join(folder, 'no-tokens');
  const problems = problemsOf({ text: `security: { tokenFile: ${path} }` });
  expect(problems.map(problemLine)).toEqual([
    `configuration:1:24  security.tokenFile names ${path}, which holds no token. Write one per line.`,
  ]);
});

describe('environment', () => {
  test('the command line wins over the environment, that over the file, that over the default', () => {
    const text = 'listen: { http: 9001, grpc: 9001, resp: 9001 }\nworkers: 2';
    const environment = { SLUICE_LISTEN_GRPC: '9002', SLUICE_LISTEN_RESP: '9002' };
    const { listen, workers, drainMs } = configOf({ text, environment, overrides: { 'listen.resp': '9003' } });
    expect([listen.http?.port, listen.grpc?.port, listen.resp?.port]).toEqual([9001, 9002, 9003]);
    expect([workers, drainMs]).toEqual([2, 10_000]);
  });

  const redis = { SLUICE_STORE_TYPE: 'redis', SLUICE_STORE_URL: 'redis://a' };
  const owned = { SLUICE_STORE_TYPE: 'owned', SLUICE_STORE_ETCD: 'http://a:1' };
  const ownedByTls = { SLUICE_STORE_TYPE: 'owned', SLUICE_STORE_ETCD: 'https://a:1' };
  const client = { SLUICE_STORE_TYPE: 'cluster', SLUICE_STORE_NODES: 'a:1' };
  // Every variable, with a value that differs from the default, and what it comes to.
  const values: Record<string, [text: string, path: string, value: unknown, others?: Record<string, string>]> = {
    SLUICE_IPV6_SUBNET: ['64', 'ipv6Subnet', 64],
    SLUICE_STORE_TYPE: ['redis', 'store.type', 'redis', { SLUICE_STORE_URL: 'redis://a' }],
    SLUICE_STORE_MAX_KEYS: ['7', 'store.maxKeys', 7],
    SLUICE_STORE_URL: ['rediss://b', 'store.url', 'rediss://b', { SLUICE_STORE_TYPE: 'redis' }],
    SLUICE_STORE_PREFIX: ['5', 'store.prefix', '5', redis],
    SLUICE_STORE_CLUSTER: ['true', 'store.isCluster', true, redis],
    SLUICE_STORE_FENCED: ['true', 'store.isFenced', true, redis],
    SLUICE_STORE_TIMEOUT: ['1s', 'store.timeoutMs', 1000, redis],
    SLUICE_STORE_ON_FAILURE: ['open', 'store.onFailure', 'open', redis],
    SLUICE_STORE_ETCD: ['http://b:2', 'store.etcd.endpoints', ['http://b:2'], { SLUICE_STORE_TYPE: 'owned' }],
    SLUICE_STORE_ETCD_USERNAME: ['1', 'store.etcd.username', '1', { ...owned, SLUICE_STORE_ETCD_PASSWORD: 'x' }],
    SLUICE_STORE_ETCD_PASSWORD: ['1', 'store.etcd.password', '1', { ...owned, SLUICE_STORE_ETCD_USERNAME: 'x' }],
    SLUICE_STORE_ETCD_TLS_AUTHORITY: ['FOLDER/tokens', 'store.etcd.tls.authority', 'FOLDER/tokens', ownedByTls],
    SLUICE_STORE_ETCD_TLS_CERTIFICATE: [
      'FOLDER/tokens',
      'store.etcd.tls.certificate',
      'FOLDER/tokens',
      { ...ownedByTls, SLUICE_STORE_ETCD_TLS_KEY: 'FOLDER/tokens' },
    ],
    SLUICE_STORE_ETCD_TLS_KEY: [
      'FOLDER/tokens',
      'store.etcd.tls.key',
      'FOLDER/tokens',
      { ...ownedByTls, SLUICE_STORE_ETCD_TLS_CERTIFICATE: 'FOLDER/tokens' },
    ],
    SLUICE_STORE_CLUSTER_NAME: ['7', 'store.settings.name', '7', owned],
    SLUICE_STORE_ADVERTISE: ['a.example', 'store.advertise', 'a.example', owned],
    SLUICE_STORE_TTL: ['2s', 'store.settings.ttlMs', 2000, owned],
    SLUICE_STORE_GRACE: ['5', 'store.settings.shared.graceMs', 5, owned],
    SLUICE_STORE_UNREPLICATED: ['0', 'store.settings.shared.unreplicated', 0, owned],
    SLUICE_STORE_SHARDS: ['64', 'store.settings.shared.shards', 64, owned],
    SLUICE_STORE_DURABLE_FROM: ['1d', 'store.settings.shared.durableFromMs', 86_400_000, owned],
    SLUICE_STORE_DURABLE_KEYS: ['9', 'store.settings.durableKeys', 9, owned],
    SLUICE_STORE_PATIENCE: ['50ms', 'store.settings.patienceMs', 50, owned],
    SLUICE_STORE_NODES: ['b:2', 'store.nodes', ['b:2'], { SLUICE_STORE_TYPE: 'cluster' }],
    SLUICE_STORE_NODES_TLS: ['true', 'store.isTls', true, client],
    SLUICE_STORE_TOKEN: ['123', 'store.token', '123', client],
    SLUICE_STORE_DEADLINE: ['20ms', 'store.deadlineMs', 20, client],
    SLUICE_LISTEN_HOST: ['0.0.0.0', 'listen.resp.host', '0.0.0.0'],
    SLUICE_LISTEN_HTTP: ['9000', 'listen.http.port', 9000],
    SLUICE_LISTEN_GRPC: ['false', 'listen.grpc', undefined],
    SLUICE_LISTEN_RESP: ['a:9000', 'listen.resp.host', 'a'],
    SLUICE_LISTEN_ADMIN: ['0', 'listen.admin.port', 0],
    SLUICE_SECURITY_TOKEN: ['123', 'security.tokens', ['123']],
    SLUICE_SECURITY_TOKEN_FILE: ['FOLDER/tokens', 'security.tokens', ['first-of-file', 'second-of-file']],
    SLUICE_SECURITY_TLS_CERTIFICATE: [
      'FOLDER/server.crt',
      'security.tls.certificate',
      'FOLDER/server.crt',
      { SLUICE_SECURITY_TLS_KEY: 'FOLDER/server.key' },
    ],
    SLUICE_SECURITY_TLS_KEY: [
      'FOLDER/server.key',
      'security.tls.key',
      'FOLDER/server.key',
      { SLUICE_SECURITY_TLS_CERTIFICATE: 'FOLDER/server.crt' },
    ],
    SLUICE_SECURITY_TLS_CLIENT_AUTHORITY: [
      'FOLDER/server.crt',
      'security.tls.clientAuthority',
      'FOLDER/server.crt',
      { SLUICE_SECURITY_TLS_CERTIFICATE: 'FOLDER/server.crt', SLUICE_SECURITY_TLS_KEY: 'FOLDER/server.key' },
    ],
    SLUICE_LIMITS_BODY_BYTES: ['2mb', 'limits.bodyBytes', 2_097_152],
    SLUICE_LIMITS_KEY_BYTES: ['9', 'limits.keyBytes', 9],
    SLUICE_LIMITS_BATCH_ITEMS: ['9', 'limits.batchItems', 9],
    SLUICE_LIMITS_CONNECTIONS: ['9', 'limits.connections', 9],
    SLUICE_LIMITS_PIPELINE_DEPTH: ['9', 'limits.pipelineDepth', 9],
    SLUICE_LIMITS_IDLE: ['0', 'limits.idleMs', 0],
    SLUICE_LIMITS_REQUEST: ['250', 'limits.requestMs', 250],
    SLUICE_WORKERS: ['1', 'workers', 1],
    SLUICE_SNAPSHOT_PATH: ['FOLDER/s', 'snapshot', { path: 'FOLDER/s', everyMs: 0 }],
    SLUICE_SNAPSHOT_EVERY: ['1m', 'snapshot.everyMs', 60_000, { SLUICE_SNAPSHOT_PATH: 'FOLDER/s' }],
    SLUICE_ENVOY_DIRECTORY: ['FOLDER/limits', 'envoy.directory', 'FOLDER/limits'],
    SLUICE_ENVOY_MERGE_DOMAINS: ['true', 'envoy.mergeDomains', true, { SLUICE_ENVOY_DIRECTORY: 'FOLDER' }],
    SLUICE_ENVOY_RESPONSE_HEADERS: ['true', 'envoy.responseHeaders', true, { SLUICE_ENVOY_DIRECTORY: 'FOLDER' }],
    SLUICE_LOGS_LEVEL: ['debug', 'logs.level', 'debug'],
    SLUICE_TRACING_ENDPOINT: [
      'http://t',
      'tracing',
      { endpoint: 'http://t/v1/traces', sampleRatio: 0.01, serviceName: 'sluice' },
    ],
    SLUICE_TRACING_SAMPLE_RATIO: ['0.5', 'tracing.sampleRatio', 0.5, { SLUICE_TRACING_ENDPOINT: 'http://t' }],
    SLUICE_TRACING_SERVICE_NAME: ['7', 'tracing.serviceName', '7', { SLUICE_TRACING_ENDPOINT: 'http://t' }],
    SLUICE_DRAIN: ['1m', 'drainMs', 60_000],
    SLUICE_STUDIO: ['false', 'studio', false],
    SLUICE_GATEWAY_LISTEN: ['9000', 'gateway.listen.port', 9000],
    SLUICE_GATEWAY_ADMIN: ['false', 'gateway.admin', undefined],
    SLUICE_GATEWAY_TLS_CERTIFICATE: [
      'FOLDER/server.crt',
      'gateway.tls.certificate',
      'FOLDER/server.crt',
      { SLUICE_GATEWAY_TLS_KEY: 'FOLDER/server.key' },
    ],
    SLUICE_GATEWAY_TLS_KEY: [
      'FOLDER/server.key',
      'gateway.tls.key',
      'FOLDER/server.key',
      { SLUICE_GATEWAY_TLS_CERTIFICATE: 'FOLDER/server.crt' },
    ],
    SLUICE_GATEWAY_TLS_CLIENT_AUTHORITY: [
      'FOLDER/server.crt',
      'gateway.tls.clientAuthority',
      'FOLDER/server.crt',
      { SLUICE_GATEWAY_TLS_CERTIFICATE: 'FOLDER/server.crt', SLUICE_GATEWAY_TLS_KEY: 'FOLDER/server.key' },
    ],
    SLUICE_GATEWAY_HTTP2: ['false', 'gateway.http2', false],
    SLUICE_GATEWAY_TRUST_PROXY: ['private', 'gateway.trustProxy', ['private']],
    SLUICE_GATEWAY_LIMITS_HEAD_BYTES: ['32kb', 'gateway.limits.headBytes', 32_768],
    SLUICE_GATEWAY_LIMITS_HEADERS: ['9', 'gateway.limits.headers', 9],
    SLUICE_GATEWAY_LIMITS_BODY_BYTES: ['1gb', 'gateway.limits.bodyBytes', 1_073_741_824],
    SLUICE_GATEWAY_LIMITS_CONNECTIONS: ['9', 'gateway.limits.connections', 9],
    SLUICE_GATEWAY_LIMITS_STREAMS: ['9', 'gateway.limits.streams', 9],
    SLUICE_GATEWAY_LIMITS_HEAD: ['1s', 'gateway.limits.headMs', 1000],
    SLUICE_GATEWAY_LIMITS_IDLE: ['5', 'gateway.limits.idleMs', 5],
    SLUICE_GATEWAY_ACCESS_LOG_PATH: ['-', 'gateway.accessLog', { path: '-', format: 'combined' }],
    SLUICE_GATEWAY_ACCESS_LOG_FORMAT: [
      'json',
      'gateway.accessLog.format',
      'json',
      { SLUICE_GATEWAY_ACCESS_LOG_PATH: '-' },
    ],
  };
  /** What no variable can say. */
  const gateway = 'gateway: { upstreams: { api: { members: [127.0.0.1:9001] } } }';

  test('the table below has every variable', () => {
    expect(Object.keys(values)).toEqual(settings.map(({ variable }) => variable));
  });

  test.each(Object.entries(values))('%s', (variable, row) => {
    const [text, path, value, others = {}] = JSON.parse(JSON.stringify(row).replaceAll('FOLDER', folder));
    const config = configOf({
      environment: { ...others, [variable]: text },
      ...(variable.startsWith('SLUICE_GATEWAY_') && { text: gateway }),
    });
    const found = path
      .split('.')
      .reduce((at: unknown, step: string) => (at as Record<string, unknown>)?.[step], config);
    expect(found).toEqual(value ?? undefined);
  });

  const problems: [environment: Record<string, string>, path: string, message: string | RegExp][] = [
    [
      { SLUICE_LISTEN_HTPP: '1' },
      'SLUICE_LISTEN_HTPP',
      'SLUICE_LISTEN_HTPP is not a setting. Did you mean SLUICE_LISTEN_HTTP?',
    ],
    [{ SLUICE_COLOUR: '1' }, 'SLUICE_COLOUR', /^SLUICE_COLOUR is not a setting\. Names are made of the setting/],
    [{ SLUICE_PORT: '8080' }, 'SLUICE_PORT', /^SLUICE_PORT is not a setting\./],
    [{ SLUICE_LISTEN_HTTP: 'here' }, 'SLUICE_LISTEN_HTTP', /^SLUICE_LISTEN_HTTP must be a port .*, got "here"\.$/],
    [{ SLUICE_WORKERS: '-1' }, 'SLUICE_WORKERS', /, got -1\.$/],
    [
      { SLUICE_LISTEN_GRPC: '8080' },
      'SLUICE_LISTEN_GRPC',
      /^SLUICE_LISTEN_GRPC is port 8080, and so is listen\.http\./,
    ],
    [{ SLUICE_ENVOY_MERGE_DOMAINS: 'true' }, 'envoy.directory', 'envoy.directory is missing; it must be a path.'],
    [
      { SLUICE_GATEWAY_LISTEN: '80' },
      'gateway.upstreams',
      /^gateway\.upstreams is missing; it must be a map of upstreams by name/,
    ],
    [{ SLUICE_STORE_TYPE: 'redis' }, 'store.url', /^store\.url is missing/],
    [{ SLUICE_STORE_TYPE: 'redis', SLUICE_STORE_URL: 'hunter2' }, 'SLUICE_STORE_URL', /, got other text\.$/],
    [{ SLUICE_STORE_TYPE: 'owned' }, 'store.etcd', /^store\.etcd is missing/],
    [{ ...owned, SLUICE_STORE_ETCD: 'http://a:1,hunter2' }, 'SLUICE_STORE_ETCD', /, got other text\.$/],
    [{ ...owned, SLUICE_WORKERS: '2' }, 'SLUICE_WORKERS', /^SLUICE_WORKERS must be 1 with the owned store, got 2\./],
    [{ ...owned, SLUICE_LISTEN_RESP: 'false' }, 'SLUICE_LISTEN_RESP', /^SLUICE_LISTEN_RESP is closed, and nodes/],
    [{ ...owned, SLUICE_LISTEN_HOST: '::' }, 'store.advertise', /^store\.advertise is missing; listen\.resp is on/],
    [{ SLUICE_STORE_TYPE: 'cluster' }, 'store.nodes', /^store\.nodes is missing/],
  ];
  test.each(problems)('%j is a problem of the environment', (environment, path, message) => {
    const [problem, ...others] = problemsOf({ environment });
    expect(problem).toMatchObject({ file: 'environment', line: 0, column: 0, path });
    if (typeof message === 'string') expect(problem?.message).toBe(message);
    else expect(problem?.message).toMatch(message);
    expect(others).toEqual([]);
  });

  test('what is no setting of ours is left alone', () => {
    const environment = {
      PATH: '/bin',
      SLUICE_REDIS_BIN: '/usr/bin',
      SLUICE_SKIP_INTEGRATION: '1',
      SLUICE_WORKERS: '',
      // Kubernetes, for services that are called sluice and sluice-admin.
      SLUICE_SERVICE_HOST: '10.0.0.1',
      SLUICE_SERVICE_PORT: '8080',
      SLUICE_SERVICE_PORT_HTTP: '8080',
      SLUICE_PORT: 'tcp://10.0.0.1:8080',
      SLUICE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      SLUICE_PORT_8080_TCP_PROTO: 'tcp',
      SLUICE_ADMIN_SERVICE_HOST: '10.0.0.2',
    };
    expect(configOf({ environment }).workers).toBe(availableParallelism());
  });

  test('SLUICE_CONFIG names the file, and the path of the caller wins over it', () => {
    const path = join(folder, 'named.yaml');
    writeFileSync(path, 'workers: 7');
    expect(configOf({ environment: { SLUICE_CONFIG: path } }).workers).toBe(7);
    expect(problemsOf({ path: 'other.yaml', environment: { SLUICE_CONFIG: path } })).toMatchObject([
      { file: 'other.yaml' },
    ]);
  });

  test('a variable may send a service to another store without rewriting the file', () => {
    const text = 'store: { type: redis, url: "redis://a" }';
    expect(configOf({ text, environment: { SLUICE_STORE_TYPE: 'memory' } }).store.type).toBe('memory');
  });

  test('a variable does not hide that its section is no map', () => {
    const problems = problemsOf({ text: 'listen: 5', environment: { SLUICE_LISTEN_HTTP: '1' } });
    expect(problems.map(({ path }) => path)).toEqual(['listen']);
  });

  test('a value of the command line is a problem of the command line', () => {
    expect(problemsOf({ overrides: { workers: 'x' } })).toMatchObject([
      { file: 'command line', path: 'workers', line: 0 },
    ]);
  });
});

test('no problem tells a secret, whatever is wrong with it', () => {
  const secret = 'hunter2';
  const texts = [
    `security: { token: [${secret}] }`,
    `security:\n  tokens:\n    - ${secret}\n    - { ${secret}: ${secret} }`,
    `security:\n  tokens:\n  - "${secret}\n  - x`,
    `security:\n  token: @${secret}`,
    `security: { token: ${secret}, tokem: 1 }`,
    `{\n  "security": {\n    "tokens": [\n      "${secret}" x\n    ]\n  }\n}`,
    `store: { type: redis, url: "redis://:${secret}@a:x" }`,
    `store: { type: redis, url: "http://:${secret}@a" }`,
    `store:\n  type: redis\n  url: redis://:${secret}@a\n\tx`,
    `store: { type: owned, etcd: "http://root:${secret}@a:1" }`,
    `store: { type: owned, etcd: ["ftp://root:${secret}@a:1"] }`,
    `store:\n  type: owned\n  etcd: http://a:1\n  etcdPassword: ${secret}`,
    `store: { type: owned, etcd: "http://a:1", etcdUsername: a, etcdPassword: { ${secret}: 1 } }`,
    `store: { type: cluster, nodes: [a:1], token: [${secret}] }`,
  ];
  for (const text of texts) {
    const read = readConfig({ text });
    const problems = 'problems' in read ? read.problems : [];
    expect(problems.length, text).toBeGreaterThan(0);
    // The name of a field that is none has to be told.
    const told = formatProblems(problems, read.sources).replaceAll(`.${secret} is not`, '');
    expect(told, text).not.toContain(secret);
  }
  const environment = { SLUICE_STORE_TYPE: 'redis', SLUICE_STORE_URL: `http://:${secret}@a` };
  expect(JSON.stringify(problemsOf({ environment }))).not.toContain(secret);
});

describe('whatever is in a file, reading it gives a configuration or problems', () => {
  // Pieces of YAML and of our own language, so that many files get past the first look.
  const piece = fc.oneof(
    fc.constantFrom(...'\n\n\n  - : ,{}[]"\'#&*!|>%@`\t-?'.split('')),
    fc.constantFrom(
      ' ',
      '  ',
      '\n  ',
      '\n    ',
      '\n  - ',
      ': ',
      '- ',
      '<<: *a',
      '&a ',
      '*a',
      '---\n',
      '...\n',
      '!!map ',
      '? ',
    ),
    fc.constantFrom(...settings.map(({ path }) => path.split('.').at(-1) as string)),
    fc.constantFrom(
      'rules',
      'name',
      'algorithm',
      'gcra',
      'limit',
      'window',
      'tiers',
      'match',
      'store',
      'listen',
      '__proto__',
    ),
    fc.constantFrom(
      '1',
      '0',
      '-1',
      '1e400',
      '.nan',
      '.inf',
      '1m',
      'null',
      '~',
      'true',
      '0x10',
      '"a"',
      '1_000',
      '2024-01-01',
    ),
    fc.string({ maxLength: 8 }),
  );
  const anyText = fc.oneof(
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary' }),
  );

  test.each(['cl.throttle', 'cl.throttle/slow', 'ad-hoc', 'deny-list', 'envoy', 'envoy/edge', '{"algorithm":"gcra"}'])(
    'of a rule named %s, which is the name of something else',
    (name) => {
      const text = `rules:\n  - { name: '${name}', algorithm: gcra, limit: 1, window: 1s }\n`;
      expect(readConfig({ text })).toMatchObject({ problems: [{ line: 2, path: 'rules[0].name' }] });
    },
  );

  test('of a list of addresses with what is none', () => {
    const text = 'allow: { ip: 10.0.0.0/33 }\ndeny:\n  - user: bob\n  - ip: office\n';
    expect(readConfig({ text })).toMatchObject({
      problems: [
        { line: 1, path: 'allow.ip', message: expect.stringContaining('got "10.0.0.0/33"') },
        { line: 4, path: 'deny[1].ip', message: expect.stringContaining('got "office"') },
      ],
    });
    expect(problemsOf({ text: 'allow: { ip: 10.0.0.0/8 }\ndeny: [{ ip: "192.0.2.*" }]\n' })).toEqual([]);
  });

  test('of a merge with what is no map', () => {
    expect(readConfig({ text: 'rules: []\n<<: 7\n' })).toMatchObject({ problems: [{ line: 2, column: 1 }] });
    // Neither a comment, nor a text, nor a merge that is right.
    const lines = [
      '# << is how',
      'x: &x { a: "<<" }',
      'logs: { <<: *x, level: info }',
      'deny:',
      '  - { a: b, <<: [*x, 5] }',
    ];
    expect(readConfig({ text: lines.join('\n') })).toMatchObject({
      problems: [{ line: 5, column: 13, message: 'What is merged with "<<" must be a map, or an alias of one.' }],
    });
    expect(readConfig({ text: 'x:\n  !!merge "<<": 7\n' })).toMatchObject({ problems: [{ line: 2, path: '<<' }] });
  });

  test('of text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const read = readConfig({ text });
        if ('config' in read) return;
        expect(read.problems.length).toBeGreaterThan(0);
        const lines = text.split(/\r\n|\n/).length;
        for (const { line, column, message } of read.problems) {
          expect(line).toBeLessThanOrEqual(lines);
          expect(column).toBeGreaterThanOrEqual(line === 0 ? 0 : 1);
          expect(message).not.toMatch(/undefined|\[object/);
        }
        expect(formatProblems(read.problems, read.sources)).not.toBe('');
      }),
      { numRuns: 2000 },
    );
  });

  // Data of the right names and any values; JSON is YAML.
  const anyValue = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(0, -1, 1.5, 1e21, '1m', '0s', 'auto', true));
  const anyRule = fc.dictionary(
    fc.constantFrom(
      'name',
      'key',
      'algorithm',
      'limit',
      'window',
      'burst',
      'tiers',
      'match',
      'skip',
      'slots',
      'shadow',
    ),
    fc.oneof(anyValue, fc.constantFrom('gcra', 'sliding-log', 'smooth', 'concurrency')),
  );
  const anyFields = (...names: string[]) => fc.dictionary(fc.constantFrom(...names), anyValue, { maxKeys: 6 });
  const anyName = fc.constantFrom('api', 'web', 'constructor', '__proto__', 'main');
  const anyUpstream = anyFields('members', 'balancer', 'stickyBy', 'health', 'outliers', 'breaker', 'retries', 'host');
  const anyRoute = anyFields('name', 'match', 'upstream', 'rules', 'admission', 'priority', 'stripPrefix', 'maxDelay');
  const anyGateway = fc.record(
    {
      listen: anyValue,
      identify: fc.oneof(anyValue, fc.dictionary(anyName, anyValue)),
      admissions: fc.dictionary(anyName, anyFields('concurrency', 'tenant', 'weights', 'priority', 'priorities')),
      routes: fc.array(fc.oneof(anyValue, anyRoute), { maxLength: 3 }),
      upstreams: fc.oneof(
        anyValue,
        fc.dictionary(anyName, fc.oneof(anyUpstream, fc.constant({ members: ['127.0.0.1:9001'] }))),
      ),
    },
    { requiredKeys: [] },
  );
  const anyFile = fc.dictionary(
    fc.constantFrom(
      'rules',
      'allow',
      'deny',
      'store',
      'listen',
      'security',
      'limits',
      'workers',
      'snapshot',
      'envoy',
      'logs',
      'drain',
      'studio',
      'gateway',
    ),
    fc.oneof(
      anyValue,
      anyGateway,
      fc.array(anyRule, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...settings.map(({ path }) => path.split('.').at(-1) as string)), anyValue),
    ),
  );

  test('of data', () => {
    fc.assert(
      fc.property(anyFile, (data) => {
        const read = readConfig({ text: JSON.stringify(data) });
        if ('problems' in read) expect(read.problems.length).toBeGreaterThan(0);
        else expect(read.config.rules).toHaveLength(((data as { rules?: unknown[] }).rules ?? []).length);
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/traces'],
  ['https://me:word@traces?a=1', 'https://me:word@traces/v1/traces?a=1'],
  ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1/else', 'http://127.0.0.1/else'],
])('traces for %s are sent to %s', (endpoint, expected) => {
  const read = readConfig({ text: `tracing: { endpoint: "${endpoint}" }` });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  expect(read.config.tracing?.endpoint).toBe(expected);
});

test('one door is open at least, unless it is the gateway that listens', () => {
  const closed = 'listen: { http: false, grpc: false, resp: false }\n';
  expect(readConfig({ text: closed })).toMatchObject({
    problems: [{ path: 'listen', message: expect.stringContaining('must leave one of http, grpc, resp, admin open') }],
  });
  expect(readConfig({ text: closed.replace('resp: false', 'resp: 1') })).toHaveProperty('config');
  expect(readConfig({ text: `${closed}gateway: { upstreams: { api: { members: ['a:1'] } } }` })).toHaveProperty(
    'config',
  );
});
