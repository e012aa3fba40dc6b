import fc from 'fast-check';
import { fixedWindow, gcra, leakyBucket, slidingLog, slidingSlots, slidingWindow } from 'sluice';
import { describe, expect, it } from 'vitest';
import { accuracyOf, limitRefusing } from './accuracy.ts';
import { worstWindow } from './measure.ts';
import { replay } from './replay.ts';
import { burst, merge, poisson, type Traffic, zipfKeys } from './traffic.ts';

const limit = 10;
const windowMs = 1000;
const judged = { limit, windowMs };

const arrivals = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.constantFrom('a', 'b')), { maxLength: 200, size: 'max' })
  .map((steps): Traffic => {
    let atMs = 0;
    return steps.map(([gapMs, key]) => {
      atMs += gapMs;
      return { atMs, key, cost: 1 };
    });
  });

describe('the judge', () => {
  it('finds nothing wrong with the exact log', () => {
    fc.assert(
      fc.property(arrivals, (traffic) => {
        const policy = slidingLog({ limit, window: windowMs });
        expect(accuracyOf(policy, traffic, judged)).toMatchObject({
          wronglyAllowed: 0,
          wronglyRefused: 0,
          keysAbove: 0,
        });
      }),
    );
  });

  it('finds that slots refuse too much and never too little', () => {
    fc.assert(
      fc.property(arrivals, (traffic) => {
        const policy = slidingSlots({ limit, window: windowMs, slots: 4 });
        expect(accuracyOf(policy, traffic, judged)).toMatchObject({ wronglyAllowed: 0, keysAbove: 0 });
      }),
    );
    const justAfter = merge(burst(10, { atMs: 10 }), burst(1, { atMs: 1011 }));
    const policy = slidingSlots({ limit, window: windowMs, slots: 4 });
    expect(accuracyOf(policy, justAfter, judged).wronglyRefused).toBe(1);
  });

  it('agrees with the worst window of a replay', () => {
    fc.assert(
      fc.property(arrivals, fc.constantFrom(fixedWindow, slidingWindow, gcra), (traffic, policyOf) => {
        const policy = policyOf({ limit, window: windowMs });
        const own = [...traffic].filter(({ key }) => key === 'a');
        const { grants } = replay(policy, own);
        expect(accuracyOf(policy, own, judged).worstWindow).toBe(worstWindow(grants, windowMs));
      }),
    );
  });

  it('finds the fixed window at twice its limit across a boundary', () => {
    const traffic = merge(burst(20, { atMs: 999 }), burst(20, { atMs: 1000 }));
    const found = accuracyOf(fixedWindow({ limit, window: windowMs }), traffic, judged);
    expect(found).toMatchObject({ calls: 40, refused: 20, wronglyAllowed: 10, worstWindow: 20, keysAbove: 1, keys: 1 });
  });

  it('counts a delayed call when it goes', () => {
    const traffic = burst(11, { atMs: 0 });
    const policy = leakyBucket({ limit, window: windowMs, burst: 10 });
    // One at once, then one each 100 ms: the eleventh goes a whole window after the first.
    expect(accuracyOf(policy, traffic, judged)).toMatchObject({ refused: 0, worstWindow: 10, keysAbove: 0 });
  });
});

it('finds the smallest limit that refuses so little', () => {
  const traffic = zipfKeys(poisson(100, { untilMs: 60_000, seed: 1 }), { count: 20, exponent: 1, seed: 2 });
  const share = { windowMs, ratio: 0.05 };
  const found = limitRefusing(traffic, share);
  const ratioAt = (limit: number) => {
    const { calls, refused } = accuracyOf(slidingLog({ limit, window: windowMs }), traffic, { limit, windowMs });
    return refused / calls;
  };
  expect(ratioAt(found)).toBeLessThanOrEqual(0.05);
  expect(ratioAt(found - 1)).toBeGreaterThan(0.05);
  expect(limitRefusing([], share)).toBe(1);
});
