/**
 * Headers in whatever shape the caller has them, as lists of lines by lower-case name. Only what a rate limit could be read from
 * is kept, and of that no more than a server that means well would send: the headers come from somebody else.
 */

/** A header's value, or its lines. Bytes are how undici hands over raw headers. */
export type HeaderValue = string | number | Uint8Array | readonly (string | number | Uint8Array)[] | null | undefined;

/** Lists of pairs, and undici's raw headers, where names and values take turns in one flat list. */
type HeaderList = Iterable<string | Uint8Array | readonly [string, HeaderValue] | readonly string[]>;

/** Names may be in any letter case. */
type HeaderRecord = { readonly [name: string]: HeaderValue };

/**
 * Where headers are read from: a fetch `Response` or its `Headers`, a message of `node:http` or its `headers`, a response of undici,
 * a plain object, pairs, or undici's raw headers.
 */
export type HeaderSource =
  | { readonly headers: Headers | HeaderList | { readonly [name: string]: unknown } }
  | { getHeaders(): { readonly [name: string]: unknown } }
  | Headers
  | HeaderList
  | HeaderRecord
  | null
  | undefined;

/** From a lower-case name to its lines. */
export type HeaderLines = ReadonlyMap<string, readonly string[]>;

const maxHeaders = 1000;
const maxLines = 32;
const maxLineLength = 4096;

const interesting = /rate-?limit|^retry-after|^date$|^age$/;

export function headerLines(source: unknown): HeaderLines {
  const lines = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of pairsOf(source)) {
    count += 1;
    if (count > maxHeaders) break;
    const lowerCase = textOf(name)?.toLowerCase() ?? '';
    if (!interesting.test(lowerCase)) continue;
    const known = lines.get(lowerCase) ?? [];
    for (const one of isList(value) ? value : [value]) {
      const text = textOf(one);
      if (text !== undefined && known.length < maxLines && text.length <= maxLineLength) known.push(text.trim());
    }
    // A name without a value says nothing: as if it were not there.
    if (known.length > 0) lines.set(lowerCase, known);
  }
  return lines;
}

function* pairsOf(source: unknown): Generator<readonly [unknown, unknown]> {
  const headers = headersOf(source);
  if (isIterable(headers)) yield* pairsOfList(headers);
  else if (isObject(headers)) yield* Object.entries(headers);
}

/** A message's headers, or what was given. */
function headersOf(source: unknown): unknown {
  if (!isObject(source) || isIterable(source)) return source;
  if (isObject(source.headers)) return source.headers;
  return typeof source.getHeaders === 'function' ? source.getHeaders() : source;
}

function* pairsOfList(list: Iterable<unknown>): Generator<readonly [unknown, unknown]> {
  let name: unknown;
  for (const one of list) {
    if (isList(one)) yield [one[0], one[1]];
    else if (name === undefined) name = one;
    else {
      yield [name, one];
      name = undefined;
    }
  }
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return value instanceof Uint8Array ? latin1(value) : undefined;
}

/** One character a byte, as HTTP has its headers. */
function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, maxLineLength + 1));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return isObject(value) && typeof (value as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function';
}
