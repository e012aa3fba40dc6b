import * as sluice from 'sluice';
import { describe, expect, test } from 'vitest';
import { contenders } from './contenders.ts';
import { experiment } from './experiment.ts';
import { reportJson } from './json.ts';
import { coloured, plain } from './paint.ts';
import { pageColumns, reportLines } from './report.ts';

const options = { seed: 1, seconds: 40, format: 'text' } as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const colourSequence = /\u001b\[\d+m/g;

test('every algorithm of the library takes part, once', () => {
  expect(contenders.map(({ policy }) => policy.algorithm).sort()).toEqual([...sluice.algorithmNames].sort());
});

test.each(contenders)('$expression is the code that makes its policy', ({ expression, policy }) => {
  const made: unknown = new Function(...Object.keys(sluice), `return ${expression}`)(...Object.values(sluice));
  expect(JSON.stringify(made)).toBe(JSON.stringify(policy));
});

describe('the page', () => {
  test.each([10, 40, 61, 120])('of %d seconds fits its columns, whatever the seed', (seconds) => {
    for (let seed = 0; seed < 5; seed += 1) {
      const tooLong = reportLines(experiment({ ...options, seed, seconds }), plain).filter(
        (line) => [...line].length > pageColumns,
      );
      expect(tooLong).toEqual([]);
    }
  });

  test('is the same without its colours', () => {
    const result = experiment(options);
    const text = reportLines(result, plain);
    expect(reportLines(result, coloured).map((line) => line.replace(colourSequence, ''))).toEqual(text);
    expect(text.join('\n')).not.toMatch(colourSequence);
  });

  test('is the same for the same seed, and another for another', () => {
    const page = (seed: number) => reportLines(experiment({ ...options, seed }), plain);
    expect(page(1)).toEqual(page(1));
    expect(page(1)).not.toEqual(page(2));
  });
});

test('the numbers tell the story that the page tells', () => {
  const { results } = experiment(options);
  const worst = Object.fromEntries(results.map(({ policy, worstWindow }) => [policy.algorithm, worstWindow]));
  expect(worst).toMatchObject({ 'fixed-window': 20, 'sliding-log': 10, 'sliding-slots': 10, 'leaky-bucket': 10 });
  for (const { counts, perClient } of results) {
    expect(counts.allowed + counts.refused).toBe(counts.asked);
    expect(perClient.reduce((sum, each) => sum + each.counts.asked, 0)).toBe(counts.asked);
    // The one who behaves is never refused.
    expect(perClient[0]).toMatchObject({ client: 'steady', counts: { refused: 0, delayed: 0 } });
  }
});

test('the JSON holds the same numbers', () => {
  const result = experiment({ ...options, format: 'json' });
  const data = JSON.parse(reportJson(result));
  expect(data).toMatchObject({ seed: 1, seconds: 40 });
  expect(data.results.map(({ algorithm }: { algorithm: string }) => algorithm)).toEqual(
    contenders.map(({ policy }) => policy.algorithm),
  );
  data.results.forEach((row: Record<string, unknown>, i: number) => {
    expect(row).toMatchObject({ ...result.results[i]?.counts, worstWindow: result.results[i]?.worstWindow });
  });
  expect(data.results[0].firstRefusal.decision).toMatchObject({ allowed: false, remaining: 0, reason: 'limit' });
});
