import type { ScenarioResult } from '@sluice/simulator';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coloured, paintFor, plain } from './paint.ts';
import { resultLines } from './result-text.ts';
import { breakerResult, someResult } from './some-results.test-support.ts';

const textOf = (result: ScenarioResult, columns: number) =>
  `\n${resultLines(result, { columns, paint: plain }).join('\n')}\n`;

test('a page has a table, a picture of each variant, notes and claims', () => {
  expect(textOf(someResult, 72)).toMatchInlineSnapshot(`
    "
    A burst at the edge
    A burst on each side of a boundary. A fixed window lets twice its limit
    pass; a log does not.
    20 s simulated, 160 arrivals, seed 7

    variant       allowed  refused share  worst window  waited max
    fixed-window      120           25 %            80      1.25 s
    sliding-log        80           50 %            40           -

    calls in each 1 s:  █ allowed  ▒ delayed  × refused

    fixed-window
         60 ┤                  ××××
            │                  ××××
            │                  ████
         30 ┤                  ████
            │                  ████
            │    ▃▃▆▆▆▆▆▆▆▆▃▃  ████              ××
          0 └┬─────────┬─────────┬─────────┬─────────
             0 s       5 s       10 s      15 s
      level │    ▁▁▁▁▂▂▃▃▄▄▄▄▄▄██▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄ ≤ 80
      First refusal at 9 s: remaining 0, retry after 1 s.

    sliding-log
         60 ┤                  ××××
            │                  ××××
            │                  ██××
         30 ┤                  ██××
            │                  ██××▒▒▒▒
            │    ▃▃▆▆▆▆▆▆▆▆▃▃  ██××▒▒██          ××
          0 └┬─────────┬─────────┬─────────┬─────────
             0 s       5 s       10 s      15 s

    Claims
      ✓ sliding-log.worstWindow <= 40  measured 40
      ✗ fixed-window.worstWindow <= 40  measured 80
    "
  `);
});

test('on a narrow page the table is turned, and long lines are wrapped', () => {
  expect(textOf(someResult, 40)).toMatchInlineSnapshot(`
    "
    A burst at the edge
    A burst on each side of a boundary. A
    fixed window lets twice its limit pass;
    a log does not.
    20 s simulated, 160 arrivals, seed 7

                   fixed-window  sliding-log
    allowed                 120           80
    refused share          25 %         50 %
    worst window             80           40
    waited max           1.25 s            -

    calls in each 1 s:  █ allowed  ▒ delayed
    × refused

    fixed-window
         60 ┤         ××
            │         ××
            │         ██
         30 ┤         ██
            │         ██
            │  ▃▆▆▆▆▃ ██       ×
          0 └┬─────────┬─────────
             0 s       10 s
      level │  ▁▁▂▃▄▄▄█▄▄▄▄▄▄▄▄▄▄ ≤ 80
      First refusal at 9 s: remaining 0,
      retry after 1 s.

    sliding-log
         60 ┤         ××
            │         ××
            │         █×
         30 ┤         █×
            │         █×▒▒
            │  ▃▆▆▆▆▃ █×▒█     ×
          0 └┬─────────┬─────────
             0 s       10 s

    Claims
      ✓ sliding-log.worstWindow <= 40
          measured 40
      ✗ fixed-window.worstWindow <= 40
          measured 80
    "
  `);
});

test('states are letters, and what is not stacked is drawn high', () => {
  expect(textOf(breakerResult, 60)).toMatchInlineSnapshot(`
    "
    A breaker <opens> & closes
    The upstream fails for a while.
    10 s simulated, 10 arrivals, seed 1

    variant            opened
    circuit "breaker"       1

    C closed  H half-open  O open

    circuit "breaker"
              │                ████████                 ≤ 8
              │                ████████
              │            ████████████████
      waiting │    ▄▄▄▄████████████████████████▄▄▄▄
      state   │CCCCCCCCOOOOOOOOOOOOHHHHCCCCCCCCCCCCCCCC
              └┬───────────────────┬───────────────────
               0 s                 5 s
      A A B A C A A
    "
  `);
});

