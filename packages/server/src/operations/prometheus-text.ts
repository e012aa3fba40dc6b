/**
 * Prometheus' text format, version 0.0.4, for numbers that were counted elsewhere. (prom-client counts itself: its histogram takes one
 * observation at a time and cannot be told what other threads have seen.)
 */
import type { CatalogueEntry } from './metric-catalogue.ts';

/** Values of the labels, in the entry's order, and the number. */
export type Series = readonly [labels: readonly string[], value: number];

export function metricText(name: string, entry: CatalogueEntry, series: readonly Series[]): string {
  return head(name, entry) + series.map(([values, value]) => sample(name, entry.labels, values, value)).join('');
}

/** `counts` has one number for each bound, and one for what is above the last. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export function histogramText(name: string, entry: CatalogueEntry, histogram: Histogram): string {
  return histogramsText(name, entry, [{ labels: [], ...histogram }]);
}

/** One for each set of labels. */
export function histogramsText(
  name: string,
  entry: CatalogueEntry,
  histograms: readonly (Histogram & { readonly labels: readonly string[] })[],
): string {
  let text = head(name, entry);
  for (const { labels, bounds, counts, sum } of histograms) {
    let total = 0;
    counts.forEach((count, i) => {
      total += count; // A bucket holds all below it, too.
      const bound = numberText(bounds[i] ?? Number.POSITIVE_INFINITY);
      text += sample(`${name}_bucket`, [...entry.labels, 'le'], [...labels, bound], total);
    });
    text += sample(`${name}_sum`, entry.labels, labels, sum) + sample(`${name}_count`, entry.labels, labels, total);
  }
  return text;
}

function head(name: string, { type, help }: CatalogueEntry): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}

function sample(name: string, labels: readonly string[], values: readonly string[], value: number): string {
  const pairs = labels.map((label, i) => `${label}="${escaped(values[i]!)}"`).join(',');
  return `${name}${pairs && `{${pairs}}`} ${numberText(value)}\n`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
