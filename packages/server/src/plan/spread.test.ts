import { expect, it } from 'vitest';
import { mostShards as shards } from '../cluster/shards.ts';
import { mostShards, mostShare, userSpread } from './spread.ts';

it('the fullest node has all there is when it is alone, and never less than its part', () => {
  expect(mostShards(1)).toBe(shards);
  for (const nodes of [2, 3, 7, 50, 300, 1000]) {
    expect(mostShards(nodes)).toBeGreaterThanOrEqual(Math.ceil(shards / nodes));
    expect(mostShare(nodes)).toBeLessThan((1.15 / nodes) * 1.5 + 1 / shards);
  }
});

it('few users are spread less evenly than many, and one node has them all', () => {
  expect(userSpread(1000, 1)).toBe(1);
  expect(userSpread(1000, 100)).toBeGreaterThan(1.5);
  expect(userSpread(40_000_000, 100)).toBeLessThan(1.01);
});

it('the fullest node has one user at least, whole, and never more than there are', () => {
  expect(userSpread(1, 441) * mostShare(441)).toBeCloseTo(1, 9);
  for (const users of [1, 2, 3, 10]) {
    for (const nodes of [2, 50, 500]) {
      const ofFullest = users * mostShare(nodes) * userSpread(users, nodes);
      expect(ofFullest).toBeGreaterThanOrEqual(1 - 1e-9);
      expect(ofFullest).toBeLessThanOrEqual(users + 1e-9);
    }
  }
});
