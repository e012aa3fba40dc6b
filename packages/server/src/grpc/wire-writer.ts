/**
 * Writes protobuf's wire format, forward, into one buffer that is used again for every message.
 *
 * A nested message's length is known only after it was written: one byte is kept free for it, and only a message of 128 bytes or more,
 * whose length needs a second byte, is moved. Most statuses are shorter.
 */

const startBytes = 4096;
// One large answer must not keep its memory for good.
const keptBytesMax = 65_536;

export class WireWriter {
  #bytes = Buffer.allocUnsafe(startBytes);
  #offset = 0;

  /** Begins anew, with `headBytes` left free at the front. */
  start(headBytes: number): void {
    if (this.#bytes.length > keptBytesMax) this.#bytes = Buffer.allocUnsafe(startBytes);
    this.#offset = headBytes;
  }

  /** A copy of what was written, with the free bytes at its front. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#offset));
  }

  /** Begins a nested message; what it returns is for `close`. */
  open(tag: number): number {
    this.#room(6);
    this.#bytes[this.#offset++] = tag;
    return ++this.#offset;
  }

  close(start: number): void {
    const length = this.#offset - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    const moreBytes = varintBytes(length) - 1;
    this.#room(moreBytes);
    this.#bytes.copyWithin(start + moreBytes, start, this.#offset);
    this.#offset = start - 1;
    this.#varint(length);
    this.#offset += length;
  }

  /** Always written, also when empty: callers leave defaults out where the protocol does. */
  string(tag: number, text: string): void {
    const start = this.open(tag);
    // Three bytes is the most that one UTF-16 unit becomes.
    this.#room(text.length * 3);
    this.#offset += this.#bytes.write(text, this.#offset);
    this.close(start);
  }

  /** Any whole number from 0 to 2^53; what is none becomes the nearest, because a varint has no sign, fraction or infinity. */
  uint(tag: number, value: number, most = Number.MAX_SAFE_INTEGER): void {
    this.#room(11);
    this.#bytes[this.#offset++] = tag;
    this.#varint(value > 0 ? Math.min(Math.floor(value), most) : 0);
  }

  double(tag: number, value: number): void {
    this.#room(9);
    this.#bytes[this.#offset++] = tag;
    this.#offset = this.#bytes.writeDoubleLE(value, this.#offset);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#offset++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#offset++] = rest;
  }

  #room(count: number): void {
    if (this.#offset + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#offset + count));
    this.#bytes.copy(larger, 0, 0, this.#offset);
    this.#bytes = larger;
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) count++;
  return count;
}
