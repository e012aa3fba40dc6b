/**
 * How long from now, in all the ways that servers say it.
 *
 *      30   1.5                            seconds from now
 *      1750000030   1750000030123          seconds or milliseconds since the epoch, told by their size; in `Retry-After`, which has
 *                                          none by its standard, only where it is about now
 *      6m0s   1.5s   20ms                  a duration with units
 *      Sun, 06 Nov 1994 08:49:37 GMT       an HTTP date (RFC 9110, 5.6.7), in its three forms
 *      1994-11-06T08:49:37Z                RFC 3339
 */

/** What a bare number means. */
export type NumberForm = 'seconds' | 'milliseconds' | 'epoch-seconds' | 'epoch-milliseconds';

export const numberForms: readonly NumberForm[] = ['seconds', 'milliseconds', 'epoch-seconds', 'epoch-milliseconds'];

/** What a bare number is taken for; nothing where it is none that anybody would mean. */
export type GuessForm = (number: number, nowMs: number) => NumberForm | undefined;

// 30,000 years. Whoever says more means no less, and must not be taken for one who says nothing; what comes of it stays exact, also as a date.
const most = 1e15;

/** A wait that whoever adds it to a time can go on with. */
export function boundedMs(ms: number): number {
  return Math.min(ms, most);
}

const decimal = /^\d+(?:\.\d{1,15})?$/;

/** A number of 0 or more, or nothing: no sign, no exponent, no NaN. One that a float may not hold exactly is the largest that is read. */
export function readNumber(text: string): number | undefined {
  return decimal.test(text) ? Math.min(Number(text), most) : undefined;
}

/** Milliseconds from `nowMs` on, at least 0; nothing where the text says no time. Bare numbers have the given form, or it is guessed. */
export function readWaitMs(text: string, nowMs: number, form: NumberForm | GuessForm = formBySize): number | undefined {
  const number = readNumber(text);
  if (number !== undefined) return ofNumber(number, nowMs, form);
  const atMs = readHttpDate(text, nowMs) ?? readTimestamp(text);
  return atMs === undefined ? readUnits(text) : Math.max(0, atMs - nowMs);
}

// As seconds from now 31 years, as seconds since the epoch September 2001: nobody means the first or the past.
const firstEpochSeconds = 1e9;
// As seconds the year 5138, as milliseconds March 1973.
const firstEpochMs = 1e11;
const lastEpochMs = 1e14;

function ofNumber(number: number, nowMs: number, given: NumberForm | GuessForm): number | undefined {
  const form = typeof given === 'function' ? given(number, nowMs) : given;
  if (form === undefined) return undefined;
  const ms = form.endsWith('milliseconds') ? number : number * 1000;
  return boundedMs(Math.max(0, form.startsWith('epoch') ? ms - nowMs : ms));
}

function formBySize(number: number): NumberForm | undefined {
  if (number < firstEpochSeconds) return 'seconds';
  if (number < firstEpochMs) return 'epoch-seconds';
  return number < lastEpochMs ? 'epoch-milliseconds' : undefined;
}

// The longest quota that is common is a month's. On the other side it leaves room for clocks that differ.
const aboutNowMs = 32 * 86_400_000;

/** `Retry-After` is in seconds (RFC 9110, 10.2.3), however many. Some send an epoch time all the same, and that is about now. */
export function formOfRetryAfter(number: number, nowMs: number): NumberForm {
  if (Math.abs(number * 1000 - nowMs) <= aboutNowMs && number >= firstEpochSeconds) return 'epoch-seconds';
  return Math.abs(number - nowMs) <= aboutNowMs && number >= firstEpochMs ? 'epoch-milliseconds' : 'seconds';
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // the micro sign
  μs: 1e-3, // the Greek letter
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const withUnits = /^(?:\d+(?:\.\d{1,15})?(?:ns|us|µs|μs|ms|s|m|h|d))+$/;
const oneUnit = /(\d+(?:\.\d+)?)([a-zµμ]+)/g;

function readUnits(text: string): number | undefined {
  if (text.length > 100 || !withUnits.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(oneUnit)) ms += Number(count) * unitMs[unit!]!;
  return boundedMs(ms);
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';
const httpDates = [
  // The one to write, and the two that are to be read: RFC 850's and that of C's asctime(), which is in GMT as well.
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{1,2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${time} (?:GMT|UTC)$`),
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/** Milliseconds since the epoch of an HTTP date. Not by `Date.parse`, which reads `x 1` as a day in 2001, and asctime's as local time. */
export function readHttpDate(text: string, nowMs: number): number | undefined {
  for (const pattern of httpDates) {
    const parts = pattern.exec(text)?.groups;
    if (!parts) continue;
    const month = months.indexOf(parts.month!) + 1;
    return readDate({ ...parts, month: String(month), year: fullYear(parts.year!, nowMs) });
  }
  return undefined;
}

/** Of a year with two digits, the one that is not more than 50 years ahead (RFC 9110, 5.6.7). */
function fullYear(year: string, nowMs: number): string {
  if (year.length === 4) return year;
  const thisYear = new Date(nowMs).getUTCFullYear();
  const sameCentury = thisYear - (thisYear % 100) + Number(year);
  return String(sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury);
}

const timestamp =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?(?:[Zz]|(?<sign>[+-])(?<aheadHour>\d\d):?(?<aheadMinute>\d\d))?$/;

function readTimestamp(text: string): number | undefined {
  const parts = timestamp.exec(text)?.groups;
  const atMs = parts && readDate(parts);
  if (atMs === undefined) return undefined;
  const fractionMs = Number(`0.${parts!.fraction ?? 0}`) * 1000;
  const aheadMs = (Number(parts!.aheadHour ?? 0) * 60 + Number(parts!.aheadMinute ?? 0)) * 60_000;
  return atMs + fractionMs - (parts!.sign === '-' ? -aheadMs : aheadMs);
}

/** A date that exists, in UTC. */
function readDate(parts: { readonly [part: string]: string | undefined }): number | undefined {
  const [year, month, day, hour, minute, second] = ['year', 'month', 'day', 'hour', 'minute', 'second'].map((part) =>
    Number(parts[part] ?? 0),
  ) as [number, number, number, number, number, number];
  // A second of 60 is a leap second.
  if (year < 1000 || hour > 23 || minute > 59 || second > 60) return undefined;
  const atMs = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? atMs : undefined;
}
