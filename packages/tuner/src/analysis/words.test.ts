import { expect, it } from 'vitest';
import { roundUp } from './round-up.ts';
import { countWords, durationText, percentWords, rateWords, spanText, windowWords } from './words.ts';

it.each([
  [60_000, '1m', 'a minute'],
  [3_600_000, '1h', 'an hour'],
  [90_000, '90s', '90 seconds'],
  [10_000, '10s', '10 seconds'],
  [86_400_000, '1d', 'a day'],
  [250, '250ms', '250 ms'],
  [1500, '1500ms', '1,500 ms'],
])('%d ms is %s in a policy and "%s" in a sentence', (ms, text, words) => {
  expect([durationText(ms), windowWords(ms)]).toEqual([text, words]);
});

it.each([
  [0, '0%'],
  [0.00001, '<0.01%'],
  [0.001, '0.1%'],
  [0.0123, '1.2%'],
  [0.5, '50%'],
  [0.999, '99.9%'],
  [0.99999, '>99.99%'],
  [1, '100%'],
])('a ratio of %d is %s', (ratio, words) => {
  expect(percentWords(ratio)).toBe(words);
});

it.each([
  [250, '250ms'],
  [1000, '1s'],
  [200_000, '3m20s'],
  [86_399_000, '23h59m'],
  [86_400_000, '1d'],
])('%d ms of time is %s', (ms, text) => {
  expect(spanText(ms)).toBe(text);
});

it('says counts with commas, and rates with their window', () => {
  expect([countWords(1234567), countWords(1.256), rateWords(120, 60_000), rateWords(5, 10_000)]).toEqual([
    '1,234,567',
    '1.26',
    '120 a minute',
    '5 in 10 seconds',
  ]);
});

it.each([
  [0, 1],
  [1, 1],
  [7, 7],
  [10, 10],
  [11, 12],
  [38, 40],
  [81, 100],
  [100, 100],
  [1610, 2000],
  [9999, 10_000],
])('rounds a limit of %d up to %d', (limit, round) => {
  expect(roundUp(limit)).toBe(round);
});
