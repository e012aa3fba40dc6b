/**
 * CSV with a row of names first: separated by `,`, `;` or a tab, texts in quotes where they need it, a quote in them doubled.
 *
 *      t_ms,client,cost,status,route
 *      0,c7,1,200,"GET /say/""hello"""
 *
 * A record is a line: a line's end within quotes ends the record too, and makes it malformed.
 */
import { type FieldSplitter, fill, type Slots } from './fields.ts';
import type { ByteRange } from './log-line.ts';

const [quote, comma, semicolon, blank] = [0x22, 0x2c, 0x3b, 0x20];
export const tab = 0x09;

export interface CsvHeader {
  readonly separator: number;
  readonly names: readonly string[];
}

const mostColumns = 1000;

/** The names in the first row, by the separator that makes the most of it. */
export function csvHeader(bytes: Uint8Array): CsvHeader {
  const [best] = [comma, semicolon, tab]
    .map((separator) => ({ separator, names: textsIn(bytes, separator) }))
    .sort((a, b) => b.names.length - a.names.length);
  return best!;
}

/** The texts of a row, for a look at the first ones. */
export function textsIn(bytes: Uint8Array, separator: number): string[] {
  const cells: ByteRange[] = [];
  for (let at = 0; at <= bytes.length && cells.length < mostColumns; ) {
    const cell: ByteRange = { bytes, start: 0, end: 0 };
    const close = fillCell(cell, bytes, at, bytes.length, separator);
    cells.push(cell);
    if (close < 0) break;
    at = close + 1;
  }
  const decoder = new TextDecoder();
  return cells.map((cell) => decoder.decode(cell.bytes.subarray(cell.start, cell.end)).trim());
}

export function csvSplitter(slots: Slots, { separator, names }: CsvHeader): FieldSplitter {
  const columns = names.map((name) => slots.get(name));
  return (bytes, start, end) => {
    let at = start;
    for (let column = 0; column < columns.length; column += 1) {
      if (at > end) return `has ${column} fields where the first row has ${columns.length}`;
      const close = fillCell(columns[column], bytes, at, end, separator);
      if (close < 0) return 'has a quote that is not closed, or text behind one that is';
      at = close + 1;
    }
    return at <= end ? `has more fields than the ${columns.length} of the first row` : undefined;
  };
}

/** Fills the slot, if there is one, and says where the separator behind the cell is, or the end of the row; -1: the cell is broken. */
function fillCell(
  slot: ByteRange | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
  separator: number,
): number {
  if (bytes[start] === quote && start < end) return fillQuoted(slot, bytes, start, end, separator);
  let at = start;
  while (at < end && bytes[at] !== separator) at += 1;
  if (slot !== undefined) fillTrimmed(slot, bytes, start, at);
  return at;
}

function fillTrimmed(slot: ByteRange, bytes: Uint8Array, start: number, end: number): void {
  let from = start;
  let to = end;
  while (from < to && bytes[from] === blank) from += 1;
  while (to > from && bytes[to - 1] === blank) to -= 1;
  fill(slot, bytes, from, to);
}

function fillQuoted(
  slot: ByteRange | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
  separator: number,
): number {
  let at = start + 1;
  let doubled = 0;
  for (; at < end; at += 1) {
    if (bytes[at] !== quote) continue;
    if (bytes[at + 1] !== quote || at + 1 >= end) break;
    doubled += 1;
    at += 1;
  }
  if (at >= end || (at + 1 < end && bytes[at + 1] !== separator)) return -1;
  if (slot !== undefined) {
    if (doubled === 0) fill(slot, bytes, start + 1, at);
    else fillUndoubled(slot, bytes, start + 1, at, doubled);
  }
  return at + 1;
}

function fillUndoubled(slot: ByteRange, bytes: Uint8Array, start: number, end: number, doubled: number): void {
  const text = new Uint8Array(end - start - doubled);
  let length = 0;
  for (let at = start; at < end; at += 1) {
    if (bytes[at] === quote) at += 1;
    text[length] = bytes[at]!;
    length += 1;
  }
  fill(slot, text, 0, length);
}
