import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { crc32, crc32End, crc32More, crc32Start } from './crc32.ts';
import { md5 } from './md5.ts';

const utf8 = new TextEncoder();
const hexOf = (words: Uint32Array) => Buffer.from(words.buffer).toString('hex');

describe('md5', () => {
  test.each([
    // RFC 1321, appendix A.5
    ['', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['a', '0cc175b9c0f1b6a831c399e269772661'],
    ['abc', '900150983cd24fb0d6963f7d28e17f72'],
    ['message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
    ['abcdefghijklmnopqrstuvwxyz', 'c3fcd3d76192e4007dfb496cca67e13b'],
    ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'd174ab98d277d9f5a5611c2c9f419d9f'],
    [
      '12345678901234567890123456789012345678901234567890123456789012345678901234567890',
      '57edf4a22be3c955ac49da2e2107b67a',
    ],
  ])('of %j is %s', (text, digest) => {
    expect(hexOf(md5(utf8.encode(text)))).toBe(digest);
  });

  it('is that of others for any bytes, at every length around the end of a block', () => {
    for (let length = 0; length < 200; length += 1) {
      const bytes = new Uint8Array(length).map((_, i) => (i * 37 + length) & 0xff);
      expect(hexOf(md5(bytes)), `${length} bytes`).toBe(createHash('md5').update(bytes).digest('hex'));
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300, size: 'max' }), (bytes) => {
        expect(hexOf(md5(bytes))).toBe(createHash('md5').update(bytes).digest('hex'));
      }),
    );
  });
});

describe('crc32', () => {
  test.each([
    ['', 0],
    ['123456789', 0xcbf43926],
    ['The quick brown fox jumps over the lazy dog', 0x414fa339],
  ])('of %j is %i', (text, checksum) => {
    expect(crc32(utf8.encode(text))).toBe(checksum);
  });

  it('may be taken piece by piece', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (first, second) => {
        const whole = new Uint8Array([...first, ...second]);
        expect(crc32End(crc32More(crc32More(crc32Start, first), second))).toBe(crc32(whole));
      }),
    );
  });
});
