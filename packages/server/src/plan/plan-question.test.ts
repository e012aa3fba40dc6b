import { describe, expect, it } from 'vitest';
import { parseCount, parseLimit } from './plan-question.ts';

describe('counts', () => {
  it.each([
    ['5000', 5000],
    ['50M', 50_000_000],
    ['40k', 40_000],
    ['1.5G', 1.5e9],
    ['1,000,000', 1e6],
  ])('%s is %d', (text, value) => {
    expect(parseCount(text, '--rps')).toBe(value);
  });

  it.each(['', '0', '-5', 'many', '5m', '50MB', '1e3', '9999999G'])('refuses %j', (text) => {
    expect(() => parseCount(text, '--rps')).toThrow(
      `--rps must be a number above 0 such as 5000, 40k or 50M, got "${text}"`,
    );
  });
});

describe('limits', () => {
  it('are a count and a window', () => {
    expect(parseLimit('100/1m', 'sliding-log')).toEqual({ algorithm: 'sliding-log', limit: 100, window: 60_000 });
    expect(parseLimit('1k/250ms', 'gcra')).toEqual({ algorithm: 'gcra', limit: 1000, window: 250 });
  });

  it.each([
    ['100', 'sliding-log', 'such as 100/1m, got "100"'],
    ['100/1m/2', 'sliding-log', 'such as 100/1m'],
    ['100/soon', 'sliding-log', 'The window of --limit must be a time above 0 with its unit'],
    ['x/1m', 'sliding-log', '--limit must be a number above 0'],
    ['100/1m', 'guessing', 'algorithm must be'],
  ])('refuse %s of %s', (text, algorithm, message) => {
    expect(() => parseLimit(text, algorithm)).toThrow(message);
  });
});
