import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { smallestLimit } from './limit-steps.ts';

const from = (smallest: number) => (limit: number) => limit >= smallest;

describe('the smallest limit that fits', () => {
  it.each([
    [1, 1],
    [37, 37],
    [199, 199],
    [200, 200],
    [201, 202],
    [499, 500],
    [501, 505],
    [996, 1000],
    [1001, 1010],
    [20_451, 20_600],
    [1_234_567, 1_240_000],
  ])('where %d would do is %d', (smallest, limit) => {
    expect(smallestLimit(from(smallest), 1)).toBe(limit);
  });

  it('is found from any guess, and is no more than a percent too large', () => {
    const size = fc.integer({ min: 0, max: 9 }).chain((digits) => fc.integer({ min: 1, max: 10 ** digits }));
    fc.assert(
      fc.property(size, size, (smallest, guess) => {
        const limit = smallestLimit(from(smallest), guess);
        expect(limit).toBeGreaterThanOrEqual(smallest);
        expect(limit).toBeLessThanOrEqual(smallest < 200 ? smallest : smallest * 1.01);
      }),
    );
  });

  it('is found in a few tries from a guess that is close', () => {
    let tries = 0;
    const counted = (limit: number) => {
      tries += 1;
      return limit >= 380;
    };
    smallestLimit(counted, 374);
    expect(tries).toBeLessThanOrEqual(7);
  });

  test('is not one that fits by a stroke of luck, with a larger one beside it that does not', () => {
    const fits = (limit: number) => limit === 20 || limit >= 50;
    expect(smallestLimit(fits, 20)).toBe(50);
  });

  it.each([
    [200, 202, 204],
    [300, 302, 304],
    [1000, 1010, 1020],
    [99_500, 100_000, 101_000],
  ])('is not %d where %d does not fit: a hole in what fits is passed once', (lowest, hole, above) => {
    let tries = 0;
    const fits = (limit: number) => {
      tries += 1;
      if (tries > 1000) throw new Error(`still trying, at ${limit}`);
      return limit >= lowest && limit !== hole;
    };
    for (const guess of [1, lowest - 1, lowest, above, 3 * lowest]) {
      tries = 0;
      expect(smallestLimit(fits, guess)).toBe(above);
    }
  });

  test('is above all strokes of luck, however many there are', () => {
    const fits = (limit: number) => limit >= 500 || (limit >= 200 && limit % 4 === 0);
    expect(smallestLimit(fits, 300)).toBe(500);
    expect(smallestLimit(fits, 1)).toBe(500);
  });

  it.each([1, 5, 1e15])('is none where none fits, from a guess of %d', (guess) => {
    expect(smallestLimit(() => false, guess)).toBeUndefined();
    expect(smallestLimit((limit) => limit === 5, guess)).toBeUndefined();
  });

  it.each([1, 5, 1e15])('may be the largest that there is, from a guess of %d', (guess) => {
    expect(smallestLimit(from(1e15), guess)).toBe(1e15);
  });
});
