// Each example is run against a service that is started as its README says. Envoy itself is not: its file is read, and what it would
// make Envoy ask is asked over gRPC.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import {
  type EtcdCluster,
  ensureDebianPackage,
  type GatewayProcess,
  type SluiceService,
  startEtcd,
  startGateway,
  startSluice,
  waitUntil,
} from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { read, root, runCommand } from './repository.ts';

async function start(...args: string[]): Promise<SluiceService> {
  const service = await startSluice({ args });
  await waitUntil('the service is ready', async () => (await fetch(`${service.url}/readyz`)).status === 200);
  return service;
}

/** What a script prints, line by line. */
function linesOf(command: string, script: string, ...args: string[]): string[] {
  const { status, stdout, output } = runCommand(command, [join('examples', script), ...args]);
  expect(status, output).toBe(0);
  return stdout.trimEnd().split('\n').map((line) => line.trimEnd()); // biome-ignore format: one line
}

describe('with the rules of examples/sluice.yaml', () => {
  let service: SluiceService;
  beforeAll(async () => {
    await ensureDebianPackage('curl', ['curl']);
    await ensureDebianPackage('redis-cli', ['redis-tools']);
    service = await start('--config', join(root, 'examples/sluice.yaml'));
  });
  afterAll(() => service.stop());

  test('curl', () => {
    expect(linesOf('bash', 'curl/run.sh', service.url)).toEqual([
      '# the rules, about a request',
      'upload:       200',
      'upload again: 429',
      'read:         200',
      'read:         200', // the refused upload took nothing of the three
      'read again:   429',
      '# what a refusal says',
      'http/1.1 429 too many requests',
      'retry-after: (seconds)',
      'x-ratelimit-limit: 3',
      'x-ratelimit-remaining: 0',
      '# a policy of your own',
      '200',
      '200',
      '429',
      '# an exception for one user, and back',
      'done',
      'read:         200',
      'done',
    ]);
  });

  test('redis-cli', () => {
    expect(linesOf('bash', 'redis-cli/run.sh', String(service.respPort))).toEqual([
      '# CL.THROTTLE: limited, limit, remaining',
      '0 2 1',
      '0 2 0',
      '1 2 0',
      '# SLUICE.CHECK per-user: allowed, limit, remaining',
      '1 3 1',
      '0 3 1',
      '1 3 0',
      '# SLUICE.POLICY: allowed, limit, remaining',
      '1 2 1',
      '1 2 0',
      '0 2 0',
    ]);
  });

  test('ioredis', () => {
    expect(linesOf(process.execPath, 'ioredis/run.mjs', String(service.respPort))).toEqual([
      '# one rule, four times',
      '{ allowed: true, remaining: 2 }',
      '{ allowed: true, remaining: 1 }',
      '{ allowed: true, remaining: 0 }',
      '{ allowed: false, remaining: 0 }',
      '# CL.THROTTLE, a hundred at once over one connection: ten pass',
      '10 of 100',
    ]);
  });
});

