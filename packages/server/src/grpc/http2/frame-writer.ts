/** Writes frames for whichever connection it is turned to. Those of one turn of the event loop leave together. */
import { OutputBuffer, type OutputSink } from '../../service/output-buffer.ts';
import { frameHeadBytes } from './frame.ts';

// What has come together leaves earlier when it is so much.
const writeBytes = 64 * 1024;

export class FrameWriter extends OutputBuffer {
  #sink: OutputSink | undefined;
  #isAwaited = false;

  /** What is written from now on is for this connection. It leaves with `send`, or by itself at the end of this turn. */
  turnTo(sink: OutputSink): void {
    if (this.#sink !== sink) {
      this.send();
      this.#sink = sink;
    }
    if (this.length >= writeBytes) this.flush(sink);
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    queueMicrotask(() => {
      this.#isAwaited = false;
      this.send();
    });
  }

  send(): void {
    if (this.#sink !== undefined) this.flush(this.#sink);
    this.#sink = undefined;
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer, start = 0, end = payload.length): void {
    const length = end - start;
    this.reserve(frameHeadBytes + length);
    const { buffer } = this;
    let at = this.length;
    buffer[at++] = length >>> 16;
    buffer[at++] = length >>> 8;
    buffer[at++] = length;
    buffer[at++] = type;
    buffer[at++] = flags;
    buffer[at++] = streamId >>> 24;
    buffer[at++] = streamId >>> 16;
    buffer[at++] = streamId >>> 8;
    buffer[at++] = streamId;
    // Short ones are copied sooner by hand.
    if (length <= 64) for (let from = start; from < end; from++) buffer[at++] = payload[from]!;
    else at += payload.copy(buffer, at, start, end);
    this.length = at;
  }

  /** A frame whose payload is numbers of 32 bits. */
  numbers(type: number, streamId: number, ...values: readonly number[]): void {
    const payload = Buffer.allocUnsafe(4 * values.length);
    for (const [index, value] of values.entries()) payload.writeUInt32BE(value, 4 * index);
    this.frame(type, 0, streamId, payload);
  }
}
