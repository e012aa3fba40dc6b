/** CRC-32 as in zip, PNG and nginx (polynomial 0xEDB88320, reflected). */

const table = new Int32Array(256).map((_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Of nothing yet. */
export const crc32Start = -1;

/** Takes more bytes in; `crc32End` turns the result into the checksum. In two steps, because nginx goes on from the same beginning many times. */
export function crc32More(begun: number, bytes: Uint8Array): number {
  let crc = begun;
  for (let i = 0; i < bytes.length; i += 1) crc = (crc >>> 8) ^ table[(crc ^ bytes[i]!) & 0xff]!;
  return crc;
}

export function crc32End(begun: number): number {
  return ~begun >>> 0;
}

export function crc32(bytes: Uint8Array): number {
  return crc32End(crc32More(crc32Start, bytes));
}
