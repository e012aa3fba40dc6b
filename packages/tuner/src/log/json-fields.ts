/**
 * JSON lines, scanned as bytes: the scanner walks over the line once, compares names with those that are wanted, and notes where their values
 * are. It goes into an object only where something in it is wanted.
 *
 *      {"ts":1794774846.5,"request":{"client_ip":"192.0.2.9","method":"GET","headers":{...}},"status":200}
 *       ts   └────┬─────┘  request    └── .client_ip ──┘      └ .method ┘     skipped          └ status
 *
 * What it does not understand (names with escapes, broken lines) it leaves to JSON.parse. It takes a little more than JSON allows: control
 * characters and `\x22` in texts, as careless log formats write them.
 */
import { type FieldSplitter, fill, type Slots } from './fields.ts';
import { fieldAt, jsonObjectIn, textOf, withoutNginxEscapes } from './json-text.ts';
import type { ByteRange } from './log-line.ts';

const [blank, quote, comma, colon, backslash] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [openingBrace, closingBrace, openingBracket, closingBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

const encoder = new TextEncoder();

/** The names that are wanted in one object. */
interface Wanted {
  readonly names: Uint8Array[];
  /** Beside each name: the slot for its value, the names that are wanted within it, or both. */
  readonly slots: (ByteRange | undefined)[];
  readonly inner: (Wanted | undefined)[];
  /** Bit n: a name of n bytes is wanted. Tells most names apart without a look at them. */
  lengths: number;
}

export function jsonSplitter(slots: Slots): FieldSplitter {
  const wanted = wantedOf(slots);
  const all = [...slots.values()];
  return (bytes, start, end) => {
    for (const slot of all) fill(slot, bytes, start, start);
    const open = behindBlanks(bytes, start, end);
    if (open < end && bytes[open] === openingBrace) {
      const close = scanObject(bytes, open + 1, end, wanted);
      if (close > 0 && behindBlanks(bytes, close, end) === end) return undefined;
    }
    return fillFromText(bytes, start, end, slots);
  };
}

function wantedOf(slots: Slots): Wanted {
  const root = noneWanted();
  for (const [path, slot] of slots) {
    // A dot may be a step into an object, or a part of a name.
    want(root, [path], slot);
    if (path.includes('.')) want(root, path.split('.'), slot);
  }
  return root;
}

function noneWanted(): Wanted {
  return { names: [], slots: [], inner: [], lengths: 0 };
}

function want(wanted: Wanted, [name = '', ...rest]: readonly string[], slot: ByteRange): void {
  const bytes = encoder.encode(name);
  let place = wanted.names.findIndex((known) => known.length === bytes.length && isAt(bytes, 0, known));
  if (place < 0) {
    place = wanted.names.push(bytes) - 1;
    wanted.lengths |= 1 << (bytes.length & 31);
  }
  if (rest.length === 0) {
    wanted.slots[place] = slot;
    return;
  }
  wanted.inner[place] ??= noneWanted();
  want(wanted.inner[place]!, rest, slot);
}

function placeOf(wanted: Wanted, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (((wanted.lengths >>> (length & 31)) & 1) === 0) return -1;
  for (let place = 0; place < wanted.names.length; place += 1) {
    const name = wanted.names[place]!;
    if (name.length === length && isAt(bytes, start, name)) return place;
  }
  return -1;
}

function isAt(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i += 1) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** Walks from behind the opening brace to behind the closing one; -1: this is beyond the scanner. */
function scanObject(bytes: Uint8Array, start: number, end: number, wanted: Wanted): number {
  let at = behindBlanks(bytes, start, end);
  if (bytes[at] === closingBrace && at < end) return at + 1;
  while (at < end) {
    if (bytes[at] !== quote) return -1;
    const nameStart = at + 1;
    at = nameStart;
    while (at < end && bytes[at] !== quote) {
      if (bytes[at] === backslash) return -1;
      at += 1;
    }
    const place = placeOf(wanted, bytes, nameStart, at);
    at = behindBlanks(bytes, at + 1, end);
    if (bytes[at] !== colon) return -1;
    at = behindBlanks(bytes, at + 1, end);
    at = place < 0 ? behindValue(bytes, at, end) : scanWanted(bytes, at, end, wanted, place);
    if (at < 0) return -1;
    at = behindBlanks(bytes, at, end);
    if (at >= end) return -1;
    if (bytes[at] === closingBrace) return at + 1;
    if (bytes[at] !== comma) return -1;
    at = behindBlanks(bytes, at + 1, end);
  }
  return -1;
}

function scanWanted(bytes: Uint8Array, start: number, end: number, wanted: Wanted, place: number): number {
  const slot = wanted.slots[place];
  const inner = wanted.inner[place];
  if (bytes[start] === openingBrace && inner !== undefined) return scanObject(bytes, start + 1, end, inner);
  const close = behindValue(bytes, start, end);
  if (slot === undefined || close < 0) return close;
  // Of a list (the lines of a header) the first.
  const first = bytes[start] === openingBracket ? behindBlanks(bytes, start + 1, end) : start;
  fillValue(slot, bytes, first, first === start ? close : behindValue(bytes, first, close));
  return close;
}

function fillValue(slot: ByteRange, bytes: Uint8Array, start: number, close: number): void {
  const byte = bytes[start];
  const isNone = close < 0 || byte === 0x6e || byte === openingBrace || byte === openingBracket;
  if (isNone) {
    fill(slot, bytes, start, start);
  } else if (byte !== quote) {
    fill(slot, bytes, start, close);
  } else if (hasEscape(bytes, start, close)) {
    const text = unescaped(bytes, start, close);
    fill(slot, text, 0, text.length);
  } else {
    fill(slot, bytes, start + 1, close - 1);
  }
}

function hasEscape(bytes: Uint8Array, start: number, close: number): boolean {
  for (let at = start; at < close; at += 1) if (bytes[at] === backslash) return true;
  return false;
}

function unescaped(bytes: Uint8Array, start: number, close: number): Uint8Array {
  const text = new TextDecoder().decode(bytes.subarray(start, close));
  const value = jsonObjectIn(`{"value":${text}}`)?.value ?? withoutNginxEscapes(text).slice(1, -1);
  return encoder.encode(textOf(value));
}

/** Behind the value that begins here; -1: none does. */
function behindValue(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) return -1;
  const byte = bytes[start]!;
  if (byte === quote) return behindText(bytes, start, end);
  if (byte === openingBrace || byte === openingBracket) return behindNested(bytes, start, end);
  let at = start;
  while (at < end && isWordByte(bytes[at]!)) at += 1;
  return at === start ? -1 : at;
}

/** Of a number, `true`, `false` or `null`. Which of them it is matters to whoever wants it. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2e ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x45
  );
}

function behindText(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  return -1;
}

function behindNested(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = behindText(bytes, at, end) - 1;
      if (at < 0) return -1;
    } else if (byte === openingBrace || byte === openingBracket) {
      depth += 1;
    } else if (byte === closingBrace || byte === closingBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function behindBlanks(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] === blank || bytes[at] === 0x09)) at += 1;
  return at;
}

function fillFromText(bytes: Uint8Array, start: number, end: number, slots: Slots): string | undefined {
  const object = jsonObjectIn(new TextDecoder().decode(bytes.subarray(start, end)));
  if (object === undefined) return 'is not an object of JSON';
  for (const [path, slot] of slots) {
    const text = encoder.encode(textOf(fieldAt(object, path)));
    fill(slot, text, 0, text.length);
  }
  return undefined;
}
