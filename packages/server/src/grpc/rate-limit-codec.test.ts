// protobufjs, which reads the same .proto files, is the judge of every message, both ways.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codes, type RateLimitRequest, type RateLimitResponse, units } from '../envoy/rate-limit-message.ts';
import { shouldRateLimitMethod } from './grpc-door.test-support.ts';
import { frameOf, headBytes } from './message-frame.ts';
import { decodeRateLimitRequest, writeRateLimitResponse } from './rate-limit-codec.ts';
import { GrpcError, statusCodes } from './status.ts';

const many = 100;
const decode = (bytes: Buffer) => decodeRateLimitRequest(bytes, many);
const encode = (response: RateLimitResponse) => frameOf(response, writeRateLimitResponse).subarray(headBytes);

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ maxLength: 20 }), fc.constant('\0'));
const uint32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
const overrideUnit = fc.constantFrom(...units.filter((unit) => unit !== 'WEEK'));

const requests: fc.Arbitrary<RateLimitRequest> = fc.record({
  domain: text,
  hitsAddend: uint32,
  descriptors: fc.array(
    fc.record({
      entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 5 }),
      limit: fc.option(fc.record({ requestsPerUnit: uint32, unit: overrideUnit }), { nil: undefined }),
      hitsAddend: fc.option(fc.oneof(uint32, fc.maxSafeNat()), { nil: undefined }),
      isNegativeHits: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
});

function asProtobufjs(request: RateLimitRequest): object {
  return {
    domain: request.domain,
    hitsAddend: request.hitsAddend,
    descriptors: request.descriptors.map(({ entries, limit, hitsAddend, isNegativeHits }) => ({
      entries,
      ...(limit && { limit: { requestsPerUnit: limit.requestsPerUnit, unit: limit.unit } }),
      ...(hitsAddend !== undefined && { hitsAddend: { value: String(hitsAddend) } }),
      isNegativeHits: isNegativeHits,
    })),
  };
}

test('every request that protobufjs writes is read as it was meant', () => {
  fc.assert(
    fc.property(requests, (request) => {
      expect(decode(shouldRateLimitMethod.requestSerialize(asProtobufjs(request)))).toEqual(request);
    }),
    { numRuns: 2000 },
  );
});

const code = fc.constantFrom('OK' as const, 'OVER_LIMIT' as const);
const headers = fc.array(fc.record({ key: text, value: text }), { maxLength: 4 });
const responses: fc.Arbitrary<RateLimitResponse> = fc.record({
  overallCode: code,
  statuses: fc.array(
    fc.record({
      code,
      currentLimit: fc.option(fc.record({ requestsPerUnit: uint32, unit: fc.constantFrom(...units), name: text }), {
        nil: undefined,
      }),
      limitRemaining: uint32,
      durationUntilResetSeconds: fc.option(fc.nat({ max: 315_576_000_000 }), { nil: undefined }),
    }),
    { maxLength: 8 },
  ),
  responseHeadersToAdd: headers,
  requestHeadersToAdd: headers,
  dynamicMetadata: fc.option(
    fc.dictionary(fc.string({ maxLength: 9 }), fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })),
    { nil: undefined },
  ),
});

/** What protobufjs makes of a response, without what proto3 leaves out. */
function expected(response: RateLimitResponse): object {
  return {
    overallCode: response.overallCode,
    ...unlessEmpty(
      'statuses',
      response.statuses.map((status) => ({
        code: status.code,
        ...(status.currentLimit && {
          currentLimit: {
            requestsPerUnit: status.currentLimit.requestsPerUnit,
            unit: status.currentLimit.unit,
            ...(status.currentLimit.name !== '' && { name: status.currentLimit.name }),
          },
        }),
        ...(status.limitRemaining > 0 && { limitRemaining: status.limitRemaining }),
        ...(status.durationUntilResetSeconds !== undefined && {
          durationUntilReset: { seconds: String(status.durationUntilResetSeconds) },
        }),
      })),
    ),
    ...unlessEmpty('responseHeadersToAdd', response.responseHeadersToAdd),
    ...unlessEmpty('requestHeadersToAdd', response.requestHeadersToAdd),
    ...(response.dynamicMetadata && { dynamicMetadata: structOf(response.dynamicMetadata) }),
  };
}

const unlessEmpty = (name: string, items: readonly unknown[]) => (items.length === 0 ? {} : { [name]: items });

function structOf(fields: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(fields);
  return entries.length === 0
    ? {}
    : { fields: Object.fromEntries(entries.map(([key, value]) => [key, kindOf(value)])) };
}

function kindOf(value: unknown): object {
  if (value === null) return { nullValue: 'NULL_VALUE', kind: 'nullValue' };
  if (typeof value === 'number') return { numberValue: value, kind: 'numberValue' };
  if (typeof value === 'string') return { stringValue: value, kind: 'stringValue' };
  if (typeof value === 'boolean') return { boolValue: value, kind: 'boolValue' };
  if (Array.isArray(value)) {
    return { listValue: value.length === 0 ? {} : { values: value.map(kindOf) }, kind: 'listValue' };
  }
  return { structValue: structOf(value as Record<string, unknown>), kind: 'structValue' };
}

