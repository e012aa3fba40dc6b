import { describe, expect, test } from 'vitest';
import {
  erlangC,
  expectedFullest,
  fullestAtRandom,
  fullestOfTwo,
  oneQueueResponse,
  randomResponse,
  ringDeviation,
  roundRobinResponse,
  sharesAtRandom,
  sharesOfTwo,
  twoChoicesResponse,
} from './theory.ts';

describe('the formulas agree with what is known', () => {
  test.each([
    //  load  servers  waits
    [0.3, 1, 0.3], // M/M/1: the server is busy
    [0.5, 2, 1 / 3],
    [0.8, 10, 0.40918],
    [0.9, 1000, 0.00059], // by the sum of the definition, in logarithms
  ])('of all who arrive at load %d of %d servers, %d wait (Erlang C)', (load, servers, waits) => {
    expect(erlangC(load, servers)).toBeCloseTo(waits, 4);
  });

  test('one server is one queue, whoever chooses', () => {
    for (const load of [0.1, 0.5, 0.9]) {
      expect(oneQueueResponse(load, 1)).toBeCloseTo(randomResponse(load), 10);
      expect(roundRobinResponse(load, 1)).toBeCloseTo(randomResponse(load), 8);
    }
  });

  test('round robin over very many servers is arrivals by the clock: D/M/1', () => {
    // s = e^(-(1 - s) / load), at load 0.8.
    expect(1 / (1 - 0.6286)).toBeCloseTo(roundRobinResponse(0.8, 100_000), 2);
  });

  test('two choices at little load wait only for each other', () => {
    expect(twoChoicesResponse(0.001)).toBeCloseTo(1 + 0.001 ** 2, 9);
    expect(twoChoicesResponse(0.8)).toBeCloseTo(1 + 0.8 ** 2 + 0.8 ** 6 + 0.8 ** 14 + 0.8 ** 30, 5);
  });

  test('shares of bins add up to the balls, one for each bin', () => {
    for (const shares of [sharesAtRandom(), sharesOfTwo()]) {
      expect(shares.slice(1).reduce((sum, share) => sum + share)).toBeCloseTo(1, 5);
    }
    // A ball is never the second of its bin unless both that it chose had one.
    expect(sharesAtRandom()[1]).toBeCloseTo(1 - Math.exp(-1), 10);
    expect(sharesOfTwo()[1]).toBeCloseTo(Math.tanh(1), 5);
  });

  test('the fullest of one bin has what a bin has on average', () => {
    expect(expectedFullest([1, 0.5, 0.25], 1)).toBe(0.75);
    expect(expectedFullest([1, 1, 1e-20], 1e20)).toBeCloseTo(1 + 1 - Math.exp(-1), 10);
  });

  test('growth is by the logarithm, or by the logarithm of that', () => {
    expect(fullestAtRandom(10_000)).toBeCloseTo(4.148, 3);
    expect(fullestOfTwo(10_000)).toBeCloseTo(3.203, 3);
  });

  test('a ring of one member varies by nothing, of many by the root of its points', () => {
    expect(ringDeviation(150, 1)).toBe(0);
    expect(ringDeviation(150, 10, 100)).toBeCloseTo(Math.hypot(ringDeviation(150, 10), 0.3), 10);
    expect(ringDeviation(150, 1e6)).toBeCloseTo(1 / Math.sqrt(150), 5);
  });
});
