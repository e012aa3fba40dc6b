import { expect, test } from 'vitest';
import type { ComparisonRow } from '../overload/comparison.ts';
import { overloadJson, overloadLines } from './overload-report.ts';
import { coloured, plain } from './paint.ts';
import { pageColumns } from './report.ts';

async function* rows(): AsyncGenerator<ComparisonRow> {
  yield { rejectionCost: 0.01, goodputs: [0, 0.976, 0.99, 0.999, 1] };
  yield { rejectionCost: 0.5, goodputs: [0, 0, 0.61, 0.894, 0.964] };
}

async function linesOf(paint = plain): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of overloadLines(rows(), 3, paint)) lines.push(line);
  return lines;
}

test('the page has a line for each cost of a refusal, under the names of what is compared', async () => {
  expect((await linesOf()).slice(-3)).toEqual([
    'a refusal costs    nothing    budget     k 2    k 1.1    k 1.05',
    '             1%         0%       98%     99%     100%      100%',
    '            50%         0%        0%     61%      89%       96%',
  ]);
});

test('the page fits its columns, and names its seed', async () => {
  const lines = await linesOf();
  expect(lines.filter((line) => [...line].length > pageColumns)).toEqual([]);
  expect(lines[0]).toContain('seed 3');
});

test('the page is the same without its colours', async () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  expect((await linesOf(coloured)).map((line) => line.replace(/\u001b\[\d+m/g, ''))).toEqual(await linesOf());
});

test('the numbers are there for machines too', async () => {
  expect(JSON.parse(await overloadJson(rows(), 3))).toMatchObject({
    seed: 3,
    capacityPerSecond: 100,
    rows: [
      { rejectionCost: 0.01, goodput: { nothing: 0, budget: 0.976, 'k 1.05': 1 } },
      { rejectionCost: 0.5, goodput: { nothing: 0, 'k 2': 0.61 } },
    ],
  });
});
