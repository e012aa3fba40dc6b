import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import { formatProblems } from './format-problems.ts';
import type { GatewayConfig } from './gateway-config.ts';
import { type ReadConfigOptions, readConfig } from './read-config.ts';

function gatewayOf(options: ReadConfigOptions): GatewayConfig {
  const read = readConfig(options);
  if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
  return read.config.gateway as GatewayConfig;
}

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'build-gateway-'));
  const { server, ca } = await makeCertificates();
  for (const [name, text] of [
    ['server.crt', server.cert],
    ['server.key', server.key],
    ['authority.crt', ca],
  ] as const)
    writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

test('one upstream with one member is a gateway: everything goes there, and every setting has its default', () => {
  expect(gatewayOf({ text: 'gateway: { upstreams: { api: { members: [127.0.0.1:9001] } } }' })).toEqual({
    listen: { host: '127.0.0.1', port: 8000 },
    admin: { host: '127.0.0.1', port: 8001 },
    tls: undefined,
    http2: true,
    trustProxy: 0,
    identify: {},
    limits: {
      headBytes: 16_384,
      headers: 100,
      bodyBytes: 10_485_760,
      connections: 10_000,
      streams: 100,
      headMs: 10_000,
      idleMs: 60_000,
    },
    accessLog: undefined,
    admissions: {},
    routes: [
      {
        name: 'default',
        host: undefined,
        path: undefined,
        method: undefined,
        headers: {},
        upstream: 'api',
        rules: undefined,
        admission: undefined,
        priority: 5,
        stripPrefix: undefined,
        maxDelayMs: 30_000,
      },
    ],
    upstreams: {
      api: {
        name: 'api',
        members: [{ id: '127.0.0.1:9001', host: '127.0.0.1', port: 9001, weight: 1 }],
        balancer: 'two-choices',
        stickyBy: undefined,
        health: undefined,
        outliers: { consecutiveFailures: 5, ejectionMs: 30_000, longestEjectionMs: 300_000, mostEjectedShare: 0.5 },
        breaker: undefined,
        slowStartMs: 0,
        timeouts: { connectMs: 1000, responseMs: 30_000, idleMs: 60_000 },
        retries: { attempts: 1, statuses: [502, 503, 504], budgetRatio: 0.2, bodyBytes: 65_536 },
        connections: 256,
        host: 'client',
      },
    },
  });
});

