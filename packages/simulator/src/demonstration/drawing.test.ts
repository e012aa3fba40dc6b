import { gcra } from 'sluice';
import { expect, test } from 'vitest';
import type { Outcome } from '../outcome.ts';
import { arrivalsLine, axisLine, glyphs, marksOf, secondsText, sliceOf, tableLines } from './drawing.ts';

const scale = { slices: 10, untilMs: 1000 };
const policy = gcra({ limit: 1, window: '1s' });

/** `A` allowed, `D` delayed, `R` refused. */
function outcome(atMs: number, answer: string): Outcome {
  const decision = { limit: 1, remaining: 0, retryAfterMs: 0, resetAfterMs: 0, rule: 'test', policy };
  return {
    atMs,
    key: 'a',
    cost: 1,
    decision: { ...decision, allowed: answer !== 'R', delayMs: answer === 'D' ? 5 : 0 },
  };
}

test('a slice includes its beginning and not its end; the last one takes what is left', () => {
  expect([0, 99, 100, 999, 1000].map((atMs) => sliceOf(atMs, scale))).toEqual([0, 0, 1, 9, 9]);
});

test.each([
  ['', ' '],
  ['A', '█'],
  ['AAA', '█'],
  ['D', '▒'],
  ['AD', '▒'],
  ['DA', '▒'],
  ['R', '·'],
  ['RR', '·'],
  ['AR', '▄'],
  ['RA', '▄'],
  ['DR', '▄'],
  ['RRAAD', '▄'],
])('the answers "%s" of one slice are drawn as "%s"', (answers, glyph) => {
  const history = [...answers].map((answer) => outcome(50, answer));
  expect(glyphs[marksOf(history, scale)[0]!]).toBe(glyph);
});

test('a timeline has a mark for each slice', () => {
  const history = [outcome(0, 'A'), outcome(150, 'R'), outcome(420, 'D'), outcome(999, 'A')];
  const line = marksOf(history, scale).map((mark) => glyphs[mark]);
  expect(line.join('')).toBe('█·  ▒    █');
});

test('arrivals are counted per slice, from ten on with a plus', () => {
  const timesMs = [0, 1, 2, 350, ...Array.from({ length: 9 }, () => 500), ...Array.from({ length: 10 }, () => 900)];
  expect(arrivalsLine(timesMs, scale)).toBe('3  1 9   +');
});

test('labels of an axis begin at their moments, and never touch or stick out', () => {
  expect(axisLine({ slices: 40, untilMs: 40_000 }, 10_000)).toBe('0 s       10 s      20 s      30 s');
  expect(axisLine({ slices: 12, untilMs: 30_000 }, 10_000)).toBe('0 s 10 s');
  expect(axisLine({ slices: 12, untilMs: 120_000 }, 10_000)).toBe('0 s 40 s');
});

test('a table is as wide as its widest cells', () => {
  const rows = [
    ['name', 'n'],
    ['a', '100'],
    ['longer', '2'],
  ];
  expect(tableLines(rows)).toEqual(['name       n', 'a        100', 'longer     2']);
  expect(tableLines([])).toEqual([]);
});

test('a time that never was is a dash, one that never comes says so', () => {
  expect([0, 754, Number.POSITIVE_INFINITY].map(secondsText)).toEqual(['-', '0.75 s', 'never']);
});
