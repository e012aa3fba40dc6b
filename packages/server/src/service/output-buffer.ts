/** Bytes that go out in one write. All connections of a thread share one: whoever writes sends what it wrote in the same turn. */

const firstBytes = 64 * 1024;

/** The part of a socket that takes bytes. */
export interface OutputSink {
  readonly writableLength: number;
  /** Under TLS it is never done at once. */
  readonly encrypted?: boolean;
  write(bytes: Buffer): boolean;
}

export class OutputBuffer {
  /** Bytes that were written and not sent. */
  length = 0;
  protected buffer: Buffer = Buffer.allocUnsafeSlow(firstBytes);

  /** Everything that was written, into the socket. */
  flush(sink: OutputSink): void {
    if (this.length === 0) return;
    const written = this.buffer.subarray(0, this.length);
    // A socket that has not yet got rid of the last bytes keeps these, too, so it gets a buffer that is no larger than they are.
    const isBusy = sink.writableLength > 0 || sink.encrypted === true;
    sink.write(isBusy ? Buffer.from(written) : written);
    this.length = 0;
    // Nothing left to send: the kernel has it, and the buffer is ours again.
    const isKept = !isBusy && sink.writableLength > 0;
    if (isKept || this.buffer.length > firstBytes) this.buffer = Buffer.allocUnsafeSlow(firstBytes);
  }

  append(bytes: Buffer): void {
    this.reserve(bytes.length);
    this.length += bytes.copy(this.buffer, this.length);
  }

  protected reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.buffer.length, this.length + bytes));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
