import { expect, test } from 'vitest';
import { coloured, paintFor, plain } from './paint.ts';

test('colours are for terminals whose owner has not said no', () => {
  expect(paintFor(true, undefined)).toBe(coloured);
  expect(paintFor(true, '')).toBe(coloured);
  expect(paintFor(true, '1')).toBe(plain);
  expect(paintFor(false, undefined)).toBe(plain);
});

test('a coloured text ends its colour, and nothing stays nothing', () => {
  expect(coloured('refused', 'no')).toBe('\u001b[31mno\u001b[0m');
  expect(coloured('refused', '')).toBe('');
  expect(plain('refused', 'no')).toBe('no');
});
