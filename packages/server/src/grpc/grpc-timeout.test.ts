import { expect, test } from 'vitest';
import { parseGrpcTimeoutMs } from './grpc-timeout.ts';

test.each([
  [undefined, Number.POSITIVE_INFINITY],
  ['20m', 20],
  ['0m', 0],
  ['1S', 1000],
  ['2M', 120_000],
  ['3H', 10_800_000],
  ['500u', 0.5],
  ['1000000n', 1],
  ['99999999H', 99_999_999 * 3_600_000],
])('%s is %s ms', (header, ms) => {
  expect(parseGrpcTimeoutMs(header)).toBeCloseTo(ms, 9);
});

test.each(['', '20', 'm', '123456789m', '-1m', '1.5S', '1s', '1h', ' 1S', '1S '])('%j is refused', (header) => {
  expect(() => parseGrpcTimeoutMs(header)).toThrow('grpc-timeout must be 1 to 8 digits and one of H M S m u n, got');
});
