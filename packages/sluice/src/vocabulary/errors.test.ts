import { describe, expect, it } from 'vitest';
import { invalid, SluiceError } from './errors.ts';

const cyclic: { self?: object } = {};
cyclic.self = cyclic;

describe('an error for a wrong value', () => {
  it.each([
    [0, '0'],
    [Number.NaN, 'NaN'],
    ['text', '"text"'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{ a: 1 }, '{"a":1}'],
    [10n, '10'],
    [{ nested: 10n }, 'an object'],
    [cyclic, 'an object'],
  ])('shows a value as %2$s', (value, shown) => {
    expect(invalid('limit', 'a number', value).message).toBe(`limit must be a number, got ${shown}.`);
  });

  it('cuts what is too long to read', () => {
    expect(invalid('key', 'short', 'x'.repeat(500)).message.length).toBeLessThan(120);
  });

  it('has a code, a name, and is an Error', () => {
    const error = invalid('limit', 'a number', 0, 'Try 1.');
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({
      name: 'SluiceError',
      code: 'invalid-option',
      message: 'limit must be a number, got 0. Try 1.',
    });
  });
});