test('a whole gateway is read, and its paths start from the folder of the file', () => {
  const path = join(folder, 'sluice.yaml');
  writeFileSync(
    path,
    `
rules: [{ name: per-ip, key: ip, algorithm: gcra, limit: 1, window: 1s }]
listen: { host: "::" }
gateway:
  listen: 9000
  admin: "[::1]:9001"
  tls: { certificate: server.crt, key: ./server.key, clientAuthority: ${folder}/authority.crt }
  http2: false
  trustProxy: [10.0.0.0/8, loopback]
  identify: { user: header:X-User, session: cookie:Sid, plan: query:Plan }
  limits: { headBytes: 8kb, headers: 50, bodyBytes: 1mb, connections: 5, streams: 6, head: 1s, idle: 1m }
  accessLog: { path: access.log, format: json }
  admissions:
    main:
      concurrency: 100
      queue: 10
      queueTimeout: 250ms
      tenant: user
      weights: { gold: 3, free: 0.5 }
      defaultWeight: 2
      priority: header:X-Priority
      priorities: { high: 1, low: 9 }
      ageing: 0
    measured: { concurrency: { algorithm: vegas, max: 500 } }
    plain: {}
  routes:
    - name: api
      match: { host: [API.example.com., "*.example.org"], path: /v1/*, method: [get, POST], headers: { X-Beta: 1 } }
      upstream: api
      rules: per-ip
      admission: main
      priority: 2
      stripPrefix: /v1
      maxDelay: 0
    - { name: rest, upstream: web, rules: [] }
  upstreams:
    api:
      members: [ "[::1]:9001", { address: http://Api.internal:9002/, weight: 0.5 } ]
      balancer: hash-ring
      stickyBy: cookie:sid
      health: { path: /healthz?deep=1, interval: 1s, timeout: 100, unhealthyAfter: 1, healthyAfter: 4, status: 204 }
      outliers: { consecutiveFailures: 3, ejection: 1s, longestEjection: 2s, mostEjectedShare: 1 }
      breaker: { failureRatio: 1, minimumCalls: 1, window: 1s, open: 2s, halfOpenCalls: 4 }
      slowStart: 30s
      timeouts: { connect: 1, response: 2, idle: 3 }
      retries: { attempts: 0, on: [], budget: 1, bodyBytes: 1 }
      connections: 1
      host: member
    web: { members: [web:80], outliers: false, breaker: true, health: { path: /, status: 200-299 } }
`,
  );
  const read = readConfig({ path });
  expect('config' in read && read.watched).toEqual([
    path,
    join(folder, 'server.crt'),
    join(folder, 'server.key'),
    join(folder, 'authority.crt'),
  ]);
  const { routes, upstreams, admissions, ...rest } = gatewayOf({ path });
  expect(rest).toEqual({
    listen: { host: '::', port: 9000 },
    admin: { host: '::1', port: 9001 },
    tls: {
      certificate: join(folder, 'server.crt'),
      key: join(folder, 'server.key'),
      clientAuthority: join(folder, 'authority.crt'),
    },
    http2: false,
    trustProxy: ['10.0.0.0/8', 'loopback'],
    // Headers are the same in any case; cookies and parameters are not.
    identify: {
      user: { from: 'header', name: 'x-user' },
      session: { from: 'cookie', name: 'Sid' },
      plan: { from: 'query', name: 'Plan' },
    },
    limits: {
      headBytes: 8192,
      headers: 50,
      bodyBytes: 1_048_576,
      connections: 5,
      streams: 6,
      headMs: 1000,
      idleMs: 60_000,
    },
    accessLog: { path: join(folder, 'access.log'), format: 'json' },
  });
  const unsaid = { tenant: undefined, weights: {}, defaultWeight: 1, priority: undefined, priorities: {} };
  expect(admissions).toEqual({
    main: {
      name: 'main',
      concurrency: 100,
      queue: 10,
      queueTimeoutMs: 250,
      tenant: { from: 'field', name: 'user' },
      weights: { gold: 3, free: 0.5 },
      defaultWeight: 2,
      priority: { from: 'header', name: 'x-priority' },
      priorities: { high: 1, low: 9 },
      ageingMs: 0,
    },
    measured: {
      name: 'measured',
      concurrency: { algorithm: 'vegas', min: 1, max: 500 },
      queue: 1000,
      queueTimeoutMs: 1000,
      ageingMs: 1000,
      ...unsaid,
    },
    plain: {
      name: 'plain',
      concurrency: { algorithm: 'gradient', min: 1, max: 200 },
      queue: 1000,
      queueTimeoutMs: 1000,
      ageingMs: 1000,
      ...unsaid,
    },
  });
  expect(routes).toEqual([
    {
      name: 'api',
      host: ['api.example.com', '*.example.org'],
      path: ['/v1/*'],
      method: ['GET', 'POST'],
      headers: { 'x-beta': '1' },
      upstream: 'api',
      rules: ['per-ip'],
      admission: 'main',
      priority: 2,
      stripPrefix: '/v1',
      maxDelayMs: 0,
    },
    {
      name: 'rest',
      host: undefined,
      path: undefined,
      method: undefined,
      headers: {},
      upstream: 'web',
      rules: [],
      admission: undefined,
      priority: 5,
      stripPrefix: undefined,
      maxDelayMs: 30_000,
    },
  ]);
  expect(upstreams.api).toEqual({
    name: 'api',
    members: [
      { id: '[::1]:9001', host: '::1', port: 9001, weight: 1 },
      { id: 'api.internal:9002', host: 'api.internal', port: 9002, weight: 0.5 },
    ],
    balancer: 'hash-ring',
    stickyBy: { from: 'cookie', name: 'sid' },
    health: {
      path: '/healthz?deep=1',
      intervalMs: 1000,
      timeoutMs: 100,
      unhealthyAfter: 1,
      healthyAfter: 4,
      statusFrom: 204,
      statusTo: 204,
    },
    outliers: { consecutiveFailures: 3, ejectionMs: 1000, longestEjectionMs: 2000, mostEjectedShare: 1 },
    breaker: { failureRatio: 1, minimumCalls: 1, windowMs: 1000, openMs: 2000, halfOpenCalls: 4 },
    slowStartMs: 30_000,
    timeouts: { connectMs: 1, responseMs: 2, idleMs: 3 },
    retries: { attempts: 0, statuses: [], budgetRatio: 1, bodyBytes: 1 },
    connections: 1,
    host: 'member',
  });
  expect(upstreams.web).toMatchObject({
    outliers: undefined,
    breaker: { failureRatio: 0.5, minimumCalls: 20, windowMs: 10_000, openMs: 5000, halfOpenCalls: 3 },
    health: { statusFrom: 200, statusTo: 299, intervalMs: 5000, timeoutMs: 1000, unhealthyAfter: 3, healthyAfter: 2 },
  });
});

