import { SluiceError } from 'sluice';
import { describe, expect, it } from 'vitest';
import { problemOf, shown } from './problem.ts';

describe('problemOf', () => {
  // biome-ignore format: aligned rows
  const rows = [
    ['invalid-option',        400, []],
    ['unsupported-operation', 400, []],
    ['store-unavailable',     503, ['Retry-After', '1']],
    ['circuit-open',          503, ['Retry-After', '1']],
    // When there will be room is not known, so nothing is said about it.
    ['store-full',            503, []],
  ] as const;
  it.each(rows)('answers %s with %d and the headers %j', (code, status, headers) => {
    expect(problemOf(new SluiceError(code, 'why'))).toMatchObject({ status, headers, message: 'why' });
  });
});

it('names no function of the library', () => {
  const message = 'policy.limit must be a number above 0, got 0. To refuse everything use block().';
  expect(problemOf(new SluiceError('invalid-option', message))?.message).toBe(
    'policy.limit must be a number above 0, got 0.',
  );
});

it('shows numbers that JSON has not as they are', () => {
  expect([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 12, 'a', null, undefined].map(shown)).toEqual([
    'Infinity',
    '-Infinity',
    '12',
    '"a"',
    'null',
    'undefined',
  ]);
});
