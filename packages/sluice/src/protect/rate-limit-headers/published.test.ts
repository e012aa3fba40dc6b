import { describe, expect, it } from 'vitest';
import { parseRateLimitHeaders } from './parse-rate-limit-headers.ts';
import type { ParsedPolicy } from './parsed.ts';

type Headers = Record<string, string | string[]>;
type Row = readonly [headers: Headers, policies: readonly ParsedPolicy[]];

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// Every example of draft 8, which drafts 9 to 11 repeat: the last but for one unit.
const examples: readonly Row[] = [
  [
    { 'RateLimit-Policy': '"burst";q=100;w=60,"daily";q=1000;w=86400' },
    [
      { name: 'burst', limit: 100, windowMs: minute },
      { name: 'daily', limit: 1000, windowMs: day },
    ],
  ],
  [{ 'RateLimit-Policy': '"default";q=100;w=10' }, [{ name: 'default', limit: 100, windowMs: 10 * second }]],
  [
    { 'RateLimit-Policy': '"permin";q=50;w=60,"perhr";q=1000;w=3600' },
    [
      { name: 'permin', limit: 50, windowMs: minute },
      { name: 'perhr', limit: 1000, windowMs: hour },
    ],
  ],
  [
    // The draft's own bytes are not canonical base64: the bits behind the last byte are not zero.
    { 'RateLimit-Policy': '"peruser";q=100;w=60;pk=:cHsdsRa894==:' },
    [{ name: 'peruser', limit: 100, windowMs: minute, partitionKey: 'cHsdsRa894==' }],
  ],
  [
    { 'RateLimit-Policy': '"peruser";q=65535;qu="bytes";w=10;pk=:sdfjLJUOUH==:' },
    [{ name: 'peruser', limit: 65_535, windowMs: 10 * second, unit: 'bytes', partitionKey: 'sdfjLJUOUH==' }],
  ],
  [
    { 'RateLimit-Policy': '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:' },
    [{ name: 'peruser', limit: 65_535, windowMs: 10 * second, unit: 'content-bytes', partitionKey: 'sdfjLJUOUH==' }],
  ],
  [{ RateLimit: '"default";r=50;t=30' }, [{ name: 'default', remaining: 50, resetAfterMs: 30 * second }]],
  [
    { RateLimit: '"default";r=999;pk=:dHJpYWwxMjEzMjM=:' },
    [{ name: 'default', remaining: 999, partitionKey: 'dHJpYWwxMjEzMjM=' }],
  ],
  [
    { RateLimit: '"default";r=300000000;t=60;pk=:QXBwLTk5OQ==:' },
    [{ name: 'default', remaining: 300_000_000, resetAfterMs: minute, partitionKey: 'QXBwLTk5OQ==' }],
  ],
  [{ RateLimit: '"problemPolicy";r=0;t=10' }, [{ name: 'problemPolicy', remaining: 0, resetAfterMs: 10 * second }]],
  [{ RateLimit: '"default";r=1;t=7' }, [{ name: 'default', remaining: 1, resetAfterMs: 7 * second }]],
  [{ RateLimit: '"daily";r=1;t=36400' }, [{ name: 'daily', remaining: 1, resetAfterMs: 36_400 * second }]],
  [
    { 'RateLimit-Policy': '"somepolicy";q=10000;w=1000', RateLimit: '"somepolicy";r=10000;t=10' },
    [
      {
        name: 'somepolicy',
        limit: 10_000,
        windowMs: 1000 * second,
        remaining: 10_000,
        resetAfterMs: 10 * second,
      },
    ],
  ],
  [{ RateLimit: '"default";r=0;t=50' }, [{ name: 'default', remaining: 0, resetAfterMs: 50 * second }]],
  [{ RateLimit: '"default";r=0;t=48' }, [{ name: 'default', remaining: 0, resetAfterMs: 48 * second }]],
  [{ RateLimit: '"dayLimit";r=100;t=36000' }, [{ name: 'dayLimit', remaining: 100, resetAfterMs: 10 * hour }]],
  [
    { 'RateLimit-Policy': '"basic";q=100;w=60', RateLimit: '"basic";r=60;t=58' },
    [{ name: 'basic', limit: 100, windowMs: minute, remaining: 60, resetAfterMs: 58 * second }],
  ],
  [
    { 'RateLimit-Policy': '"basic";q=100;w=60', RateLimit: '"basic";r=20;t=56' },
    [{ name: 'basic', limit: 100, windowMs: minute, remaining: 20, resetAfterMs: 56 * second }],
  ],
  [
    { 'Retry-After': 'Mon, 05 Aug 2019 09:27:05 GMT', RateLimit: '"default";r=0;t=5' },
    [{ name: 'default', remaining: 0, resetAfterMs: 5 * second }],
  ],
  [
    { RateLimit: '"fixedwindow";r=99;t=50', 'RateLimit-Policy': '"fixedwindow";q=100;w=60' },
    [{ name: 'fixedwindow', limit: 100, windowMs: minute, remaining: 99, resetAfterMs: 50 * second }],
  ],
  [
    { 'RateLimit-Policy': '"dynamic";q=100;w=60', RateLimit: '"dynamic";r=9;t=50' },
    [{ name: 'dynamic', limit: 100, windowMs: minute, remaining: 9, resetAfterMs: 50 * second }],
  ],
  [
    { 'RateLimit-Policy': '"dynamic";q=15;w=20', RateLimit: '"dynamic";r=0;t=20' },
    [{ name: 'dynamic', limit: 15, windowMs: 20 * second, remaining: 0, resetAfterMs: 20 * second }],
  ],
  [
    { 'Retry-After': '20', 'RateLimit-Policy': '"dynamic";q=100;w=60', RateLimit: '"dynamic";r=15;t=40' },
    [{ name: 'dynamic', limit: 100, windowMs: minute, remaining: 15, resetAfterMs: 40 * second }],
  ],
  [
    // A token for a name, and no r: the draft forbids both, and shows both.
    { 'RateLimit-Policy': 'quota;q=100;w=1', RateLimit: 'quota;t=1' },
    [{ name: 'quota', limit: 100, windowMs: second, resetAfterMs: second }],
  ],
  [{ 'RateLimit-Policy': 'quota;q=10', RateLimit: 'quota;t=1' }, [{ name: 'quota', limit: 10, resetAfterMs: second }]],
  [
    { 'RateLimit-Policy': '"hour";q=1000;w=3600, "day";q=5000;w=86400', RateLimit: '"day";r=100;t=36000' },
    [
      { name: 'hour', limit: 1000, windowMs: hour },
      { name: 'day', limit: 5000, windowMs: day, remaining: 100, resetAfterMs: 10 * hour },
    ],
  ],
  [{ RateLimit: '"default";r=50;t=60' }, [{ name: 'default', remaining: 50, resetAfterMs: minute }]],
  [
    // A list over two lines, with a parameter of somebody's own.
    {
      'RateLimit-Policy': ['"sliding";q=100;w=60;burst=1000', '"fixed";q=5000;w=3600;burst=0'],
      RateLimit: '"sliding";r=50;t=44',
    },
    [
      { name: 'sliding', limit: 100, windowMs: minute, remaining: 50, resetAfterMs: 44 * second },
      { name: 'fixed', limit: 5000, windowMs: hour },
    ],
  ],
  [
    // The quota where it does not belong.
    { 'RateLimit-Policy': '"sliding";q=12;w=1', RateLimit: '"sliding";q=12;r=6;t=1' },
    [{ name: 'sliding', limit: 12, windowMs: second, remaining: 6, resetAfterMs: second }],
  ],
  [
    { 'RateLimit-Policy': '"sliding";q=12;w=1', RateLimit: '"sliding";q=12;r=1;t=1' },
    [{ name: 'sliding', limit: 12, windowMs: second, remaining: 1, resetAfterMs: second }],
  ],
];

