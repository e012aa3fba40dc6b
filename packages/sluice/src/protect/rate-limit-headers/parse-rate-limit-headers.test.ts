import { IncomingMessage, OutgoingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { HeaderSource } from './header-lines.ts';
import { parseRateLimitHeaders } from './parse-rate-limit-headers.ts';
import type { ParsedPolicy, ParsedRateLimit } from './parsed.ts';

const nowMs = 1_750_000_000_000;
const read = (headers: HeaderSource): ParsedRateLimit => parseRateLimitHeaders(headers, { nowMs });
const seconds = (count: number) => count * 1000;

describe('dialects as servers speak them', () => {
  it.each<[string, Record<string, string | string[]>, readonly ParsedPolicy[]]>([
    [
      'GitHub: a resource, what was used, epoch seconds',
      {
        'x-ratelimit-limit': '5000',
        'x-ratelimit-remaining': '4987',
        'x-ratelimit-used': '13',
        'x-ratelimit-resource': 'core',
        'x-ratelimit-reset': '1750003600',
      },
      [{ name: 'core', limit: 5000, remaining: 4987, resetAfterMs: seconds(3600) }],
    ],
    [
      'only what was used',
      { 'X-RateLimit-Limit': '10', 'X-RateLimit-Used': '13', 'X-RateLimit-Reset': '7' },
      [{ name: 'default', limit: 10, remaining: 0, resetAfterMs: seconds(7) }],
    ],
    [
      'Twitter: another hyphen',
      { 'x-rate-limit-limit': '900', 'x-rate-limit-remaining': '899', 'x-rate-limit-reset': '1750000900' },
      [{ name: 'default', limit: 900, remaining: 899, resetAfterMs: seconds(900) }],
    ],
    [
      'Zendesk: the limit has the bare name',
      { 'X-Rate-Limit': '700', 'X-Rate-Limit-Remaining': '699' },
      [{ name: 'default', limit: 700, remaining: 699 }],
    ],
    [
      'Envoy: the limit, then all policies',
      {
        'x-ratelimit-limit': '10, 10;w=1;name="x", 1000;w=3600',
        'x-ratelimit-remaining': '9',
        'x-ratelimit-reset': '1',
      },
      [
        { name: 'x', limit: 10, windowMs: 1000, remaining: 9, resetAfterMs: 1000 },
        { name: '1000;w=3600', limit: 1000, windowMs: seconds(3600) },
      ],
    ],
    [
      'draft 3: the same in RateLimit-Limit, with a comment',
      {
        'RateLimit-Limit': '100, 100;w=60;comment="fixed window"',
        'RateLimit-Remaining': '50',
        'RateLimit-Reset': '50',
      },
      [{ name: 'default', limit: 100, windowMs: seconds(60), remaining: 50, resetAfterMs: seconds(50) }],
    ],
    [
      'of two policies with one quota, the one that lasts until the reset',
      { 'RateLimit-Policy': '10;w=1, 10;w=60', RateLimit: 'limit=10, remaining=3, reset=30' },
      [
        { name: '10;w=1', limit: 10, windowMs: 1000 },
        { name: '10;w=60', limit: 10, windowMs: seconds(60), remaining: 3, resetAfterMs: seconds(30) },
      ],
    ],
    [
      'a quota that none of several policies has is one of its own',
      { 'RateLimit-Policy': '10;w=1, 20;w=60', RateLimit: 'limit=15, remaining=3, reset=30' },
      [
        { name: '10;w=1', limit: 10, windowMs: 1000 },
        { name: '20;w=60', limit: 20, windowMs: seconds(60) },
        { name: 'default', limit: 15, remaining: 3, resetAfterMs: seconds(30) },
      ],
    ],
    [
      'Docker Hub: windows in every header, and no reset',
      { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
      [{ name: 'default', limit: 100, windowMs: seconds(21_600), remaining: 76 }],
    ],
    [
      'GitLab: epoch seconds under the names of the draft',
      {
        'RateLimit-Limit': '600',
        'RateLimit-Observed': '2',
        'RateLimit-Remaining': '598',
        'RateLimit-Name': 'throttle_authenticated_web',
        'RateLimit-Reset': '1750000060',
      },
      [{ name: 'throttle_authenticated_web', limit: 600, remaining: 598, resetAfterMs: seconds(60) }],
    ],
    [
      'Discord: seconds with fractions, from now and since the epoch',
      {
        'X-RateLimit-Limit': '5',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': '1750000999.123',
        'X-RateLimit-Reset-After': '1.25',
        'X-RateLimit-Bucket': 'abcd1234',
      },
      [{ name: 'default', limit: 5, remaining: 0, resetAfterMs: 1250 }],
    ],
    [
      'Reddit: a decimal',
      { 'x-ratelimit-remaining': '598.0', 'x-ratelimit-used': '2', 'x-ratelimit-reset': '178' },
      [{ name: 'default', remaining: 598, resetAfterMs: seconds(178) }],
    ],
    [
      'OpenAI: a limit for requests and one for tokens, with durations',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      [
        { name: 'requests', limit: 60, remaining: 59, resetAfterMs: 1000 },
        { name: 'tokens', unit: 'tokens', limit: 150_000, remaining: 149_984, resetAfterMs: seconds(360) },
      ],
    ],
    [
      'Anthropic: the name in the middle, RFC 3339',
      {
        'anthropic-ratelimit-requests-limit': '1000',
        'anthropic-ratelimit-requests-remaining': '999',
        'anthropic-ratelimit-requests-reset': '2025-06-15T15:06:50Z',
        'anthropic-ratelimit-input-tokens-limit': '80000',
        'anthropic-ratelimit-input-tokens-remaining': '79000',
        'anthropic-ratelimit-input-tokens-reset': '2025-06-15T17:06:50+02:00',
      },
      [
        { name: 'input-tokens', unit: 'tokens', limit: 80_000, remaining: 79_000, resetAfterMs: seconds(10) },
        { name: 'requests', limit: 1000, remaining: 999, resetAfterMs: seconds(10) },
      ],
    ],
    [
      'Kong: a limit per window',
      {
        'X-RateLimit-Limit-Minute': '10',
        'X-RateLimit-Remaining-Minute': '9',
        'X-RateLimit-Limit-Hour': '100',
        'X-RateLimit-Remaining-Hour': '99',
      },
      [
        { name: 'hour', limit: 100, windowMs: seconds(3600), remaining: 99 },
        { name: 'minute', limit: 10, windowMs: seconds(60), remaining: 9 },
      ],
    ],
    [
      'draft 7 with semicolons',
      { RateLimit: 'limit=100;remaining=50;reset=30' },
      [{ name: 'default', limit: 100, remaining: 50, resetAfterMs: seconds(30) }],
    ],
    [
      'the names that may come',
      { 'RateLimit-Policy': '"default";q=100;w=60', RateLimit: '"default";a=50;w=30;c=3' },
      [{ name: 'default', limit: 100, windowMs: seconds(60), remaining: 50, resetAfterMs: seconds(30), cost: 3 }],
    ],
    [
      'one name, two partitions',
      {
        'RateLimit-Policy': '"u";q=10;w=1;pk=:YQ==:, "u";q=20;w=1;pk=:Yg==:',
        RateLimit: '"u";r=3;t=1;pk=:Yg==:, "u";r=2;t=1;pk=:YQ==:',
      },
      [
        { name: 'u', limit: 10, windowMs: 1000, partitionKey: 'YQ==', remaining: 2, resetAfterMs: 1000 },
        { name: 'u', limit: 20, windowMs: 1000, partitionKey: 'Yg==', remaining: 3, resetAfterMs: 1000 },
      ],
    ],
    [
      'the unit of requests needs no word, whichever the draft means',
      { 'RateLimit-Policy': '"a";q=1;qu="requests", "b";q=2;qu="request", "c";q=3;qu="concurrent-requests"' },
      [
        { name: 'a', limit: 1 },
        { name: 'b', limit: 2 },
        { name: 'c', limit: 3, unit: 'concurrent-requests' },
      ],
    ],
    [
      'two limiters, of which each added its headers',
      {
        'X-RateLimit-Limit': ['10', '100'],
        'X-RateLimit-Remaining': ['9', '50'],
        'X-RateLimit-Reset': ['1', '60'],
      },
      [
        { name: 'default', limit: 10, remaining: 9, resetAfterMs: 1000 },
        { name: 'default-2', limit: 100, remaining: 50, resetAfterMs: seconds(60) },
      ],
    ],
    [
      'a newer dialect is believed, and what the older ones repeat is not read',
      {
        'X-RateLimit-Limit': '20',
        'X-RateLimit-Remaining': '7',
        'X-RateLimit-Reset': '1750000030',
        'RateLimit-Policy': '"burst";q=100;w=60',
        RateLimit: '"burst";r=7;t=30',
      },
      [{ name: 'burst', limit: 100, windowMs: seconds(60), remaining: 7, resetAfterMs: seconds(30) }],
    ],
    [
      'where the newer says only what the limits are, the older says what is left',
      { 'RateLimit-Policy': '"burst";q=100;w=60', 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '7' },
      [{ name: 'burst', limit: 100, windowMs: seconds(60), remaining: 7 }],
    ],
    [
      'a malformed newer dialect leaves the older one',
      { RateLimit: '"burst";r=', 'X-RateLimit-Remaining': '7' },
      [{ name: 'default', remaining: 7 }],
    ],
  ])('%s', (_, headers, policies) => {
    expect(read(headers).policies).toEqual(policies);
    expect(read(new Headers(Object.entries(headers).flatMap(linesOf))).policies).toEqual(policies);
  });
});

function linesOf([name, value]: [string, string | string[]]): [string, string][] {
  return [value].flat().map((line) => [name, line]);
}

describe('where headers are read from', () => {
  const policies = [{ name: 'p', limit: 10, windowMs: 1000, remaining: 5, resetAfterMs: 1000 }];
  const plain = { 'RateLimit-Policy': '"p";q=10;w=1', RateLimit: '"p";r=5;t=1' };
  const bytes = (text: string) => new TextEncoder().encode(text);
  const incoming = new IncomingMessage(new Socket());
  incoming.headers = { 'ratelimit-policy': '"p";q=10;w=1', ratelimit: '"p";r=5;t=1' };
  const outgoing = new OutgoingMessage();
  for (const [name, value] of Object.entries(plain)) outgoing.setHeader(name, value);

  it.each<[string, HeaderSource]>([
    ['Headers', new Headers(plain)],
    ['a Response', new Response(null, { headers: plain })],
    ['a message that came in', incoming],
    ['headers of a message that came in', incoming.headers],
    ['a message that goes out', outgoing],
    ['an object in capitals', { 'RATELIMIT-POLICY': '"p";q=10;w=1', RATELIMIT: '"p";r=5;t=1' }],
    ['a Map', new Map(Object.entries(plain))],
    ['pairs', Object.entries(plain)],
    ['raw headers', ['RateLimit-Policy', '"p";q=10;w=1', 'RateLimit', '"p";r=5;t=1']],
    ['raw headers as bytes', Object.entries(plain).flat().map(bytes)],
    ['an object of lists', { 'RateLimit-Policy': ['"p";q=10;w=1'], RateLimit: ['"p";r=5;t=1'] }],
    ['an object with more in it', { ...plain, ':status': 200, Via: undefined, 'Set-Cookie': ['a', 'b'] }],
  ])('%s', (_, source) => {
    expect(read(source).policies).toEqual(policies);
  });

  it('numbers are as good as their text', () => {
    expect(read({ 'x-ratelimit-limit': 10, 'x-ratelimit-remaining': 5, 'Retry-After': 3 })).toEqual({
      policies: [{ name: 'default', limit: 10, remaining: 5 }],
      tightest: { name: 'default', limit: 10, remaining: 5 },
      retryAfterMs: 3000,
      waitMs: 3000,
    });
  });

  it.each([undefined, null, 'RateLimit: "p";r=5', 7, true, [], {}, new Headers(), ['RateLimit'], { headers: null }])(
    'nothing is read from %j',
    (source) => {
      expect(read(source as HeaderSource)).toEqual({ policies: [], waitMs: 0 });
    },
  );

  it('no more is read than a server that means well would send', () => {
    function* endless(): Generator<[string, string]> {
      for (;;) yield ['X-Other', 'x'];
    }
    expect(read(endless()).policies).toEqual([]);
    const manyLimits = Array.from({ length: 500 }, (_, i) => [`X-RateLimit-Remaining-L${i}`, '1'] as const);
    expect(read(manyLimits).policies.length).toBe(16);
    const longList = Array.from({ length: 65 }, (_, i) => `"p${i}";r=1`).join(',');
    expect(read({ RateLimit: longList }).policies).toEqual([]);
    expect(read({ RateLimit: `"${'n'.repeat(5000)}";r=1` }).policies).toEqual([]);
  });
});

describe('the tightest limit', () => {
  it.each<[string, string, string | undefined]>([
    ['has the smallest share left', '"a";r=50;t=1;q=100, "b";r=30;t=1;q=300', 'b'],
    ['has nothing left', '"a";r=1;t=1;q=1000, "b";r=0;t=1', 'b'],
    ['of equal shares lasts longer', '"a";r=1;t=1;q=10, "b";r=1;t=9;q=10, "c";r=1;q=10', 'b'],
    ['is one whose share is known', '"a";r=1;t=1, "b";r=9;t=1;q=10', 'b'],
    ['is one of which is known what is left', '"a";t=1', undefined],
    ['has no share of nothing', '"a";r=1;q=0, "b";r=1;q=2', 'b'],
  ])('%s: %s', (_, value, name) => {
    expect(read({ RateLimit: value }).tightest?.name).toBe(name);
  });
});

describe('how long to wait', () => {
  // biome-ignore format: aligned rows
  it.each<[Record<string, string>, number]>([
    [{ 'Retry-After': '120' },                                              120_000 ],
    [{ 'Retry-After': '0' },                                                      0 ],
    [{ 'Retry-After': '1.5' },                                                 1500 ],  // Shopify
    [{ 'Retry-After': '30s' },                                               30_000 ],
    [{ 'Retry-After': 'Sun, 15 Jun 2025 15:06:50 GMT' },                     10_000 ],
    [{ 'Retry-After': 'Sun, 15 Jun 2025 15:06:00 GMT' },                          0 ],  // it is over
    [{ 'Retry-After': '1750000010' },                                        10_000 ],  // no standard, but seen
    [{ 'Retry-After': '1000000000' },                             1_000_000_000_000 ],  // seconds, however many
    [{ 'Retry-After': '99999999999999999999' },               1_000_000_000_000_000 ],  // as long as any wait is
    [{ RateLimit: '"a";r=0;t=999999999999999' },              1_000_000_000_000_000 ],
    [{ 'Retry-After': '-5' },                                                     0 ],  // malformed
    [{ 'Retry-After': 'soon' },                                                   0 ],
    [{ 'Retry-After': '5, 7' },                                                7000 ],  // two that said it
    [{ 'Retry-After-Ms': '250', 'Retry-After': '1' },                           250 ],  // the exact one
    [{ RateLimit: '"a";r=0;t=20' },                                          20_000 ],
    [{ RateLimit: '"a";r=0;t=20', 'Retry-After': '5' },                        5000 ],  // which wins
    [{ RateLimit: '"a";r=0;t=20, "b";r=0;t=30, "c";r=1;t=99' },              30_000 ],
    [{ RateLimit: '"a";r=0' },                                                    0 ],  // it does not say
    [{ RateLimit: '"a";r=1;t=20' },                                               0 ],
    [{ 'RateLimit-Policy': '"a";q=1;qu="concurrent-requests"', RateLimit: '"a";r=0;t=20' }, 0 ],
  ])('%j: %d ms', (headers, waitMs) => {
    expect(read(headers).waitMs).toBe(waitMs);
  });
});

describe('a response from a cache', () => {
  const headers = { RateLimit: '"a";r=0;t=20', 'Retry-After': '60' };

  it('says nothing about what is left now', () => {
    expect(read({ ...headers, Age: '45' })).toEqual({ policies: [], retryAfterMs: 15_000, waitMs: 15_000 });
    expect(read({ ...headers, Age: '90' })).toEqual({ policies: [], retryAfterMs: 0, waitMs: 0 });
  });

  it.each(['0', '-1', 'old', ''])('is not one whose age is %j', (age) => {
    expect(read({ ...headers, Age: age }).policies).toHaveLength(1);
  });
});

describe("the server's clock", () => {
  const at = (ownMs: number, date: string) =>
    parseRateLimitHeaders(
      { Date: date, 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1750000030' },
      { nowMs: ownMs },
    ).waitMs;
  const date = 'Sun, 15 Jun 2025 15:06:40 GMT'; // 1750000000

  // biome-ignore format: aligned rows
  it.each<[string, number, string, number]>([
    [ 'the own clock is exact within its second',   nowMs + 400,           date, 29_600 ],
    [ 'the own clock is a minute behind',           nowMs - 60_000,        date, 30_000 ],
    [ 'the own clock is an hour ahead',             nowMs + 3_600_000,     date, 30_000 ],
    [ 'the response was on its way for a while',    nowMs + 2500,          date, 30_000 ],
    [ 'the own clock stood still for three days',   nowMs - 3 * 86_400_000, date, 30_000 ],
    [ 'the own clock is a year ahead',              nowMs + 365 * 86_400_000, date, 30_000 ],
    [ 'a date that is none',                        nowMs + 400,           'yesterday', 29_600 ],
  ])('%s', (_, ownMs, dateHeader, waitMs) => {
    expect(at(ownMs, dateHeader)).toBe(waitMs);
  });

  it('is asked for dates too, and for nothing else', () => {
    const headers = { Date: date, 'Retry-After': 'Sun, 15 Jun 2025 15:06:50 GMT' };
    expect(parseRateLimitHeaders(headers, { nowMs: nowMs + 60_000 }).waitMs).toBe(10_000);
    expect(parseRateLimitHeaders({ Date: date, 'Retry-After': '7' }, { nowMs: nowMs + 60_000 }).waitMs).toBe(7000);
  });
});

describe('options', () => {
  const reset = (value: string, form?: 'seconds' | 'milliseconds' | 'epoch-seconds' | 'epoch-milliseconds') =>
    parseRateLimitHeaders(
      { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': value },
      form ? { nowMs, reset: form } : { nowMs },
    ).waitMs;

  it('reset says what a number is that its size does not tell', () => {
    expect(reset('1500')).toBe(1_500_000);
    expect(reset('1500', 'seconds')).toBe(1_500_000);
    expect(reset('1500', 'milliseconds')).toBe(1500);
    expect(reset('1750000001', 'epoch-seconds')).toBe(1000);
    expect(reset('1750000001500', 'epoch-milliseconds')).toBe(1500);
    // Dates and durations say themselves what they are.
    expect(reset('20s', 'milliseconds')).toBe(20_000);
  });

  it('takes the time from the wall clock', () => {
    const inAnHour = Math.floor(Date.now() / 1000) + 3600;
    const { waitMs } = parseRateLimitHeaders({ 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': inAnHour });
    expect(waitMs).toBeGreaterThan(3_500_000);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
  });

  it('refuses options that it does not know', () => {
    expect(() => parseRateLimitHeaders({}, { now: 1 } as never)).toThrow('has no field "now"');
    expect(() => parseRateLimitHeaders({}, { nowMs: Number.NaN })).toThrow('nowMs must be milliseconds');
    expect(() => parseRateLimitHeaders({}, { reset: 'days' as never })).toThrow('reset must be one of');
  });
});
