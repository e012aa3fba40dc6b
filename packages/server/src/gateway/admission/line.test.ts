import { expect, it } from 'vitest';
import { Line } from './line.ts';

it('whoever has left leads to nobody: one that is held for long must not hold all who came after it', () => {
  const line = new Line<string>();
  const [first, middle, last] = ['first', 'middle', 'last'].map((value) => line.add(value));
  for (const place of [middle!, first!, last!]) {
    line.remove(place);
    expect(Object.values(place).filter((held) => typeof held === 'object')).toEqual([]);
  }
  expect([line.first, line.last, line.length]).toEqual([undefined, undefined, 0]);
});
