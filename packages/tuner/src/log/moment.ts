/**
 * Moments as logs write them, read from bytes, in whole milliseconds since the epoch (rounded down: no tick of an analysis is finer).
 *
 *      15/Nov/2026:20:34:06 +0100            Apache and nginx (time_local); also with .123 behind the second
 *      2026-11-15T20:34:06.123456+01:00      ISO 8601 (time_iso8601); also with a blank for T, /, no seconds, no colon in the zone
 *      1794774846 .123  ...123  ...123456    seconds, milliseconds, microseconds or nanoseconds since the epoch: told apart by their size
 *      1.794774846e9                         the same, as JSON may write any number
 *
 * A time without a zone is UTC: so the same file gives the same answer wherever it is read.
 */

/** NaN: this is no moment. */
export type MomentReader = (bytes: Uint8Array, start: number, end: number) => number;

/** Until the year 5138: as far as the clocks of limiters go. One line from beyond must not end the reading of all others. */
const furthestMs = 1e14;
const minuteMs = 60_000;
const hourMs = 3_600_000;

const [colon, dot, comma, dash, slash, plus, blank] = [0x3a, 0x2e, 0x2c, 0x2d, 0x2f, 0x2b, 0x20];

/** Each log has its own, which knows the day that it read last. `isMs`: a plain number counts milliseconds, whatever its size. */
export function momentReader({ isMs = false } = {}): MomentReader {
  const dayMsOf = rememberedDay();

  function momentIn(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length >= 20 && bytes[start + 2] === slash && bytes[start + 11] === colon) {
      return dayMsOf(bytes, start, 11) + clockMs(bytes, start + 12, end);
    }
    const separator = length >= 10 ? bytes[start + 4] : 0;
    if ((separator === dash || separator === slash) && bytes[start + 7] === separator) {
      const dayMs = dayMsOf(bytes, start, 10);
      if (length === 10) return dayMs;
      const between = bytes[start + 10]! | 0x20; // `T`, `t` or a blank
      return between === 0x74 || between === blank ? dayMs + clockMs(bytes, start + 11, end) : Number.NaN;
    }
    return countedMs(bytes, start, end, isMs);
  }

  return (bytes, start, end) => {
    const atMs = momentIn(bytes, start, end);
    return Math.abs(atMs) <= furthestMs ? atMs : Number.NaN;
  };
}

/** The beginning of the day that these bytes name. Most lines are of the same day as the one before. */
function rememberedDay(): (bytes: Uint8Array, start: number, length: number) => number {
  const known = new Uint8Array(11);
  let knownLength = 0;
  let knownMs = Number.NaN;
  return (bytes, start, length) => {
    let same = length === knownLength ? 0 : -1;
    while (same >= 0 && same < length) same = bytes[start + same] === known[same] ? same + 1 : -1;
    if (same === length) return knownMs;
    knownLength = length;
    for (let i = 0; i < length; i += 1) known[i] = bytes[start + i]!;
    knownMs =
      length === 11
        ? midnight(four(bytes, start + 7), monthNamed(bytes, start + 3), pair(bytes, start))
        : midnight(four(bytes, start), pair(bytes, start + 5), pair(bytes, start + 8));
    return knownMs;
  };
}

function midnight(year: number, month: number, day: number): number {
  // Date.UTC takes the years before 100 for others, and rolls a 30th of February over into March.
  if (year < 100 || month < 1 || month > 12 || day < 1) return Number.NaN;
  const ms = Date.UTC(year, month - 1, day);
  return new Date(ms).getUTCDate() === day ? ms : Number.NaN;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function monthNamed(bytes: Uint8Array, at: number): number {
  if (bytes[at + 3] !== slash) return -1;
  const name = String.fromCharCode(bytes[at]!, bytes[at + 1]!, bytes[at + 2]!).toLowerCase();
  return months.indexOf(name) + 1;
}

/** `20:34:06.123 +0100` since midnight in UTC. */
function clockMs(bytes: Uint8Array, start: number, end: number): number {
  const hour = end - start >= 5 ? pair(bytes, start) : -1;
  const minute = pair(bytes, start + 3);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || bytes[start + 2] !== colon) return Number.NaN;
  let at = start + 5;
  let ms = hour * hourMs + minute * minuteMs;
  if (bytes[at] === colon && at < end) {
    const second = at + 3 <= end ? pair(bytes, at + 1) : -1;
    // 60 is a leap second: the clocks of POSIX count it as the first of the next minute.
    if (second < 0 || second > 60) return Number.NaN;
    ms += second * 1000;
    at += 3;
    if (at < end && (bytes[at] === dot || bytes[at] === comma)) {
      const fraction = at + 1;
      at = behindDigits(bytes, fraction, end);
      if (at === fraction) return Number.NaN;
      ms += thousandths(bytes, fraction, at);
    }
  }
  return ms - zoneMs(bytes, at, end);
}

