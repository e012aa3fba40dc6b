import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodedPath } from './decoded-path.ts';

describe('a decoded path', () => {
  // biome-ignore format: aligned rows
  it.each([
    // path                     decoded
    [ '/log-in',               '/log-in' ],
    [ '',                      '' ],
    [ '/%6cog%2Din',           '/log-in' ],
    [ '/%4C%4f%47',            '/LOG' ],
    [ '/a%20b%3Fc%23d%40e',    '/a b?c#d@e' ],
    [ '/caf%c3%A9/%E2%82%AC/%F0%9F%98%80', '/café/€/😀' ],
    [ '/a%2Fb%2fc',            '/a/b/c' ],
    [ '/a\\b%5Cc',             '/a/b/c' ],
    [ '/a/../b/%2e%2E/./c',    '/a/../b/.././c' ],  // steps back are left
    [ '/a//b',                 '/a//b' ],
    [ '/100%25',               '/100%25' ],
    [ '/%2541',                '/%2541' ],          // read once, not twice
    [ '/%25%34%31',            '/%2541' ],
    [ '/%',                    '/%' ],
    [ '/%6',                   '/%6' ],
    [ '/%zz%6C',               '/%zzl' ],
    [ '/%%36c',                '/%%36c' ],          // `%6c` would be an l the next time
    [ '/%6%63',                '/%6%63' ],
    [ '/%ff%6C',               '/%ffl' ],           // no UTF-8
    [ '/%C3%28',               '/%C3(' ],
    [ '/%C3',                  '/%C3' ],
    [ '/%C0%AE',               '/%C0%AE' ],         // a dot in more bytes than it needs
    [ '/%E0%80%AF',            '/%E0%80%AF' ],
    [ '/%ED%A0%80',            '/%ED%A0%80' ],      // half of a surrogate pair
    [ '/%F4%90%80%80',         '/%F4%90%80%80' ],   // beyond Unicode
    [ '/caf%C3%A9/%ff',        '/café/%ff' ],
  ])('of %s is %s', (path, decoded) => {
    expect(decodedPath(path)).toBe(decoded);
  });

  const pieces = constantFrom(
    '%',
    '2',
    '5',
    '6',
    'c',
    'C',
    '3',
    'A',
    '9',
    'e',
    'f',
    '8',
    '/',
    '\\',
    '.',
    'z',
    'é',
    '%25',
    '%c3',
  );
  const hostile = string({ unit: pieces, maxLength: 24 });
  const unreserved = string({ unit: constantFrom(...'abcxyzABCXYZ0189-._~/') });

  it('stays what it is when it is decoded again, whatever was sent', () => {
    assert(
      property(hostile, (path) => {
        const once = decodedPath(path);
        expect(decodedPath(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the path itself where nothing is encoded', () => {
    assert(
      property(unreserved, (path) => {
        expect(decodedPath(path)).toBe(path);
      }),
    );
  });

  it('is what was encoded, whether all of it or the least', () => {
    const text = string({ unit: 'grapheme' }).filter((path) => !/[%\\]/.test(path));
    const every = (path: string) =>
      [...new TextEncoder().encode(path)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    assert(
      property(text, (path) => {
        expect(decodedPath(encodeURIComponent(path))).toBe(path);
        expect(decodedPath(encodeURI(path))).toBe(path);
        expect(decodedPath(every(path))).toBe(path);
      }),
    );
  });

  it('of wrong escapes, as many as a request can have, costs what their length does', () => {
    for (const piece of ['%', '%3', '%ff', '%e0%80', '%25', '%%33'])
      expect(decodedPath(piece.repeat(20_000))).toBe(piece.repeat(20_000));
  });
});
