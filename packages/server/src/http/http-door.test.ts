import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Decision, memoryStore, SluiceError } from 'sluice';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { documentedApi } from './documented.test-support.ts';
import {
  type Asked,
  answeringLater,
  type Json,
  type Opened,
  type OpenOptions,
  open,
} from './http-door.test-support.ts';
import { openApiDocument } from './openapi.ts';
import { routesOf } from './routes.ts';

const api = documentedApi(JSON.parse(JSON.stringify(openApiDocument(routesOf('everything')))));

const run = promisify(execFile);

let opened: Opened;

/** Asks, and holds the answer against the document. */
async function ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Asked> {
  const response = await opened.ask(method, path, body, headers);
  expect(api.problems(method, path, response), `${method} ${path}: ${response.text}`).toEqual([]);
  return response;
}

async function reopen(options: OpenOptions, wrap?: Parameters<typeof open>[1]): Promise<void> {
  await opened.close();
  opened = await open(options, wrap);
}

beforeEach(async () => {
  opened = await open();
  return () => opened.close();
});

const check = (body: unknown, headers?: Record<string, string>) => ask('POST', '/v1/check', body, headers);
const adHoc = (key: string, limit = 2) => ({ policy: { algorithm: 'gcra', limit, window: '1m' }, key });

describe('POST /v1/check', () => {
  it('answers 200 with what every rule said, and with headers that speak for the tightest', async () => {
    const { status, type, json, headers } = await check({ subject: { user: '42', ip: '203.0.113.9' } });
    expect([status, type]).toEqual([200, 'application/json']);
    expect(json).toMatchObject({ allowed: true, tightest: { rule: 'per-user', remaining: 1, limit: 2 } });
    expect(json.decisions.map(({ rule }: Decision) => rule)).toEqual(['per-user', 'per-ip', 'watched']);
    expect(json.decisions[2].shadow).toBe(true);
    expect(json.decisions[1].policy).toEqual({ algorithm: 'gcra', limit: 10, window: 60_000, burst: 10 });
    expect(headers.get('x-ratelimit-limit')).toBe('2');
    expect(headers.get('x-ratelimit-remaining')).toBe('1');
    expect(headers.get('ratelimit-policy')).toBe('"per-user";q=2;w=60, "per-ip";q=10;w=60');
    expect(headers.get('ratelimit')).toBe('"per-user";r=1;t=60');
    expect(headers.get('retry-after')).toBeNull();
  });

  it('answers 429 with the same, beside a problem that names the violated policies', async () => {
    const subject = { user: '42', ip: '203.0.113.9' };
    for (let i = 0; i < 2; i += 1) await check({ subject });
    opened.clock.advance(500);
    const { status, type, json, headers } = await check({ subject });
    expect([status, type]).toEqual([429, 'application/problem+json']);
    expect(json).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      detail: 'per-user allows 2 in 60 s. Try again in 60 s.',
      'violated-policies': ['per-user'],
      allowed: false,
      tightest: { rule: 'per-user', allowed: false, retryAfterMs: 59_500, reason: 'limit' },
    });
    expect(headers.get('retry-after')).toBe('60');
    opened.clock.advance(59_500);
    expect((await check({ subject })).status).toBe(200);
  });

  it('takes a policy that comes along, and counts equal ones together', async () => {
    expect((await check(adHoc('k'))).json).toMatchObject({ allowed: true, remaining: 1, rule: 'ad-hoc' });
    expect((await check(adHoc('k'))).json.remaining).toBe(0);
    const refused = await check(adHoc('k'));
    expect(refused.status).toBe(429);
    expect(refused.json).toMatchObject({ allowed: false, retryAfterMs: 30_000, 'violated-policies': ['ad-hoc'] });
    expect((await check(adHoc('other'))).status).toBe(200);
    expect((await check(adHoc('k', 3))).status).toBe(200);
  });

  it('takes a cost, and says null and no Retry-After when waiting never helps', async () => {
    expect((await check({ ...adHoc('k', 10), cost: 4 })).json.remaining).toBe(6);
    const never = await check({ ...adHoc('k', 10), cost: 11 });
    expect([never.status, never.json.retryAfterMs, never.headers.get('retry-after')]).toEqual([429, null, null]);
    expect((await check({ ...adHoc('k', 10), cost: 0 })).json.remaining).toBe(6);
  });

  it('answers a call that is made again with the same id the same, and does not count it twice', async () => {
    const remaining = async (id: string) =>
      (await check({ subject: { ip: '203.0.113.9' }, id })).json.tightest.remaining;
    expect([await remaining('a'), await remaining('a'), await remaining('b')]).toEqual([9, 9, 8]);
  });

  it('lets pass what no rule is about, and refuses who is on the deny-list', async () => {
    const none = await check({ subject: {} });
    expect([none.status, none.json]).toEqual([200, { allowed: true, tightest: null, decisions: [] }]);
    expect(none.headers.get('ratelimit')).toBeNull();
    const denied = await check({ subject: { ip: '192.0.2.66' } });
    expect([denied.status, denied.json.list, denied.json.detail]).toEqual([
      429,
      'deny',
      'The caller is on a deny-list.',
    ]);
  });

  it('is a 503 when the store cannot tell and the rule fails closed', async () => {
    const full = { store: (clock: Json) => memoryStore({ clock, maxKeys: 1 }) };
    await reopen(full);
    const policy = { algorithm: 'sliding-log', limit: 1, window: '1h' };
    expect((await check({ policy, key: 'first' })).status).toBe(200);
    const { status, type, json, headers } = await check({ policy, key: 'second' });
    expect([status, type, json.reason, json.allowed]).toEqual([503, 'application/problem+json', 'store-full', false]);
    expect(json.type).toBe('https://iana.org/assignments/http-problem-types#temporary-reduced-capacity');
    expect(headers.get('retry-after')).toBe('1');
  });

  it('is a 503 when the store does not answer at all, and a 500 with a line in the log for what nobody foresaw', async () => {
    const unavailable = () => {
      throw new SluiceError('store-unavailable', 'The store did not answer within 20 ms.');
    };
    await reopen({ instead: { check: unavailable, checkPolicy: () => Promise.reject(new TypeError('boom')) } });
    const down = await check({ subject: { user: '42' } });
    expect([down.status, down.json.detail, down.headers.get('retry-after')]).toEqual([
      503,
      'The store did not answer within 20 ms.',
      '1',
    ]);
    const failed = await check(adHoc('k'));
    expect([failed.status, failed.json.detail]).toEqual([500, 'The service failed at this request. Its log says why.']);
    expect(failed.text).not.toContain('boom');
    expect(opened.errors).toMatchObject([{ err: new TypeError('boom'), path: '/v1/check' }]);
  });

  it('answers the same from a service that answers later', async () => {
    await reopen({}, answeringLater);
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await check({ subject: { user: '42' } })).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await check({ subject: 1 })).status).toBe(400);
  });

  it('hands the caller’s trace on', async () => {
    const seen: unknown[] = [];
    await reopen({}, (service) => ({
      ...service,
      check(subject, call) {
        seen.push(call);
        return service.check(subject, call);
      },
    }));
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await check({ subject: {} }, { traceparent, tracestate: 'a=1' });
    await check({ subject: {}, cost: 2 });
    expect(seen).toEqual([{ traceparent, tracestate: 'a=1' }, { cost: 2 }]);
  });

  // biome-ignore format: aligned rows
  it.each<[string, unknown, string]>([
    ['no object',             [],                                       'A check must be an object of subject, policy, key, cost, id, got [].'],
    ['nothing to check',      {},                                       'A check needs subject, for the configured rules, or policy and key. Neither was given.'],
    ['both kinds at once',    { subject: {}, ...adHoc('k') },           'A check has either subject, for the configured rules, or policy and key. Leave one of them out.'],
    ['an unknown field',      { subject: {}, costs: 2 },                'A check has no field "costs". It takes subject, policy, key, cost, id.'],
    ['a time of its own',     { subject: {}, atMs: 5 },                 'atMs must be left out, got 5: the service counts by its own time. To replay a history, use the library: check(key, { atMs }).'],
    ['a subject of text',     { subject: 'me' },                        'subject must be an object of fields such as user, ip, path and tier, got "me".'],
    ['a list in the subject', { subject: { user: ['a'] } },             'subject.user must be text, a number, true, false or null, got ["a"].'],
    ['a number that is rounded', '{"subject":{"user":9007199254740993}}', 'subject.user must be a number from -9007199254740991 to 9007199254740991, got 9007199254740992. Send greater ones as text.'],
    ['a number beyond all',   '{"subject":{"user":-1e999}}',            'subject.user must be a number from -9007199254740991 to 9007199254740991, got -Infinity. Send greater ones as text.'],
    ['a cost below zero',     { subject: {}, cost: -1 },                'cost must be a finite number of 0 or more, got -1.'],
    ['a cost of text',        { subject: {}, cost: '1' },               'cost must be a finite number of 0 or more, got "1".'],
    ['a cost beyond numbers', '{"subject":{},"cost":1e999}',            'cost must be a finite number of 0 or more, got Infinity.'],
    ['an empty id',           { subject: {}, id: '' },                  'id must be text of 1 to 256 bytes, got "".'],
    ['an empty key',          { ...adHoc('k'), key: '' },               'key must be text of 1 to 256 bytes, got "".'],
    ['no key',                { policy: { algorithm: 'gcra', limit: 1, window: '1s' } }, 'key must be text of 1 to 256 bytes, got undefined.'],
    ['a key of a number',     { ...adHoc('k'), key: 7 },                'key must be text of 1 to 256 bytes, got 7.'],
    ['no such algorithm',     { policy: { algorithm: 'x', limit: 1 }, key: 'k' }, 'algorithm must be one of token-bucket, gcra, leaky-bucket, fixed-window, sliding-log, sliding-slots, sliding-window, smooth, concurrency, got "x".'],
    ['a misspelt option',     { policy: { algorithm: 'gcra', limit: 1, windw: 1 }, key: 'k' }, 'gcra has no field "windw". It takes limit, window, burst.'],
    ['a policy of text',      { policy: 'gcra', key: 'k' },             'policy must be an object of algorithm, limit, window and what the algorithm takes, got "gcra".'],
    ['an inherited name',     '{"subject":{},"__proto__":{"cost":9}}',  'A check has no field "__proto__". It takes subject, policy, key, cost, id.'],
    ['a constructor',         '{"subject":{},"constructor":{}}',        'A check has no field "constructor". It takes subject, policy, key, cost, id.'],
    ['a field twice',         '{"subject":{"user":"a"},"subject":{}}',  'The body is not valid JSON at line 1, column 25: the field "subject" is there twice.'],
    ['no JSON',               '{"subject":{"user":"a",}}',              'The body is not valid JSON at line 1, column 24: expected a field name in double quotes, found "}".'],
    ['half a body',           '{"subject":\n  {"user":',                'The body is not valid JSON at line 2, column 11: expected a value, found the end.'],
    ['nothing at all',        '  ',                                     'The body is empty. Send a JSON object.'],
    ['a NUL in a key',        { ...adHoc('k'), key: 'a\0b' },           '"key" must be text without a NUL character, got "a\\u0000b". Encode it, for instance as base64.'],
    ['half a pair in a key',  '{"subject":{"user":"\\ud83d"}}',         '"subject.user" must be text without half a surrogate pair, got "\\ud83d". Encode it, for instance as base64.'],
    ['a key that is too long', { ...adHoc('k'), key: 'k'.repeat(257) }, `key must be at most 256 bytes long, got 257: "${'k'.repeat(76)}.... Send a hash of it instead.`],
    ['long in bytes only',    { subject: { user: 'ü'.repeat(129) } },   `subject.user must be at most 256 bytes long, got 258: "${'ü'.repeat(76)}.... Send a hash of it instead.`],
  ])('refuses %s', async (_, body, detail) => {
    const { status, type, json } = await check(body);
    expect([status, type]).toEqual([400, 'application/problem+json']);
    expect(json.detail).toBe(detail);
    expect(opened.meter.malformed).toBe(1);
  });

  it('refuses bytes that are no UTF-8, instead of taking different keys for one', async () => {
    const { status, json } = await check(Buffer.from('{"subject":{"user":"\xff"}}', 'latin1'));
    expect([status, json.detail]).toEqual([400, 'The body is not UTF-8. Send JSON in UTF-8.']);
  });

  it('takes any other text for a key', async () => {
    for (const key of ['ü', '\u{1f6b0}', 'a|b%', '__proto__', 'constructor', '"quoted"', 'x'.repeat(256)]) {
      expect((await check(adHoc(key))).json.remaining, key).toBe(1);
    }
    expect((await check('{"subject":{"__proto__":"x","constructor":"y","toString":null}}')).status).toBe(200);
    expect(({} as Json).x).toBeUndefined();
  });

  it('refuses what is nested without end, and is not hurt by it', async () => {
    for (const depth of [33, 30_000]) {
      const { status, json } = await check(`{"subject":${'['.repeat(depth)}${']'.repeat(depth)}}`);
      expect([status, json.detail]).toEqual([400, `The body is nested ${depth + 1} deep, and at most 32 is read.`]);
    }
    expect((await check('['.repeat(60_000))).status).toBe(400);
  });
});

