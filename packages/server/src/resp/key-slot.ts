/** Which of a cluster's slots a key belongs to: CRC16 (XMODEM) of its hash tag, or of all of it. */
export const slots = 16_384;

const polynomial = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const table = new Uint16Array(256).map((_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ polynomial : crc << 1;
  return crc;
});

export function keySlot(key: Buffer): number {
  let crc = 0;
  for (const byte of tagOf(key)) crc = ((crc << 8) & 0xffff) ^ table[((crc >> 8) ^ byte) & 0xff]!;
  return crc % slots;
}

/** What stands between the first `{` and the next `}`, unless that is nothing: such keys share a node. */
function tagOf(key: Buffer): Buffer {
  const open = key.indexOf(OPEN);
  const close = open < 0 ? -1 : key.indexOf(CLOSE, open + 1);
  return close > open + 1 ? key.subarray(open + 1, close) : key;
}