describe('envoy', () => {
  // biome-ignore lint/suspicious/noExplicitAny: Envoy's configuration has no type here; the test is about what it says.
  const { static_resources: resources }: any = parse(read('examples/envoy/envoy.yaml'));
  const manager = resources.listeners[0].filter_chains[0].filters[0].typed_config;
  const [rateLimit, router] = manager.http_filters;
  const cluster = (name: string) => resources.clusters.find((one: { name: string }) => one.name === name);

  test('denies when it gets no answer, and does not wait for long', () => {
    expect(rateLimit.name).toBe('envoy.filters.http.ratelimit');
    expect(rateLimit.typed_config).toMatchObject({
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit',
      failure_mode_deny: true,
      timeout: '0.020s',
      rate_limit_service: { transport_api_version: 'V3' },
    });
    expect(router.name, 'the router comes last').toBe('envoy.filters.http.router');
  });

  test('asks a cluster that speaks HTTP/2, on the gRPC port', () => {
    const asked = cluster(rateLimit.typed_config.rate_limit_service.grpc_service.envoy_grpc.cluster_name);
    const options = asked.typed_extension_protocol_options['envoy.extensions.upstreams.http.v3.HttpProtocolOptions'];
    expect(options.explicit_http_config).toHaveProperty('http2_protocol_options');
    const { socket_address: address } = asked.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address;
    expect(address.port_value).toBe(8081);
  });

  test('every cluster that is named is there, and knows itself by one name', () => {
    const { routes } = manager.route_config.virtual_hosts[0];
    for (const { route } of routes) expect(cluster(route.cluster)).toBeDefined();
    for (const { name, load_assignment: assignment } of resources.clusters) expect(assignment.cluster_name).toBe(name);
  });

  describe('what it sends', () => {
    interface SentRequest {
      readonly address: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    }
    interface Entry {
      readonly key: string;
      readonly value: string | undefined;
    }
    type Action =
      | { remote_address: object }
      | { generic_key: { descriptor_key: string; descriptor_value: string } }
      | { request_headers: { header_name: string; descriptor_key: string } };
    interface RateLimits {
      readonly rate_limits?: { readonly actions: readonly Action[] }[];
    }
    interface Route {
      readonly match: { readonly path?: string; readonly prefix?: string };
      readonly route: RateLimits;
      readonly typed_per_filter_config?: Readonly<Record<string, { readonly vh_rate_limits?: string }>>;
    }
    const host: RateLimits & { readonly routes: readonly Route[] } = manager.route_config.virtual_hosts[0];

    function entryOf(action: Action, { address, headers }: SentRequest): Entry {
      if ('remote_address' in action) return { key: 'remote_address', value: address };
      if ('generic_key' in action) {
        return { key: action.generic_key.descriptor_key, value: action.generic_key.descriptor_value };
      }
      if (!('request_headers' in action)) throw new Error(`this test does not know ${JSON.stringify(action)}`);
      const { header_name: header, descriptor_key: key } = action.request_headers;
      return { key, value: headers[header] };
    }

    /** As Envoy does it: the first route that matches, its limits before the host's, nothing where an action finds no value. */
    function descriptorsOf(request: SentRequest): { entries: Entry[] }[] {
      const path = request.path.replace(/\?.*$/, '');
      const found = host.routes.find(
        ({ match }) => match.path === path || (match.prefix && path.startsWith(match.prefix)),
      );
      const { rate_limits: own } = found!.route;
      const withHost = found!.typed_per_filter_config?.[rateLimit.name]?.vh_rate_limits === 'INCLUDE';
      const lists = [...(own ?? []), ...(own === undefined || withHost ? (host.rate_limits ?? []) : [])];
      return lists
        .map(({ actions }) => ({ entries: actions.map((action) => entryOf(action, request)) }))
        .filter(({ entries }) => entries.every(({ value }) => value !== undefined));
    }

    const protos = join(root, 'packages/server/protos');
    const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
      includeDirs: [protos],
      enums: String,
      defaults: true,
    });
    const { RateLimitService } = (
      loadPackageDefinition(definition) as unknown as {
        envoy: { service: { ratelimit: { v3: { RateLimitService: ServiceClientConstructor } } } };
      }
    ).envoy.service.ratelimit.v3;

    let service: SluiceService;
    let client: InstanceType<ServiceClientConstructor>;
    beforeAll(async () => {
      service = await start('--envoy-config', join(root, 'examples/envoy/limits'));
      client = new RateLimitService(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure());
    });
    afterAll(async () => {
      client.close();
      await service.stop();
    });

    interface Answer {
      overallCode: string;
      statuses: {
        code: string;
        limitRemaining: number;
        currentLimit: { requestsPerUnit: number; unit: string } | null;
      }[];
    }
    function ask(request: SentRequest): Promise<Answer> {
      const message = { domain: rateLimit.typed_config.domain, descriptors: descriptorsOf(request) };
      return new Promise((resolve, reject) => {
        const { ShouldRateLimit: call } = client as unknown as {
          ShouldRateLimit: (message: object, done: (error: Error | null, answer: Answer) => void) => void;
        };
        call.call(client, message, (error, answer) => (error ? reject(error) : resolve(answer)));
      });
    }

    /** A minute that ends in between would begin a new count. */
    const untilMinuteIsYoung = () => waitUntil('the minute is young', () => Date.now() % 60_000 < 50_000);

    test('meets the limits of the file: five uploads of a user, then no more', async () => {
      await untilMinuteIsYoung();
      const upload = { address: '203.0.113.7', path: '/upload', headers: { 'x-user': 'ann' } };
      const codes: string[] = [];
      for (let i = 0; i < 6; i += 1) codes.push((await ask(upload)).overallCode);
      expect(codes).toEqual(['OK', 'OK', 'OK', 'OK', 'OK', 'OVER_LIMIT']);
      const { overallCode, statuses } = await ask({ ...upload, path: '/upload?again' });
      expect([overallCode, ...statuses.map(({ code }) => code)]).toEqual(['OVER_LIMIT', 'OVER_LIMIT', 'OK']);
      expect(statuses[0]?.currentLimit).toMatchObject({ requestsPerUnit: 5, unit: 'MINUTE', name: 'uploads' });
      expect((await ask({ ...upload, headers: { 'x-user': 'bob' } })).overallCode).toBe('OK');
      expect((await ask({ ...upload, path: '/read' })).overallCode).toBe('OK');
    });

    test('an upload without a user is limited by its address alone', async () => {
      const { overallCode, statuses } = await ask({ address: '203.0.113.8', path: '/upload', headers: {} });
      expect(overallCode).toBe('OK');
      expect(statuses).toHaveLength(1);
      expect(statuses[0]).toMatchObject({ currentLimit: { requestsPerUnit: 100, unit: 'SECOND' } });
    });

    test('the script asks the same over HTTP', () => {
      const lines = linesOf('bash', 'envoy/ask.sh', service.url);
      expect(lines).toEqual(['200', '200', '200', '200', '200', '429']);
    });
  });
});

