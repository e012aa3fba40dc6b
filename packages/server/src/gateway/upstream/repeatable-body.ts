/**
 * The body of one request, that can be sent more than once.
 *
 *      client ──► source ──► kept, up to `mostBytes` ──► the reader of this attempt
 *                              └─ again from the start ──► the reader of the next
 *
 * A client sends its body once. What was read of it is kept, so that another member can get all of it; once more was read than is
 * kept, the attempt under way is the last.
 */
import type { Body, BodyReader } from '../exchange.ts';
import type { Framing, HeaderList } from '../wire/message.ts';

const nothing = Buffer.alloc(0);

export class RepeatableBody implements BodyReader {
  readonly framing: Framing;
  private readonly source: Body | undefined;
  private readonly mostBytes: number;
  private kept: Buffer = nothing;
  private keptBytes = 0;
  private isForgotten = false;
  private reader: BodyReader | undefined;
  private hasBegun = false;
  private isPaused = false;
  private trailers: HeaderList | undefined;
  private error: Error | undefined;

  constructor(source: Body | undefined, framing: Framing, mostBytes: number) {
    this.source = source;
    this.framing = framing;
    this.mostBytes = mostBytes;
  }

  /** The request has no body at all. */
  get isNone(): boolean {
    return this.source === undefined;
  }

  /** Whether somebody has asked the client for it. */
  get isBegun(): boolean {
    return this.hasBegun;
  }

  /** Whether `read` can give all of it. */
  get isRepeatable(): boolean {
    return !this.isForgotten;
  }

  /** From its start, to one reader at a time. The bytes are the reader's own until it returns. */
  read(reader: BodyReader): void {
    if (this.source === undefined) throw new Error('This request has no body to read.');
    if (this.isForgotten) throw new Error(`More than ${this.mostBytes} bytes of this body were read: it is not kept.`);
    this.reader = reader;
    this.isPaused = false;
    if (!this.hasBegun) {
      this.hasBegun = true;
      this.source.read(this);
      return;
    }
    if (this.keptBytes > 0) reader.chunk(this.kept.subarray(0, this.keptBytes));
    if (this.reader !== reader) return;
    if (this.error !== undefined) reader.failed(this.error);
    else if (this.trailers !== undefined) reader.end(this.trailers);
    else if (!this.isPaused) this.source.resume();
  }

  /** Its reader wants no more of it. The client waits until the next one reads. */
  leave(): void {
    if (this.reader === undefined) return;
    this.reader = undefined;
    if (this.isUnderWay) this.source?.pause();
  }

  pause(): void {
    this.isPaused = true;
    if (this.isUnderWay) this.source?.pause();
  }

  resume(): void {
    this.isPaused = false;
    if (this.isUnderWay) this.source?.resume();
  }

  private get isUnderWay(): boolean {
    return this.trailers === undefined && this.error === undefined;
  }

  // --- What the client sends ---

  chunk(bytes: Buffer): void {
    this.keep(bytes);
    this.reader?.chunk(bytes);
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
    this.reader?.end(trailers);
  }

  failed(error: Error): void {
    this.error = error;
    this.reader?.failed(error);
  }

  private keep(bytes: Buffer): void {
    if (this.isForgotten) return;
    const needed = this.keptBytes + bytes.length;
    if (needed > this.mostBytes) {
      this.isForgotten = true;
      this.kept = nothing;
      this.keptBytes = 0;
      return;
    }
    if (needed > this.kept.length) {
      // Twice as much each time, so that many small chunks are not moved again and again.
      const room = typeof this.framing === 'number' ? this.framing : 2 * needed;
      const larger = Buffer.allocUnsafe(Math.min(this.mostBytes, Math.max(room, needed)));
      this.kept.copy(larger, 0, 0, this.keptBytes);
      this.kept = larger;
    }
    this.keptBytes += bytes.copy(this.kept, this.keptBytes);
  }
}
