/**
 * Lines of Apache and nginx, common and combined:
 *
 *      192.0.2.9 - alice [15/Nov/2026:20:34:06 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://a.org/" "curl/8" "203.0.113.7" 0.004
 *      ip          user   time                         request               status  referer          │       x_forwarded_for
 *                                                                                bytes                user_agent      ignored
 *      └────────────────────────────── common ─────────────────────────────────────┘└──── combined ────┘
 *
 * A host may stand before it all (`a.org:443 192.0.2.9 - ...`). What is in quotes may hold escaped quotes (`\"` is Apache's, `\x22` nginx's),
 * and what is no request at all (the first bytes of TLS on a plain port) is a call all the same: its client made it, and was answered 400.
 */
import { emptyRange, type FieldSplitter, fill, type Slots } from './fields.ts';
import type { ByteRange } from './log-line.ts';
import { setPath } from './route.ts';

export const combinedNames = [
  'ip',
  'user',
  'time',
  'request',
  'method',
  'path',
  'status',
  'bytes',
  'referer',
  'user_agent',
  'x_forwarded_for',
  'host',
] as const;

const [blank, quote, dash, opening, closing, backslash, comma] = [0x20, 0x22, 0x2d, 0x5b, 0x5d, 0x5c, 0x2c];
// The date of a line that is no log may be looked for in vain to its end; names are not that long.
const longestHeading = 1024;
const longestTime = 64;

export function combinedSplitter(slots: Slots): FieldSplitter {
  const slot = (name: (typeof combinedNames)[number]): ByteRange => slots.get(name) ?? emptyRange();
  const [ip, user, host, time] = [slot('ip'), slot('user'), slot('host'), slot('time')];
  const [request, method, path, status, bodyBytes] = [
    slot('request'),
    slot('method'),
    slot('path'),
    slot('status'),
    slot('bytes'),
  ];
  const behind = [slot('referer'), slot('user_agent'), slot('x_forwarded_for')];
  const wantsParts = slots.has('method') || slots.has('path');
  const wantsBehind = slots.has('referer') || slots.has('user_agent') || slots.has('x_forwarded_for');
  const heading = headingSplitter(ip, user, host);

  return (bytes, start, end) => {
    const timeStart = heading(bytes, start, end);
    if (timeStart < 0) return 'has no address and time such as 192.0.2.1 - - [15/Nov/2026:20:34:06 +0000]';
    const timeEnd = closingBracket(bytes, timeStart, end);
    if (timeEnd < 0 || bytes[timeEnd + 1] !== blank || bytes[timeEnd + 2] !== quote || timeEnd + 3 > end)
      return 'has no request in quotes behind the time';
    fill(time, bytes, timeStart, timeEnd);
    const requestEnd = requestQuote(bytes, timeEnd + 3, end);
    if (requestEnd < 0) return 'has no status behind a request in quotes';
    fill(request, bytes, timeEnd + 3, requestEnd);
    const statusEnd = wordEnd(bytes, requestEnd + 2, end);
    fill(status, bytes, requestEnd + 2, statusEnd);
    // Some formats leave the size of the answer out.
    const sizeStart = Math.min(statusEnd + 1, end);
    const sizeEnd = wordEnd(bytes, sizeStart, end);
    fill(bodyBytes, bytes, sizeStart, sizeEnd);
    if (wantsParts) splitRequest(request, method, path);
    if (wantsBehind) splitQuoted(bytes, sizeEnd, end, behind);
    return undefined;
  };
}