describe('a body', () => {
  it('has to be JSON by its content type', async () => {
    for (const type of ['application/json; charset=utf-8', 'application/vnd.acme+json', 'APPLICATION/JSON']) {
      expect((await check({ subject: {} }, { 'Content-Type': type })).status, type).toBe(200);
    }
    // What curl and fetch send when they are not told otherwise; from a page of this site it has to be said.
    for (const type of ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
      expect((await check({ subject: {} }, { 'Content-Type': type })).status, type).toBe(200);
      const headers = { 'Content-Type': type, 'Sec-Fetch-Site': 'same-origin' };
      expect((await check({ subject: {} }, headers)).status, `${type} from a page`).toBe(415);
    }
    for (const type of ['multipart/form-data', 'application/json; charset=latin1', 'application/jsonp']) {
      const { status, json } = await check({ subject: {} }, { 'Content-Type': type });
      expect([status, json.detail]).toEqual([
        415,
        `Content-Type must be application/json, got "${type}". With curl: -H 'Content-Type: application/json'.`,
      ]);
    }
    const packed = await check({ subject: {} }, { 'Content-Encoding': 'gzip' });
    expect([packed.status, packed.json.detail]).toEqual([
      415,
      'Content-Encoding must be left out, got "gzip". Send the body as it is.',
    ]);
  });

  it('has to be short enough, and the connection goes on when it was not much too long', async () => {
    const fits = JSON.stringify({ subject: { a: 'x' } }).padEnd(64 * 1024, ' ');
    expect((await check(fits)).status).toBe(200);
    const { status, json } = await check(`${fits} `);
    expect([status, json.detail]).toEqual([
      413,
      'The body must be at most 65536 bytes long, got 65537. Send less, or several requests.',
    ]);
    expect((await check(fits)).status).toBe(200);
  });
});

