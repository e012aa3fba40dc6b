/** Where a name is put together that no range of the line holds as it is. Of a fixed size: what is longer is cut off. */
import type { ByteRange } from './log-line.ts';

/** No name of a client or a route is longer. Whoever keeps names keeps no more of each. */
export const longestName = 1024;

export class NameBuffer {
  readonly bytes = new Uint8Array(longestName);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  push(byte: number): void {
    if (this.length < longestName) {
      this.bytes[this.length] = byte;
      this.length += 1;
    }
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end && this.length < longestName; at += 1) {
      this.bytes[this.length] = bytes[at]!;
      this.length += 1;
    }
  }

  appendText(text: string): void {
    for (let i = 0; i < text.length; i += 1) this.push(text.charCodeAt(i));
  }

  /** Makes the range one of what is in here. */
  lend(range: ByteRange): void {
    range.bytes = this.bytes;
    range.start = 0;
    range.end = this.length;
  }
}

/** Makes the range one of these bytes, cut to what a name may have. */
export function setRange(range: ByteRange, bytes: Uint8Array, start: number, end: number): void {
  range.bytes = bytes;
  range.start = start;
  range.end = end - start > longestName ? start + longestName : end;
}
