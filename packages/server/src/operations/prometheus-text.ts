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
export function histogramText(
  name: string,
  entry: CatalogueEntry,
  { bounds, counts, sum }: { bounds: readonly number[]; counts: readonly number[]; sum: number },
): string {
  let total = 0;
  let text = head(name, entry);
  counts.forEach((count, i) => {
    total += count; // A bucket holds all below it, too.
    text += sample(`${name}_bucket`, ['le'], [numberText(bounds[i] ?? Number.POSITIVE_INFINITY)], total);
  });
  return text + sample(`${name}_sum`, [], [], sum) + sample(`${name}_count`, [], [], total);
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
