/** Which of a cluster's slots a key belongs to: CRC16 (XMODEM) of its hash tag, or of all of it. */
import { slots } from '../cluster/shards.ts';

const polynomial = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const table = new Uint16Array(256).map((_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ polynomial : crc << 1;
  return crc;
});

/** Of the key in `bytes[start..stop)`: where it lies, since every command of a cluster's node asks. */
export function keySlot(bytes: Uint8Array, start = 0, stop = bytes.length): number {
  let crc = 0;
  for (let at = start; at < stop; at += 1) {
    const byte = bytes[at]!;
    if (byte === OPEN) return slotOfTag(bytes, start, at, stop);
    crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ byte]!;
  }
  return crc & (slots - 1);
}

/** What stands between the first `{` and the next `}`, unless that is nothing: such keys share a node. */
function slotOfTag(bytes: Uint8Array, start: number, open: number, stop: number): number {
  let close = open + 1;
  while (close < stop && bytes[close] !== CLOSE) close += 1;
  const hasTag = close < stop && close > open + 1;
  let crc = 0;
  for (let at = hasTag ? open + 1 : start; at < (hasTag ? close : stop); at += 1) {
    crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ bytes[at]!]!;
  }
  return crc & (slots - 1);
}