describe('without routes', () => {
  const upstreams = 'upstreams: { api: { members: [a:1] } }';

  test('everything goes through the only admission', () => {
    const { routes } = gatewayOf({ text: `gateway: { admissions: { main: {} }, ${upstreams} }` });
    expect(routes).toMatchObject([{ name: 'default', admission: 'main' }]);
  });

  test('of several admissions none is chosen', () => {
    const { routes } = gatewayOf({ text: `gateway: { admissions: { a: {}, b: {} }, ${upstreams} }` });
    expect(routes).toMatchObject([{ name: 'default', admission: undefined }]);
  });
});

test('a route that names no upstream goes to the only one, and through no admission', () => {
  const { routes } = gatewayOf({
    text: 'gateway: { routes: [{ name: a }], admissions: { main: {} }, upstreams: { api: { members: [a:1] } } }',
  });
  expect(routes).toMatchObject([{ name: 'a', upstream: 'api', admission: undefined }]);
});

test('words that callers send find nothing that nobody wrote', () => {
  const { admissions } = gatewayOf({
    text: 'gateway: { admissions: { main: { tenant: header:x, weights: { a: 1 }, priority: header:y } }, upstreams: { api: { members: [a:1] } } }',
  });
  expect(admissions.main?.weights.constructor).toBeUndefined();
  expect(admissions.main?.priorities.toString).toBeUndefined();
});

test('standard output is no file', () => {
  const { accessLog } = gatewayOf({
    text: 'gateway: { accessLog: { path: "-" }, upstreams: { api: { members: [a:1] } } }',
  });
  expect(accessLog).toEqual({ path: '-', format: 'combined' });
});

test('weights that make more points than a ring has room for are a problem of the members', () => {
  const text = (balancer: string, weight: number) => `
gateway:
  upstreams:
    api:
      balancer: ${balancer}
      members: [{ address: a:1, weight: ${weight} }, b:1]
`;
  const read = readConfig({ text: text('hash-ring', 1_000_000) });
  expect('problems' in read && read.problems).toMatchObject([
    {
      line: 6,
      column: 7,
      path: 'gateway.upstreams.api.members',
      message: expect.stringMatching(/^gateway\.upstreams\.api\.members cannot be used by hash-ring: weight .*points/),
    },
  ]);
  for (const [balancer, weight] of [
    ['hash-ring', 100],
    ['two-choices', 1_000_000],
  ] as const) {
    expect(readConfig({ text: text(balancer, weight) })).toHaveProperty('config');
  }
});

test('what is wrong in the form of one thing hides nothing that is wrong with another', () => {
  const text = `
gateway:
  listn: 1
  routes:
    - { name: a, upstream: apii, maxDelay: soon }
  upstreams:
    api: { members: [a:1, a:1], stickyBy: ip, slowStart: later }
`;
  const read = readConfig({ text });
  expect('problems' in read && read.problems.map(({ line, path }) => `${line} ${path}`)).toEqual([
    '3 gateway.listn',
    '5 gateway.routes[0].upstream',
    '5 gateway.routes[0].maxDelay',
    '7 gateway.upstreams.api.members[1]',
    '7 gateway.upstreams.api.stickyBy',
    '7 gateway.upstreams.api.slowStart',
  ]);
});