describe('POST /v1/check/batch', () => {
  const batch = (items: unknown) => ask('POST', '/v1/check/batch', { items });

  it('answers each item on its own: one that is wrong or refused does not touch the others', async () => {
    const { status, json } = await batch([
      { subject: { user: '42' } },
      adHoc('k', 1),
      { subject: { user: '42' }, at: 5 },
      adHoc('k', 1),
      { subject: { user: '42' }, cost: 2 },
      { subject: { user: '42' } },
    ]);
    expect(status).toBe(200);
    expect(json.results.map((result: Json) => [result.status, result.allowed])).toEqual([
      [200, true],
      [200, true],
      [400, undefined],
      [429, false],
      [429, false],
      [200, true],
    ]);
    expect(json.results[2].detail).toContain('at must be left out');
    expect(json.results[3]['violated-policies']).toEqual(['ad-hoc']);
  });

  it('answers the same from a service that answers later', async () => {
    await reopen({}, answeringLater);
    const { json } = await batch([adHoc('k', 1), 7, adHoc('k', 1)]);
    expect(json.results.map((result: Json) => result.status)).toEqual([200, 400, 429]);
  });

  it('takes none, and at most as many as the limit says', async () => {
    expect((await batch([])).json).toEqual({ results: [] });
    expect((await batch(Array.from({ length: 10 }, () => adHoc('k', 99)))).json.results).toHaveLength(10);
    const { status, json } = await batch(Array.from({ length: 11 }, () => adHoc('k', 99)));
    expect([status, json.detail]).toEqual([
      400,
      'items must be at most 10 checks, got 11. Send them in several batches.',
    ]);
    expect((await check(adHoc('k', 99))).json.remaining).toBe(88);
  });

  // biome-ignore format: aligned rows
  it.each<[unknown, string]>([
    [ [],                    'A batch must be an object of items, got [].' ],
    [ { items: {} },         'items must be a list of checks, got {}.' ],
    [ {},                    'items must be a list of checks, got undefined.' ],
    [ { items: [], id: 1 },  'A batch has no field "id". It takes items.' ],
  ])('refuses %j', async (body, detail) => {
    const { status, json } = await ask('POST', '/v1/check/batch', body);
    expect([status, json.detail]).toEqual([400, detail]);
  });

  it('fails as a whole when the service fails in a way that nobody foresaw', async () => {
    await reopen({ instead: { check: () => Promise.reject(new Error('boom')) } });
    expect((await batch([{ subject: {} }])).status).toBe(500);
  });
});

