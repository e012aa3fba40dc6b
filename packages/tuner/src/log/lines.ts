/**
 * Cuts chunks into lines, wherever the chunks were cut. A line that lies within a chunk is not copied; of one that lies across them, no more
 * than `longestLineBytes` are kept, and the rest is let go by.
 *
 *      chunk   │ ...\n 192.0.2.1 - - [15/N │ ov/2026 ...\n 192.0. │
 *                      └── kept, until the ─┴─ end has come
 */

/** Longer than any head that a server takes. */
export const longestLineBytes = 256 * 1024;

/** A line without its end. `isCut`: it was longer, and this is its beginning. */
export type TakeBytes = (bytes: Uint8Array, start: number, end: number, isCut: boolean) => void;

const newline = 0x0a;
const carriageReturn = 0x0d;

export class LineCutter {
  readonly #take: TakeBytes;
  #kept = new Uint8Array(4096);
  #keptLength = 0;
  /** Of the line that has begun, the kept and the others. */
  #begunBytes = 0;

  constructor(take: TakeBytes) {
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    if (this.#begunBytes > 0) {
      const end = chunk.indexOf(newline);
      this.#keep(chunk, 0, end < 0 ? chunk.length : end);
      if (end < 0) return;
      this.end();
      start = end + 1;
    }
    for (let end = chunk.indexOf(newline, start); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#give(chunk, start, end, end - start);
      start = end + 1;
    }
    this.#keep(chunk, start, chunk.length);
  }

  /** The last line may have no end of its own. */
  end(): void {
    if (this.#begunBytes === 0) return;
    const bytes = this.#begunBytes;
    const kept = this.#keptLength;
    this.#begunBytes = 0;
    this.#keptLength = 0;
    this.#give(this.#kept, 0, kept, bytes);
  }

  #give(bytes: Uint8Array, start: number, end: number, lineBytes: number): void {
    if (lineBytes > longestLineBytes) this.#take(bytes, start, start + longestLineBytes, true);
    else this.#take(bytes, start, end > start && bytes[end - 1] === carriageReturn ? end - 1 : end, false);
  }

  #keep(chunk: Uint8Array, start: number, end: number): void {
    this.#begunBytes += end - start;
    const length = Math.min(end - start, longestLineBytes - this.#keptLength);
    if (length <= 0) return;
    const needed = this.#keptLength + length;
    if (needed > this.#kept.length) {
      const larger = new Uint8Array(Math.min(longestLineBytes, Math.max(needed, this.#kept.length * 2)));
      larger.set(this.#kept.subarray(0, this.#keptLength));
      this.#kept = larger;
    }
    this.#kept.set(chunk.subarray(start, start + length), this.#keptLength);
    this.#keptLength = needed;
  }
}
