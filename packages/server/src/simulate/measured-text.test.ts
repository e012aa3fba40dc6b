import { expect, test } from 'vitest';
import { measuredText } from './measured-text.ts';

const rows: readonly (readonly [claim: string, measured: string, text: string])[] = [
  ['gcra.allowed == 20', 'gcra.allowed = 21', 'measured 21'],
  ['allowed == 20', 'allowed = 21', 'measured 21'],
  ['a.share.B from 12s to 20s == 0', 'a.share.B from 12s to 20s = 0.25', 'measured 0.25'],
  ['a.picks starts with "A B"', 'a.picks = "A A B"', 'measured "A A B"'],
  ['20 == gcra.allowed', 'gcra.allowed = 21', 'measured gcra.allowed = 21'],
  ['a.mean < b.mean', 'a.mean = 2 ms, b.mean = 1 ms', 'measured a.mean = 2 ms, b.mean = 1 ms'],
  ['a.opened > 1', 'a.opened was not measured in a', 'a.opened was not measured in a'],
  ['nothing', '', ''],
];

test.each(rows)('beside "%s" what is told as "%s" reads: %s', (claim, measured, text) => {
  expect(measuredText({ claim, measured, isMet: true })).toBe(text);
});
