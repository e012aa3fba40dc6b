import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import { aimd } from './aimd.ts';
import { gradient, squareRoot } from './gradient.ts';
import type { LimitAlgorithm, Sample } from './limit-algorithm.ts';
import { isProbing } from './probe.ts';
import { vegas, vegasFunctions } from './vegas.ts';

const range = { limitInitial: 20, limitMin: 1, limitMax: 200 };
const never = { probeEvery: 0, random: () => 0.5 };
// Draws the most: a probe after ten samples, and then one after each hundred.
const probing = { probeEvery: 100, random: () => 0.999 };

const aimdOf = (given = {}) => aimd({ ...range, backoffRatio: 0.9, timeoutMs: 1000, ...given });
const vegasOf = (given = {}) => vegas({ ...range, ...vegasFunctions, smoothing: 1, ...never, ...given });
const gradientOf = (given = {}) =>
  gradient({ ...range, tolerance: 1.5, queueSize: () => 4, smoothing: 0.2, longWindow: 600, ...never, ...given });

const fast = (rttMs: number, inFlight = 1000): Sample => ({ rttMs, inFlight, isDropped: false });
const drop: Sample = { rttMs: 0, inFlight: 1000, isDropped: true };

/** The limit after each sample, and the state after all. */
function play<State>(algorithm: LimitAlgorithm<State>, samples: readonly Sample[], from = algorithm.initial) {
  let state = from;
  const limits = samples.map((sample) => {
    state = algorithm.step(state, sample);
    return algorithm.limitOf(state);
  });
  return { limits, state, baselineMs: algorithm.baselineMsOf(state) };
}

type Probed = { readonly limit: number; readonly untilProbe: number };

const times = (count: number, sample: Sample) => Array.from({ length: count }, () => sample);

describe('AIMD', () => {
  it('takes slower than its time-out for a drop, and exactly as slow for none', () => {
    expect(play(aimdOf(), [fast(1000), fast(1000.1)]).limits).toEqual([21, 18]);
  });

  it('does not grow while fewer than half of its places are taken', () => {
    expect(play(aimdOf(), [fast(1, 9), fast(1, 10)]).limits).toEqual([20, 21]);
  });

  it('shrinks down to its least and comes back', () => {
    expect(play(aimdOf({ limitInitial: 4 }), [drop, drop, drop, drop, fast(1), fast(1)]).limits).toEqual([
      3, 2, 1, 1, 2, 3,
    ]);
  });
});

describe('Vegas', () => {
  it('shrinks on a drop, and does not take a quick rejection for a fast service', () => {
    const { limits, baselineMs } = play(vegasOf(), [fast(100), drop, { ...drop, rttMs: 1 }]);
    expect(limits).toEqual([20, 19, 18]);
    expect(baselineMs).toBe(100);
  });

  it('does not grow while fewer than half of its places are taken', () => {
    expect(play(vegasOf(), [fast(100), fast(100, 9), fast(100, 10)]).limits).toEqual([20, 20, 26]);
  });

  it('takes smaller steps the nearer it is', () => {
    // Of 20, the share that waits is 1 - 100 / rtt: 1 waiting, 2, 3 to 6, 7.
    const after = (rttMs: number) => play(vegasOf(), [fast(100), fast(rttMs)]).limits[1];
    expect([100, 105, 110, 111, 120, 142, 143, 1000].map(after)).toEqual([26, 26, 21, 21, 20, 20, 19, 19]);
  });
});

describe('the gradient', () => {
  it('grows by its share of the queue size while calls are no slower than is tolerated', () => {
    expect(play(gradientOf(), times(6, fast(100))).state.limit).toBeCloseTo(20 + 6 * 0.2 * 4, 9);
    expect(play(gradientOf({ queueSize: squareRoot, limitInitial: 100 }), [fast(100)]).state.limit).toBe(102);
  });

  it('shrinks by its share of how much slower they are, by half at most', () => {
    const warm = play(gradientOf({ limitInitial: 100, longWindow: 1e9 }), times(10, fast(100))).state;
    const after = (rttMs: number) => play(gradientOf({ longWindow: 1e9 }), [fast(rttMs)], { ...warm, limit: 100 });
    // Of the step, a fifth is taken.
    expect(after(150).state.limit).toBeCloseTo(100.8, 5);
    expect(after(200).state.limit).toBeCloseTo(95, 5);
    expect(after(300).state.limit).toBeCloseTo(90, 5);
    expect(after(9999).state.limit).toBeCloseTo(90, 5);
  });

  it('shrinks on a drop as if calls were as slow as can be, and learns no time from it', () => {
    const { state, baselineMs } = play(gradientOf({ limitInitial: 100 }), [fast(100), { ...drop, rttMs: 1 }]);
    expect(state.limit).toBeCloseTo(100.8 * 0.9, 9);
    expect(baselineMs).toBe(100);
  });

  it('does not grow while fewer than half of its places are taken, but learns', () => {
    const { limits, baselineMs } = play(gradientOf(), [fast(100, 9), fast(200, 9)]);
    expect(limits).toEqual([20, 20]);
    expect(baselineMs).toBe(150);
  });

  it('forgets a long time of overload faster than its long run would', () => {
    const slow = play(gradientOf(), times(50, fast(1000))).state;
    const after = play(gradientOf(), times(14, fast(100)), slow);
    expect(after.baselineMs).toBeLessThan(500);
    expect(play(gradientOf(), [fast(600)], slow).baselineMs).toBeGreaterThan(990);
  });
});

