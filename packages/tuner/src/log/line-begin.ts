/** Where a line begins: the first may have the mark of UTF-8 before it, and a file that was truncated begins with NULs. */

/** Behind what is neither text nor a blank. */
export function behindMarks(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf && at + 2 < end) at += 2;
    else if (byte !== 0 && byte !== 0x0d) break;
  }
  return at;
}

/** Behind that and all blanks and tabs. */
export function behindNothing(bytes: Uint8Array, start: number, end: number): number {
  let at = behindMarks(bytes, start, end);
  while (at < end && (bytes[at] === 0x20 || bytes[at] === 0x09)) at = behindMarks(bytes, at + 1, end);
  return at;
}
