/** Pictures made of characters: timelines, an axis and a table. Pure text in, pure text out; colours come from outside. */
import type { Outcome } from '../outcome.ts';

/** What a slice of a timeline shows. */
export type Mark = 'none' | 'allowed' | 'delayed' | 'mixed' | 'refused';

export const glyphs: Readonly<Record<Mark, string>> = {
  none: ' ',
  allowed: '█',
  delayed: '▒',
  mixed: '▄',
  refused: '·',
};

export interface Scale {
  /** How many slices, one character each. */
  readonly slices: number;
  readonly untilMs: number;
}

export function sliceOf(atMs: number, { slices, untilMs }: Scale): number {
  return Math.min(slices - 1, Math.floor((atMs / untilMs) * slices));
}

/** One mark for each slice, for the calls that arrived in it. */
export function marksOf(history: readonly Outcome[], scale: Scale): Mark[] {
  const marks: Mark[] = Array.from({ length: scale.slices }, () => 'none');
  for (const { atMs, decision } of history) {
    const slice = sliceOf(atMs, scale);
    marks[slice] = joined(marks[slice] as Mark, markOf(decision));
  }
  return marks;
}

function markOf({ allowed, delayMs }: Outcome['decision']): Mark {
  if (!allowed) return 'refused';
  return delayMs > 0 ? 'delayed' : 'allowed';
}

/** The mark of two calls in one slice. Some let through and some not is its own mark; of those that pass, a delay shows. */
function joined(a: Mark, b: Mark): Mark {
  if (a === 'none' || a === b) return b;
  if (a === 'mixed' || a === 'refused' || b === 'refused') return 'mixed';
  return 'delayed';
}

/** How many arrived in each slice: a blank for none, a digit for up to nine, `+` for more. */
export function arrivalsLine(timesMs: Iterable<number>, scale: Scale): string {
  const counts = Array.from({ length: scale.slices }, () => 0);
  for (const atMs of timesMs) counts[sliceOf(atMs, scale)]! += 1;
  return counts.map((count) => (count === 0 ? ' ' : count > 9 ? '+' : String(count))).join('');
}

/** `0 s       10 s      20 s`: each label begins at its moment; one that would not fit is left out. */
export function axisLine(scale: Scale, everyMs: number): string {
  let line = '';
  for (let atMs = 0; atMs < scale.untilMs; atMs += everyMs) {
    const label = `${atMs / 1000} s`;
    const column = sliceOf(atMs, scale);
    if ((line !== '' && column < line.length + 1) || column + label.length > scale.slices) continue;
    line = line.padEnd(column) + label;
  }
  return line;
}

/** Columns as wide as their widest cell: the first to the left, numbers to the right. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('   ')
      .trimEnd(),
  );
}

/** `0.75 s`; a dash where there was no such time. */
export function secondsText(ms: number): string {
  if (ms === 0) return '-';
  return ms === Number.POSITIVE_INFINITY ? 'never' : `${(ms / 1000).toFixed(2)} s`;
}
