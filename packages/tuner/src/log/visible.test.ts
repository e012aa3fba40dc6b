import { expect, it } from 'vitest';
import { visible } from './visible.ts';

const shown = (text: string | Uint8Array) => {
  const bytes = Buffer.from(text);
  return visible(bytes, 0, bytes.length);
};

// biome-ignore format: aligned rows
it.each<[what: string, text: string | Uint8Array, shown: string]>([
  ['plain text',                    'GET /a "b" é 漢 😀',             'GET /a "b" é 漢 😀'],
  ['controls',                      'a\0\t\u001b[2J\u007f\u009b',     'a\\x00\\x09\\x1b[2J\\x7f\\x9b'],
  ['what reorders text',            'a\u202eb\u2066c\u200fd',         'a\\u{202e}b\\u{2066}c\\u{200f}d'],
  ['what ends a line elsewhere',    'a\u2028b\u2029c\u0085d',         'a\\u{2028}b\\u{2029}c\\x85d'],
  ['what cannot be seen',           'a\u200bb\u00adc\ufeffd\u00a0e',  'a\\u{200b}b\\xadc\\u{feff}d\\xa0e'],
  ['tags',                          'a\u{e0041}b',                    'a\\u{e0041}b'],
  ['bytes that are no text',        Uint8Array.of(0x61, 0xff, 0x62),  'a\ufffdb'],
  ['120 bytes',                     'x'.repeat(120),                  'x'.repeat(120)],
  ['more',                          'x'.repeat(121),                  `${'x'.repeat(120)}...`],
  ['a character that is cut',       `${'x'.repeat(119)}😀`,           `${'x'.repeat(119)}...`],
])('%s', (_, text, expected) => {
  expect(shown(text)).toBe(expected);
});
