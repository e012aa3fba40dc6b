/** Bytes that are to be sent with one write. */
import type { Socket } from 'node:net';

const firstBytes = 4096;

export class Outgoing {
  bytes = Buffer.allocUnsafeSlow(firstBytes);
  length = 0;
  /** The beginning of `bytes` that was sent last. Requests have the same length: it is often the same again. */
  private sent = this.bytes.subarray(0, 0);

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

  /** Sends all of it. The buffer is used again, unless the system did not take everything: then the socket keeps it. */
  writeTo(socket: Pick<Socket, 'write' | 'writableLength'>): void {
    const { bytes, length } = this;
    if (this.sent.length !== length || this.sent.buffer !== bytes.buffer) this.sent = bytes.subarray(0, length);
    this.length = 0;
    socket.write(this.sent);
    if (socket.writableLength > 0) this.bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  /** A copy, for whoever keeps it. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length));
    this.length = 0;
    return taken;
  }
}
