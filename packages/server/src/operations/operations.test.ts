// The service as it runs: what its metrics, its log and its traces say of requests through all three doors.
import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition, Metadata, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type SluiceService, startSluice } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attributesOf, Collector } from './collector.test-support.ts';
import { metricCatalogue } from './metric-catalogue.ts';
import { parsePrometheusText } from './prometheus-text.test-support.ts';

const token = 'a-token-nobody-may-read';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';
const headers = {
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  traceparent: `00-${traceId}-${callerId}-01`,
};

describe.each([1, 2])('with %i threads', (workers) => {
  const collector = new Collector();
  let service: SluiceService;
  let metrics: ReturnType<typeof parsePrometheusText>;

  beforeAll(async () => {
    const endpoint = await collector.listen();
    service = await startSluice({
      args: ['--envoy-config', fileURLToPath(new URL('../../../../examples/envoy/limits', import.meta.url))],
      config: `
workers: ${workers}
security: { token: ${token} }
tracing: { endpoint: '${endpoint}', sampleRatio: 0 }
rules:
  - { name: per-user, key: user, algorithm: gcra, limit: 2, window: 1h }
  - { name: watched, key: user, algorithm: gcra, limit: 1, window: 1h, shadow: true }
`,
    });
    for (let i = 0; i < 3; i += 1) {
      const body = JSON.stringify({ subject: { user: 'secret-user' } });
      await fetch(`${service.url}/v1/check`, { method: 'POST', headers, body });
    }
    await fetch(`${service.url}/v1/check`, { method: 'POST', headers, body: 'not JSON' });
    await fetch(`${service.url}/v1/rules`, { headers: { authorization: 'Bearer wrong' } });
    const redis = new Redis({ port: service.respPort, password: token, lazyConnect: true });
    for (let i = 0; i < 3; i += 1) await redis.call('CL.THROTTLE', 'secret-key', 0, 1, 3600);
    await redis.quit();
    await shouldRateLimit(service.grpcPort);
    const page = await fetch(`${service.url}/metrics`, { headers });
    expect(page.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    metrics = parsePrometheusText(await page.text());
    // Its end sends the traces that are waiting.
    await service.end('SIGTERM');
  });
  afterAll(async () => {
    await service.stop();
    collector.stop();
  });

  const value = (name: keyof typeof metricCatalogue, labels: Record<string, string> = {}) =>
    metrics
      .get(name)
      ?.samples.find((sample) => Object.entries(labels).every(([label, is]) => sample.labels[label] === is))?.value;

  test('the metrics are those of the catalogue', () => {
    const own = [...metrics.keys()].filter((name) => name.startsWith('sluice_'));
    // This is no node of a cluster.
    const expected = Object.keys(metricCatalogue).filter((name) => !name.startsWith('sluice_cluster_'));
    expect(own).toEqual(expected);
  });

  test('the metrics count what was asked', () => {
    expect(value('sluice_checks_total', { rule: 'per-user', outcome: 'allowed' })).toBe(2);
    expect(value('sluice_checks_total', { rule: 'per-user', outcome: 'refused' })).toBe(1);
    expect(value('sluice_checks_total', { rule: 'watched', outcome: 'shadow-refused' })).toBeGreaterThan(0);
    expect(value('sluice_checks_total', { rule: 'cl.throttle', outcome: 'allowed' })).toBe(1);
    expect(value('sluice_checks_total', { rule: 'cl.throttle', outcome: 'refused' })).toBe(2);
    expect(value('sluice_checks_total', { rule: 'envoy', outcome: 'allowed' })).toBe(1);
    expect(value('sluice_envoy_hits_total', { domain: 'edge', outcome: 'within' })).toBe(1);
    expect(value('sluice_malformed_requests_total', { door: 'http' })).toBe(1);
    expect(value('sluice_unauthorized_requests_total', { door: 'http' })).toBe(1);
    expect(value('sluice_requests_total', { door: 'grpc' })).toBe(1);
    expect(value('sluice_keys', { store: 'memory' })).toBe(4);
  });

  test('the spans are children of the caller, from the doors that carry a trace', () => {
    const told = collector.spans.map((span) => [span.traceId, span.parentSpanId, attributesOf(span)]);
    const ofCaller = (attributes: object) => [traceId, callerId, expect.objectContaining(attributes)];
    expect(told, service.log()).toHaveLength(4);
    expect(told).toEqual(
      expect.arrayContaining([
        ofCaller({ 'sluice.protocol': 'http', 'sluice.allowed': true }),
        ofCaller({ 'sluice.protocol': 'http', 'sluice.rule': 'per-user', 'sluice.allowed': false }),
        ofCaller({ 'sluice.protocol': 'grpc', 'sluice.rule': 'envoy', 'sluice.allowed': true }),
      ]),
    );
  });

  test('no token and no key is in the log, in the metrics or in the traces', () => {
    const log = service.log();
    expect(log).toContain('"msg":"ending"');
    const said = [log, JSON.stringify([...metrics]), JSON.stringify(collector.spans)].join('\n');
    expect(said).not.toContain(token);
    expect(said).not.toContain('secret-');
  });
});

function shouldRateLimit(port: number): Promise<unknown> {
  const protos = fileURLToPath(new URL('../../protos', import.meta.url));
  const loaded = loadPackageDefinition(loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [protos] }));
  const { RateLimitService } = (
    loaded as unknown as { envoy: { service: { ratelimit: { v3: { RateLimitService: ServiceClientConstructor } } } } }
  ).envoy.service.ratelimit.v3;
  const client = new RateLimitService(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', headers.authorization);
  metadata.set('traceparent', headers.traceparent);
  const entries = [{ key: 'remote_address', value: 'secret-address' }];
  const message = { domain: 'edge', descriptors: [{ entries }] };
  return new Promise((resolve, reject) => {
    const { ShouldRateLimit: call } = client as unknown as {
      ShouldRateLimit: (
        message: object,
        metadata: Metadata,
        done: (error: Error | null, answer: unknown) => void,
      ) => void;
    };
    call.call(client, message, metadata, (error, answer) => (error ? reject(error) : resolve(answer)));
  }).finally(() => client.close());
}
