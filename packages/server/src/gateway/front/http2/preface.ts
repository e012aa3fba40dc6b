/** How a client says that it will speak HTTP/2, without having been asked (RFC 9113 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** `part`: so far it is one; the rest may follow. */
export function prefaceIn(bytes: Buffer, at: number): 'whole' | 'part' | 'none' {
  // Nothing else begins like this but PROPFIND and its like, which differ in the next byte.
  if (bytes[at] !== preface[0]) return 'none';
  const length = Math.min(bytes.length - at, preface.length);
  if (bytes.compare(preface, 0, length, at, at + length) !== 0) return 'none';
  return length === preface.length ? 'whole' : 'part';
}
