import type { Unit } from '@sluice/simulator';
import { expect, test } from 'vitest';
import { figure, measureName, seriesName } from './figure.ts';

const figures: readonly (readonly [value: number, unit: Unit, text: string])[] = [
  [0, 'count', '0'],
  [1234, 'count', '1,234'],
  [10_000_001, 'count', '10,000,001'], // one too many is the whole point
  [2.34567, 'number', '2.35'],
  [12_345.678, 'number', '12,346'],
  [-0.5, 'number', '-0.5'],
  [0.123, 'ratio', '12.3 %'],
  [1 / 3, 'ratio', '33.3 %'],
  [0.00001, 'ratio', '0.001 %'],
  [1, 'ratio', '100 %'],
  [0, 'ms', '0 ms'],
  [0.25, 'ms', '0.25 ms'],
  [999, 'ms', '999 ms'],
  [1250, 'ms', '1.25 s'],
  [90_000, 'ms', '1.5 min'],
  [86_400_000, 'ms', '1 d'],
  [Number.POSITIVE_INFINITY, 'ms', 'never'],
  [Number.POSITIVE_INFINITY, 'ratio', '∞'],
  [Number.NaN, 'count', '-'],
  [1234.5, 'rate', '1,235/s'],
  [0.5, 'rate', '0.5/s'],
];

test.each(figures)('%d as a %s is written %s', (value, unit, text) => {
  expect(figure({ value, unit })).toBe(text);
});

const names: readonly (readonly [name: string, unit: Unit, text: string])[] = [
  ['allowed', 'count', 'allowed'],
  ['worstWindow', 'number', 'worst window'],
  ['waitMsP99', 'ms', 'wait p99'],
  ['refusedRatio', 'ratio', 'refused share'],
  ['ms', 'ms', 'ms'],
];

test.each(names)('%s (%s) is called %s', (name, unit, text) => {
  expect(measureName(name, unit)).toBe(text);
});

test.each([
  ['waiting', 'waiting'],
  ['share.A', 'share A'],
  ['servedShare.preferred', 'preferred'],
  ['servedShare.somebody-with-a-name', 'somebody-with…'],
  ['aVeryLongNameOfSomething', 'a very long n…'],
])('beside its picture %s is called %s', (name, text) => {
  expect(seriesName(name, 14)).toBe(text);
});
