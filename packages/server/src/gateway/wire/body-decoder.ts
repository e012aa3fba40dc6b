/**
 * A body as it comes from a connection, without its framing. Chunks are taken out of their frames here and are framed anew by whoever sends them
 * on: sizes, extensions and line ends that the next hop might read differently never get there.
 *
 *      5;a=b CRLF  hello CRLF   0 CRLF  X-Sum: 1 CRLF  CRLF
 *      └── ChunkHead ──┘ └ data ┘ └─ last ┘ └── Trailers ──────┘
 */
import type { BodyReader } from '../exchange.ts';
import { carriageReturn, lineFeed } from './characters.ts';
import { ChunkHead } from './chunk-head.ts';
import { BadMessage, type Framing, type MessageLimits } from './message.ts';
import { Trailers } from './trailers.ts';

export interface BodyLimits extends MessageLimits {
  readonly bodyBytes: number;
}

type State = 'length' | 'until-close' | 'chunk-head' | 'chunk-data' | 'chunk-cr' | 'chunk-lf' | 'trailers' | 'ended';

/** Throws if more is announced than is taken: who asks before it reads need not wait for the bytes. */
export function checkBodyLength(framing: Framing, bodyBytes: number): void {
  if (typeof framing === 'number' && framing > bodyBytes) throw bodyTooLarge(bodyBytes);
}

export class BodyDecoder {
  readonly #limits: BodyLimits;
  #state: State;
  /** Bytes that are still to come: of the body, or of the chunk. */
  #remaining = 0;
  /** Of the body so far, with those that a chunk has announced. */
  #bodyBytes = 0;
  #chunkHead: ChunkHead | undefined;
  #trailers: Trailers | undefined;
  #isEndTold = false;
  #fault: BadMessage | undefined;

  constructor(framing: Framing, limits: BodyLimits) {
    this.#limits = limits;
    if (typeof framing === 'number') {
      this.#state = framing === 0 ? 'ended' : 'length';
      this.#remaining = framing;
    } else if (framing === 'chunked') {
      this.#state = 'chunk-head';
      this.#chunkHead = new ChunkHead(limits.headBytes);
    } else {
      this.#state = 'until-close';
    }
  }

  /** All of it has come. A body of 0 bytes is done before anything is read; its reader is told by the first `read`, which may be of no bytes. */
  get isDone(): boolean {
    return this.#state === 'ended';
  }

  /**
   * Gives the bytes of the body from `start` on to the reader, and its end. Returns the index of the first byte that is not the body's. Throws
   * `BadMessage` (400, 413, 431), also ever after; the reader is not told of that.
   */
  read(bytes: Buffer, start: number, reader: BodyReader): number {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      return this.#read(bytes, start, reader);
    } catch (error) {
      if (error instanceof BadMessage) this.#fault = error;
      throw error;
    }
  }

  /** Nothing more will come: that is the end of a body without another one, and a failure of any other. */
  connectionEnded(reader: BodyReader): void {
    if (this.#state === 'until-close') this.#end(reader, []);
    else if (this.#state !== 'ended') {
      this.#fault ??= new BadMessage(400, 'the connection ended before the body did');
      reader.failed(this.#fault);
    }
  }

  #read(bytes: Buffer, start: number, reader: BodyReader): number {
    let at = start;
    while (at < bytes.length || this.#state === 'ended') {
      switch (this.#state) {
        case 'ended':
          if (!this.#isEndTold) this.#end(reader, []);
          return at;
        case 'length':
          checkBodyLength(this.#remaining + this.#bodyBytes, this.#limits.bodyBytes);
          at = this.#giveData(bytes, at, reader);
          if (this.#remaining === 0) this.#end(reader, []);
          break;
        case 'until-close':
          this.#count(bytes.length - at);
          reader.chunk(at === 0 ? bytes : bytes.subarray(at));
          return bytes.length;
        case 'chunk-head':
          at = this.#readChunkHead(bytes, at);
          break;
        case 'chunk-data':
          at = this.#giveData(bytes, at, reader);
          if (this.#remaining === 0) this.#state = 'chunk-cr';
          break;
        case 'chunk-cr':
          at = expectByte(bytes, at, carriageReturn);
          this.#state = 'chunk-lf';
          break;
        case 'chunk-lf':
          at = expectByte(bytes, at, lineFeed);
          this.#state = 'chunk-head';
          break;
        case 'trailers':
          at = this.#readTrailers(bytes, at, reader);
          break;
      }
    }
    return at;
  }

  #giveData(bytes: Buffer, at: number, reader: BodyReader): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= end - at;
    // A length counts here, a chunk when it is announced.
    if (this.#state === 'length') this.#bodyBytes += end - at;
    reader.chunk(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    return end;
  }

  #readChunkHead(bytes: Buffer, start: number): number {
    const head = this.#chunkHead!;
    const at = head.read(bytes, start);
    if (!head.isDone) return at;
    const size = head.take();
    if (size === 0) {
      this.#trailers = new Trailers(this.#limits);
      this.#state = 'trailers';
    } else {
      this.#count(size);
      this.#remaining = size;
      this.#state = 'chunk-data';
    }
    return at;
  }

  #readTrailers(bytes: Buffer, start: number, reader: BodyReader): number {
    const trailers = this.#trailers!;
    const at = trailers.read(bytes, start);
    if (trailers.isDone) this.#end(reader, trailers.headers);
    return at;
  }

  #count(more: number): void {
    this.#bodyBytes += more;
    if (this.#bodyBytes > this.#limits.bodyBytes) throw bodyTooLarge(this.#limits.bodyBytes);
  }

  #end(reader: BodyReader, trailers: readonly string[]): void {
    this.#state = 'ended';
    this.#isEndTold = true;
    reader.end(trailers);
  }
}

function expectByte(bytes: Buffer, at: number, byte: number): number {
  if (bytes[at] !== byte) throw new BadMessage(400, 'a chunk must be as long as it says, with CRLF behind it');
  return at + 1;
}

function bodyTooLarge(bodyBytes: number): BadMessage {
  return new BadMessage(413, `a body must be at most ${bodyBytes} bytes`);
}
