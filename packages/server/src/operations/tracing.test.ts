import { gcra, limiter, rules, SluiceError } from 'sluice';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { Log } from '../service/log.ts';
import type { Service } from '../service/service.ts';
import { attributesOf, Collector } from './collector.test-support.ts';
import { parseTraceParent } from './trace-context.ts';
import { tracedService } from './traced-service.ts';
import { startTracing } from './tracing.ts';

let collector: Collector;
afterEach(() => collector.stop());

async function traced(sampleRatio: number) {
  collector = new Collector();
  const lines: [object, string][] = [];
  const write = (fields: object, message: string) => void lines.push([fields, message]);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const endpoint = await collector.listen();
  const tracing = await startTracing({ endpoint, sampleRatio, serviceName: 'limits' }, log);
  return { tracing, lines };
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const sampled = `00-${traceId}-${spanId}-01`;
const notSampled = `00-${traceId}-${spanId}-00`;

/** The checks of the library behind a service; what these tests do not ask is not there. */
function service(): Service {
  const clock = new TestClock(0);
  const policy = gcra({ limit: 1, window: '1m' });
  const configured = rules([{ name: 'per-user', key: 'user', policy }], { clock });
  const adHoc = limiter(policy, { clock });
  return {
    check: (subject: never) => configured.check(subject),
    checkRule: async () => Promise.reject(new SluiceError('store-unavailable', 'no answer about secret-key')),
    checkPolicy: async (_: unknown, key: string) => adHoc.check(key),
    throttle: () => ({ limited: 0, limit: 1, remaining: 0, retryAfterSeconds: -1, resetAfterSeconds: 1 }),
    shouldRateLimit: () => ({
      overallCode: 'OVER_LIMIT',
      statuses: [],
      responseHeadersToAdd: [],
      requestHeadersToAdd: [],
    }),
    readiness: () => ({ isReady: true }),
  } as unknown as Service;
}

describe('spans arrive at a collector', () => {
  test('under the span of the caller, with protocol, rule and answer, and without keys', async () => {
    const { tracing } = await traced(0);
    const asked = tracedService(service(), tracing, 'http');
    const call = { traceparent: sampled, tracestate: 'vendor=1' };
    expect(await asked.check({ user: 'secret-user' }, call)).toMatchObject({ allowed: true });
    expect(await asked.check({ user: 'secret-user' }, call)).toMatchObject({ allowed: false });
    await tracing.shutdown();
    expect(collector.spans).toHaveLength(2);
    for (const span of collector.spans) {
      expect(span).toMatchObject({ traceId, parentSpanId: spanId, traceState: 'vendor=1', name: 'check', kind: 2 });
    }
    expect(collector.spans.map(attributesOf)).toEqual([
      { 'sluice.protocol': 'http', 'sluice.allowed': true, 'sluice.rule': 'per-user' },
      { 'sluice.protocol': 'http', 'sluice.allowed': false, 'sluice.rule': 'per-user' },
    ]);
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
    expect(collector.services).toContainEqual({ key: 'service.name', value: { stringValue: 'limits' } });
  });

  test('of every kind of check, from every door', async () => {
    const { tracing } = await traced(1);
    const overHttp = tracedService(service(), tracing, 'http');
    await overHttp.checkPolicy(gcra({ limit: 1, window: '1m' }), 'secret-key');
    const overGrpc = tracedService(service(), tracing, 'grpc');
    await overGrpc.shouldRateLimit({ domain: 'edge', descriptors: [], hitsAddend: 1 }, { traceparent: sampled });
    const overResp = tracedService(service(), tracing, 'resp');
    overResp.throttle(Buffer.from('secret-key'), 0, 10, { maxBurst: 1, count: 1, periodSeconds: 1 }, 1);
    expect(await overResp.readiness()).toEqual({ isReady: true });
    await tracing.shutdown();
    expect(collector.spans.map((span) => [span.name, span.parentSpanId ?? '', attributesOf(span)])).toEqual([
      ['check policy', '', { 'sluice.protocol': 'http', 'sluice.allowed': true, 'sluice.rule': 'ad-hoc' }],
      ['should rate limit', spanId, { 'sluice.protocol': 'grpc', 'sluice.allowed': false, 'sluice.rule': 'envoy' }],
      ['throttle', '', { 'sluice.protocol': 'resp', 'sluice.allowed': true, 'sluice.rule': 'cl.throttle' }],
    ]);
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  test('of a check that fails: marked as an error, by its code, without its message', async () => {
    const { tracing } = await traced(1);
    const asked = tracedService(service(), tracing, 'resp');
    await expect(async () => asked.checkRule('per-user', 'secret-key')).rejects.toThrow('no answer');
    await tracing.shutdown();
    expect(collector.spans).toHaveLength(1);
    expect(collector.spans[0]!.status.code).toBe(2);
    expect(attributesOf(collector.spans[0]!)).toMatchObject({ 'error.type': 'store-unavailable' });
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  test('not for a caller who chose not to be traced, and not for those the ratio leaves out', async () => {
    const { tracing } = await traced(1);
    expect(tracing.start('check', { traceparent: notSampled }, {})).toBeUndefined();
    await tracing.shutdown();
    collector.stop();
    const none = await traced(0);
    for (let i = 0; i < 100; i += 1) expect(none.tracing.start('check', undefined, {})).toBeUndefined();
    await none.tracing.shutdown();
  });

  test('a header that is no traceparent begins a trace of its own', async () => {
    const { tracing } = await traced(1);
    tracing.start('check', { traceparent: `00-${traceId}-${spanId}-01-extra` }, {})?.end({});
    await tracing.shutdown();
    expect(collector.spans).toHaveLength(1);
    expect(collector.spans[0]!.traceId).not.toBe(traceId);
    expect(collector.spans[0]!.parentSpanId ?? '').toBe('');
  });
});

describe('a collector in trouble', () => {
  test('is said in the log, once, and nothing is thrown', async () => {
    const { tracing, lines } = await traced(1);
    collector.status = 400;
    // More than one batch, so that more than one export fails.
    for (let i = 0; i < 1500; i += 1) tracing.start('check', undefined, {})?.end({});
    await tracing.shutdown();
    expect(collector.requests).toBeGreaterThan(1);
    const messages = lines.map(([, message]) => message);
    expect(messages.filter((message) => message === 'the collector did not take the traces')).toHaveLength(1);
  });

  test('that is gone does not hold the end of the service up', async () => {
    const { tracing, lines } = await traced(1);
    collector.stop();
    tracing.start('check', undefined, {})?.end({});
    await tracing.shutdown();
    expect(lines.map(([, message]) => message)).toContain('the last traces were not sent');
  });

  test('the queue is bounded', async () => {
    const { tracing } = await traced(1);
    for (let i = 0; i < 20_000; i += 1) tracing.start('check', undefined, {})?.end({});
    await tracing.shutdown();
    expect(collector.spans.length).toBeLessThan(5000);
    expect(collector.spans.length).toBeGreaterThan(500);
  });
});

test('without a collector there is no tracing, and a traced service is the service', async () => {
  const untouched = service();
  collector = new Collector();
  const tracing = await startTracing(undefined, undefined as unknown as Log);
  expect(tracing.start('check', { traceparent: sampled }, {})).toBeUndefined();
  expect(tracedService(untouched, tracing, 'http')).toBe(untouched);
});

test.each<[string, boolean]>([
  [sampled, true],
  [`01-${traceId}-${spanId}-01-later`, true], // a later version may say more
  [`00-${traceId}-${spanId}-01-later`, false],
  [`ff-${traceId}-${spanId}-01`, false],
  [`00-${'0'.repeat(32)}-${spanId}-01`, false],
  [`00-${traceId}-${'0'.repeat(16)}-01`, false],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, false],
  [`00-${traceId}-${spanId}`, false],
  ['', false],
  ['x'.repeat(100_000), false],
])('traceparent %.60s is understood: %s', (header, isUnderstood) => {
  expect(parseTraceParent(header) !== undefined).toBe(isUnderstood);
});
