import { expect, it } from 'vitest';
import { wildcard } from './wildcard.ts';

it.each([
  ['ab*ba', 'abba', true],
  ['ab*ba', 'aba', false], // one letter cannot be the end and the beginning
  ['ab*b*ba', 'abba', false],
  ['*', '', true],
  ['**', 'anything', true],
  ['a*', 'b', false],
  ['*a', 'ab', false],
  ['a.c*', 'abc', false], // nothing but the star is special
  ['*é|*', 'caf\u00e9|\n', true],
] as const)('%s, %j: %s', (pattern, value, expected) => {
  expect(wildcard(pattern).matches(value)).toBe(expected);
});

it('takes no longer for a value that is made to take long', () => {
  // A pattern with ways back would not end within the age of the universe.
  expect(wildcard(`${'a*'.repeat(50)}b`).matches('a'.repeat(10_000))).toBe(false);
});