describe('POST /json', () => {
  const question = { domain: 'mongo_cps', descriptors: [{ entries: [{ key: 'database', value: 'users' }] }] };

  it('answers as envoyproxy/ratelimit does: 200 OK, then 429 OVER_LIMIT', async () => {
    const answers: Asked[] = [];
    for (let i = 0; i < 3; i += 1) answers.push(await ask('POST', '/json', question));
    expect(answers.map(({ status, json }) => [status, json.overallCode])).toEqual([
      [200, 'OK'],
      [200, 'OK'],
      [429, 'OVER_LIMIT'],
    ]);
    expect(answers[2]?.type).toBe('application/json');
    expect(answers[2]?.json.statuses[0]).toMatchObject({
      code: 'OVER_LIMIT',
      currentLimit: { requestsPerUnit: 2, unit: 'SECOND' },
      durationUntilReset: '1s',
    });
  });

  it('takes any content type, as that does', async () => {
    const { status } = await ask('POST', '/json', JSON.stringify(question), { 'Content-Type': 'text/plain' });
    expect(status).toBe(200);
  });

  it('refuses a wrong body, naming the field', async () => {
    const { status, json } = await ask('POST', '/json', { domain: 5 });
    expect([status, json.detail]).toEqual([400, 'domain must be a string, got 5']);
    expect((await ask('POST', '/json', { domain: '', descriptors: [] })).status).toBe(400);
    expect((await ask('POST', '/json', '{')).status).toBe(400);
  });
});

