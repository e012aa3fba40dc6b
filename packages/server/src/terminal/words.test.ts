import { expect, test } from 'vitest';
import { withoutRuns, wrapped } from './words.ts';

test('lines end between words, and a word that is too long is cut', () => {
  expect(wrapped('one two  three\nfour', 9)).toEqual(['one two', 'three', 'four']);
  expect(wrapped('abcdefghij kl', 4)).toEqual(['abcd', 'efgh', 'ij', 'kl']);
  expect(wrapped(' ', 9)).toEqual([]);
});

test('what is said again and again is said once, with how often', () => {
  expect(withoutRuns('answers: yes yes yes yes no no no yes')).toBe('answers: yes ×4 no no no yes');
  expect(withoutRuns('picks: A A B A C A A')).toBe('picks: A A B A C A A');
});
