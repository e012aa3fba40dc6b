/**
 * Series as characters.
 *
 *      600 ┤      ××××××            refused on what passed; with colours a cell shows both
 *          │     ▂××××××
 *      300 ┤██████████████
 *        0 └┬──────┬───────
 *           0 s    5 s
 */
import type { Cell, Paint } from './paint.ts';
import { circuitState, type StackedKind } from './picture.ts';
import type { Tick } from './ticks.ts';

/** What is drawn in rows: a stack of calls, or a level alone. */
export type DrawnKind = StackedKind | 'level';

export const stackedGlyphs: Readonly<Record<DrawnKind, string>> = {
  arrived: '█',
  allowed: '█',
  delayed: '▒',
  refused: '×',
  level: '█',
};

const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

export interface DrawnLayer {
  readonly kind: DrawnKind;
  /** A number for each column. */
  readonly values: readonly number[];
}

export interface PlotScale {
  readonly rows: number;
  readonly top: number;
}

/** The rows of a stack, the highest first. */
export function stackRows(layers: readonly DrawnLayer[], scale: PlotScale, paint: Paint): string[] {
  const columns = layers[0]?.values.length ?? 0;
  const drawn = Array.from({ length: columns }, (_, column) => {
    const heights = layers.map(({ kind, values }) => ({
      kind,
      height: ((values[column] ?? 0) / scale.top) * scale.rows,
    }));
    return paint.isColoured ? colouredColumn(heights, scale.rows) : plainColumn(heights, scale.rows);
  });
  return Array.from({ length: scale.rows }, (_, row) =>
    paint.cells(drawn.map((cells) => cells[scale.rows - 1 - row]!)),
  );
}

interface Height {
  readonly kind: DrawnKind;
  /** In rows. */
  readonly height: number;
}

interface Part {
  readonly kind: DrawnKind;
  /** Of the cell, 0 to 1. */
  readonly part: number;
}

/** What of each kind is in the cell whose bottom is `row` rows up, from the bottom. */
function partsOf(heights: readonly Height[], row: number): Part[] {
  const parts: Part[] = [];
  let bottom = 0;
  for (const { kind, height } of heights) {
    const part = Math.min(bottom + height, row + 1) - Math.max(bottom, row);
    // Sums of shares end a hair above a line that they should end at.
    if (part > 1e-9) parts.push({ kind, part });
    bottom += height;
  }
  return parts;
}

/** A cell has one glyph and one background: the two largest of what is in it, the lower one as the glyph. */
function colouredColumn(heights: readonly Height[], rows: number): Cell[] {
  return Array.from({ length: rows }, (_, row): Cell => {
    const parts = partsOf(heights, row);
    if (parts.length === 0) return { glyph: ' ' };
    const filled = parts.reduce((sum, { part }) => sum + part, 0);
    const [first, second] = largestTwo(parts);
    if (second === undefined || filled < 1 - 1 / 16) {
      // Some of it is empty: that is what the background shows.
      return { glyph: eighth(filled), colour: (refusedOf(parts) ?? first).kind };
    }
    return { glyph: eighth(first.part / (first.part + second.part), 7), colour: first.kind, back: second.kind };
  });
}

function largestTwo(parts: readonly Part[]): [first: Part, second: Part | undefined] {
  const largest = [...parts].sort((a, b) => b.part - a.part).slice(0, 2);
  const [first, second] = parts.filter((part) => largest.includes(part));
  return [first!, second];
}

/** Without colours a cell is of one kind. A refusal shows wherever there is one, however few they are. */
function plainColumn(heights: readonly Height[], rows: number): Cell[] {
  const cells = Array.from({ length: rows }, (_, row): Cell => {
    const parts = partsOf(heights, row);
    if (parts.length === 0) return { glyph: ' ' };
    const filled = parts.reduce((sum, { part }) => sum + part, 0);
    const { kind } = parts.reduce((most, part) => (part.part > most.part ? part : most));
    if (stackedGlyphs[kind] === '█') return { glyph: eighth(filled) };
    // The top of what has no eighths is rounded, but never to nothing at the bottom.
    return { glyph: filled >= 0.5 || row === 0 ? stackedGlyphs[kind] : ' ' };
  });
  const isRefused = heights.some(({ kind, height }) => kind === 'refused' && height > 0);
  if (isRefused && !cells.some(({ glyph }) => glyph === stackedGlyphs.refused)) {
    const highest = cells.reduce((found, { glyph }, row) => (glyph === ' ' ? found : row), 0);
    cells[highest] = { glyph: stackedGlyphs.refused };
  }
  return cells;
}

function refusedOf(parts: readonly Part[]): Part | undefined {
  return parts.find(({ kind }) => kind === 'refused');
}

/** Whatever there is shows, if only as the lowest of blocks. */
function eighth(part: number, most = 8): string {
  return eighths[Math.min(most, Math.max(1, Math.round(part * 8)))]!;
}

/** One letter for each column. */
export function stateRow(values: readonly number[], paint: Paint): string {
  return paint.cells(
    values.map((value) => {
      const { letter, kind } = circuitState(value);
      return { glyph: letter, colour: kind };
    }),
  );
}

/** `┬─────┬────` with the labels under it, each beginning at its moment; one that would not fit is left out. */
export function timeAxis(
  columns: number,
  ticks: readonly (Tick & { readonly column: number })[],
): [line: string, labels: string] {
  const line = Array.from({ length: columns }, () => '─');
  let labels = '';
  for (const { column, label } of ticks) {
    if (column >= columns) continue;
    line[column] = '┬';
    const isRoom = labels === '' || column > labels.length;
    if (isRoom && column + label.length <= columns) labels = labels.padEnd(column) + label;
  }
  return [line.join(''), labels];
}
