import { expect, test } from 'vitest';
import { Ring } from './ring.ts';

test('a ring keeps the latest, and finds them by their order', () => {
  const ring = new Ring<string>(3);
  for (const letter of 'abcde') ring.push(letter);
  expect([...ring]).toEqual(['c', 'd', 'e']);
  expect([ring.size, ring.added]).toEqual([3, 5]);
  expect([ring.at(0), ring.at(2), ring.at(3), ring.at(-1)]).toEqual(['c', 'e', undefined, undefined]);
  expect([ring.ofOrder(1), ring.ofOrder(2), ring.ofOrder(4), ring.ofOrder(5)]).toEqual([
    undefined,
    'c',
    'e',
    undefined,
  ]);
});
