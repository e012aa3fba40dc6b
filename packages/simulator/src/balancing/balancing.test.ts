/**
 * What theory says about balancers, with the real ones. Seeds are fixed, so nothing here fails by chance; margins are those that a
 * run with another seed would keep as well, all but once in thousands.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { binsRow, contenders, type ResponseRow, responses } from './comparison.ts';
import type { QueueOptions } from './queues.ts';
import { ringSpread } from './spread.ts';
import { ringDeviation } from './theory.ts';
import { cyclesOf } from './turns.ts';

describe('smooth weighted round robin', () => {
  test('of weights 5, 1 and 1 is A A B A C A A, again and again', () => {
    const orders = cyclesOf({ A: 5, B: 1, C: 1 }, 3).map(({ order }) => order.join(' '));
    expect(orders).toEqual(Array(3).fill('A A B A C A A'));
  });

  test('serves each exactly its weight in every cycle', () => {
    const weights = fc.dictionary(fc.constantFrom(...'ABCDEFGH'), fc.integer({ min: 1, max: 30 }), { minKeys: 1 });
    fc.assert(
      fc.property(weights, (weights) => {
        for (const { picks } of cyclesOf(weights, 4)) expect(picks).toEqual({ ...weights });
      }),
    );
  });
});

describe('a ring of 150 points for each member, over a million keys', () => {
  test.each([[10], [100]])(
    'spreads them over %d members as evenly as theory says, and moves only those it must',
    (members) => {
      const { deviation, most, fewest, join, leave } = ringSpread({ members, keys: 1_000_000 });
      const expected = ringDeviation(150, members, 1_000_000);
      // How well a deviation is known from so many shares, five times.
      expect(Math.abs(deviation / expected - 1)).toBeLessThan(5 / Math.sqrt(2 * members));
      expect(most).toBeLessThan(1 + 4.5 * expected);
      expect(fewest).toBeGreaterThan(1 - 4.5 * expected);
      for (const moved of [join, leave]) {
        expect(Math.abs(moved.ratio * (members + 1) - 1)).toBeLessThan(4.5 * expected);
        expect(moved.needlessRatio).toBe(0);
      }
    },
  );

  test('fewer points are less even', () => {
    const deviationOf = (points: number) => ringSpread({ members: 50, keys: 100_000, ring: { points } }).deviation;
    const deviations = [1000, 150, 20, 1].map(deviationOf);
    expect(deviations).toEqual([...deviations].sort((a, b) => a - b));
    expect(deviations[0]).toBeLessThan(0.06);
    expect(deviations[3]).toBeGreaterThan(0.5);
  });
});

describe('the mean response of ten servers that are busy four fifths of the time', () => {
  const servers = 10;
  const load = 0.8;
  const calls = 400_000;
  const seeds = [1, 2];

  // Each is run once, for all tests that ask.
  const runs = new Map<string, Record<string, ResponseRow>>();
  function run(service: QueueOptions['service'], seed: number): Record<string, ResponseRow> {
    const known = runs.get(`${service} ${seed}`);
    if (known !== undefined) return known;
    const rows = responses({ servers, load, calls, service, seed });
    const byName = Object.fromEntries(rows.map((row) => [row.name, row]));
    runs.set(`${service} ${seed}`, byName);
    return byName;
  }

  test.each(seeds)('random is as many M/M/1 queues, and one queue for all is Erlang C (seed %d)', (seed) => {
    const rows = run('exponential', seed);
    for (const name of ['random', 'round robin', 'one queue for all']) {
      const { mean, standardError, theory } = rows[name]!;
      // Fifty batches: beyond 4.5 standard errors once in twenty thousand runs.
      expect(Math.abs(mean - theory!), name).toBeLessThan(4.5 * standardError);
      expect(standardError / mean, name).toBeLessThan(0.02);
    }
  });

  test.each(seeds)('round robin is better than random, two choices better again (seed %d)', (seed) => {
    const rows = run('exponential', seed);
    const [random, roundRobin, twoChoices] = contenders.map(({ name }) => rows[name]!.mean);
    expect(roundRobin! / random!).toBeLessThan(0.65);
    expect(twoChoices! / roundRobin!).toBeLessThan(0.8);
  });

  test.each(seeds)('shortest queue is close to the floor of one queue for all (seed %d)', (seed) => {
    const rows = run('exponential', seed);
    const [, , twoChoices, shortestQueue, floor] = contenders.map(({ name }) => rows[name]!.mean);
    expect(shortestQueue! / floor!).toBeLessThan(1.15);
    expect(shortestQueue! / floor!).toBeGreaterThan(1);
    expect(twoChoices! / floor!).toBeGreaterThan(1.5);
  });

  test.each(seeds)('with services that are all alike, random is an M/D/1 (seed %d)', (seed) => {
    const { mean, standardError, theory } = run('fixed', seed).random!;
    expect(Math.abs(mean - theory!)).toBeLessThan(4.5 * standardError);
  });

  test.each(seeds)('with services that are all alike, round robin is optimal: the floor itself (seed %d)', (seed) => {
    const rows = run('fixed', seed);
    const floor = rows['one queue for all']!;
    // Not only on average: call by call its server is the one that would have been free first.
    expect(rows['round robin']).toMatchObject({ mean: floor.mean, p99: floor.p99 });
    for (const name of ['random', 'two choices', 'shortest queue']) {
      expect(rows[name]!.mean, name).toBeGreaterThan(1.04 * floor.mean);
    }
  });

  test('two choices among a hundred are close to those among very many, and shortest queue hardly waits', () => {
    const [, , twoChoices, shortestQueue, floor] = responses({ servers: 100, load, calls, service: 'exponential' });
    expect(Math.abs(twoChoices!.mean / twoChoices!.theory! - 1)).toBeLessThan(0.03);
    expect(shortestQueue!.mean / floor!.mean).toBeLessThan(1.01);
  });
});

describe('as many balls as bins', () => {
  const sizes = [
    { bins: 10, times: 1000 },
    { bins: 100, times: 400 },
    { bins: 1000, times: 100 },
    { bins: 10_000, times: 30 },
  ];

  test.each(sizes)('the fullest of $bins has what is expected of it', ({ bins, times }) => {
    const { atRandom, ofTwo } = binsRow(bins, times);
    // Five standard errors of a figure whose standard deviation is below 1, and what the theory of bins without end leaves out.
    const margin = 5 / Math.sqrt(times) + 0.05;
    expect(Math.abs(atRandom.fullest - atRandom.expected)).toBeLessThan(margin);
    expect(Math.abs(ofTwo.fullest - ofTwo.expected)).toBeLessThan(margin);
    // Both formulas are the first term of more: at random it is up to 1.65 times as much, with two choices up to 1 more.
    expect(atRandom.fullest / atRandom.growth).toBeGreaterThan(0.9);
    expect(atRandom.fullest / atRandom.growth).toBeLessThan(1.65);
    expect(Math.abs(ofTwo.fullest - ofTwo.growth)).toBeLessThan(1);
  });

  test('from ten to ten thousand the fullest grows by about four at random, and by about one with two choices', () => {
    const few = binsRow(10, 100);
    const many = binsRow(10_000, 10);
    expect(many.atRandom.fullest - few.atRandom.fullest).toBeGreaterThan(3);
    expect(many.ofTwo.fullest - few.ofTwo.fullest).toBeLessThan(1.5);
  });
});
