import { describe, expect, it } from 'vitest';
import { formOfRetryAfter, readHttpDate, readNumber, readWaitMs } from './waits.ts';

const nowMs = Date.UTC(2025, 5, 15, 15, 6, 40); // 1750000000 s

describe('a wait', () => {
  // biome-ignore format: aligned rows
  it.each<[string, number | undefined]>([
    [ '0',                                  0 ],
    [ '30',                            30_000 ],
    [ '1.5',                             1500 ],
    [ '999999999',            999_999_999_000 ],  // the last that is from now
    [ '1000000000',                         0 ],  // the first that is since the epoch, and over
    [ '1750000030',                    30_000 ],
    [ '1750000030.5',                  30_500 ],
    [ '1750000030123',                 30_123 ],
    [ '1749999999',                         0 ],
    [ '100000000000000',            undefined ],  // microseconds: nobody is known to mean them
    [ '9999999999999999',           undefined ],
    [ '',                           undefined ],
    [ '-1',                         undefined ],
    [ '+1',                         undefined ],
    [ '1e3',                        undefined ],
    [ '0x10',                       undefined ],
    [ '1,5',                        undefined ],
    [ 'NaN',                        undefined ],
    [ 'Infinity',                   undefined ],
    [ 'null',                       undefined ],
    [ '6m0s',                         360_000 ],
    [ '1s',                              1000 ],
    [ '20ms',                              20 ],
    [ '2m59.56s',                     179_560 ],
    [ '1h2m3s',                     3_723_000 ],
    [ '1d',                        86_400_000 ],
    [ '1500us',                           1.5 ],
    [ '1500µs',                           1.5 ],
    [ '1500μs',                           1.5 ],
    [ '1000000ns',                          1 ],
    [ '99999999999999999999d', 1_000_000_000_000_000 ],
    [ '1 s',                        undefined ],
    [ '1y',                         undefined ],
    [ 's',                          undefined ],
    [ 'Sun, 15 Jun 2025 15:07:10 GMT', 30_000 ],
    [ 'Sun, 15 Jun 2025 15:06:00 GMT',      0 ],
    [ '2025-06-15T15:07:10Z',          30_000 ],
    [ '2025-06-15T15:07:10.25Z',       30_250 ],
    [ '2025-06-15 15:07:10',           30_000 ],
    [ '2025-06-15T17:07:10+02:00',     30_000 ],
    [ '2025-06-15T11:37:10-0330',      30_000 ],
    [ '2025-06-15T15:08Z',             80_000 ],
    [ '2025-02-30T15:07:10Z',       undefined ],  // no such day
    [ '2025-13-01T15:07:10Z',       undefined ],
    [ '2025-06-15T24:07:10Z',       undefined ],
    [ '2025-06-15',                 undefined ],
    [ 'x 1',                        undefined ],  // Date.parse would read the year 2001
    [ 'Foo, 15 Foo 2025 15:07:10 GMT', undefined ],
  ])('%j is %d ms', (text, waitMs) => {
    expect(readWaitMs(text, nowMs)).toBe(waitMs);
  });
});

describe('a number in Retry-After', () => {
  const dayMs = 86_400_000;

  // biome-ignore format: aligned rows
  it.each<[string, number]>([
    [ '30',                               30_000 ],
    [ '1000000000',            1_000_000_000_000 ],  // 31 years, and no time in 2001
    [ '1750000030',                       30_000 ],  // an epoch time: no standard, but seen
    [ '1749999990',                            0 ],  // that is just over
    [ '1750000030123',                    30_123 ],
    [ '1752764800',                   32 * dayMs ],  // as far ahead as one is believed to be
    [ '1752764801',            1_752_764_801_000 ],  // and one second more
    [ '9999999999',           9_999_999_999_000 ],
    [ '999999999999',    999_999_999_999_000 ],
    [ '1000000000001', 1_000_000_000_000_000 ],  // as long as any wait is
    [ '99999999999999', 1_000_000_000_000_000 ],
    [ '1000000000000000', 1_000_000_000_000_000 ],
    [ '00000000000000000030',             30_000 ],
  ])('%s is %d ms', (text, waitMs) => {
    expect(readWaitMs(text, nowMs, formOfRetryAfter)).toBe(waitMs);
  });

  it('is seconds also where the clock begins at 0', () => {
    expect(readWaitMs('30', 0, formOfRetryAfter)).toBe(30_000);
    expect(readWaitMs('5', 5000, formOfRetryAfter)).toBe(5000);
  });
});

describe('an HTTP date', () => {
  const exampleMs = Date.UTC(1994, 10, 6, 8, 49, 37);

  // biome-ignore format: aligned rows
  it.each<[string, number | undefined]>([
    [ 'Sun, 06 Nov 1994 08:49:37 GMT',   exampleMs ],  // the three of RFC 9110
    [ 'Sunday, 06-Nov-94 08:49:37 GMT',  exampleMs ],
    [ 'Sun Nov  6 08:49:37 1994',        exampleMs ],
    [ 'Sun, 6 Nov 1994 08:49:37 UTC',    exampleMs ],
    [ 'Sunday, 06-Nov-74 08:49:37 GMT',  Date.UTC(2074, 10, 6, 8, 49, 37) ],  // less than 50 years ahead
    [ 'Sunday, 06-Nov-76 08:49:37 GMT',  Date.UTC(1976, 10, 6, 8, 49, 37) ],  // more
    [ 'Sat, 31 Dec 2016 23:59:60 GMT',   Date.UTC(2017, 0, 1) ],  // a leap second
    [ 'Sun, 06 Nov 1994 08:49:37 CET',   undefined ],
    [ 'Sun, 06 Nov 1994 08:49:61 GMT',   undefined ],
    [ 'Sun, 06 Nov 1994',                undefined ],
    [ '784111777',                       undefined ],
  ])('%s', (text, atMs) => {
    expect(readHttpDate(text, nowMs)).toBe(atMs);
  });
});

describe('a number', () => {
  it.each(['1', '0', '1.25', '999999999999999'])('%s is one', (text) => {
    expect(readNumber(text)).toBe(Number(text));
  });
  it.each(['1000000000000001', '99999999999999999999.5'])('%s is the largest', (text) => {
    expect(readNumber(text)).toBe(1e15);
  });
  it('that is larger than a float can be is the largest as well', () => {
    expect(readNumber('9'.repeat(1000))).toBe(1e15);
  });
  it.each(['', ' 1', '-0', '1.', '.5', '1e1', '١'])('%j is none', (text) => {
    expect(readNumber(text)).toBeUndefined();
  });
});
