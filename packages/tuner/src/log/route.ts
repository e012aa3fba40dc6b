/** What was called, as far as a limit may care: method and path, without the query. */
import type { ByteRange } from './log-line.ts';
import { type NameBuffer, setRange } from './name-buffer.ts';

const [blank, question, hash, slash, colon] = [0x20, 0x3f, 0x23, 0x2f, 0x3a];
const longestMethod = 24;

/** `GET /a?b=c HTTP/1.1` → `GET /a`. What is no request has no route. */
export function setRouteOfRequest(route: ByteRange, { bytes, start, end }: ByteRange): void {
  let at = start;
  while (at < end && isMethodLetter(bytes[at]!)) at += 1;
  const isRequest = at > start && at - start <= longestMethod && at + 1 < end && bytes[at] === blank;
  setRange(route, bytes, start, isRequest ? pathEnd(bytes, at + 1, end) : start);
}

/** `GET` and `https://a.org/a?b=c` → `GET /a`. */
export function setRouteOfParts(route: ByteRange, method: ByteRange, target: ByteRange, name: NameBuffer): void {
  setPath(route, target.bytes, target.start, target.end);
  if (route.end === route.start || method.end === method.start) return;
  name.clear();
  name.append(method.bytes, method.start, method.end);
  name.push(blank);
  name.append(route.bytes, route.start, route.end);
  name.lend(route);
}

/** The path of a target, which may be a whole URL. */
export function setPath(path: ByteRange, bytes: Uint8Array, start: number, end: number): void {
  const from = bytes[start] === slash ? start : behindOrigin(bytes, start, end);
  setRange(path, bytes, from, pathEnd(bytes, from, end));
}

function behindOrigin(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isSchemeLetter(bytes[at]!)) at += 1;
  if (at === start || bytes[at] !== colon || bytes[at + 1] !== slash || bytes[at + 2] !== slash || at + 3 > end)
    return start;
  for (at += 3; at < end; at += 1) if (bytes[at] === slash) return at;
  return start;
}

function pathEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === question || byte === blank || byte === hash) break;
  }
  return at;
}

function isMethodLetter(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || byte === 0x2d || byte === 0x5f;
}

function isSchemeLetter(byte: number): boolean {
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}
