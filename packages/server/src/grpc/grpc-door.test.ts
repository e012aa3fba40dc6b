// A client that grpc-js makes of the public protocol, against the door.
import { ChannelCredentials, Client, Metadata, status } from '@grpc/grpc-js';
import { SluiceError } from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import type { RateLimitResponse } from '../envoy/rate-limit-message.ts';
import { GrpcClient, LimitingService, openDoor, request } from './grpc-door.test-support.ts';

const bearer = (token: string) => {
  const metadata = new Metadata();
  metadata.set('authorization', token);
  return metadata;
};

async function open(choices: Parameters<typeof openDoor>[1] = {}) {
  const clock = new TestClock(0);
  const service = new LimitingService(clock);
  const opened = await openDoor(service, choices);
  return { ...opened, clock, service, client: new GrpcClient(opened.address) };
}

describe('ShouldRateLimit', () => {
  test('lets pass what is within the limit, refuses the rest, and always fills the statuses', async () => {
    const { client, clock } = await open();
    const ask = async () => (await client.shouldRateLimit(request('user', '42'))).statuses[0];
    const currentLimit = { requestsPerUnit: 3, unit: 'MINUTE', name: 'named' };
    const durationUntilReset = { seconds: '60' };
    expect(await ask()).toEqual({ code: 'OK', currentLimit, limitRemaining: 2, durationUntilReset });
    expect(await ask()).toEqual({ code: 'OK', currentLimit, limitRemaining: 1, durationUntilReset });
    expect(await ask()).toEqual({ code: 'OK', currentLimit, durationUntilReset });
    clock.advance(18_000);
    expect(await ask()).toEqual({ code: 'OVER_LIMIT', currentLimit, durationUntilReset: { seconds: '42' } });
    clock.advance(42_000);
    expect(await ask()).toMatchObject({ code: 'OK', limitRemaining: 2 });
  });

  test('answers each descriptor in its place, and OVER_LIMIT for all when one is over', async () => {
    const { client } = await open();
    const descriptors = [
      { entries: [{ key: 'user', value: 'a' }] },
      { entries: [{ key: 'user', value: 'b' }], hitsAddend: { value: '9' } },
      {
        entries: [
          { key: 'user', value: 'c' },
          { key: 'path', value: '/upload' },
        ],
      },
    ];
    const reply = await client.shouldRateLimit({ domain: 'shop', descriptors });
    expect(reply.overallCode).toBe('OVER_LIMIT');
    expect(reply.statuses.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT', 'OK']);
  });

  test('carries every field of the request', async () => {
    const { client, service } = await open();
    await client.shouldRateLimit({
      domain: 'größe\0🚦',
      hitsAddend: 2,
      descriptors: [
        { entries: [{ key: 'a', value: '' }], limit: { requestsPerUnit: 4_000_000_000, unit: 'DAY' } },
        { entries: [{ key: 'b', value: 'ü' }], hitsAddend: { value: '0' }, isNegativeHits: true },
        { entries: [{ key: 'c', value: 'x' }], hitsAddend: { value: '9007199254740991' } },
      ],
    });
    expect(service.requests).toEqual([
      {
        domain: 'größe\0🚦',
        hitsAddend: 2,
        descriptors: [
          {
            entries: [{ key: 'a', value: '' }],
            limit: { requestsPerUnit: 4_000_000_000, unit: 'DAY' },
            hitsAddend: undefined,
            isNegativeHits: false,
          },
          { entries: [{ key: 'b', value: 'ü' }], limit: undefined, hitsAddend: 0, isNegativeHits: true },
          {
            entries: [{ key: 'c', value: 'x' }],
            limit: undefined,
            hitsAddend: 9_007_199_254_740_991,
            isNegativeHits: false,
          },
        ],
      },
    ]);
  });

  test('counts the hits of the request, those of a descriptor instead, none, and gives back', async () => {
    const { client } = await open();
    const remaining = async (descriptor: object, more: object = {}) => {
      const entries = [{ key: 'user', value: '1' }];
      const limit = { requestsPerUnit: 100, unit: 'HOUR' };
      const reply = await client.shouldRateLimit({
        domain: 'd',
        descriptors: [{ entries, limit, ...descriptor }],
        ...more,
      });
      return reply.statuses[0]!.limitRemaining;
    };
    expect(await remaining({})).toBe(99);
    expect(await remaining({}, { hitsAddend: 9 })).toBe(90);
    expect(await remaining({ hitsAddend: { value: '40' } }, { hitsAddend: 9 })).toBe(50);
    expect(await remaining({ hitsAddend: { value: '0' } }, { hitsAddend: 9 })).toBe(50);
    expect(await remaining({ hitsAddend: { value: '20' }, isNegativeHits: true })).toBe(70);
  });

  test('brings headers and dynamic metadata', async () => {
    const { client } = await open();
    const reply = await client.shouldRateLimit(request('user', '42'));
    expect(reply.responseHeadersToAdd).toEqual([{ key: 'RateLimit-Remaining', value: '2' }]);
    expect(reply.requestHeadersToAdd).toEqual([{ key: 'x-größe', value: 'ümläut' }]);
    expect(reply.dynamicMetadata).toMatchObject({
      fields: {
        domain: { stringValue: 'shop' },
        nested: {
          structValue: {
            fields: {
              list: {
                listValue: {
                  values: [
                    { numberValue: 1 },
                    { stringValue: 'two' },
                    { boolValue: true },
                    { nullValue: 'NULL_VALUE' },
                    { structValue: { fields: { three: { numberValue: 3.5 } } } },
                  ],
                },
              },
            },
          },
        },
      },
    });
  });

  test('hands on the trace that the caller is part of', async () => {
    const seen: unknown[] = [];
    const limiting = new LimitingService();
    const { address } = await openDoor({
      shouldRateLimit: (asked, context) => {
        seen.push([context?.traceparent, context?.tracestate]);
        return limiting.shouldRateLimit(asked);
      },
    });
    const metadata = new Metadata();
    metadata.set('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    await new GrpcClient(address).shouldRateLimit(request('a', 'b'), {}, metadata);
    expect(seen).toEqual([['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined]]);
  });

  test('takes what the client compressed', async () => {
    const { address, service } = await open();
    const gzip = 2;
    const client = new GrpcClient(address, undefined, { 'grpc.default_compression_algorithm': gzip });
    const value = 'x'.repeat(5000);
    expect((await client.shouldRateLimit(request('user', value))).overallCode).toBe('OK');
    expect(service.requests[0]!.descriptors[0]!.entries[0]!.value).toBe(value);
  });

  test('answers thousands of calls at once, each with its own answer', async () => {
    const { address, settings } = await open({ limits: { pipelineDepth: 500 } });
    const clients = Array.from(
      { length: 4 },
      () => new GrpcClient(address, undefined, { 'grpc.use_local_subchannel_pool': 1 }),
    );
    const asked = Array.from({ length: 5000 }, (_, index) => index);
    const limit = { requestsPerUnit: 10_000, unit: 'DAY' };
    const replies = await Promise.all(
      asked.map((index) => {
        const entries = [{ key: 'k', value: String(index) }];
        return clients[index % 4]!.shouldRateLimit({
          domain: 'd',
          descriptors: [{ entries, limit, hitsAddend: { value: String(index) } }],
        });
      }),
    );
    expect(replies.map(({ statuses }) => statuses[0]!.limitRemaining)).toEqual(asked.map((index) => 10_000 - index));
    expect(settings.meter.requests).toBe(5000);
  });
});

describe('what cannot be answered', () => {
  const failing = (reason: unknown) => ({
    shouldRateLimit: (): RateLimitResponse => {
      throw reason;
    },
  });
  const rejecting = (reason: unknown) => ({ shouldRateLimit: () => Promise.reject(reason) });

  test.each([
    ['an empty domain', { descriptors: [{ entries: [{ key: 'a' }] }] }, 'rate limit domain must not be empty'],
    ['no descriptors', { domain: 'd' }, 'rate limit descriptor list must not be empty'],
    [
      'an override without a unit',
      { domain: 'd', descriptors: [{ entries: [{ key: 'a' }], limit: { requestsPerUnit: 1 } }] },
      'limit.unit must be one of SECOND, MINUTE, HOUR, DAY, got UNKNOWN',
    ],
  ])('%s is INVALID_ARGUMENT', async (_name, asked, details) => {
    const { client, settings } = await open();
    await expect(client.shouldRateLimit(asked)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details });
    expect(settings.meter).toMatchObject({ requests: 1, malformed: 1 });
  });

  test.each([
    ['thrown', failing],
    ['rejected', rejecting],
  ])('a store that does not answer is UNAVAILABLE, %s', async (_how, service) => {
    const { address, settings } = await openDoor(service(new SluiceError('store-unavailable', 'größe: 100%\nno')));
    await expect(new GrpcClient(address).shouldRateLimit(request('a', 'b'))).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: 'größe: 100%\nno',
    });
    expect(settings.meter).toMatchObject({ requests: 1, malformed: 0 });
  });

  test.each([
    ['thrown', failing],
    ['rejected', rejecting],
  ])('a mistake of ours is INTERNAL and logged, %s', async (_how, service) => {
    const { address, log } = await openDoor(service(new TypeError('oh')));
    const call = new GrpcClient(address).shouldRateLimit(request('a', 'b'));
    await expect(call).rejects.toMatchObject({ code: status.INTERNAL });
    expect(log.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { err: { message: 'oh' } } }]);
  });

  test('an answer of code UNKNOWN never leaves the door', async () => {
    const answer = { overallCode: 'UNKNOWN', statuses: [], responseHeadersToAdd: [], requestHeadersToAdd: [] };
    const { address } = await openDoor({ shouldRateLimit: () => answer as never });
    const call = new GrpcClient(address).shouldRateLimit(request('a', 'b'));
    await expect(call).rejects.toMatchObject({ code: status.INTERNAL });
  });

  test('a message larger than the limit is RESOURCE_EXHAUSTED, and the connection goes on', async () => {
    const { client, settings } = await open({ limits: { bodyBytes: 1000 } });
    for (const bytes of [1000, 100_000, 3_000_000]) {
      await expect(client.shouldRateLimit(request('a', 'x'.repeat(bytes)))).rejects.toMatchObject({
        code: status.RESOURCE_EXHAUSTED,
        details: expect.stringContaining('a message must be at most 1000 bytes'),
      });
    }
    expect((await client.shouldRateLimit(request('a', 'x'))).overallCode).toBe('OK');
    expect(settings.meter.connections).toBe(1);
  });

  test('whoever asks for health, which needs no token, may not send more than a name', async () => {
    const { address } = await open();
    const stranger = new Client(address, ChannelCredentials.createInsecure());
    const asBytes = (length: number) =>
      Buffer.concat([Buffer.from([0x0a, 0x80 | (length & 127), length >> 7]), Buffer.alloc(length, 'a')]);
    const codeOf = (length: number) =>
      new Promise((resolve) => {
        const path = '/grpc.health.v1.Health/Check';
        stranger.makeUnaryRequest(
          path,
          asBytes,
          (bytes: Buffer) => bytes,
          length,
          (error) => resolve(error?.code),
        );
      });
    expect([await codeOf(1000), await codeOf(1025)]).toEqual([status.NOT_FOUND, status.RESOURCE_EXHAUSTED]);
    stranger.close();
  });

  test('a method that does not exist is UNIMPLEMENTED', async () => {
    const { address, client } = await open();
    const stranger = new Client(address, ChannelCredentials.createInsecure());
    const same = (bytes: Buffer) => bytes;
    const call = new Promise((resolve, reject) => {
      stranger.makeUnaryRequest(
        '/grpc.reflection.v1.ServerReflection/X',
        same,
        same,
        Buffer.alloc(9),
        (error, reply) => (error ? reject(error) : resolve(reply)),
      );
    });
    await expect(call).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: 'there is no method "/grpc.reflection.v1.ServerReflection/X"',
    });
    stranger.close();
    expect((await client.shouldRateLimit(request('a', 'x'))).overallCode).toBe('OK');
  });

  test('a deadline that passes ends the call at both ends', async () => {
    const silent = { shouldRateLimit: () => new Promise<never>(() => undefined) };
    const { address } = await openDoor(silent);
    const call = new GrpcClient(address).shouldRateLimit(request('a', 'b'), { deadline: Date.now() + 20 });
    await expect(call).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });

  test('an answer that comes after its caller went harms nobody', async () => {
    const limiting = new LimitingService();
    const late: (() => void)[] = [];
    const { address, log } = await openDoor({
      shouldRateLimit: (asked) =>
        asked.domain === 'late'
          ? new Promise((resolve) => late.push(() => resolve(limiting.shouldRateLimit(asked))))
          : limiting.shouldRateLimit(asked),
    });
    const client = new GrpcClient(address);
    // Connected, and with time to get there: the call must have arrived before its caller goes.
    await client.shouldRateLimit(request('a', 'b'));
    const call = client.shouldRateLimit(request('a', 'b', { domain: 'late' }), { deadline: Date.now() + 500 });
    await expect(call).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(late).toHaveLength(1);
    late[0]!();
    expect((await client.shouldRateLimit(request('a', 'b'))).overallCode).toBe('OK');
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('a token', () => {
  const code = status.UNAUTHENTICATED;

  test('opens the door, any of them, and nothing else does', async () => {
    const { client, settings } = await open({ tokens: ['first', 'second'] });
    const ask = (metadata?: Metadata) => client.shouldRateLimit(request('a', 'b'), {}, metadata);
    await expect(ask()).rejects.toMatchObject({
      code,
      details: expect.stringContaining('authorization: Bearer <token>'),
    });
    for (const wrong of [
      '',
      'first',
      'Basic first',
      'Bearer',
      'Bearer ',
      'Bearer firs',
      'Bearer firstt',
      'Bearer FIRST',
    ]) {
      await expect(ask(bearer(wrong))).rejects.toMatchObject({ code });
    }
    expect((await ask(bearer('Bearer first'))).overallCode).toBe('OK');
    expect((await ask(bearer('bearer second'))).overallCode).toBe('OK');
    expect((await ask(bearer('bearer second'))).overallCode).toBe('OK');
    // One that was good before does not open for another on the same connection.
    await expect(ask(bearer('Bearer third'))).rejects.toMatchObject({ code });
    await expect(ask()).rejects.toMatchObject({ code });
    expect(settings.meter).toMatchObject({ requests: 14, unauthorized: 11 });
  });

  test('that is taken back opens nothing more, on a connection that it opened before either', async () => {
    const { client, settings } = await open({ tokens: ['old', 'kept'] });
    const ask = (token: string) => client.shouldRateLimit(request('a', token), {}, bearer(`Bearer ${token}`));
    await ask('old');
    settings.tokens.set(['kept', 'new']);
    await expect(ask('old')).rejects.toMatchObject({ code });
    for (const good of ['new', 'kept']) expect((await ask(good)).overallCode).toBe('OK');
    settings.tokens.set(['new']);
    await expect(ask('kept')).rejects.toMatchObject({ code });
  });

  test('is not needed to ask for health', async () => {
    const { client } = await open({ tokens: ['first'] });
    expect(await client.check()).toEqual({ status: 'SERVING' });
  });
});