/** Fills what stands before the time, and says where the time begins; -1: nowhere. */
function headingSplitter(ip: ByteRange, user: ByteRange, host: ByteRange) {
  const words = [emptyRange(), emptyRange(), emptyRange()] as const;
  return (bytes: Uint8Array, start: number, end: number): number => {
    const ipEnd = wordEnd(bytes, start, end);
    if (ipEnd === start || ipEnd === end || bytes[ipEnd] !== blank) return -1;
    // `192.0.2.1 - - [`: nearly all lines.
    if (bytes[ipEnd + 1] === dash && bytes[ipEnd + 2] === blank && bytes[ipEnd + 3] === dash) {
      if (bytes[ipEnd + 4] === blank && bytes[ipEnd + 5] === opening && ipEnd + 6 < end) {
        fill(ip, bytes, start, ipEnd);
        fill(user, bytes, ipEnd + 3, ipEnd + 4);
        fill(host, bytes, start, start);
        return ipEnd + 6;
      }
    }
    return other(bytes, start, end);
  };

  function other(bytes: Uint8Array, start: number, end: number): number {
    const timeStart = openingBracket(bytes, start, Math.min(end, start + longestHeading));
    if (timeStart < 0) return -1;
    const headingEnd = timeStart - 2;
    let at = start;
    // A list of addresses, where X-Forwarded-For is logged in the place of the address: the last is the one that the server's own proxy wrote.
    for (let next = wordEnd(bytes, at, headingEnd); next < headingEnd && bytes[next - 1] === comma; ) {
      at = next + 1;
      next = wordEnd(bytes, at, headingEnd);
    }
    for (const word of words) {
      const next = wordEnd(bytes, at, headingEnd);
      fill(word, bytes, at, next);
      at = Math.min(next + 1, headingEnd);
    }
    const [first, second, third] = words;
    if (second.end === second.start) return -1;
    const hasHost = isDash(third) && third.end < headingEnd && !isDash(second) && looksLikeAddress(second);
    const address = hasHost ? second : first;
    const userStart = (hasHost ? third : second).end + 1;
    fill(host, bytes, start, hasHost ? hostEnd(first) : start);
    fill(ip, bytes, address.start, address.end);
    // A name may have blanks in it: it ends where the time begins.
    fill(user, bytes, Math.min(userStart, headingEnd), headingEnd);
    return timeStart;
  }
}

function isDash({ bytes, start, end }: ByteRange): boolean {
  return end - start === 1 && bytes[start] === dash;
}

function looksLikeAddress({ bytes, start, end }: ByteRange): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === 0x2e || bytes[at] === 0x3a) return true;
  return false;
}

/** Without the port: `a.org:443`. */
function hostEnd({ bytes, start, end }: ByteRange): number {
  let at = end - 1;
  while (at > start && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at -= 1;
  return at > start && bytes[at] === 0x3a ? at : end;
}

/** Where the time begins that stands in brackets: `[15/` or `[2026-`. Brackets in a user's name are not followed by that. */
function openingBracket(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at + 5 < end; at += 1) {
    if (bytes[at] !== opening || bytes[at - 1] !== blank) continue;
    if (bytes[at + 3] === 0x2f || bytes[at + 5] === dash) return at + 1;
  }
  return -1;
}

function closingBracket(bytes: Uint8Array, start: number, end: number): number {
  // `15/Nov/2026:20:34:06 +0000`
  if (bytes[start + 26] === closing && start + 26 < end) return start + 26;
  const last = Math.min(end, start + longestTime);
  for (let at = start; at < last; at += 1) if (bytes[at] === closing) return at;
  return -1;
}

/**
 * The quote that ends the request: the first that is not escaped and has a status behind it. Old servers escape nothing, and a quote in
 * a path of theirs has none behind it.
 */
function requestQuote(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === backslash) at += 1;
    else if (byte === quote && isStatus(bytes, at + 1, end)) return at;
  }
  return -1;
}

/** ` 200` or ` -`, and behind it a blank or nothing. */
function isStatus(bytes: Uint8Array, at: number, end: number): boolean {
  if (at + 1 >= end || bytes[at] !== blank) return false;
  const isNone = bytes[at + 1] === dash;
  const statusEnd = at + (isNone ? 2 : 4);
  if (statusEnd > end || (statusEnd < end && bytes[statusEnd] !== blank)) return false;
  if (isNone) return true;
  return isDigit(bytes[at + 1]!) && isDigit(bytes[at + 2]!) && isDigit(bytes[at + 3]!);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Where the word ends that begins here: before a blank, or a control that no word has. */
function wordEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at]! > blank) at += 1;
  return at;
}

function splitRequest(request: ByteRange, method: ByteRange, path: ByteRange): void {
  const { bytes, start, end } = request;
  const methodEnd = wordEnd(bytes, start, end);
  fill(method, bytes, start, methodEnd);
  setPath(path, bytes, Math.min(methodEnd + 1, end), end);
}

/** The texts in quotes, one after the other. */
function splitQuoted(bytes: Uint8Array, start: number, end: number, into: readonly ByteRange[]): void {
  let at = start;
  for (const slot of into) {
    while (at < end && bytes[at] !== quote) at += 1;
    const from = Math.min(at + 1, end);
    for (at = from; at < end && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
    fill(slot, bytes, from, Math.min(at, end));
    at += 1;
  }
}
