import type { VariantResult } from '@sluice/simulator';
import { expect, test } from 'vitest';
import { tableLines } from '../terminal/words.ts';
import { measureTables } from './measure-table.ts';

const variant = (name: string, measures: Record<string, number>): VariantResult => ({
  name,
  measures: Object.fromEntries(Object.entries(measures).map(([key, value]) => [key, { value, unit: 'count' }])),
  series: [],
  notes: [],
});

const variants = [
  variant('a', { asked: 1000, allowed: 1 }),
  variant('bb', { asked: 1000, allowed: 2, delayed: 7 }),
  variant('ccc', { asked: 1000, allowed: 3 }),
];

const textOf = (width: number) =>
  measureTables(variants, width)
    .map((table) => tableLines(table).join('\n'))
    .join('\n\n');

test('variants are rows where there is room, and columns where there is less', () => {
  expect(`\n${textOf(40)}`).toBe(`
variant  asked  allowed  delayed
a        1,000        1        -
bb       1,000        2        7
ccc      1,000        3        -`);
  expect(`\n${textOf(30)}`).toBe(`
             a     bb    ccc
asked    1,000  1,000  1,000
allowed      1      2      3
delayed      -      7      -`);
});

test('where they are too many for that, some come after the others, with the same rows', () => {
  expect(`\n${textOf(22)}`).toBe(`
             a     bb
asked    1,000  1,000
allowed      1      2
delayed      -      7

           ccc
asked    1,000
allowed      3
delayed      -`);
});

test('what is measured of somebody stands in a table of its own, one for all of whom the same is measured', () => {
  const measured = { asked: 9, 'asked.alice': 7, 'asked.bob': 2, 'reached.A': 4, 'refused.alice': 1, 'refused.bob': 0 };
  const tables = (all: readonly VariantResult[]) => measureTables(all, 60).map((table) => tableLines(table).join('\n'));
  expect(`\n${tables([variant('gcra', measured), variant('log', measured)]).join('\n\n')}`).toBe(`
variant  asked
gcra         9
log          9

who          asked  refused
alice, gcra      7        1
alice, log       7        1
bob, gcra        2        0
bob, log         2        0

who      reached
A, gcra        4
A, log         4`);
  expect(`\n${tables([variant('gcra', measured)])[1]}`).toBe(`
who    asked  refused
alice      7        1
bob        2        0`);
});

test('nothing measured is no table', () => {
  expect(measureTables([], 80)).toEqual([]);
  expect(measureTables([variant('a', {})], 80)).toEqual([]);
});
