/**
 * Which bytes of a line are which field. A format is asked for the fields that are wanted once, at the beginning; from then on it fills their
 * slots, line after line.
 */
import type { ByteRange } from './log-line.ts';

/** By the names of the fields. Empty (`start === end`): this line does not have it. */
export type Slots = ReadonlyMap<string, ByteRange>;

/** Fills the slots from a line; a sentence's end (`has no ...`) where the line is not of this format. */
export type FieldSplitter = (bytes: Uint8Array, start: number, end: number) => string | undefined;

const nothing = new Uint8Array(0);

export function emptyRange(): ByteRange {
  return { bytes: nothing, start: 0, end: 0 };
}

export function slotsFor(names: Iterable<string>): Slots {
  return new Map([...names].map((name) => [name, emptyRange()]));
}

export function fill(slot: ByteRange, bytes: Uint8Array, start: number, end: number): void {
  slot.bytes = bytes;
  slot.start = start;
  slot.end = end;
}

/** Nothing, or the dash that servers write for nothing. */
export function isMissing({ bytes, start, end }: ByteRange): boolean {
  return end === start || (end - start === 1 && bytes[start] === 0x2d);
}