describe('administration', () => {
  it('lists the rules as they were written', async () => {
    const { json } = await ask('GET', '/v1/rules');
    expect(json.rules.map(({ name }: Json) => name)).toEqual(['per-user', 'per-ip', 'watched']);
    expect(json.rules[0]).toMatchObject({ algorithm: 'sliding-log', limit: 2, window: '1m' });
  });

  it('puts, lists and removes overrides', async () => {
    expect((await ask('GET', '/v1/overrides')).json).toEqual({ overrides: [] });
    const put = await ask('PUT', '/v1/overrides/per-user/42', { limit: 3 });
    expect([put.status, put.text]).toEqual([204, '']);
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await check({ subject: { user: '42' } })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await ask('GET', '/v1/overrides')).json.overrides).toEqual([
      { rule: 'per-user', key: '42', override: { limit: 3 }, expiresAtMs: null },
    ]);
    expect((await ask('PUT', '/v1/overrides/per-user/42', { limit: 9, expiresIn: '1s' })).status).toBe(204);
    expect((await ask('GET', '/v1/overrides')).json.overrides[0].expiresAtMs).toBe(opened.clock.now() + 1000);
    expect((await ask('DELETE', '/v1/overrides/per-user/42')).status).toBe(204);
    const gone = await ask('DELETE', '/v1/overrides/per-user/42');
    expect([gone.status, gone.json.detail]).toEqual([
      404,
      'Rule "per-user" has no override of the key "42". GET /v1/overrides lists them.',
    ]);
  });

  it('knows the key of an override however its address is written', async () => {
    expect((await ask('PUT', '/v1/overrides/per-ip/2001:db8::1', { limit: 3 })).status).toBe(204);
    const active = {
      rule: 'per-ip',
      key: '2001:db8:0:0:0:0:0:0/56',
      givenKey: '2001:db8::1',
      override: { limit: 3 },
      expiresAtMs: null,
    };
    expect((await ask('GET', '/v1/overrides')).json.overrides).toEqual([active]);
    expect((await ask('GET', '/v1/keys/per-ip/2001:DB8::2')).json).toMatchObject({
      key: '2001:DB8::2',
      override: active,
    });
    const wrong = await ask('PUT', '/v1/overrides/per-ip/2001:db8::%2F48', { limit: 3 });
    expect([wrong.status, wrong.json.detail]).toEqual([
      400,
      'key must be an address, or an IPv6 network of 56 bits, got "2001:db8::/48".',
    ]);
    expect((await ask('DELETE', '/v1/overrides/per-ip/2001:db8:0::')).status).toBe(204);
  });

  // biome-ignore format: aligned rows
  it.each<[unknown, string]>([
    [ {},                  'override must be a change of limit, window or burst, got {}.' ],
    [ { limits: 5 },       'An override has no field "limits". It takes limit, window, burst, expiresIn.' ],
    [ { limit: 0 },        'limit must be a number above 0, got 0.' ],
    [ { window: 'soon' },  'window must be a time above 0, got "soon". Give milliseconds as a number, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".' ],
    [ 5,                   'An override must be an object of limit, window, burst, expiresIn, got 5.' ],
  ])('refuses the override %j', async (override, detail) => {
    const { status, json } = await ask('PUT', '/v1/overrides/per-user/42', override);
    expect([status, json.detail]).toEqual([400, detail]);
  });

  it('shows a key without taking from it, and resets it', async () => {
    await check({ subject: { user: '42' } });
    for (let i = 0; i < 2; i += 1) {
      const { json } = await ask('GET', '/v1/keys/per-user/42');
      expect(json).toMatchObject({ rule: 'per-user', key: '42', decision: { allowed: true, remaining: 1, limit: 2 } });
    }
    const reset = await ask('DELETE', '/v1/keys/per-user/42');
    expect([reset.status, reset.json.decision.remaining]).toEqual([200, 2]);
    expect((await check({ subject: { user: '42' } })).json.tightest.remaining).toBe(1);
  });

  it('shows where a key stands under a tier', async () => {
    await reopen({
      rules:
        'rules:\n  - { name: r, key: user, algorithm: gcra, limit: 2, window: 1m, tiers: { "paid plan": { limit: 9 } } }',
    });
    await check({ subject: { user: '42', tier: 'paid plan' } });
    const remaining = async (path: string) => (await ask('GET', path)).json.decision.remaining;
    expect(await remaining('/v1/keys/r/42?tier=paid+plan')).toBe(8);
    expect(await remaining('/v1/keys/r?tier=paid%20plan&key=42')).toBe(8);
    expect(await remaining('/v1/keys/r/42')).toBe(1);
    expect((await ask('DELETE', '/v1/keys/r?key=42&tier=paid')).json.detail).toBe(
      'There is no query parameter "tier=paid". There is key.',
    );
  });

  it('takes keys that are percent-encoded in the path', async () => {
    for (const key of ['a/b', 'ü', 'a b', '42|%2Fupload', '100%', '?#&']) {
      expect((await ask('GET', `/v1/keys/per-user/${encodeURIComponent(key)}`)).json.key).toBe(key);
    }
  });

  it('takes any key in the query, also what no URL can have in its path', async () => {
    for (const key of ['.', '..', 'a/b', 'ü', 'a b', '1+1', '100%', '?#&=']) {
      const query = `?key=${encodeURIComponent(key)}`;
      expect((await ask('PUT', `/v1/overrides/per-user${query}`, { limit: 3 })).status).toBe(204);
      expect((await check({ subject: { user: key } })).status).toBe(200);
      const { json } = await ask('GET', `/v1/keys/per-user${query}`);
      expect(json).toMatchObject({ rule: 'per-user', key, decision: { limit: 3, remaining: 2 } });
      expect((await ask('DELETE', `/v1/keys/per-user${query}`)).json).toMatchObject({ rule: 'per-user', key });
      expect((await ask('GET', `/v1/keys/per-user${query}`)).json.decision.remaining).toBe(3);
      expect((await ask('DELETE', `/v1/overrides/per-user${query}`)).status).toBe(204);
    }
    expect((await ask('GET', '/v1/keys/per-user?key=a+b')).json.key).toBe('a b');
    expect((await ask('GET', '/v1/overrides')).json).toEqual({ overrides: [] });
  });

  // biome-ignore format: aligned rows
  it.each<[string, number, string]>([
    [ '/v1/keys/per-user',            400, 'The key is missing. Give it as the last part of the path, or as ?key=.' ],
    [ '/v1/keys/per-user?kay=4',      400, 'The key is missing. Give it as the last part of the path, or as ?key=.' ],
    [ '/v1/keys/per-user?key=',       400, 'key must be text, got "".' ],
    [ '/v1/keys/per-user?key',        400, 'key must be text, got "".' ],
    [ '/v1/keys/per-user/42?key=43',  400, 'The key is given twice: "42" in the path, and in the query. Leave one out.' ],
    [ '/v1/keys/per-user?key=4&key=4', 400, 'key is given 2 times in the query. Give it once.' ],
    [ '/v1/keys/per-user?key=4&x=1',  400, 'There is no query parameter "x=1". There is key and tier.' ],
    [ '/v1/keys/per-user/42?tier=',   400, 'tier must be text, got "".' ],
    [ '/v1/keys/per-user/42?tier=a&tier=b', 400, 'tier is given 2 times in the query. Give it once.' ],
    [ '/v1/keys/per-user?key=%ff',    400, 'key must be percent-encoded UTF-8 in the query, got "%ff". A percent sign itself is written %25.' ],
    [ '/v1/keys/nobody?key=42',       404, 'There is no rule "nobody". There are per-user, per-ip, watched.' ],
    [ '/v1/keys/per-user/%zz',        400, 'key must be percent-encoded UTF-8 in the path, got "%zz". A percent sign itself is written %25.' ],
    [ '/v1/keys/per-user/%ff',        400, 'key must be percent-encoded UTF-8 in the path, got "%ff". A percent sign itself is written %25.' ],
    [ '/v1/keys/per-user/a%00b',      400, '"key" must be text without a NUL character, got "a\\u0000b". Encode it, for instance as base64.' ],
    [ `/v1/keys/per-user/${'k'.repeat(257)}`, 400, `key must be at most 256 bytes long, got 257: "${'k'.repeat(76)}....` ],
    [ '/v1/keys/nobody/42',           404, 'There is no rule "nobody". There are per-user, per-ip, watched.' ],
    [ '/v1/keys/__proto__/42',        404, 'There is no rule "__proto__". There are per-user, per-ip, watched.' ],
  ])('answers GET %s with %d', async (path, status, detail) => {
    const response = await ask('GET', path);
    expect([response.status, response.json.detail]).toEqual([status, detail]);
  });

  it('lists who is refused most', async () => {
    for (let i = 0; i < 5; i += 1) await check({ subject: { user: '42' } });
    for (let i = 0; i < 3; i += 1) await check({ subject: { user: 'ann' } });
    expect((await ask('GET', '/v1/refused')).json.keys).toEqual([
      { rule: 'per-user', key: '42', refusals: 3, error: 0 },
      { rule: 'per-user', key: 'ann', refusals: 1, error: 0 },
    ]);
    expect((await ask('GET', '/v1/refused?most=1')).json.keys).toHaveLength(1);
    for (const most of ['0', '1001', 'x', '', '1.5']) {
      const { status, json } = await ask('GET', `/v1/refused?most=${most}`);
      expect([status, json.detail]).toEqual([400, `most must be a whole number from 1 to 1000, got "${most}".`]);
    }
    expect((await ask('GET', '/v1/refused?limit=1')).json.detail).toBe(
      'There is no query parameter "limit". There is most.',
    );
  });

  it('reads the configuration again, and says why where it cannot', async () => {
    expect((await ask('POST', '/v1/reload')).json.isApplied).toBe(true);
    const problems = ['sluice.yaml:3:5: limit must be a number above 0, got 0.'];
    const report = { isApplied: false, problems, needsRestart: [], added: [], changed: [], removed: [] };
    await reopen({ instead: { reload: () => report } });
    const { status, type, json } = await ask('POST', '/v1/reload');
    expect([status, type, json.problems]).toEqual([422, 'application/problem+json', problems]);
    expect(json.detail).toBe(`The configuration is wrong, and the old one stays. ${problems[0]}`);
  });

  it('has a port of its own where it is told so', async () => {
    await reopen({ serves: 'checks' });
    expect((await opened.ask('POST', '/v1/check', { subject: {} })).status).toBe(200);
    for (const path of ['/v1/rules', '/v1/keys/per-user/42', '/metrics']) {
      const { status, json } = await opened.ask('GET', path);
      expect([status, json.detail]).toEqual([
        404,
        `"${path}" is not here. The administration of this service has a port of its own.`,
      ]);
    }
    await reopen({ serves: 'administration' });
    expect((await opened.ask('GET', '/v1/rules')).status).toBe(200);
    const { status, json } = await opened.ask('POST', '/json', { domain: 'mongo_cps', descriptors: [] });
    expect([status, json.detail]).toEqual([
      404,
      '"/json" is not here. Envoy is answered by `sluice serve`, at the port for checks.',
    ]);
  });

  it('answers checks at its own port too, so that the studio there can try some', async () => {
    await reopen({ serves: 'administration' });
    const subject = { user: 'ann' };
    expect((await opened.ask('POST', '/v1/check', { subject })).json.decisions[0]).toMatchObject({ remaining: 1 });
    const batch = await opened.ask('POST', '/v1/check/batch', { items: [{ subject }, { subject }] });
    expect(batch.json.results.map((result: Json) => result.status)).toEqual([200, 429]);
    const { text } = await opened.ask('GET', '/');
    expect(text).toContain('POST   /v1/check ');
    expect(text).not.toContain('Try it:');
  });
});

