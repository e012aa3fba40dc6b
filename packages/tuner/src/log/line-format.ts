/** From the first lines to a reader of all: the format, the fields, and whoever reads them. */
import { invalidOption } from '../invalid-option.ts';
import { type Calls, callReader, fieldsOf } from './call-reader.ts';
import { type ChosenFields, chooseCombinedFields, chooseFields, type Missing } from './choose-fields.ts';
import { combinedNames, combinedSplitter } from './combined-fields.ts';
import { csvHeader, csvSplitter, tab, textsIn } from './csv-fields.ts';
import { detectFormat, textOfLine } from './detect-format.ts';
import { slotsFor } from './fields.ts';
import { jsonSplitter } from './json-fields.ts';
import { flatFields, jsonObjectIn } from './json-text.ts';
import { behindNothing } from './line-begin.ts';
import type { LogFormat, LogReaderOptions } from './options.ts';
import { visible, visibleText } from './visible.ts';

export interface LineFormat extends Calls {
  readonly format: LogFormat;
  readonly fields: ChosenFields;
  readonly csv: CsvRows | undefined;
}

/** Which lines of CSV are rows. */
export interface CsvRows {
  /** The row of names, which is no call; files that were put together have it again. */
  readonly header: Uint8Array;
  /** A tab at the beginning of a line ends an empty cell. */
  readonly isTabbed: boolean;
  /** Whether a line that begins as a comment does is a row all the same: it has a cell for each name. */
  isRow(bytes: Uint8Array, start: number, end: number): boolean;
}

const defaultSubnet = 56;

/**
 * Undefined: the first lines are not enough to say. `isAll`: there are no more, or no more are waited for; then what cannot be said is an error.
 */
export function lineFormat(
  options: LogReaderOptions,
  rows: readonly Uint8Array[],
  isAll: boolean,
): LineFormat | undefined {
  // What is before the text says something only in CSV.
  const lines = rows.map((row) => row.subarray(behindNothing(row, 0, row.length)));
  const { format: asked = 'auto', ipv6Subnet = defaultSubnet } = options;
  const format = asked === 'auto' ? detectFormat(lines, options.time) : asked;
  if (format === undefined) {
    if (isAll) throw unknownFormat(lines);
    return undefined;
  }
  if (format === 'csv') return csvFormat(options, rows, ipv6Subnet);
  if (format !== 'json') {
    const fields = orThrow(chooseCombinedFields(options), [...combinedNames, 'route'], lines);
    const slots = slotsFor(fieldsOf(fields));
    return { format, fields, ...callReader(combinedSplitter(slots), slots, fields, ipv6Subnet), csv: undefined };
  }
  return jsonFormat(options, lines, isAll, ipv6Subnet);
}

function jsonFormat(
  options: LogReaderOptions,
  lines: readonly Uint8Array[],
  isAll: boolean,
  ipv6Subnet: number,
): LineFormat | undefined {
  const seen = new Map<string, string[]>();
  for (const line of lines) note(seen, flatFields(jsonObjectIn(textOfLine(line)) ?? {}));
  const choice = chooseFields(options, seen, 'json');
  // A server may begin with messages of its own. They have a time, and nothing of a call.
  const isCall = !('missing' in choice) && (choice.status !== undefined || choice.route.kind !== 'none');
  if (!isCall && !isAll) return undefined;
  if (seen.size === 0)
    throw invalidOption(`No line of the log is an object of JSON. Its first line: ${firstOf(lines)}`);
  const fields = orThrow(choice, [...seen.keys()], lines);
  const slots = slotsFor(fieldsOf(fields));
  return {
    format: 'json',
    fields,
    ...callReader(jsonSplitter(slots), slots, fields, ipv6Subnet),
    csv: undefined,
  };
}

function csvFormat(options: LogReaderOptions, lines: readonly Uint8Array[], ipv6Subnet: number): LineFormat {
  const [header = new Uint8Array(0), ...rows] = lines;
  const columns = csvHeader(header);
  const seen = new Map<string, string[]>(columns.names.map((name) => [name, []]));
  for (const row of rows) {
    const texts = textsIn(row, columns.separator);
    if (texts.length === columns.names.length)
      note(
        seen,
        columns.names.map((name, i) => [name, texts[i]!]),
      );
  }
  const fields = orThrow(chooseFields(options, seen, 'csv'), columns.names, lines);
  const slots = slotsFor(fieldsOf(fields));
  const count = csvSplitter(new Map(), columns);
  const isTabbed = columns.separator === tab;
  return {
    format: 'csv',
    fields,
    ...callReader(csvSplitter(slots, columns), slots, fields, ipv6Subnet),
    csv: {
      header: isTabbed ? header : header.subarray(behindNothing(header, 0, header.length)),
      isTabbed,
      // Where there is but one name, every comment would be a row.
      isRow: (bytes, start, end) => columns.names.length > 1 && count(bytes, start, end) === undefined,
    },
  };
}

const textsPerField = 5;
const mostFields = 1000;

function note(seen: Map<string, string[]>, fields: Iterable<readonly [name: string, text: string]>): void {
  for (const [name, text] of fields) {
    let texts = seen.get(name);
    if (texts === undefined) {
      if (seen.size >= mostFields) continue;
      texts = [];
      seen.set(name, texts);
    }
    if (text !== '' && text !== '-' && texts.length < textsPerField) texts.push(text);
  }
}

function orThrow(choice: ChosenFields | Missing, names: readonly string[], lines: readonly Uint8Array[]): ChosenFields {
  if (!('missing' in choice)) return choice;
  const { missing, option } = choice;
  const everybody = option === 'key' ? '; "all" counts everybody as one' : '';
  throw invalidOption(
    `The log has ${missing}. Its fields are ${listed(names)}. Name one of them with ${option}${everybody}. Its first line: ${firstOf(lines)}`,
  );
}

const mostListed = 40;

export function listed(names: readonly string[]): string {
  const shown = names.slice(0, mostListed).map((name) => visibleText(name.slice(0, 80)));
  return shown.join(', ') + (names.length > mostListed ? ` and ${names.length - mostListed} more` : '');
}

function firstOf([line = new Uint8Array(0)]: readonly Uint8Array[]): string {
  return visible(line, 0, line.length);
}

function unknownFormat(lines: readonly Uint8Array[]) {
  const [a, b] = lines[0] ?? [];
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff))
    return invalidOption('The log is in UTF-16. Convert it to UTF-8 first, for example with iconv -f utf-16 -t utf-8.');
  return invalidOption(
    `The format of the log is not known. It may be combined or common (Apache, nginx), JSON lines, or CSV with a row of names first ` +
      `(one of them a time, such as timestamp; name another with time). If it is one of these, say which with format: combined, common, json or csv. ` +
      `Its first line: ${firstOf(lines)}`,
  );
}