test('every response is read by protobufjs as it was meant', () => {
  fc.assert(
    fc.property(responses, (response) => {
      expect(shouldRateLimitMethod.responseDeserialize(encode(response))).toEqual(expected(response));
    }),
    { numRuns: 2000 },
  );
});

test.each([100, 127, 128, 16_383, 16_384, 70_000, 2_100_000])('a name of %i bytes is written whole', (length) => {
  const response: RateLimitResponse = {
    overallCode: 'OK',
    statuses: [
      { code: 'OK', currentLimit: { requestsPerUnit: 1, unit: 'DAY', name: 'n'.repeat(length) }, limitRemaining: 1 },
      { code: 'OVER_LIMIT', limitRemaining: 0 },
    ],
    responseHeadersToAdd: [],
    requestHeadersToAdd: [],
  };
  expect(shouldRateLimitMethod.responseDeserialize(encode(response))).toEqual(expected(response));
});

test('numbers that a varint cannot hold become the nearest that it can', () => {
  const limited = (limitRemaining: number) => ({
    overallCode: 'OK' as const,
    statuses: [{ code: 'OK' as const, limitRemaining, durationUntilResetSeconds: Number.POSITIVE_INFINITY }],
    responseHeadersToAdd: [],
    requestHeadersToAdd: [],
  });
  const remaining = (given: number) =>
    (shouldRateLimitMethod.responseDeserialize(encode(limited(given))) as { statuses: Record<string, unknown>[] })
      .statuses[0];
  expect(remaining(2.9)).toMatchObject({ limitRemaining: 2 });
  expect(remaining(Number.POSITIVE_INFINITY)).toMatchObject({
    limitRemaining: 4_294_967_295,
    durationUntilReset: { seconds: '315576000000' },
  });
  expect(remaining(Number.NaN)).toMatchObject({ code: 'OK', limitRemaining: 0 });
  expect(remaining(-1)).toMatchObject({ code: 'OK', limitRemaining: 0 });
});

test('an answer without a code is an error, never UNKNOWN: Envoy would let the request pass', () => {
  const response = { statuses: [], responseHeadersToAdd: [], requestHeadersToAdd: [] };
  for (const overallCode of [codes[0], undefined, 'FINE']) {
    expect(() => encode({ ...response, overallCode } as never)).toThrow('it must be OK or OVER_LIMIT');
  }
});

test('metadata that a receiver would refuse for its depth is an error here', () => {
  const nested = (depth: number): Record<string, unknown> => (depth === 0 ? {} : { in: nested(depth - 1) });
  const listed = (depth: number): unknown => (depth === 0 ? 1 : [listed(depth - 1)]);
  const respond = (dynamicMetadata: Record<string, unknown>) =>
    encode({ overallCode: 'OK', statuses: [], responseHeadersToAdd: [], requestHeadersToAdd: [], dynamicMetadata });
  expect(respond(nested(31)).length).toBeGreaterThan(31);
  expect(() => respond(nested(40))).toThrow('dynamic metadata must be nested at most 32 deep');
  expect(() => respond({ list: listed(5000) })).toThrow('dynamic metadata must be nested at most 32 deep');
});

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const minimal = { entries: [], limit: undefined, hitsAddend: undefined, isNegativeHits: false };

const rules: readonly [name: string, bytes: string, expected: Partial<RateLimitRequest>][] = [
  ['nothing at all is the default of everything', '', { domain: '', descriptors: [], hitsAddend: 0 }],
  ['the last of a scalar wins', '0a0161 0a0162 1801 1802', { domain: 'b', hitsAddend: 2 }],
  ['repeated fields add up', '1200 1200', { descriptors: [minimal, minimal] }],
  [
    'a message that comes twice is merged',
    '1208 1202 0805 1202 1002',
    { descriptors: [{ ...minimal, limit: { requestsPerUnit: 5, unit: 'MINUTE' } }] },
  ],
  [
    'a wrapper that comes twice keeps the last value',
    '1208 1a02 0807 1a02 0809',
    { descriptors: [{ ...minimal, hitsAddend: 9 }] },
  ],
  ['an empty wrapper is 0, which is not absent', '1202 1a00', { descriptors: [{ ...minimal, hitsAddend: 0 }] }],
  [
    'an empty override is there',
    '1202 1200',
    { descriptors: [{ ...minimal, limit: { requestsPerUnit: 0, unit: 'UNKNOWN' } }] },
  ],
  ['a varint may be longer than it needs', '18 8180808000', { hitsAddend: 1 }],
  ['32 bits are kept of a longer number', '18 8180808010 ', { hitsAddend: 1 }],
  ['2^53 fits into 64 bits', '120b 1a09 08 8080808080808010', { descriptors: [{ ...minimal, hitsAddend: 2 ** 53 }] }],
  [
    'the largest 64 bits are the nearest double',
    '120d 1a0b 08 ffffffffffffffffff01',
    { descriptors: [{ ...minimal, hitsAddend: 2 ** 64 }] },
  ],
  ['any number but 0 is true', '1204 20 808001', { descriptors: [{ ...minimal, isNegativeHits: true }] }],
  [
    'unknown fields of every wire type are passed over',
    '2005 29 0102030405060708 3203aabbcc 3d01020304 0a0161',
    { domain: 'a' },
  ],
  ['a field of another wire type is unknown', '0805 1a0161 0a0161', { domain: 'a', hitsAddend: 0 }],
  ['a group is passed over with all in it', '2b 0805 2b 2c 3301 34 2c 0a0161'.replace('3301', '33'), { domain: 'a' }],
  ['a byte order mark is part of a string', '0a04 efbbbf61', { domain: '\ufeffa' }],
];