describe('operations', () => {
  it('says that it lives, and whether it is ready', async () => {
    expect((await ask('GET', '/healthz')).json).toEqual({ status: 'ok' });
    expect((await ask('GET', '/readyz')).json).toEqual({ status: 'ok' });
    await reopen({ instead: { readiness: () => ({ isReady: false, reason: 'the store does not answer' }) } });
    const { status, json } = await ask('GET', '/readyz');
    expect([status, json.detail]).toEqual([503, 'Not ready: the store does not answer.']);
    expect((await ask('GET', '/healthz')).status).toBe(200);
  });

  it('has metrics for Prometheus', async () => {
    await check({ subject: { user: '42' } });
    const { type, text } = await ask('GET', '/metrics');
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('sluice_checks_total{rule="per-user",outcome="allowed"} 1');
  });

  it('says on its front page what it is and what to try', async () => {
    const { type, text } = await ask('GET', '/');
    expect(type).toBe('text/plain; charset=utf-8');
    for (const { path, method } of routesOf('everything'))
      expect(text).toMatch(new RegExp(`${method} +${path.replace(/[{}]/g, '\\$&')} `));
    const command =
      /curl[^\n]*\\\n[^\n]*/.exec(text)?.[0].replace('http://127.0.0.1:8080', `http://127.0.0.1:${opened.port}`) ?? '';
    const { stdout } = await run('sh', ['-c', command.replace('curl', 'curl -s')]);
    expect(stdout).toContain('HTTP/1.1 200 OK');
    expect(stdout).toContain('"remaining":4');
  });
});

