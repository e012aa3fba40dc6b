/**
 * The body of one request, that can be sent more than once.
 *
 *      client ──► source ──► kept, up to `mostBytes` ──► the reader of this attempt
 *                              └─ again from the start ──► the reader of the next
 *
 * A client sends its body once. What was read of it is kept, so that another member can get all of it; once more was read than is
 * kept, the attempt under way is the last.
 *
 * Before the first attempt it can be collected: until it is whole, or as much of it is there as is kept. So a client that sends a little
 * and then nothing has no connection to a member meanwhile.
 */
import type { Body, BodyReader } from '../exchange.ts';
import type { Framing, HeaderList } from '../wire/message.ts';

const nothing = Buffer.alloc(0);

/** What is held of bodies that are being collected, of all requests of an upstream. */
export interface Collecting {
  bytes: number;
}

// Clients decide how many they send at once, and one HTTP/2 connection has many streams. Beyond it bodies go on as they come.
const mostCollectingBytes = 64 * 1024 * 1024;

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
  private collecting: { readonly all: Collecting; readonly act: () => void } | undefined;

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

  /** It broke off, or was none. */
  get hasFailed(): boolean {
    return this.error !== undefined;
  }

  /** Acts once it is whole, or as much of it is there as is kept, or it broke off. Nothing more is read before somebody reads it. */
  collect(all: Collecting, act: () => void): void {
    if (this.source === undefined) throw new Error('This request has no body to read.');
    this.collecting = { all, act };
    this.hasBegun = true;
    this.source.read(this);
  }

  /** What has come is enough. */
  stopCollecting(): void {
    const { collecting } = this;
    if (collecting === undefined) return;
    this.collecting = undefined;
    collecting.all.bytes -= this.keptBytes;
    if (this.isUnderWay) this.source?.pause();
    collecting.act();
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
    if (this.collecting === undefined) this.reader?.chunk(bytes);
    else this.collected(this.collecting.all, bytes.length);
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
    this.stopCollecting();
    this.reader?.end(trailers);
  }

  failed(error: Error): void {
    this.error = error;
    this.stopCollecting();
    this.reader?.failed(error);
  }

  private collected(all: Collecting, bytes: number): void {
    all.bytes += bytes;
    // Its end follows its last byte.
    const isEnough = this.keptBytes >= this.mostBytes && this.keptBytes !== this.framing;
    if (isEnough || all.bytes >= mostCollectingBytes) this.stopCollecting();
  }

  private keep(bytes: Buffer): void {
    if (this.isForgotten) return;
    const needed = this.keptBytes + bytes.length;
    // The bytes that make it too many, while it is collected, are kept for its first reader.
    if (needed > this.mostBytes && this.collecting === undefined) {
      this.isForgotten = true;
      this.kept = nothing;
      this.keptBytes = 0;
      return;
    }
    if (needed > this.kept.length) {
      // Twice as much each time, so that many small chunks are not moved again and again; not all that was only announced.
      const room = typeof this.framing === 'number' ? Math.min(this.framing, 2 * needed) : 2 * needed;
      const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(this.mostBytes, room)));
      this.kept.copy(larger, 0, 0, this.keptBytes);
      this.kept = larger;
    }
    this.keptBytes += bytes.copy(this.kept, this.keptBytes);
  }
}
