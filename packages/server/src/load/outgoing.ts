/** Bytes that are to be sent with one write. */
export class Outgoing {
  bytes = Buffer.allocUnsafeSlow(4096);
  length = 0;

  /** Makes room and says where it is. */
  reserve(count: number): number {
    const at = this.length;
    if (at + count > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, at + count));
      this.bytes.copy(larger, 0, 0, at);
      this.bytes = larger;
    }
    this.length = at + count;
    return at;
  }

  append(bytes: Buffer): void {
    bytes.copy(this.bytes, this.reserve(bytes.length));
  }

  /** A copy: the socket may keep what it is given. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length));
    this.length = 0;
    return taken;
  }
}
