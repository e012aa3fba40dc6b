import { expect, test } from 'vitest';
import { generator, stateOf } from './generator.ts';
import { random } from './random.ts';

const draws = 200_000;
const take = <T>(count: number, next: () => T): T[] => Array.from({ length: count }, next);
const mean = (numbers: number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

// The seeds are fixed, so nothing here fails by chance; the tolerances are five standard errors of the statistic, so that
// they also hold for nearly every other seed.
function within(numbers: number[], expectedMean: number, expectedVariance: number): void {
  const standardError = Math.sqrt(expectedVariance / numbers.length);
  expect(Math.abs(mean(numbers) - expectedMean)).toBeLessThan(5 * standardError);
}

test('the same seed gives the same stream, another seed another', () => {
  const stream = (seed: number) => take(100, random(seed).uniform);
  expect(stream(7)).toEqual(stream(7));
  expect(stream(7)).not.toEqual(stream(8));
});

test('a uniform number is made of the upper bits of two draws', () => {
  const bits = generator(stateOf(42));
  const [first, second] = [bits(), bits()];
  expect(random(42).uniform()).toBe((Math.floor(first / 32) * 2 ** 26 + Math.floor(second / 64)) / 2 ** 53);
});

test('uniform numbers have the mean and the variance of the uniform distribution', () => {
  const numbers = take(draws, random(1).uniform);
  within(numbers, 1 / 2, 1 / 12);
  // The squared distance from the mean is itself a variable, of variance 1/180.
  within(
    numbers.map((each) => (each - 1 / 2) ** 2),
    1 / 12,
    1 / 180,
  );
  expect(Math.min(...numbers.slice(0, 10_000))).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers.slice(0, 10_000))).toBeLessThan(1);
});

test('exponential numbers have the given mean, and their standard deviation is the mean too', () => {
  const { exponential } = random(2);
  const numbers = take(draws, () => exponential(20));
  within(numbers, 20, 400);
  // The squared distance from the mean is itself a variable, of variance 8 * mean^4.
  within(
    numbers.map((each) => (each - 20) ** 2),
    400,
    8 * 20 ** 4,
  );
  expect(numbers.every((each) => each >= 0 && Number.isFinite(each))).toBe(true);
});

test('whole numbers are all equally likely', () => {
  const { integer } = random(3);
  const counts = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < draws; i += 1) counts[integer(6)]! += 1;
  const expected = draws / 6;
  const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 99.9th percentile with 5 degrees of freedom.
  expect(chiSquared).toBeLessThan(20.5);
});

test.each([0, 1.5, -1, 2 ** 32 + 1, Number.NaN])('refuses a whole number below %s', (below) => {
  expect(() => random(1).integer(below)).toThrow('below must be a whole number from 1 to 4294967296');
});

test('picks every one of a list, and nothing from an empty one', () => {
  const { pick } = random(4);
  expect(new Set(take(100, () => pick(['a', 'b', 'c'])))).toEqual(new Set(['a', 'b', 'c']));
  expect(() => pick([])).toThrow('nothing to pick');
});

test('Zipf ranks come in proportion to 1 / rank^exponent', () => {
  const next = random(5).zipf({ count: 3, exponent: 1 });
  const counts = [0, 0, 0];
  for (let i = 0; i < draws; i += 1) counts[next() - 1]! += 1;
  const shares = [6 / 11, 3 / 11, 2 / 11];
  counts.forEach((count, i) => {
    const share = shares[i]!;
    const standardError = Math.sqrt((share * (1 - share)) / draws);
    expect(Math.abs(count / draws - share)).toBeLessThan(5 * standardError);
  });
});

test('an exponent of 0 makes all Zipf ranks alike', () => {
  const next = random(6).zipf({ count: 10, exponent: 0 });
  // Whole numbers from 1 to 10: mean 5.5, variance 99/12.
  within(take(draws, next), 5.5, 99 / 12);
});

test('refuses Zipf ranks that cannot be', () => {
  expect(() => random(1).zipf({ count: 0, exponent: 1 })).toThrow('count must be');
  expect(() => random(1).zipf({ count: 3, exponent: -1 })).toThrow('exponent must be');
});

test('a fork is a stream of its own', () => {
  const parent = random(9);
  const child = parent.fork();
  const twin = random(9);
  twin.fork();
  take(50, child.uniform);
  expect(take(10, parent.uniform)).toEqual(take(10, twin.uniform));
  expect(take(10, random(9).fork().uniform)).toEqual(take(10, random(9).fork().uniform));
});
