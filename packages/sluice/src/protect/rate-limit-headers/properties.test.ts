import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HeaderSource } from './header-lines.ts';
import { parseRateLimitHeaders } from './parse-rate-limit-headers.ts';
import type { ParsedRateLimit } from './parsed.ts';

const names = [
  'RateLimit',
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Name',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Reset-After',
  'X-RateLimit-Used',
  'X-RateLimit-Resource',
  'X-Rate-Limit',
  'X-Rate-Limit-Remaining',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'x-ratelimit-limit-constructor',
  'x-ratelimit-__proto__-remaining',
  'anthropic-ratelimit-requests-reset',
  'Retry-After',
  'Retry-After-Ms',
  'Date',
  'Age',
];

const good = [
  '"burst";q=100;w=60,"daily";q=1000;w=86400',
  '"burst";r=50;t=30',
  '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:',
  '"default";a=50;w=30;c=3',
  'limit=100, remaining=50, reset=30',
  '10, 10;w=1;name="x"',
  '100;w=60',
  '42',
  '1750000030',
  '1750000030123',
  '6m0s',
  '20ms',
  'Sun, 06 Nov 1994 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT',
  '2025-06-15T15:07:10.25+02:00',
];

/** A good value with a few characters dropped, doubled, swapped or replaced. */
const mutated = fc
  .tuple(
    fc.constantFrom(...good),
    fc.array(
      fc.tuple(fc.nat(60), fc.constantFrom('', ',', ';', '=', '"', '\\', ' ', '-', '9', '.', 'e', ':', '\0', 'ü')),
      {
        maxLength: 4,
      },
    ),
    fc.boolean(),
  )
  .map(([text, edits, isDoubled]) => {
    const characters = [...(isDoubled ? `${text}, ${text}` : text)];
    for (const [at, character] of edits) characters[at % characters.length] = character;
    return characters.join('');
  });

const digits = fc.string({ unit: fc.constantFrom('0', '9'), minLength: 1, maxLength: 400 });

const value = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...good),
  mutated,
  fc.double().map(String),
  digits,
  digits.map((seconds) => `"a";q=1;r=0;t=${seconds};w=${seconds}`),
);
const headers = fc.dictionary(fc.constantFrom(...names), fc.oneof(value, fc.array(value, { maxLength: 3 })), {
  maxKeys: 12,
});

/** Every number is a finite one of 0 or more that a float holds exactly, and what is there at all has a value. */
function isSound(parsed: ParsedRateLimit): boolean {
  const numbers = (fields: object) =>
    Object.values(fields).filter((field) => typeof field !== 'string' && typeof field !== 'object');
  const all = [
    ...parsed.policies.flatMap(numbers),
    ...numbers(parsed),
    ...(parsed.tightest ? numbers(parsed.tightest) : []),
  ];
  const hasNames = parsed.policies.every(({ name }) => typeof name === 'string');
  return (
    hasNames && all.every((number) => typeof number === 'number' && number >= 0 && number <= Number.MAX_SAFE_INTEGER)
  );
}

describe('whatever the headers say', () => {
  it('nothing throws, and every number is one', () => {
    fc.assert(
      fc.property(headers, fc.integer({ min: -1e14, max: 1e14 }), (source, nowMs) => {
        expect(parseRateLimitHeaders(source, { nowMs })).toSatisfy(isSound);
      }),
      { numRuns: 5000 },
    );
  });

  it('nothing throws whatever they are', () => {
    fc.assert(
      fc.property(
        fc.anything({ withMap: true, withSet: true, withTypedArray: true, withNullPrototype: true }),
        (source) => {
          expect(parseRateLimitHeaders(source as HeaderSource)).toSatisfy(isSound);
          expect(parseRateLimitHeaders({ headers: source } as HeaderSource)).toSatisfy(isSound);
          expect(parseRateLimitHeaders({ RateLimit: source } as HeaderSource)).toSatisfy(isSound);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('the letter case of names, and the shape they come in, change nothing', () => {
    fc.assert(
      fc.property(headers, (source) => {
        const nowMs = 1_750_000_000_000;
        const pairs = Object.entries(source).flatMap(([name, lines]) =>
          [lines].flat().map((line) => [name, line] as const),
        );
        const expected = parseRateLimitHeaders(pairs, { nowMs });
        const upper = pairs.map(([name, line]) => [name.toUpperCase(), line] as const);
        expect(parseRateLimitHeaders(upper, { nowMs })).toEqual(expected);
        expect(parseRateLimitHeaders(pairs.flat(), { nowMs })).toEqual(expected);
        expect(parseRateLimitHeaders(source, { nowMs })).toEqual(expected);
      }),
      // A name without a line took the headers for those of another draft.
      { examples: [[{ RateLimit: '100;w=60', 'RateLimit-Limit': [] }]] },
    );
  });

  it('what is plain data stays the same through JSON', () => {
    fc.assert(
      fc.property(headers, (source) => {
        const parsed = parseRateLimitHeaders(source);
        expect(JSON.parse(JSON.stringify(parsed))).toEqual(parsed);
      }),
      // JSON has no zero below zero.
      { examples: [[{ RateLimit: '-00;w=60' }], [{ RateLimit: '"a";r=-0;t=-0.0' }]] },
    );
  });
});
