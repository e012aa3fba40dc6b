/**
 * Seeded randomness: the same seed gives the same draws, so a run that fails can be run again. On every machine, except for the last digit of what goes through a
 * logarithm (`exponential`): engines round `Math.log` in two ways. Who compares runs of two engines rounds the times.
 */
import { generator, stateOf } from './generator.ts';

export interface ZipfOptions {
  /** How many ranks there are: 1 to 10,000,000. */
  readonly count: number;
  /** How steep: rank k is drawn in proportion to `1 / k^exponent`. 0 makes all alike. */
  readonly exponent: number;
}

export interface Random {
  /** A number from 0 up to, not including, 1; all 53 bits are random. */
  uniform(): number;
  /** A time between two arrivals of a Poisson process. */
  exponential(mean: number): number;
  /** A whole number from 0 to `below - 1`, all equally likely. */
  integer(below: number): number;
  /** One of the list, all equally likely. */
  pick<T>(list: readonly T[]): T;
  /** Draws ranks from 1 to `count`, the first the most often. */
  zipf(options: ZipfOptions): () => number;
  /** A stream of its own: what is drawn from it changes nothing for whoever draws from this one. */
  fork(): Random;
}

const mostBelow = 2 ** 32;
const mostRanks = 10_000_000;

export function random(seed: number): Random {
  const bits = generator(stateOf(seed));

  function uniform(): number {
    // 27 bits above 26: as many as a number below 1 can hold evenly.
    return ((bits() >>> 5) * 2 ** 26 + (bits() >>> 6)) / 2 ** 53;
  }

  function integer(below: number): number {
    if (!Number.isInteger(below) || below < 1 || below > mostBelow) {
      throw new RangeError(`below must be a whole number from 1 to ${mostBelow}, got ${below}.`);
    }
    // The last, incomplete round of remainders would favour the small ones; draw again instead.
    const completeRounds = mostBelow - (mostBelow % below);
    let drawn = bits();
    while (drawn >= completeRounds) drawn = bits();
    return drawn % below;
  }

  return {
    uniform,
    integer,
    // 1 - uniform is never 0, whose logarithm would be an infinite wait.
    exponential: (mean) => -mean * Math.log(1 - uniform()),
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError('There is nothing to pick from in an empty list.');
      return list[integer(list.length)] as T;
    },
    zipf(options) {
      const sums = zipfSums(options);
      const total = sums[sums.length - 1]!;
      return () => firstAbove(sums, uniform() * total) + 1;
    },
    fork: () => random(Math.floor(uniform() * 2 ** 53)),
  };
}

/** The weights of ranks 1 to `count`, summed up: the share of a rank is the step up to its sum. */
function zipfSums({ count, exponent }: ZipfOptions): Float64Array {
  if (!Number.isInteger(count) || count < 1 || count > mostRanks) {
    throw new RangeError(`count must be a whole number from 1 to ${mostRanks}, got ${count}.`);
  }
  if (!(exponent >= 0)) throw new RangeError(`exponent must be a number of 0 or more, got ${exponent}.`);
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 1; rank <= count; rank += 1) {
    sum += rank ** -exponent;
    sums[rank - 1] = sum;
  }
  return sums;
}

/** The index of the first sum above the target, which must be below the last sum. */
function firstAbove(sums: Float64Array, target: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sums[middle]! > target) high = middle;
    else low = middle + 1;
  }
  return low;
}
