import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { momentReader } from './moment.ts';

const read = (text: string, options?: { isMs: boolean }) => {
  const bytes = Buffer.from(text);
  return momentReader(options)(bytes, 0, bytes.length);
};
const utc = Date.UTC;

describe('moment', () => {
  // biome-ignore format: a row is a line
  const rows: [text: string, atMs: number][] = [
    ['15/Nov/2026:20:34:06 +0000',          utc(2026, 10, 15, 20, 34, 6)],
    ['15/nov/2026:20:34:06 +0000',          utc(2026, 10, 15, 20, 34, 6)],
    ['10/Oct/2000:13:55:36 -0700',          utc(2000, 9, 10, 20, 55, 36)],
    ['01/Jan/2026:00:30:00 +0530',          utc(2025, 11, 31, 19, 0, 0)],
    ['29/Feb/2024:12:00:00 +0000',          utc(2024, 1, 29, 12)],
    ['29/Feb/2000:12:00:00 +0000',          utc(2000, 1, 29, 12)],
    ['15/Nov/2026:20:34:06.789 +0100',      utc(2026, 10, 15, 19, 34, 6, 789)],
    ['15/Nov/2026:20:34:06',                utc(2026, 10, 15, 20, 34, 6)],       // no zone: UTC
    ['31/Dec/2016:23:59:60 +0000',          utc(2017, 0, 1)],                    // a leap second
    ['2026-11-15T20:34:06Z',                utc(2026, 10, 15, 20, 34, 6)],
    ['2026-11-15T20:34:06.123Z',            utc(2026, 10, 15, 20, 34, 6, 123)],
    ['2026-11-15T20:34:06.123999999Z',      utc(2026, 10, 15, 20, 34, 6, 123)],  // down, never up
    ['2026-11-15T20:34:06,5+01:00',         utc(2026, 10, 15, 19, 34, 6, 500)],
    ['2026-11-15t20:34:06-07',              utc(2026, 10, 16, 3, 34, 6)],
    ['2026-11-15T20:34+0530',               utc(2026, 10, 15, 15, 4)],
    ['2026-11-15 20:34:06',                 utc(2026, 10, 15, 20, 34, 6)],
    ['2026-11-15 20:34:06.5 UTC',           utc(2026, 10, 15, 20, 34, 6, 500)],
    ['2026-11-15 20:34:06 +0000 UTC',       utc(2026, 10, 15, 20, 34, 6)],
    ['2026/11/15 20:34:06',                 utc(2026, 10, 15, 20, 34, 6)],
    ['2026-11-15',                          utc(2026, 10, 15)],
    ['1794774846',                          1_794_774_846_000],
    ['1794774846.5241024',                  1_794_774_846_524],
    ['1794774846123',                       1_794_774_846_123],
    ['1794774846123.9',                     1_794_774_846_123],
    ['1794774846123456',                    1_794_774_846_123],
    ['1794774846123456789',                 1_794_774_846_123],
    ['0',                                   0],
    ['12.25',                               12_250],                             // counted from wherever the log begins
    ['-3',                                  -3000],
    ['1.794774846e9',                       1_794_774_846_000],                  // JSON may write it so
    ['1.794774846123E+9',                   1_794_774_846_123],
    ['1794774846123e-3',                    1_794_774_846_123],
    ['1.794774846123456e15',                1_794_774_846_123],
    ['-3e0',                                -3000],
    ['5138-11-16T09:46:40Z',                1e14],                               // the last that there is
  ];
  it.each(rows)('reads %s', (text, atMs) => {
    expect(read(text)).toBe(atMs);
  });

  // biome-ignore format: of a kind together
  it.each([
    '', '-', '.', 'yesterday', '12ms', '1e', '1e+', '1e9x', 'e9', '1.e9', '1e9999', '1e99', '0x10', 'NaN', 'Infinity', '1.', '.5', '1.2.3', '99999999999999999999',
    '15/Foo/2026:20:34:06 +0000', '32/Jan/2026:20:34:06 +0000', '00/Jan/2026:20:34:06 +0000', '31/Apr/2026:20:34:06 +0000',
    '29/Feb/2026:12:00:00 +0000', '29/Feb/1900:12:00:00 +0000', '15/Nov/0026:20:34:06 +0000', '15/Nov/20x6:20:34:06 +0000',
    '15/Nov/2026:24:00:00 +0000', '15/Nov/2026:20:60:00 +0000', '15/Nov/2026:20:34:61 +0000', '15/Nov/2026 20:34:06 +0000',
    '15/Nov/2026:20:34:06 *0000', '15/Nov/2026:20:34:06 +2400', '15/Nov/2026:20:34:06 +0060', '15-Nov-2026:20:34:06 +0000',
    '11/15/2026 20:34:06 +000000', '15/11/2026:20:34:06 +00000',
    '2026-13-01', '2026-02-30', '2026-11-15T', '2026-11-15T20', '2026-11-15T20:34:', '2026-11-15T20:34:06.', '2026-11-15x20:34:06',
    '2026-11-15T20:34:06 CET', '2026-11-15T20:34:06ZZ', '2026-11-15T20:34:06+', '2026-11-15T20:34:06+1', '2026-11-15T20:34:06+01:',
    '2026-11-15T20:34:06+01:0', '2026-11/15', '5138-11-16T09:46:41Z', '9999-12-31',
  ])('knows that %j is none', (text) => {
    expect(read(text)).toBeNaN();
  });

  it('counts milliseconds where the name of the field says so, however few', () => {
    expect(read('5', { isMs: true })).toBe(5);
    expect(read('1794774846123', { isMs: true })).toBe(1_794_774_846_123);
    expect(read('2026-11-15T20:34:06Z', { isMs: true })).toBe(utc(2026, 10, 15, 20, 34, 6));
    expect(read('5.5e3', { isMs: true })).toBe(5500);
    expect(read('100000000000000', { isMs: true })).toBe(1e14);
    for (const absurd of ['100000000000001', '-100000000000001', '1794774846123456', '9999999999999999999'])
      expect(read(absurd, { isMs: true })).toBeNaN();
  });

  it('does not look beyond the end that it is given', () => {
    const bytes = Buffer.from('1794774846123');
    expect(momentReader()(bytes, 0, 10)).toBe(1_794_774_846_000);
    const iso = Buffer.from('2026-11-15T20:34:06+01:00');
    expect(momentReader()(iso, 0, 19)).toBe(utc(2026, 10, 15, 20, 34, 6));
    expect(momentReader()(iso, 0, 10)).toBe(utc(2026, 10, 15));
  });

  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  const two = (value: number) => String(value).padStart(2, '0');
  const anyMoment = fc.record({
    atMs: fc.integer({ min: utc(1000, 0, 1), max: utc(5138, 10, 16) }),
    zoneMinutes: fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
  });

  it('agrees with Date about every moment in every zone, one reader for all of them', () => {
    const reader = momentReader();
    const readBytes = (text: string) => reader(Buffer.from(text), 0, text.length);
    fc.assert(
      fc.property(anyMoment, ({ atMs, zoneMinutes }) => {
        const local = new Date(atMs + zoneMinutes * 60_000);
        fc.pre(local.getUTCFullYear() >= 1000 && local.getUTCFullYear() <= 9999);
        const iso = local.toISOString();
        const [hours, minutes] = [two(Math.trunc(Math.abs(zoneMinutes) / 60)), two(Math.abs(zoneMinutes) % 60)];
        const sign = zoneMinutes < 0 ? '-' : '+';
        expect(readBytes(`${iso.slice(0, -1)}${sign}${hours}:${minutes}`)).toBe(atMs);
        const day = `${two(local.getUTCDate())}/${months[local.getUTCMonth()]}/${local.getUTCFullYear()}`;
        expect(readBytes(`${day}:${iso.slice(11, 19)} ${sign}${hours}${minutes}`)).toBe(Math.floor(atMs / 1000) * 1000);
      }),
      { numRuns: 1000 },
    );
  });

  it('agrees with Date about which days there are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 5137 }), fc.nat(13), fc.nat(32), (year, month, day) => {
        const text = `${year}-${two(month)}-${two(day)}`;
        const date = new Date(utc(year, month - 1, day));
        const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month >= 1;
        expect(read(text)).toBe(exists ? date.getTime() : Number.NaN);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws, and is a whole number or none, whatever the bytes', () => {
    const reader = momentReader();
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .string({ unit: fc.constantFrom(...'0123456789/-:.+ TZNovJan'), maxLength: 30 })
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(bytes, (any) => {
        const atMs = reader(any, 0, any.length);
        expect(Number.isNaN(atMs) || Number.isInteger(atMs)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
