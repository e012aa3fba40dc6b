import { expect, test } from 'vitest';
import { generator, splitMix64, stateOf } from './generator.ts';

const take = <T>(count: number, next: () => T): T[] => Array.from({ length: count }, next);

test('SplitMix64 gives the published numbers for seed 1234567', () => {
  expect(take(5, splitMix64(1234567n))).toEqual([
    6457827717110365317n,
    3203168211198807973n,
    9817491932198370423n,
    4593380528125082431n,
    16408922859458223821n,
  ]);
});

test('xoshiro128** gives the published numbers for the state 1, 2, 3, 4', () => {
  expect(take(10, generator([1, 2, 3, 4]))).toEqual([
    11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
  ]);
});

test('a seed fills the state with the halves of two SplitMix64 numbers', () => {
  const next = splitMix64(1234567n);
  const words = [next(), next()].flatMap((bits) => [bits & 0xffffffffn, bits >> 32n]);
  expect(stateOf(1234567)).toEqual(words.map(Number));
});

test.each([-1, 0.5, Number.NaN, 2 ** 53])('refuses the seed %s', (seed) => {
  expect(() => stateOf(seed)).toThrow(`seed must be a whole number from 0 to 9007199254740991, got ${seed}.`);
});
