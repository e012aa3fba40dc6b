import { expect, test } from 'vitest';
import { typedTime } from './typed-time.ts';

test('a time is typed with its unit', () => {
  expect([typedTime('250ms', 'It'), typedTime('1.5s', 'It')]).toEqual([250, 1500]);
});

test.each(['5', '60000', '0s', '-1s', '1 minute', ''])(
  '%j is no time, and nobody is told to leave the unit out',
  (text) => {
    expect(() => typedTime(text, '--window')).toThrow(
      `--window must be a time above 0 with its unit, such as 250ms, 10s, 1m, 1h, 1d or 1w, got "${text}".`,
    );
  },
);