test('more slices than columns share one: calls add up, queues keep their highest', () => {
  const values = (height: number) => Array.from({ length: 400 }, (_, i) => (i % 100 === 50 ? height : 0));
  const long: ScenarioResult = {
    ...someResult,
    durationMs: 400_000,
    expectations: [],
    variants: [
      {
        name: 'gcra',
        measures: {},
        series: [
          { name: 'allowed', kind: 'allowed', unit: 'count', values: Array.from({ length: 400 }, () => 3) },
          { name: 'refused', kind: 'refused', unit: 'count', values: values(60) },
          { name: 'waiting', kind: 'queue', unit: 'count', values: values(7) },
        ],
        notes: [],
      },
    ],
  };
  expect(textOf(long, 70)).toMatchInlineSnapshot(`
    "
    A burst at the edge
    A burst on each side of a boundary. A fixed window lets twice its
    limit pass; a log does not.
    6.67 min simulated, 160 arrivals, seed 7

    calls in each 8 s:  █ allowed  × refused

    gcra
          100 ┤
              │      ×           ×            ×           ×
              │      ×           ×            ×           ×
           50 ┤      ×           ×            ×           ×
              │▄▄▄▄▄▄×▄▄▄▄▄▄▄▄▄▄▄×▄▄▄▄▄▄▄▄▄▄▄▄×▄▄▄▄▄▄▄▄▄▄▄×▄▄▄▄▄▄
              │██████████████████████████████████████████████████
            0 └┬──────────────┬──────────────┬──────────────┬────
               0 min          2 min          4 min          6 min
      waiting │      █           █            █           █       ≤ 7
    "
  `);
});

test('one refusal among a thousand calls is seen', () => {
  const [variant] = someResult.variants;
  const series = (refused: number) => [
    { name: 'allowed', kind: 'allowed' as const, unit: 'count' as const, values: [1000, 1000, 1000] },
    { name: 'refused', kind: 'refused' as const, unit: 'count' as const, values: [0, refused, 0] },
  ];
  const picture = (refused: number) =>
    textOf({ ...someResult, variants: [{ ...variant!, series: series(refused) }] }, 60)
      .split('\n')
      .filter((line) => /[┤│]/.test(line))
      .join('');
  expect(picture(0)).not.toContain('×');
  expect(picture(1)).toContain('×');
});

test('with colours a cell shows where what passed ends and what was refused begins', () => {
  const both: ScenarioResult = {
    ...someResult,
    expectations: [],
    variants: [
      {
        name: 'gcra',
        measures: {},
        notes: [],
        series: [
          { name: 'allowed', kind: 'allowed', unit: 'count', values: [3.25] },
          { name: 'refused', kind: 'refused', unit: 'count', values: [2.75] },
        ],
      },
    ],
  };
  const lines = resultLines(both, { columns: 20, paint: coloured });
  // Six rows for six calls: the fourth from below is a quarter green on red.
  expect(lines.map((line) => line.replaceAll('\u001b', '^'))).toContain('  ^[2m  │^[0m^[32;41m▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂^[0m');
});

test('colours are for terminals whose user wants them', () => {
  expect(paintFor(true, undefined).isColoured).toBe(true);
  expect(paintFor(true, '').isColoured).toBe(true);
  expect(paintFor(true, '1').isColoured).toBe(false);
  expect(paintFor(false, undefined).isColoured).toBe(false);
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours begin with.
const escapes = /\u001b\[[\d;]*m/g;

const anySeries = fc.record({
  name: fc.string({ minLength: 1, maxLength: 30 }).map((name) => name.replace(/\s/g, '_')),
  kind: fc.constantFrom(
    'arrived' as const,
    'allowed' as const,
    'delayed' as const,
    'refused' as const,
    'level' as const,
    'queue' as const,
    'share' as const,
    'state' as const,
  ),
  unit: fc.constantFrom('count' as const, 'ratio' as const, 'ms' as const),
  values: fc.array(fc.nat({ max: 100_000 }), { minLength: 37, maxLength: 37 }),
});

/** A name and a scale that leave little of a narrow page to the picture itself. */
const wideSeries = {
  name: 'a-name-of-fourteen-letters',
  kind: 'share' as const,
  unit: 'ratio' as const,
  values: Array.from({ length: 37 }, () => 10_000),
};

test('whatever the result, no line is wider than the page, with or without colours', () => {
  fc.assert(
    fc.property(fc.array(anySeries, { maxLength: 5 }), fc.integer({ min: 40, max: 160 }), (series, columns) => {
      const [variant] = someResult.variants;
      const result = {
        ...someResult,
        durationMs: 37_000,
        variants: [
          { ...variant!, series },
          { ...variant!, name: 'a-variant-with-a-very-long-name-that-nobody-would-type', series },
        ],
      };
      for (const paint of [plain, coloured]) {
        for (const line of resultLines(result, { columns, paint })) {
          expect([...line.replace(escapes, '')].length, line).toBeLessThanOrEqual(columns);
        }
      }
    }),
    { numRuns: 60, examples: [[[wideSeries], 40]] },
  );
});
