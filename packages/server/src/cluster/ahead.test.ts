import { expect, test } from 'vitest';
import { Ahead } from './ahead.ts';

test('a key is ahead by what was carried out and not confirmed, whatever others are', () => {
  const ahead = new Ahead();
  expect(ahead.add('api', 'ann', 2)).toBe(2);
  expect(ahead.add('api', 'ann', 3)).toBe(5);
  expect(ahead.add('api', 'bob', 1)).toBe(1);
  expect(ahead.add('login', 'ann', 1)).toBe(1);
  ahead.confirm('api', 'ann', 2);
  expect(ahead.add('api', 'ann', 1)).toBe(4);
  expect(ahead.add('login', 'ann', 1)).toBe(2);
});

test('what is confirmed altogether is forgotten, and confirming it again changes nothing', () => {
  const ahead = new Ahead();
  ahead.add('api', 'ann', 2);
  ahead.confirm('api', 'ann', 2);
  ahead.confirm('api', 'ann', 2);
  expect(ahead.add('api', 'ann', 1)).toBe(1);
});
