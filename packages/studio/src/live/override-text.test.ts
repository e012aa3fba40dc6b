import fc from 'fast-check';
import { type Duration, parseDuration } from 'sluice';
import { expect, test } from 'vitest';
import { expiresInText, isAsLeft, overrideBefore, overrideOf, overrideText } from './override-text.ts';
import type { ActiveOverrideData } from './service-api.ts';

const active = (override: ActiveOverrideData['override'], expiresAtMs: number | null): ActiveOverrideData => ({
  rule: 'per-user',
  key: '42',
  override,
  expiresAtMs,
});

test.each([
  [active({ limit: 50 }, null), 'limit 50, without end'],
  [active({ limit: 50, window: '1m', burst: 5, expiresIn: '1h' }, 61_000), 'limit 50, window 1m, burst 5, for 1 min'],
  [active({ window: 250 }, 1000), 'window 250 ms, over'],
])('%j is %s', (override, text) => {
  expect(overrideText(override, 1000)).toBe(text);
});

test.each([
  [undefined, undefined],
  [active({ limit: 5 }, null), { limit: 5 }],
  [active({ limit: 5, expiresIn: '1h' }, 61_000), { limit: 5, expiresIn: 60_000 }],
  [active({ limit: 5, expiresIn: '1h' }, 1000), undefined],
])('what was %j is put back by %j', (before, override) => {
  expect(overrideBefore(before, 1000)).toEqual(override);
});

test.each([
  [{ limit: '', window: ' ', burst: '', expiresIn: '' }, {}],
  [
    { limit: ' 50 ', window: '1m', burst: '0', expiresIn: '250' },
    { limit: 50, window: '1m', burst: 0, expiresIn: 250 },
  ],
  [{ limit: 'many', window: '', burst: '', expiresIn: '' }, { limit: 'many' }],
])('the form %j says %j', (fields, override) => {
  expect(overrideOf(fields)).toEqual(override);
});

test.each([
  [null, ''],
  [1, '1s'],
  [59_001, '1m'],
  [3_570_000, '3570s'],
  [3_600_000, '1h'],
  [7_200_001, '121m'],
  [86_400_000, '1d'],
  [2_592_000_000, '30d'],
  [400_000_000, '112h'],
  [-5000, '1s'], // over by now, and the service takes nothing but a time above 0
])('of an end in %j ms the form says "%s"', (leftMs, text) => {
  expect(expiresInText(leftMs === null ? null : 1000 + leftMs, 1000)).toBe(text);
});

test('a time in the form is one that can be read, never shorter than what is left, and longer by little', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e11 }), (leftMs) => {
      const readMs = parseDuration(expiresInText(leftMs, 0) as Duration);
      expect(readMs).toBeGreaterThanOrEqual(leftMs);
      expect(readMs - leftMs).toBeLessThanOrEqual(Math.max(1000, leftMs / 100));
    }),
  );
});

test.each([
  ['nothing', undefined, undefined, true],
  ['what was written', { limit: 5, expiresIn: '1h' }, active({ limit: 5, expiresIn: '1h' }, 9000), true],
  ['another limit', { limit: 5 }, active({ limit: 6 }, null), false],
  ['another end', { limit: 5 }, active({ limit: 5, expiresIn: '1h' }, 9000), false],
  ['one where there was none', undefined, active({ limit: 5 }, null), false],
  ['none where there was one', { limit: 5 }, undefined, false],
] as const)('a key with %s is as it was left, or not', (_, left, present, isSame) => {
  expect(isAsLeft(left, present)).toBe(isSame);
});
