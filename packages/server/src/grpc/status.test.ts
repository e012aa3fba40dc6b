import { SluiceError } from 'sluice';
import { expect, test } from 'vitest';
import { grpcErrorOf, percentEncoded } from './status.ts';

test.each([
  ['plain text, as it is: !"#$&~', 'plain text, as it is: !"#$&~'],
  ['100%', '100%25'],
  ['größe', 'gr%C3%B6%C3%9Fe'],
  ['two\r\nlines\0', 'two%0D%0Alines%00'],
  ['🚦', '%F0%9F%9A%A6'],
  ['\x7f', '%7F'],
])('%j is sent as %s', (message, encoded) => {
  expect(percentEncoded(message)).toBe(encoded);
  expect(decodeURIComponent(encoded)).toBe(message);
});

test('a text that is too long for a header is cut', () => {
  expect(percentEncoded('x'.repeat(100_000))).toHaveLength(1024);
});

test.each([
  ['invalid-option', 3],
  ['unsupported-operation', 3],
  ['store-unavailable', 14],
  ['store-full', 14],
  ['circuit-open', 14],
] as const)('an error of code %s has status %i and keeps its text', (code, status) => {
  expect(grpcErrorOf(new SluiceError(code, 'why'))).toMatchObject({ status, message: 'why' });
});

test('a mistake of ours is INTERNAL, and keeps its text to itself', () => {
  const cause = new TypeError('secrets is not iterable');
  const error = grpcErrorOf(cause);
  expect(error).toMatchObject({ status: 13, cause });
  expect(error.message).not.toContain('secrets');
  expect(grpcErrorOf('a string')).toMatchObject({ status: 13 });
});

test('an error of another copy of the library is known by its name', () => {
  const foreign = Object.assign(new Error('no limit'), { name: 'SluiceError', code: 'invalid-option' });
  expect(grpcErrorOf(foreign)).toMatchObject({ status: 3, message: 'no limit' });
});