describe('the examples of drafts 8 to 11', () => {
  it.each(examples)('%# %j', (headers, policies) => {
    expect(parseRateLimitHeaders(headers).policies).toEqual(policies);
  });

  it.each<[Headers, number]>([
    [{ 'Retry-After': 'Mon, 05 Aug 2019 09:27:05 GMT', RateLimit: '"default";r=0;t=5' }, 3000],
    [{ 'Retry-After': '20', RateLimit: '"dynamic";r=15;t=40' }, 20_000],
  ])('Retry-After wins over t: %j', (headers, waitMs) => {
    const nowMs = Date.UTC(2019, 7, 5, 9, 27, 2);
    expect(parseRateLimitHeaders(headers, { nowMs })).toMatchObject({ retryAfterMs: waitMs, waitMs });
  });
});

describe('what express-rate-limit sends', () => {
  const nowMs = 1_750_000_000_000;
  const pk = 'MmMyNmI0NmI2OGZm';
  it.each<[string, Headers, readonly ParsedPolicy[]]>([
    [
      'legacy',
      { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '1750000060' },
      [{ name: 'default', limit: 5, remaining: 4, resetAfterMs: minute }],
    ],
    [
      'draft-6',
      { 'ratelimit-policy': '5;w=60', 'ratelimit-limit': '5', 'ratelimit-remaining': '4', 'ratelimit-reset': '60' },
      [{ name: 'default', limit: 5, windowMs: minute, remaining: 4, resetAfterMs: minute }],
    ],
    [
      'draft-6, the window has just expired',
      { 'ratelimit-policy': '5;w=60', 'ratelimit-limit': '5', 'ratelimit-remaining': '4', 'ratelimit-reset': '0' },
      [{ name: 'default', limit: 5, windowMs: minute, remaining: 4, resetAfterMs: 0 }],
    ],
    [
      'draft-7',
      { 'ratelimit-policy': '5;w=60', ratelimit: 'limit=5, remaining=4, reset=60' },
      [{ name: 'default', limit: 5, windowMs: minute, remaining: 4, resetAfterMs: minute }],
    ],
    [
      'draft-8',
      { 'ratelimit-policy': `"5-in-2hrs"; q=5; w=7200; pk=:${pk}:`, ratelimit: '"5-in-2hrs"; r=4; t=7200' },
      [{ name: '5-in-2hrs', limit: 5, windowMs: 2 * hour, partitionKey: pk, remaining: 4, resetAfterMs: 2 * hour }],
    ],
    [
      'draft-8, a name of its own',
      { 'ratelimit-policy': `"keep-kalm"; q=5; w=7200; pk=:${pk}:`, ratelimit: '"keep-kalm"; r=4; t=7200' },
      [{ name: 'keep-kalm', limit: 5, windowMs: 2 * hour, partitionKey: pk, remaining: 4, resetAfterMs: 2 * hour }],
    ],
    [
      'draft-8, five limiters',
      {
        'ratelimit-policy': `"1-in-5sec"; q=1; w=5; pk=:${pk}:, "5-in-1min"; q=5; w=60; pk=:${pk}:, "6-in-1hr"; q=6; w=3600; pk=:${pk}:, "7-in-1day"; q=7; w=86400; pk=:${pk}:, "8-in-2days"; q=8; w=172800; pk=:${pk}:`,
        ratelimit:
          '"1-in-5sec"; r=0; t=5, "5-in-1min"; r=4; t=60, "6-in-1hr"; r=5; t=3600, "7-in-1day"; r=6; t=86400, "8-in-2days"; r=7; t=172800',
      },
      [
        { name: '1-in-5sec', limit: 1, windowMs: 5000, partitionKey: pk, remaining: 0, resetAfterMs: 5000 },
        { name: '5-in-1min', limit: 5, windowMs: minute, partitionKey: pk, remaining: 4, resetAfterMs: minute },
        { name: '6-in-1hr', limit: 6, windowMs: hour, partitionKey: pk, remaining: 5, resetAfterMs: hour },
        { name: '7-in-1day', limit: 7, windowMs: day, partitionKey: pk, remaining: 6, resetAfterMs: day },
        { name: '8-in-2days', limit: 8, windowMs: 2 * day, partitionKey: pk, remaining: 7, resetAfterMs: 2 * day },
      ],
    ],
  ])('%s', (_, headers, policies) => {
    expect(parseRateLimitHeaders(headers, { nowMs }).policies).toEqual(policies);
  });

  it('and a refusal', () => {
    expect(parseRateLimitHeaders({ 'retry-after': '60' })).toEqual({
      policies: [],
      retryAfterMs: 60_000,
      waitMs: 60_000,
    });
    expect(parseRateLimitHeaders({})).toEqual({ policies: [], waitMs: 0 });
  });
});