describe('any request', () => {
  it('is told which methods a path has', async () => {
    const wrong = await opened.ask('GET', '/v1/check');
    expect([wrong.status, wrong.headers.get('allow'), wrong.json.detail]).toEqual([
      405,
      'OPTIONS, POST',
      'GET is not possible here. Possible: OPTIONS, POST.',
    ]);
    expect((await opened.ask('PATCH', '/v1/keys/per-user/42')).headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS');
    const asked = await opened.ask('OPTIONS', '/v1/overrides/per-user/42');
    expect([asked.status, asked.headers.get('allow'), asked.text]).toEqual([204, 'DELETE, OPTIONS, PUT', '']);
  });

  it('may ask for the head alone', async () => {
    const { status, text, headers } = await opened.ask('HEAD', '/healthz');
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '15']);
  });

  it('is told where there is nothing', async () => {
    for (const path of [
      '/v2/check',
      '/v1/check/',
      '//v1/check',
      '/v1/keys/a/b/c',
      '/v1/keys/per-user/',
      '/__proto__',
      '/constructor',
    ]) {
      const { status, json } = await opened.ask('GET', path);
      expect([path, status, json.detail]).toEqual([
        path,
        404,
        `There is nothing at "${path}". GET / lists what there is. A slash in a rule or key is written %2F, and a key of dots is given as ?key=.`,
      ]);
    }
  });

  it('needs a token where there are some, but for the probes', async () => {
    await reopen({ tokens: ['secret', 'other'] });
    for (const headers of [
      {},
      { Authorization: 'Bearer wrong' },
      { Authorization: 'Basic c2VjcmV0' },
      { Authorization: 'Bearer secre' },
    ] as const) {
      const { status, json, headers: got } = await ask('POST', '/v1/check', { subject: {} }, headers);
      expect([status, got.get('www-authenticate')]).toEqual([401, 'Bearer realm="sluice"']);
      expect(json.detail).toBe('A valid token is needed. Send the header Authorization: Bearer <token>.');
    }
    expect(opened.meter.unauthorized).toBe(4);
    for (const authorization of ['Bearer secret', 'bearer other']) {
      expect((await ask('POST', '/v1/check', { subject: {} }, { authorization })).status).toBe(200);
      expect((await ask('GET', '/v1/rules', undefined, { authorization })).status).toBe(200);
    }
    expect((await opened.ask('GET', '/v1/check')).status).toBe(401);
    expect((await ask('GET', '/metrics')).status).toBe(401);
    expect((await ask('GET', '/healthz')).status).toBe(200);
    expect((await ask('GET', '/readyz')).status).toBe(200);
  });

  it('is counted', async () => {
    await check({ subject: {} });
    await check('nonsense');
    await opened.ask('GET', '/nowhere');
    expect(opened.meter).toMatchObject({ requests: 3, malformed: 1, unauthorized: 0 });
    expect(opened.meter.connections).toBeGreaterThan(0);
  });
});

