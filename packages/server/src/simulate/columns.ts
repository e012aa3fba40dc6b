/**
 * Slices of time as columns of characters, all columns as long.
 *
 *      more slices than columns      neighbours share one: calls add up, levels keep their highest
 *      fewer                         each slice is several columns wide
 */
import type { Series } from '@sluice/simulator';

export interface Columns {
  readonly count: number;
  /** Of one bar: what a number on the scale of calls counts. */
  readonly barMs: number;
  valuesOf(series: Series): number[];
  /** Where a moment is, in columns from the left. */
  placeOf(atMs: number): number;
}

export interface ColumnsOptions {
  readonly slices: number;
  readonly sliceMs: number;
  readonly most: number;
}

export function columnsOf({ slices, sliceMs, most }: ColumnsOptions): Columns {
  const slicesPerBar = Math.max(1, Math.ceil(slices / most));
  const bars = Math.ceil(slices / slicesPerBar);
  const wide = bars === 0 ? 1 : Math.max(1, Math.floor(most / bars));
  const barMs = slicesPerBar * sliceMs;
  return {
    count: bars * wide,
    barMs,
    valuesOf(series) {
      const join = joinOf(series);
      return Array.from({ length: bars * wide }, (_, column) => {
        const from = Math.floor(column / wide) * slicesPerBar;
        return join(series.values.slice(from, from + slicesPerBar));
      });
    },
    placeOf: (atMs) => (atMs / barMs) * wide,
  };
}

function joinOf({ kind, unit }: Series): (values: readonly number[]) => number {
  const areCalls = kind === 'arrived' || kind === 'allowed' || kind === 'delayed' || kind === 'refused';
  if (areCalls && unit === 'count') return sum;
  if (areCalls || kind === 'share') return (values) => (values.length === 0 ? 0 : sum(values) / values.length);
  // A queue that was long for a moment was long; a breaker that was open for a moment was open.
  return (values) => values.reduce((most, value) => Math.max(most, value), 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