describe('the gateway before its two members', () => {
  let members: ChildProcess;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    await ensureDebianPackage('curl', ['curl']);
    members = spawn(process.execPath, [join(root, 'examples/gateway/upstreams.mjs'), '0', '0']);
    let said = '';
    members.stdout?.on('data', (text) => {
      said += text;
    });
    const portOf = (member: number) => new RegExp(`member ${member} listens on (\\d+)`).exec(said)?.[1];
    await waitUntil('the members listen', () => portOf(1) !== undefined && portOf(2) !== undefined);
    const config = parse(read('examples/gateway/sluice.yaml'));
    config.gateway.upstreams.api.members = [`127.0.0.1:${portOf(1)}`, `127.0.0.1:${portOf(2)}`];
    gateway = await startGateway(config);
    await waitUntil('it is ready', async () => (await fetch(`${gateway.adminUrl}/readyz`)).status === 200);
  });
  afterAll(async () => {
    await gateway?.stop();
    members.kill('SIGKILL');
  });

  test('limits, balances and retries', () => {
    expect(linesOf('bash', 'gateway/run.sh', gateway.url)).toEqual([
      '# two members take turns',
      'member 1 GET /hello',
      'member 2 GET /hello',
      '# three an hour for each user, then no more',
      '200',
      '200',
      '200',
      '429',
      '# one member fails here, and nobody sees it',
      '200',
      '200',
      '200',
      '200',
      '# another path to the same place is the same place; what no route matches is not there',
      '200',
      '404',
    ]);
  });
});

describe('three nodes, and an etcd between them', () => {
  let etcd: EtcdCluster;
  const nodes: SluiceService[] = [];
  // More than the example has: machines that run tests are busy.
  const graceMs = 2000;
  beforeAll(async () => {
    await ensureDebianPackage('curl', ['curl']);
    await ensureDebianPackage('redis-cli', ['redis-tools']);
    etcd = await startEtcd({ members: 1 });
    const args = ['--config', join(root, 'examples/cluster/sluice.yaml'), '--etcd', etcd.endpoints.join(',')];
    for (let i = 0; i < 3; i += 1) nodes.push(await startSluice({ args, env: { SLUICE_STORE_GRACE: `${graceMs}ms` } }));
    await waitUntil('each node has its part, and nothing is refused for what was before', async () => {
      const texts = await Promise.all(nodes.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
      const owned = texts.map((text) => Number(/^sluice_cluster_shards\{part="owned"\} (\d+)/m.exec(text)?.[1] ?? 0));
      // Keys that moved are refused a little longer than those that did not.
      const items = Array.from({ length: 100 }, (_, i) => ({ subject: { user: `first-${Math.random()}-${i}` } }));
      const body = JSON.stringify({ items });
      const response = await fetch(`${nodes[0]!.url}/v1/check/batch`, { method: 'POST', body });
      const { results } = (await response.json()) as { results: { allowed: boolean }[] };
      return owned.every((count) => count > 0) && results.every(({ allowed }) => allowed);
    });
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await etcd?.stop();
  });

  test('count together, whichever of them is asked', () => {
    const urls = nodes.map(({ url }) => url);
    expect(linesOf('bash', 'cluster/run.sh', String(nodes[0]!.respPort), ...urls)).toEqual([
      '# three in ten seconds, whichever node is asked',
      '200',
      '200',
      '200',
      '429',
      '# the same count, over the Redis protocol',
      '0 0',
      '# ten users, each counted by the node that owns its key',
      '10 1 2',
      '# who there is',
      'cluster_state:ok',
      'cluster_slots_ok:16384',
      'cluster_known_nodes:3',
    ]);
  });

  test('and whoever asks', () => {
    expect(linesOf(process.execPath, 'cluster/clients.mjs', String(nodes[1]!.respPort), String(graceMs))).toEqual([
      '# three in ten seconds, whoever asks',
      'ioredis       true',
      'node-redis    true',
      'sluice/client true',
      'ioredis       false',
      'sluice/client false limit true',
    ]);
  });
});

test('every example has a README, and is in the list', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const list = read('examples/README.md');
  for (const { name } of folders) {
    expect(read(`examples/${name}/README.md`)).toMatch(/^# /);
    expect(list).toContain(`[${name}](${name})`);
  }
});
