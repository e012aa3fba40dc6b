import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decimalIn } from './decimal.ts';

const read = (text: string) => decimalIn(Buffer.from(text), 0, text.length);

it('reads a number as Number() does', () => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.integer().map(String),
    fc.tuple(fc.nat(), fc.nat()).map(([whole, decimals]) => `${whole}.${decimals}`),
    fc.stringMatching(/^-?\d{1,20}\.\d{1,20}$/),
    fc.constantFrom('.5', '5.', '+1', '1e3', '-0', '007'),
  );
  fc.assert(
    fc.property(number, (text) => {
      expect(read(text)).toBe(Number(text));
    }),
    { numRuns: 2000 },
  );
});

it.each([
  '',
  '-',
  '.',
  '+',
  ' 1',
  '1 ',
  '1,5',
  '0x10',
  'Infinity',
  'NaN',
  '12ms',
  '1e',
  '1e999',
  '1.2.3',
  '1'.repeat(100),
])('knows that %j is none', (text) => {
  expect(read(text)).toBeNaN();
});
