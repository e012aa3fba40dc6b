/** Bytes that came and that nobody has taken yet. */

const nothing = Buffer.alloc(0);

export class ReadAhead {
  /** Those from `at` on are not taken. */
  bytes: Buffer = nothing;
  at = 0;
  /** Of our own, where pieces are put together; `bytes` is its beginning. */
  #room: Buffer = nothing;

  get length(): number {
    return this.bytes.length - this.at;
  }

  append(bytes: Buffer): void {
    if (this.length === 0) {
      // Nearly always: nothing is copied.
      this.bytes = bytes;
      this.at = 0;
      this.#room = nothing;
      return;
    }
    const used = this.bytes.length;
    const needed = used + bytes.length;
    if (needed > this.#room.length) this.#move(needed - this.at);
    const start = this.bytes.length;
    bytes.copy(this.#room, start);
    this.bytes = this.#room.subarray(0, start + bytes.length);
  }

  take(end: number): void {
    this.at = end;
    if (end === this.bytes.length) this.clear();
  }

  clear(): void {
    this.bytes = nothing;
    this.at = 0;
    this.#room = nothing;
  }

  /** Into twice the room, so that a client that sends byte by byte does not make us copy everything each time. */
  #move(needed: number): void {
    const room = Buffer.allocUnsafe(Math.max(1024, needed * 2));
    const kept = this.bytes.copy(room, 0, this.at);
    this.#room = room;
    this.bytes = room.subarray(0, kept);
    this.at = 0;
  }
}