/** How far east of UTC: `+0100`, ` +01:00`, `-07`, `Z`, ` UTC`, or nothing. */
function zoneMs(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === blank) at += 1;
  if (at === end) return 0;
  const sign = bytes[at];
  if (sign !== plus && sign !== dash) return isUtc(bytes, at, end) ? 0 : Number.NaN;
  const hours = end - at >= 3 ? pair(bytes, at + 1) : -1;
  at += 3;
  let minutes = 0;
  if (at < end && bytes[at] !== blank) {
    if (bytes[at] === colon) at += 1;
    minutes = end - at >= 2 ? pair(bytes, at) : -1;
    at += 2;
  }
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return Number.NaN;
  // Go writes `+0000 UTC`.
  if (at < end && !(bytes[at] === blank && isUtc(bytes, at + 1, end))) return Number.NaN;
  const ms = hours * hourMs + minutes * minuteMs;
  return sign === dash ? -ms : ms;
}

function isUtc(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start === 1) return (bytes[start]! | 0x20) === 0x7a;
  if (end - start !== 3) return false;
  const name = String.fromCharCode(bytes[start]!, bytes[start + 1]!, bytes[start + 2]!);
  return name === 'UTC' || name === 'GMT';
}

/** A plain number. Seconds are below 1e11 until the year 5138, milliseconds above it since 1973, and so on by thousands. */
function countedMs(bytes: Uint8Array, start: number, end: number, isMs: boolean): number {
  const isNegative = start < end && bytes[start] === dash;
  const whole = isNegative ? start + 1 : start;
  const point = behindDigits(bytes, whole, end);
  // Nanoseconds have 19 digits.
  if (point === whole || point - whole > 19) return Number.NaN;
  let count = 0;
  for (let at = whole; at < point; at += 1) count = count * 10 + bytes[at]! - 0x30;
  let fraction = 0;
  if (point < end) {
    if (hasExponent(bytes, point, end)) return exponentMs(bytes, start, end, isMs);
    if (bytes[point] !== dot || point + 1 === end || behindDigits(bytes, point + 1, end) !== end) return Number.NaN;
    fraction = thousandths(bytes, point + 1, end);
  }
  const ms = isMs ? count : count < 1e11 ? count * 1000 + fraction : inMs(count);
  return isNegative ? 0 - ms : ms;
}

function hasExponent(bytes: Uint8Array, point: number, end: number): boolean {
  const at = bytes[point] === dot ? behindDigits(bytes, point + 1, end) : point;
  return at < end && (bytes[at]! | 0x20) === 0x65;
}

const exponentForm = /^(-?)(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})$/;
const longestExponentForm = 40;

function exponentMs(bytes: Uint8Array, start: number, end: number, isMs: boolean): number {
  if (end - start > longestExponentForm) return Number.NaN;
  const [, sign, digits, exponent] = exponentForm.exec(String.fromCharCode(...bytes.subarray(start, end))) ?? [];
  const count = Number(`${digits}e${exponent}`);
  // Of seconds, a product with 1000 could round down to the millisecond before.
  const ms = isMs ? count : count < 1e11 ? Number(`${digits}e${Number(exponent) + 3}`) : inMs(count);
  return sign === '-' ? 0 - Math.floor(ms) : Math.floor(ms);
}

function inMs(count: number): number {
  return count < 1e14 ? count : count < 1e17 ? Math.floor(count / 1e3) : Math.floor(count / 1e6);
}

function behindDigits(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at += 1;
  return at;
}

/** The first three digits behind the point. */
function thousandths(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let i = 0; i < 3; i += 1) value = value * 10 + (start + i < end ? bytes[start + i]! - 0x30 : 0);
  return value;
}

/** Two digits; -1: they are none. */
function pair(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 0x30;
  const ones = bytes[at + 1]! - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function four(bytes: Uint8Array, at: number): number {
  const high = pair(bytes, at);
  const low = pair(bytes, at + 2);
  return high < 0 || low < 0 ? -1 : high * 100 + low;
}
