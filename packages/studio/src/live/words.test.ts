import { describe, expect, test } from 'vitest';
import { countText, longTimeText, percentText, quantileText, rateText, shortTimeText, waitText } from './words.ts';

describe('words', () => {
  test.each([
    [0, '0'],
    [0.01, '< 0.1'],
    [0.2, '0.2'],
    [7.46, '7.5'],
    [9.96, '10'],
    [320.4, '320'],
    [9999, '9,999'],
    [9999.6, '10k'],
    [12_345, '12.3k'],
    [999_960, '1M'],
    [4_500_000, '4.5M'],
  ])('%d per second is %s', (perSecond, text) => {
    expect(rateText(perSecond)).toBe(text);
  });

  test.each([
    [0, '0 %'],
    [0.0001, '< 0.1 %'],
    [0.125, '12.5 %'],
    [0.9999, '> 99.9 %'],
    [1, '100 %'],
  ])('a share of %d is %s', (ratio, text) => {
    expect(percentText(ratio)).toBe(text);
  });

  test.each([
    [0.001, '1 µs'],
    [0.0025, '2.5 µs'],
    [0.25, '250 µs'],
    [1, '1 ms'],
    [2.5, '2.5 ms'],
    [1000, '1 s'],
  ])('%d ms are %s', (ms, text) => {
    expect(shortTimeText(ms)).toBe(text);
  });

  test.each([
    [0, '0 s'],
    [-5, '0 s'],
    [59_999, '59 s'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h'],
    [3_605_000, '1 h'],
    [273_600_000, '3 d 4 h'],
  ])('up for %d ms is %s', (ms, text) => {
    expect(longTimeText(ms)).toBe(text);
  });

  test.each([
    [null, 'never'],
    [0, '0'],
    [250, '250 ms'],
    [1500, '1.5 s'],
    [59_001, '1 min'],
  ])('a wait of %s ms is %s', (ms, text) => {
    expect(waitText(ms)).toBe(text);
  });

  test('a quantile says what is known of it', () => {
    expect(quantileText({ overMs: 0.5, atMostMs: 1, aboutMs: 0.7 })).toBe('≤ 1 ms');
    expect(quantileText({ overMs: 1000, atMostMs: Infinity, aboutMs: 1000 })).toBe('> 1 s');
    expect(quantileText(undefined)).toBe('–');
    expect(countText(12345.6)).toBe('12,346');
  });
});