describe.each([
  ['Vegas', vegasOf(probing)],
  ['the gradient', gradientOf(probing)],
] as readonly [string, LimitAlgorithm<Probed>][])('a probe of %s', (_, algorithm) => {
  // Ten samples in which the limit settles where it is, more or less.
  const before = play(algorithm, times(10, fast(100)));
  const whole = Math.floor(before.state.limit);

  it('halves the limit while the queue drains and while it is measured', () => {
    expect(before.limits.at(-1)).toBe(Math.floor(before.state.limit / 2));
    const { limits } = play(algorithm, [fast(100), fast(100), fast(100)], before.state);
    expect(limits).toEqual([Math.floor(whole / 2), whole, whole]);
  });

  it('takes the second sample for what calls take without load, also where that is more', () => {
    expect(play(algorithm, [fast(999), fast(130)], before.state).baselineMs).toBe(130);
  });

  it('lets nothing but a drop move the limit meanwhile', () => {
    const moved = (samples: Sample[]) => play(algorithm, samples, before.state).state.limit;
    expect(moved([fast(1), fast(100), fast(9999)])).toBe(before.state.limit);
    expect(moved([drop])).toBeLessThan(before.state.limit);
  });

  it('is put off by a drop, and not forgotten', () => {
    expect(play(algorithm, [drop, drop, fast(100), drop, fast(130)], before.state).baselineMs).toBe(130);
  });

  it('comes again after a hundred samples, or after ten where calls turned out much faster than was thought', () => {
    const samplesUntilNext = (measuredMs: number) => {
      let { state } = play(algorithm, [fast(100), fast(measuredMs)], before.state);
      let samples = 0;
      for (; !isProbing(state.untilProbe) || samples < 1; samples += 1) state = algorithm.step(state, fast(100));
      return samples;
    };
    // One more, in which it settles.
    expect(samplesUntilNext(80)).toBe(101);
    expect(samplesUntilNext(79)).toBe(11);
  });
});

describe('every algorithm', () => {
  const random = seededRandom(3);
  const algorithms: readonly (readonly [string, LimitAlgorithm<never>])[] = [
    ['AIMD', aimdOf()],
    ['Vegas', vegasOf({ probeEvery: 20, random })],
    ['Vegas, smoothed', vegasOf({ probeEvery: 20, random, smoothing: 0.3 })],
    ['the gradient', gradientOf({ probeEvery: 20, random })],
    ['the gradient by its square root', gradientOf({ probeEvery: 20, random, queueSize: squareRoot })],
  ] as never;
  const samples = fc.array(
    fc.record({
      rttMs: fc.oneof(fc.double({ min: 0.1, max: 1e6, noNaN: true }), fc.constantFrom(0.1, 1, 100, 1e9)),
      inFlight: fc.integer({ min: 1, max: 300 }),
      isDropped: fc.boolean(),
    }),
    { maxLength: 300 },
  );

  it.each(algorithms)('%s keeps to whole numbers within its range, whatever it is told', (_, algorithm) => {
    fc.assert(
      fc.property(samples, (life) => {
        for (const limit of play(algorithm, life).limits)
          expect(Number.isInteger(limit) && limit >= 1 && limit <= 200).toBe(true);
      }),
    );
  });

  it.each(algorithms)('%s comes down to its least under drops, and from there up again', (_, algorithm) => {
    const down = play(algorithm, times(300, drop));
    expect(down.limits.at(-1)).toBe(1);
    const up = play(algorithm, times(400, fast(100)), down.state);
    // Half steps come as near as one likes, and no nearer.
    expect(Math.max(...up.limits)).toBeGreaterThanOrEqual(199);
  });
});
