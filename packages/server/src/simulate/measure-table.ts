/**
 * The measures of all variants as tables. First what is measured of each as a whole; then what is measured of somebody, such as `refused.alice`:
 *
 *      variant       asked  allowed         who                  asked  allowed
 *      fixed-window    509      309         alice, fixed-window    400      200
 *      sliding-log     509      209         alice, sliding-log     400      100
 *
 * A table that is too wide is turned, a row for each measure; and comes in parts, where there are too many columns even so.
 */
import type { Measure, VariantResult } from '@sluice/simulator';
import { type Row, shortened, tableWidth } from '../terminal/words.ts';
import { figure, measureName } from './figure.ts';

const nothing = '-';
/** Of a name in a table. */
const longestName = 40;

/** Tables of at most `width` characters, each with its head first. */
export function measureTables(variants: readonly VariantResult[], width: number, gap = 2): Row[][] {
  const tables = [
    tableOf(variants.map(asWhole), 'variant'),
    ...namedOf(variants).map((named) => tableOf(named, 'who')),
  ];
  return tables.flatMap((table) => fitted(table, width, gap));
}

/** What a row is about, and its measures. */
interface Subject {
  readonly name: string;
  readonly measures: Readonly<Record<string, Measure>>;
}

function asWhole({ name, measures }: VariantResult): Subject {
  return { name, measures: measuresOf(measures, undefined) };
}

/** Those of somebody, or of nobody in particular, by the name of the measure alone. */
function measuresOf(measures: VariantResult['measures'], of: string | undefined): Subject['measures'] {
  return Object.fromEntries(
    Object.entries(measures).flatMap(([name, measure]) => {
      const [own, given] = nameAndOf(name);
      return given === of ? [[own, measure]] : [];
    }),
  );
}

function nameAndOf(measure: string): [own: string, of: string | undefined] {
  const dot = measure.indexOf('.');
  return dot < 0 ? [measure, undefined] : [measure.slice(0, dot), measure.slice(dot + 1)];
}

/** One list for all of whom the same is measured: those who call are asked other things than servers are. */
function namedOf(variants: readonly VariantResult[]): Subject[][] {
  const names = new Set(variants.flatMap(({ measures }) => Object.keys(measures).map((name) => nameAndOf(name)[1])));
  const lists = new Map<string, Subject[]>();
  for (const of of names) {
    if (of === undefined) continue;
    const subjects = variants
      .map(({ name, measures }) => ({
        name: variants.length === 1 ? of : `${of}, ${name}`,
        measures: measuresOf(measures, of),
      }))
      .filter(({ measures }) => Object.keys(measures).length > 0);
    const measured = [...new Set(subjects.flatMap(({ measures }) => Object.keys(measures)))].join(' ');
    lists.set(measured, [...(lists.get(measured) ?? []), ...subjects]);
  }
  return [...lists.values()];
}

function tableOf(subjects: readonly Subject[], corner: string): Row[] {
  const units = new Map(
    subjects.flatMap(({ measures }) => Object.entries(measures).map(([name, { unit }]) => [name, unit] as const)),
  );
  if (units.size === 0) return [];
  const rows = subjects.map(({ name, measures }) => [
    shortened(name, longestName),
    ...[...units.keys()].map((measure) => (Object.hasOwn(measures, measure) ? figure(measures[measure]!) : nothing)),
  ]);
  return [[corner, ...[...units].map(([measure, unit]) => measureName(measure, unit))], ...rows];
}

function fitted(rows: readonly Row[], width: number, gap: number): Row[][] {
  const [head, ...others] = rows;
  if (head === undefined) return [];
  if (tableWidth(rows, gap) <= width) return [[...rows]];
  // As few parts as there can be, and all of about the same size: six and one would be three and four.
  for (let parts = 1; ; parts += 1) {
    const size = Math.ceil(others.length / parts);
    const tables = Array.from({ length: Math.ceil(others.length / size) }, (_, part) =>
      turned([head, ...others.slice(part * size, (part + 1) * size)]),
    );
    if (size === 1 || tables.every((table) => tableWidth(table, gap) <= width)) return tables;
  }
}

function turned(rows: readonly Row[]): Row[] {
  return rows[0]!.map((_, column) => rows.map((row) => (column === 0 && row === rows[0] ? '' : row[column]!)));
}
