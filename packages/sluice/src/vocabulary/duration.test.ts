import { describe, expect, it } from 'vitest';
import { parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['30d', 2_592_000_000],
    ['1.5s', 1500],
    ['0.5ms', 0.5],
    [1, 1],
    [2.5, 2.5],
  ] as const)('reads %s as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  const wrong = [
    '',
    '0s',
    '0ms',
    '-1s',
    '1',
    's',
    '1 s',
    '1S',
    '1min',
    '1y',
    '1m30s',
    'NaNms',
    'Infinityms',
    '1e3ms',
    '٣s',
    ' 1s',
    '1s\n',
  ];
  const notTime = [
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    null,
    undefined,
    {},
    [],
    true,
    1n,
    () => 1,
  ];
  it.each([...wrong, ...notTime])('refuses %s', (nonsense) => {
    expect(() => parseDuration(nonsense as never, 'window')).toThrow(
      /^window must be a time above 0, got .+\. Give milliseconds/s,
    );
  });
});
