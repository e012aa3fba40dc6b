// What Netflix's concurrency-limits does, from its own tests.
import { describe, expect, it } from 'vitest';
import { type AimdSettings, aimd } from './aimd.ts';
import { addToLongRun } from './gradient.ts';
import type { LimitAlgorithm } from './limit-algorithm.ts';
import { type VegasSettings, vegas, vegasFunctions, wholeLog10 } from './vegas.ts';

type Row = readonly [rttMs: number, inFlight: number, isDropped: boolean, limitAfter: number];

function play<State>({ initial, step, limitOf }: LimitAlgorithm<State>, rows: readonly Row[]): Row[] {
  let state = initial;
  return rows.map(([rttMs, inFlight, isDropped]) => {
    state = step(state, { rttMs, inFlight, isDropped });
    return [rttMs, inFlight, isDropped, limitOf(state)];
  });
}

const aimdDefaults: AimdSettings = {
  limitInitial: 20,
  limitMin: 20,
  limitMax: 200,
  backoffRatio: 0.9,
  timeoutMs: 5000,
};

// biome-ignore format: aligned rows
const aimdCases: readonly [name: string, settings: Partial<AimdSettings>, rows: readonly Row[]][] = [
  ['grows by one on success',          { limitInitial: 20 },                            [[     1, 10, false, 21 ]]],
  ['shrinks by a tenth on a drop',     { limitInitial: 30 },                            [[ 0.001,  0, true,  27 ]]],
  ['does not grow beyond its most',    { limitInitial: 21, limitMin: 0, limitMax: 21 }, [[     1, 10, false, 21 ]]],
];

const vegasDefaults: VegasSettings = {
  ...vegasFunctions,
  limitInitial: 20,
  limitMin: 1,
  limitMax: 1000,
  smoothing: 1,
  probeEvery: 100,
  random: () => 0.5,
};

const small = { limitInitial: 10, limitMax: 20, alpha: () => 3, beta: () => 6 };
const halving = { limitInitial: 100, limitMax: 200, decrease: (limit: number) => limit / 2 };

// biome-ignore format: aligned rows
const vegasCases: readonly [name: string, settings: Partial<VegasSettings>, rows: readonly Row[]][] = [
  ['grows by beta where none waits, also a large limit', { limitInitial: 10_000, limitMax: 20_000 }, [
    [ 10_000, 5000, false, 10_000 ],
    [ 10_000, 6000, false, 10_024 ],
  ]],
  ['grows where fewer than alpha wait', small, [
    [ 10, 10, false, 10 ],
    [ 10, 11, false, 16 ],
  ]],
  ['shrinks where more than beta wait', small, [
    [ 10, 10, false, 10 ],
    [ 50, 11, false,  9 ],
  ]],
  ['stays where as many wait as should', small, [
    [ 10, 10, false, 10 ],
    [ 14, 14, false, 10 ],
  ]],
  ['shrinks as it is told', halving, [
    [ 10, 100, false, 100 ],
    [ 20, 100, false,  50 ],
    [ 20, 100, false,  25 ],
  ]],
  ['shrinks by half of each step where that is all that is taken', { ...halving, smoothing: 0.5 }, [
    [ 10, 100, false, 100 ],
    [ 20, 100, false,  75 ],
    [ 20, 100, false,  56 ],
  ]],
];

describe('as published: AIMD', () => {
  it('begins where it is told', () => {
    const { initial, limitOf } = aimd({ ...aimdDefaults, limitInitial: 10 });
    expect(limitOf(initial)).toBe(10);
  });

  it.each(aimdCases)('%s', (_, settings, rows) => {
    expect(play(aimd({ ...aimdDefaults, ...settings }), rows)).toEqual(rows);
  });
});

describe('as published: Vegas', () => {
  it.each(vegasCases)('%s', (_, settings, rows) => {
    expect(play(vegas({ ...vegasDefaults, ...settings }), rows)).toEqual(rows);
  });

  it.each([
    [0, 1],
    [9, 1],
    [10, 1],
    [99, 1],
    [100, 2],
    [999, 2],
    [1000, 3],
    [10_000, 4],
    [1_000_000, 6],
  ])('its functions are of the whole logarithm: of %d it is %d', (limit, whole) => {
    expect(wholeLog10(limit)).toBe(whole);
  });
});

it('as published: the long run of the gradient is a plain average of the first ten, and then forgets', () => {
  let long = { averageMs: 0, samples: 0 };
  const averages = Array.from({ length: 10 }, (_, i) => {
    long = addToLongRun(long, i + 10, 100);
    return long.averageMs;
  });
  expect(averages).toEqual([10, 10.5, 11, 11.5, 12, 12.5, 13, 13.5, 14, 14.5]);
  expect(addToLongRun(long, 100, 100).averageMs).toBeCloseTo(16.2, 1);
});
