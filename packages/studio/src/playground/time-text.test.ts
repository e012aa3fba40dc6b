import { parseDuration } from 'sluice';
import { expect, test } from 'vitest';
import { axisText, durationText, momentText, policyDuration } from './time-text.ts';

const rows: [ms: number, duration: string, moment: string][] = [
  [0, '0 ms', '0.00 s'],
  [0.25, '0.3 ms', '0.00 s'],
  [999, '999 ms', '1.00 s'],
  [1234, '1.23 s', '1.23 s'],
  [12_345, '12.3 s', '12.35 s'],
  [60_000, '1 min', '1:00.00'],
  [125_300, '2.1 min', '2:05.30'],
  [119_999, '2 min', '1:59.99'],
  [3_725_000, '62.1 min', '1:02:05.00'],
];

test.each(rows)('%d ms is %s long, and the moment %s', (ms, duration, moment) => {
  expect([durationText(ms), momentText(ms)]).toEqual([duration, moment]);
});

test('a wait without end is never', () => {
  expect(durationText(Number.POSITIVE_INFINITY)).toBe('never');
});

const axisRows: [ms: number, text: string][] = [
  [0, '0 s'],
  [33_500, '33.5 s'],
  [59_800, '59.8 s'],
  [60_000, '1:00'],
  [60_200, '1:00.2'],
  [933_500, '15:33.5'],
  [3_600_000, '60:00'],
];

test.each(axisRows)('%d ms is %s on the axis', (ms, text) => {
  expect(axisText(ms)).toBe(text);
});

test.each([1, 250, 999, 1000, 1050, 1500, 60_000, 90_000])('%d ms is read back from a policy', (ms) => {
  expect(parseDuration(policyDuration(ms) as sluiceDuration)).toBe(ms);
});

type sluiceDuration = Parameters<typeof parseDuration>[0];
