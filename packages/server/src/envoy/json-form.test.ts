import { SluiceError } from 'sluice';
import { expect, test } from 'vitest';
import { requestFromJson, responseToJson } from './json-form.ts';

const descriptor = { entries: [], limit: undefined, hitsAddend: undefined, isNegativeHits: false };

test.each<[name: string, body: unknown, expected: object]>([
  ['text', '{"domain":"rl"}', { domain: 'rl', descriptors: [], hitsAddend: 0 }],
  ['a value', { domain: 'rl' }, { domain: 'rl', descriptors: [], hitsAddend: 0 }],
  ['nothing', {}, { domain: '', descriptors: [], hitsAddend: 0 }],
  ['camel case', { hitsAddend: 2 }, { hitsAddend: 2 }],
  ['snake case', { hits_addend: 2 }, { hitsAddend: 2 }],
  ['numbers as strings', { hitsAddend: '4294967295' }, { hitsAddend: 4_294_967_295 }],
  ['numbers with an exponent', { hitsAddend: '1e2' }, { hitsAddend: 100 }],
  [
    'null as absent',
    { domain: null, descriptors: null, hits_addend: null },
    { domain: '', descriptors: [], hitsAddend: 0 },
  ],
  [
    'everything',
    {
      domain: 'rl',
      descriptors: [
        {
          entries: [{ key: 'a', value: 'b' }, { key: 'c' }],
          limit: { requests_per_unit: 5, unit: 'HOUR' },
          hits_addend: '18446744073709551615',
          is_negative_hits: true,
        },
        { hitsAddend: 0, limit: { requestsPerUnit: 1, unit: 2 } },
        { limit: {} },
        { limit: null, hitsAddend: null, entries: null },
      ],
    },
    {
      descriptors: [
        {
          entries: [
            { key: 'a', value: 'b' },
            { key: 'c', value: '' },
          ],
          limit: { requestsPerUnit: 5, unit: 'HOUR' },
          hitsAddend: 2 ** 64,
          isNegativeHits: true,
        },
        { ...descriptor, hitsAddend: 0, limit: { requestsPerUnit: 1, unit: 'MINUTE' } },
        { ...descriptor, limit: { requestsPerUnit: 0, unit: 'UNKNOWN' } },
        descriptor,
      ],
    },
  ],
])('reads %s', (_name, body, expected) => {
  expect(requestFromJson(body)).toMatchObject(expected);
});

test.each<[body: unknown, message: string]>([
  ['{', 'the request must be JSON: '],
  ['', 'the request must be JSON: '],
  ['[]', 'request must be an object, got a list'],
  ['null', 'request must be an object, got null'],
  [{ domian: 'rl' }, 'request has an unknown field "domian". It may have domain, descriptors, hitsAddend.'],
  [{ descriptors: [{ entires: [] }] }, 'descriptors[0] has an unknown field "entires"'],
  [
    { descriptors: [{ entries: [{ key: 'a' }, { name: 'b' }] }] },
    'descriptors[0].entries[1] has an unknown field "name"',
  ],
  [{ descriptors: [{ limit: { per: 1 } }] }, 'descriptors[0].limit has an unknown field "per"'],
  [{ hitsAddend: 1, hits_addend: 2 }, 'request has the field hitsAddend twice'],
  [JSON.parse('{"__proto__": 1}'), 'request has an unknown field "__proto__"'],
  [{ domain: 5 }, 'domain must be a string, got 5'],
  [{ domain: '\ud800' }, 'domain must be valid Unicode'],
  [{ descriptors: {} }, 'descriptors must be a list, got an object'],
  [{ descriptors: [null] }, 'descriptors[0] must be an object, got null'],
  [{ hitsAddend: -1 }, 'hitsAddend must be a whole number from 0 to 4294967295, got -1'],
  [{ hitsAddend: 1.5 }, 'hitsAddend must be a whole number from 0 to 4294967295, got 1.5'],
  [{ hitsAddend: '' }, 'hitsAddend must be a whole number from 0 to 4294967295, got ""'],
  [{ hitsAddend: '0x10' }, 'hitsAddend must be a whole number from 0 to 4294967295, got "0x10"'],
  [{ hitsAddend: 4_294_967_296 }, 'hitsAddend must be a whole number from 0 to 4294967295, got 4294967296'],
  [{ descriptors: [{ limit: { unit: 'WEEK' } }] }, 'descriptors[0].limit.unit must be one of UNKNOWN, SECOND'],
  [{ descriptors: [{ limit: { unit: 7 } }] }, 'descriptors[0].limit.unit must be one of UNKNOWN, SECOND'],
  [{ descriptors: [{ limit: { unit: 'minute' } }] }, 'got "minute"'],
  [{ descriptors: [{ isNegativeHits: 'true' }] }, 'descriptors[0].isNegativeHits must be true or false, got "true"'],
])('refuses %j', (body, message) => {
  expect(() => requestFromJson(body)).toThrow(message);
  expect(() => requestFromJson(body)).toThrow(SluiceError);
});

test('a body nested a hundred thousand deep is refused like any other', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(() => requestFromJson(`{"domain":${deep}}`)).toThrow('domain must be a string, got a list');
});

test('what has its default value is left out of an answer', () => {
  const response = responseToJson({
    overallCode: 'OVER_LIMIT',
    statuses: [
      {
        code: 'OVER_LIMIT',
        currentLimit: { requestsPerUnit: 1, unit: 'MINUTE', name: '' },
        limitRemaining: 0,
        durationUntilResetSeconds: 42,
      },
      { code: 'OK', limitRemaining: 4_294_967_295 },
    ],
    responseHeadersToAdd: [],
    requestHeadersToAdd: [],
  });
  expect(JSON.stringify(response)).toBe(
    '{"overallCode":"OVER_LIMIT","statuses":[' +
      '{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":1,"unit":"MINUTE"},"durationUntilReset":"42s"},' +
      '{"code":"OK","limitRemaining":4294967295}]}',
  );
});

test('everything else is written, in the order of the protocol', () => {
  const response = responseToJson({
    overallCode: 'OK',
    statuses: [
      {
        code: 'OK',
        currentLimit: { requestsPerUnit: 10, unit: 'WEEK', name: 'weekly' },
        limitRemaining: 9,
        durationUntilResetSeconds: 0,
      },
      { code: 'OVER_LIMIT', currentLimit: { requestsPerUnit: 0, unit: 'UNKNOWN', name: '' }, limitRemaining: 0 },
    ],
    responseHeadersToAdd: [{ key: 'RateLimit-Limit', value: '10' }],
    requestHeadersToAdd: [{ key: 'x', value: '' }],
    dynamicMetadata: { tier: 'free' },
  });
  expect(JSON.stringify(response)).toBe(
    '{"overallCode":"OK","statuses":[' +
      '{"code":"OK","currentLimit":{"requestsPerUnit":10,"unit":"WEEK","name":"weekly"},"limitRemaining":9,"durationUntilReset":"0s"},' +
      '{"code":"OVER_LIMIT","currentLimit":{}}],' +
      '"responseHeadersToAdd":[{"key":"RateLimit-Limit","value":"10"}],"requestHeadersToAdd":[{"key":"x"}],' +
      '"dynamicMetadata":{"tier":"free"}}',
  );
});
