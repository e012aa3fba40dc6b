/** Which of a cluster's 16384 slots a key belongs to: CRC16 (XMODEM) of its hash tag, or of all of it. */
import { codeUnitAt } from '../vocabulary/code-unit.ts';
import { invalid } from '../vocabulary/errors.ts';

const slots = 16_384;
const polynomial = 0x1021;
const OPEN = 0x7b;

const table = new Uint16Array(256).map((_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ polynomial : crc << 1;
  return crc;
});

const utf8 = new TextEncoder();
const beyondAscii = 0x80;

export function slotOf(key: string): number {
  if (typeof key !== 'string') throw invalid('key', 'a string', key);
  let crc = 0;
  for (let i = 0; i < key.length; i += 1) {
    const code = codeUnitAt(key, i);
    // Few keys have either: the others are gone through once, and nothing is made of them.
    if (code === OPEN || code >= beyondAscii) return slotOfBytes(utf8.encode(tagOf(key)));
    crc = ((crc << 8) & 0xffff) ^ table[((crc >> 8) ^ code) & 0xff]!;
  }
  return crc & (slots - 1);
}

function slotOfBytes(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ table[((crc >> 8) ^ byte) & 0xff]!;
  return crc & (slots - 1);
}

/** What stands between the first `{` and the next `}`, unless that is nothing. */
function tagOf(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}