test.each(rules)('%s', (_name, bytes, expected) => {
  expect(decode(hex(bytes))).toMatchObject(expected);
});

const refusals: readonly [name: string, bytes: string, message: string][] = [
  ['a tag without a value', '0a', 'ends in the middle'],
  ['half a varint', '18 80', 'ends in the middle'],
  ['a length beyond the end', '0a05 6161', 'ends in the middle'],
  ['a length of 2^63', '0a 80808080808080808001', 'ends in the middle'],
  ['a length of 2^64 - 1', '0a ffffffffffffffffff01', 'ends in the middle'],
  ['a nested length beyond what surrounds it', '1203 0a0561 6161616161', 'ends in the middle'],
  ['a varint of eleven bytes', '18 8080808080808080808001', 'longer than 10 bytes'],
  ['field number 0', '00', 'number 0'],
  ['wire type 6', '0e', 'wire type 6'],
  ['wire type 7', '0f', 'wire type 7'],
  ['the end of a group that never began', '0c', 'wire type 4'],
  ['the end of another group', '2b 3c', 'wire type 4'],
  ['a group without an end', '2b 0805', 'ends in the middle'],
  ['a fixed number that is cut off', '29 0102', 'ends in the middle'],
  ['a string that is not UTF-8', '0a02 c328', 'not valid UTF-8'],
  ['half of a surrogate pair in a string', '0a03 eda080', 'not valid UTF-8'],
  ['a unit that does not exist', '1204 1202 1007', 'limit.unit must be a number from 0 to 6, got 7'],
  ['a negative unit', '120d 120b 10 ffffffffffffffffff01', 'limit.unit must be a number from 0 to 6'],
];

test.each(refusals)('refuses %s', (_name, bytes, message) => {
  expect(() => decode(hex(bytes))).toThrow(message);
  expect(() => decode(hex(bytes))).toThrow(expect.objectContaining({ status: statusCodes.invalidArgument }));
});

test('refuses groups nested deeper than protobuf allows, before the stack is full', () => {
  const nested = (depth: number) => Buffer.concat([Buffer.alloc(depth, 0x2b), Buffer.alloc(depth, 0x2c)]);
  expect(decode(nested(100)).domain).toBe('');
  expect(() => decode(nested(101))).toThrow('nested more than 100 deep');
  expect(() => decode(nested(1_000_000))).toThrow('nested more than 100 deep');
});

test('refuses more descriptors than a batch may have', () => {
  const empty = (count: number) => Buffer.concat(Array.from({ length: count }, () => hex('1200')));
  expect(decode(empty(many)).descriptors).toHaveLength(many);
  expect(() => decode(empty(many + 1))).toThrow('descriptors must be at most 100');
});

test('refuses more entries than that many descriptors have, wherever they are', () => {
  const empty = (...counts: number[]) =>
    Buffer.concat(
      counts.flatMap((count) => {
        const bytes = 2 * count;
        const length = bytes < 0x80 ? [bytes] : [(bytes & 0x7f) | 0x80, bytes >> 7];
        return [Buffer.from([0x12, ...length]), ...Array.from({ length: count }, () => hex('0a00'))];
      }),
    );
  const all = 16 * many;
  expect(decode(empty(all)).descriptors[0]!.entries).toHaveLength(all);
  expect(decode(empty(all - 10, 10)).descriptors.map(({ entries }) => entries.length)).toEqual([all - 10, 10]);
  for (const counts of [[all + 1], [all - 10, 11], [1, all]])
    expect(() => decode(empty(...counts))).toThrow(`the entries of all descriptors must be at most ${all}, got more`);
});

test('every prefix of a valid request is read or refused, never anything else', () => {
  const whole = shouldRateLimitMethod.requestSerialize({
    domain: 'shop',
    descriptors: [
      {
        entries: [{ key: 'größe', value: 'x' }],
        limit: { requestsPerUnit: 300, unit: 2 },
        hitsAddend: { value: '7' },
      },
    ],
    hitsAddend: 300,
  });
  for (let length = 0; length < whole.length; length++) {
    try {
      decode(whole.subarray(0, length));
    } catch (error) {
      expect(error).toBeInstanceOf(GrpcError);
    }
  }
});
