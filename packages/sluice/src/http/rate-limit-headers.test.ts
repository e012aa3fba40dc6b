import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts';
import { limiter } from '../limit/limiter.ts';
import { rules } from '../limit/rules.ts';
import { TestClock } from '../testing/index.ts';
import type { Decision } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { problemBody, statusOf } from './problem-body.ts';
import { type HeaderDialect, rateLimitHeaders } from './rate-limit-headers.ts';

function decision(rule: string, policy: Policy, rest: Partial<Decision> = {}): Decision {
  const { limit } = policy;
  return {
    allowed: true,
    limit,
    remaining: limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    rule,
    policy,
    ...rest,
  };
}

const refused = { allowed: false, remaining: 0, reason: 'limit' } as const;
const perMinute = (limit: number) => fixedWindow({ limit, window: '1m' });
const nowMs = 1_750_000_000_000;

describe('rateLimitHeaders', () => {
  it('writes X-RateLimit and the structured fields of drafts 8 to 11', () => {
    const answered = decision('burst', gcra({ limit: 100, window: '1m' }), { remaining: 50, resetAfterMs: 30_000 });
    expect(rateLimitHeaders(answered, { nowMs })).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '50',
      'X-RateLimit-Reset': '1750000030',
      'RateLimit-Policy': '"burst";q=100;w=60',
      RateLimit: '"burst";r=50;t=30',
    });
  });

  // Examples of drafts 8 to 11 that say what a server sends. biome-ignore format: aligned rows
  it.each<[Decision[], string, string]>([
    [
      [decision('default', fixedWindow({ limit: 100, window: '10s' }), { remaining: 50, resetAfterMs: 30_000 })],
      '"default";q=100;w=10',
      '"default";r=50;t=30',
    ],
    [
      [
        decision('burst', perMinute(100), { remaining: 99, resetAfterMs: 60_000 }),
        decision('daily', fixedWindow({ limit: 1000, window: '1d' }), { remaining: 1, resetAfterMs: 36_400_000 }),
      ],
      '"burst";q=100;w=60, "daily";q=1000;w=86400',
      '"daily";r=1;t=36400',
    ],
    [
      [
        decision('permin', perMinute(50), { remaining: 0, resetAfterMs: 50_000 }),
        decision('perhr', fixedWindow({ limit: 1000, window: '1h' })),
      ],
      '"permin";q=50;w=60, "perhr";q=1000;w=3600',
      '"permin";r=0;t=50',
    ],
    [
      [
        decision('hour', fixedWindow({ limit: 1000, window: '1h' })),
        decision('day', fixedWindow({ limit: 5000, window: '1d' }), { remaining: 100, resetAfterMs: 36_000_000 }),
      ],
      '"hour";q=1000;w=3600, "day";q=5000;w=86400',
      '"day";r=100;t=36000',
    ],
    [
      [decision('fixedwindow', perMinute(100), { remaining: 99, resetAfterMs: 50_000 })],
      '"fixedwindow";q=100;w=60',
      '"fixedwindow";r=99;t=50',
    ],
    [
      [decision('basic', perMinute(100), { remaining: 60, resetAfterMs: 57_001 })],
      '"basic";q=100;w=60',
      '"basic";r=60;t=58',
    ],
    [
      [
        decision('dynamic', fixedWindow({ limit: 15, window: '20s' }), {
          ...refused,
          retryAfterMs: 20_000,
          resetAfterMs: 20_000,
        }),
      ],
      '"dynamic";q=15;w=20',
      '"dynamic";r=0;t=20',
    ],
    [
      [decision('somepolicy', fixedWindow({ limit: 10_000, window: '1000s' }), { resetAfterMs: 10_000 })],
      '"somepolicy";q=10000;w=1000',
      '"somepolicy";r=10000;t=10',
    ],
  ])('%# says %s and %s', (answered, policies, available) => {
    const headers = rateLimitHeaders(answered);
    expect([headers['RateLimit-Policy'], headers.RateLimit]).toEqual([policies, available]);
  });

  it.each<[HeaderDialect, object]>([
    ['x-ratelimit', { 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset': '1750000060' }],
    [
      'draft-6',
      { 'RateLimit-Policy': '5;w=60', 'RateLimit-Limit': '5', 'RateLimit-Remaining': '4', 'RateLimit-Reset': '60' },
    ],
    ['draft-7', { 'RateLimit-Policy': '5;w=60', RateLimit: 'limit=5, remaining=4, reset=60' }],
    ['draft-8', { 'RateLimit-Policy': '"5-in-1min";q=5;w=60', RateLimit: '"5-in-1min";r=4;t=60' }],
  ])('speaks %s alone', (dialect, headers) => {
    const answered = decision('5-in-1min', perMinute(5), { remaining: 4, resetAfterMs: 60_000 });
    expect(rateLimitHeaders(answered, { dialect, nowMs })).toEqual(headers);
  });

  it('promises nothing to a call that was refused because it would have been held back for too long', () => {
    const shaped = leakyBucket({ limit: 1, window: '10s', burst: 5 });
    const answered = decision('x', shaped, { ...refused, remaining: 5, retryAfterMs: 9000, resetAfterMs: 10_000 });
    expect(rateLimitHeaders(answered, { nowMs })).toMatchObject({
      RateLimit: '"x";r=0;t=9',
      'X-RateLimit-Remaining': '0',
    });
    // Where nothing is held back, a smaller call would pass.
    const partly = decision('x', perMinute(10), { ...refused, remaining: 3, retryAfterMs: 9000 });
    expect(rateLimitHeaders(partly).RateLimit).toBe('"x";r=3;t=9');
  });

  it('says a reset of 0 when the window has just ended', () => {
    const answered = decision('x', perMinute(5), { remaining: 4 });
    expect(rateLimitHeaders(answered, { dialect: 'draft-6' })['RateLimit-Reset']).toBe('0');
  });

  it('writes several dialects, unless they share header names', () => {
    const answered = decision('x', perMinute(5));
    expect(Object.keys(rateLimitHeaders(answered, { dialect: ['x-ratelimit', 'draft-7'] }))).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'RateLimit-Policy',
      'RateLimit',
    ]);
    for (const dialect of [
      ['draft-6', 'draft-7'],
      ['draft-6', 'draft-8'],
      ['draft-8', 'draft-7'],
      ['draft-8', 'draft-8'],
    ] as const) {
      expect(() => rateLimitHeaders(answered, { dialect })).toThrow('dialect must be at most one of');
    }
    expect(() => rateLimitHeaders(answered, { dialect: 'draft-9' as never })).toThrow(
      'dialect must be one of "x-ratelimit", "draft-6", "draft-7", "draft-8", got "draft-9".',
    );
  });

  it('refuses an option it does not have, and an answer that is not there yet', () => {
    const answered = decision('x', perMinute(5));
    expect(() => rateLimitHeaders(answered, { dialects: 'draft-7' } as never)).toThrow(
      'rateLimitHeaders options has no field "dialects". It takes dialect, reset, nowMs.',
    );
    for (const dialect of [true, null, {}])
      expect(() => rateLimitHeaders(answered, { dialect: dialect as never })).toThrow('dialect must be one of');
    const early = Promise.resolve(answered) as never;
    for (const write of [rateLimitHeaders, problemBody, statusOf])
      expect(() => write(early)).toThrow('The decision is a promise. Await it first.');
  });

  it('counts the reset from now where that is asked for', () => {
    const answered = decision('x', perMinute(5), { resetAfterMs: 1 });
    const reset = (as: object) => rateLimitHeaders(answered, { nowMs, ...as })['X-RateLimit-Reset'];
    expect([reset({}), reset({ reset: 'epoch' }), reset({ reset: 'delta' })]).toEqual([
      '1750000001',
      '1750000001',
      '1',
    ]);
    expect(() => reset({ reset: 'date' })).toThrow('reset must be one of "epoch", "delta", got "date".');
  });

  it('takes the time of an epoch reset from the wall clock', () => {
    const before = Math.ceil(Date.now() / 1000);
    const reset = Number(rateLimitHeaders(decision('x', perMinute(5)))['X-RateLimit-Reset']);
    expect(reset).toBeGreaterThanOrEqual(before);
    expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
  });

  // biome-ignore format: aligned rows
  it.each<[number, string | undefined]>([
    [            1, '1' ],  // rounded up: a client that comes back in 0 s is refused again
    [          999, '1' ],
    [         1000, '1' ],
    [         1001, '2' ],
    [       59_999, '60' ],
    [        1e300, '999999999999999' ],  // as the other headers have it, and never with an exponent
    [ Number.POSITIVE_INFINITY, undefined ],  // waiting never helps
  ])('a wait of %d ms is Retry-After %s', (retryAfterMs, seconds) => {
    const answered = decision('x', perMinute(5), { ...refused, retryAfterMs, resetAfterMs: 60_000 });
    expect(rateLimitHeaders(answered)['Retry-After']).toBe(seconds);
  });

  it('never tells to retry before the effective window has ended', () => {
    const bucket = gcra({ limit: 60, window: '1m' });
    const headers = rateLimitHeaders(decision('x', bucket, { ...refused, retryAfterMs: 700, resetAfterMs: 60_000 }));
    expect([headers['Retry-After'], headers.RateLimit]).toEqual(['1', '"x";r=0;t=1']);
  });

  it('has no Retry-After on what was allowed', () => {
    expect(rateLimitHeaders(decision('x', perMinute(5)))).not.toHaveProperty('Retry-After');
  });

  it('leaves only Retry-After of an empty list of dialects', () => {
    const answered = decision('x', perMinute(5), { ...refused, retryAfterMs: 1500, resetAfterMs: 1500 });
    expect(rateLimitHeaders(answered, { dialect: [] })).toEqual({ 'Retry-After': '2' });
  });

  it('gives concurrency its unit and no window', () => {
    const answered = decision('in-flight', concurrency({ limit: 10 }), { remaining: 3, resetAfterMs: 60_000 });
    const headers = rateLimitHeaders(answered);
    expect(headers['RateLimit-Policy']).toBe('"in-flight";q=10;qu="concurrent-requests"');
    expect(headers.RateLimit).toBe('"in-flight";r=3');
    expect(rateLimitHeaders(answered, { dialect: 'draft-7' })).toEqual({
      RateLimit: 'limit=10, remaining=3, reset=60',
    });
  });

  it('leaves shadow rules out, and says nothing where there are no others', () => {
    const shadow = decision('tried-out', perMinute(1), { ...refused, retryAfterMs: 9000, shadow: true });
    const headers = rateLimitHeaders([shadow, decision('real', perMinute(5), { remaining: 4, resetAfterMs: 1000 })]);
    expect(headers['RateLimit-Policy']).toBe('"real";q=5;w=60');
    expect(headers.RateLimit).toBe('"real";r=4;t=1');
    expect(headers).not.toHaveProperty('Retry-After');
    expect(rateLimitHeaders(shadow)).toEqual({});
    expect(rateLimitHeaders([shadow])).toEqual({});
    expect(rateLimitHeaders([])).toEqual({});
  });

  // biome-ignore format: aligned rows
  it.each<[string, number, number, string]>([
    [ 'a window below a second',       100,        250, 'q=100;w=1' ],
    [ 'a window of a second and half', 100,       1500, 'q=100;w=2' ],
    [ 'a limit with a fraction',       7.5,     10_000, 'q=7;w=10' ],
    [ 'less than one per window',      0.5,       1000, 'q=1;w=2' ],
    [ 'the largest limit there is',  2 ** 50,     1000, 'q=999999999999999;w=1' ],
  ])('promises no more than is kept: %s', (_, limit, window, parameters) => {
    const policy = fixedWindow({ limit, window });
    expect(rateLimitHeaders(decision('x', policy))['RateLimit-Policy']).toBe(`"x";${parameters}`);
  });

  // biome-ignore format: aligned rows
  it.each<[string, string]>([
    [ 'per ip, all of them',    '"per ip, all of them"' ],
    [ 'a "quoted" \\ name',     '"a \\"quoted\\" \\\\ name"' ],
    [ 'für-alle',               '"f%C3%BCr-alle"' ],
    [ '\u{1f6b0}',              '"%F0%9F%9A%B0"' ],
    [ 'half \ud83d of a pair',  '"half %EF%BF%BD of a pair"' ],
    [ 'new\r\nX-Evil: 1\0\x7f', '"new%0D%0AX-Evil: 1%00%7F"' ],  // no header of its own
    [ '',                       '"default"' ],
  ])('names a policy %j as %s', (rule, name) => {
    const headers = rateLimitHeaders(decision(rule, perMinute(5)));
    expect(headers['RateLimit-Policy']).toBe(`${name};q=5;w=60`);
    expect(headers.RateLimit).toMatch(/^[\x20-\x7e]+$/);
  });

  it('cuts a name that is too long for a header', () => {
    const headers = rateLimitHeaders(decision('n'.repeat(1000), perMinute(5)));
    expect(headers.RateLimit).toBe(`"${'n'.repeat(128)}";r=5;t=0`);
  });

  it('keeps the names apart of rules that share a policy', () => {
    const policy = perMinute(5);
    const headers = rateLimitHeaders([decision('a', policy), decision('b', policy, { remaining: 1 })]);
    expect(headers['RateLimit-Policy']).toBe('"a";q=5;w=60, "b";q=5;w=60');
    expect(headers.RateLimit).toBe('"b";r=1;t=0');
  });

  it('bounds the list of policies, and keeps the tightest in it', () => {
    const many = Array.from({ length: 40 }, (_, i) => decision(`r${i}`, perMinute(5)));
    many[33] = decision('tight', perMinute(5), { remaining: 1 });
    const items = rateLimitHeaders(many)['RateLimit-Policy']?.split(', ') ?? [];
    expect(items).toHaveLength(16);
    expect(items[14]).toBe('"r14";q=5;w=60');
    expect(items[15]).toBe('"tight";q=5;w=60');
  });

  it('takes what a limiter and what rules answer', () => {
    const clock = new TestClock(nowMs);
    const one = limiter(gcra({ limit: 2, window: '10s' }), { clock, name: 'api' }).check('k');
    expect(rateLimitHeaders(one).RateLimit).toBe('"api";r=1;t=5');
    const checked = rules(
      [
        { name: 'global', policy: gcra({ limit: 100, window: '1s' }) },
        { name: 'user', key: 'user', policy: fixedWindow({ limit: 1, window: '10s', align: 'first' }) },
        { name: 'tried-out', key: 'user', shadow: true, policy: perMinute(1) },
      ],
      { clock },
    );
    checked.check({ user: '42' });
    expect(rateLimitHeaders(checked.check({ user: '42' }), { nowMs })).toEqual({
      'X-RateLimit-Limit': '1',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1750000010',
      'RateLimit-Policy': '"global";q=100;w=1, "user";q=1;w=10',
      RateLimit: '"user";r=0;t=10',
      'Retry-After': '10',
    });
  });
});
