import fc from 'fast-check';
import { expect, it } from 'vitest';
import { barHeight, decades, limitAt, peaksScale, xOf } from './peaks-scale.ts';

const bins = [
  { from: 1, below: 2, clients: 1000 },
  { from: 2, below: 4, clients: 40 },
  { from: 512, below: 1024, clients: 1 },
];
const scale = peaksScale(bins, 100, 600, 200);

it('has room beyond the busiest client, and beyond the limit', () => {
  expect(xOf(1024, scale)).toBeLessThan(600);
  expect(xOf(5000, peaksScale(bins, 5000, 600, 200))).toBeLessThan(600);
  expect(peaksScale([], 1, 600, 200).most).toBeGreaterThan(1);
});

it('shows a single client', () => {
  expect(barHeight(1, scale)).toBeGreaterThan(10);
  expect(barHeight(1000, scale)).toBe(200);
  expect(barHeight(0, scale)).toBe(0);
});

it('names the powers of ten', () => {
  expect(decades(scale)).toEqual([1, 10, 100, 1000]);
});

it('finds the limit at a place, in a number of two digits', () => {
  fc.assert(
    fc.property(fc.integer({ min: -50, max: 700 }), (x) => {
      const limit = limitAt(x, scale);
      expect(Number.isInteger(limit) && limit >= 1).toBe(true);
      expect(String(limit)).toMatch(/^\d{1,2}0*$/);
    }),
  );
  expect(limitAt(xOf(100, scale), scale)).toBe(100);
});