describe('with curl', () => {
  let port = 0;
  let server: Opened;
  beforeAll(async () => {
    server = await open();
    port = server.port;
  });
  afterAll(() => server.close());

  const curl = async (...given: string[]) => (await run('curl', ['-s', '-i', '--max-time', '10', ...given])).stdout;

  it('answers a check with the documented headers', async () => {
    const json = ['-H', 'Content-Type: application/json'];
    const output = await curl(...json, '-d', '{"subject":{"ip":"203.0.113.9"}}', `http://127.0.0.1:${port}/v1/check`);
    expect(output).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(output).toContain('\r\nRateLimit: "per-ip";r=9;t=6\r\n');
  });

  it('answers a body that is sent in chunks, and one that is announced first', async () => {
    const headers = ['-H', 'Content-Type: application/json'];
    const body = '{"subject":{"ip":"203.0.113.10"}}';
    const url = `http://127.0.0.1:${port}/v1/check`;
    expect(await curl(...headers, '-H', 'Transfer-Encoding: chunked', '-d', body, url)).toContain('"remaining":9');
    const announced = await curl(...headers, '-H', 'Expect: 100-continue', '-d', body, url);
    expect(announced).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    const tooLong = await curl(...headers, '-H', 'Expect: 100-continue', '-d', 'x'.repeat(100_000), url);
    expect(tooLong).toMatch(/^HTTP\/1\.1 413 /);
    expect(await curl(...headers, '-H', 'Expect: magic', '-d', body, url)).toMatch(/^HTTP\/1\.1 417 /);
  });
});
