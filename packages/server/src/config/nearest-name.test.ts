import { expect, test } from 'vitest';
import { nearestName } from './nearest-name.ts';

const names = ['limit', 'limits', 'window', 'burst', 'algorithm', 'key', 'match', 'tiers', 'bodyBytes'];

test.each([
  ['limt', 'limit'],
  ['limit', 'limit'],
  ['limist', 'limit'],
  ['widnow', 'window'],
  ['brust', 'burst'],
  ['Window', 'window'],
  ['bodybytes', 'bodyBytes'],
  ['algoritm', 'algorithm'],
  ['kye', 'key'],
  ['tier', 'tiers'],
  ['colour', undefined],
  ['k', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('%s was meant as %s', (written, meant) => expect(nearestName(written, names)).toBe(meant));
