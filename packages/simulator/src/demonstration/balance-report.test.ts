import { expect, test } from 'vitest';
import { type BalanceSizes, balanceJson, balanceLines } from './balance-report.ts';
import { coloured, plain } from './paint.ts';
import { pageColumns } from './report.ts';

const small: BalanceSizes = {
  keys: 2000,
  ringMembers: [4],
  servers: 3,
  loads: [0.5],
  calls: 2000,
  bins: [{ count: 10, times: 5 }],
};
const linesOf = (paint = plain) => [...balanceLines(3, paint, small)];

test('the page has the four tables, with a line for each balancer that is compared', () => {
  const lines = linesOf();
  expect(lines.filter((line) => /^[A-Z]\w+: /.test(line)).map((line) => line.split(':')[0])).toEqual([
    'Sluice',
    'Turns',
    'Keys',
    'Response',
    'Balls',
  ]);
  expect(lines).toContain('  A A B A C A A    A 5  B 1  C 1');
  const names = ['random', 'round robin', 'two choices', 'shortest queue', 'one queue for all'];
  for (const name of names) expect(lines.some((line) => line.startsWith(`  ${name} `))).toBe(true);
});

test('where theory has no formula there is no figure', () => {
  const ofShortestQueue = linesOf().find((line) => line.startsWith('  shortest queue'));
  expect(ofShortestQueue?.trim().split(/ {2,}/)).toHaveLength(1 + 2 + 2);
});

test('the page fits its columns, and names its seed', () => {
  const lines = linesOf();
  expect(lines.filter((line) => [...line].length > pageColumns)).toEqual([]);
  expect(lines[0]).toContain('seed 3');
});

test('the page is the same without its colours', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  expect(linesOf(coloured).map((line) => line.replace(/\u001b\[\d+m/g, ''))).toEqual(linesOf());
});

test('the numbers are there for machines too', () => {
  const report = JSON.parse(balanceJson(3, small));
  expect(report).toMatchObject({
    seed: 3,
    points: 150,
    turns: [{ picks: { A: 5, B: 1, C: 1 } }, {}, {}],
    rings: [{ members: 4, join: { needlessRatio: 0 }, leave: { needlessRatio: 0 } }],
    balls: [{ bins: 10 }],
  });
  expect(report.responses[0].exponential[0]).toMatchObject({ name: 'random', theory: 2 });
});
