/**
 * The body of a request on an HTTP/1 connection.
 *
 *      bytes of the connection ──► decoder ──► [held while the reader pauses] ──► reader
 *
 * The connection feeds it only while somebody wants it. A read of the socket may have more of the body than the reader takes before
 * it pauses: that waits here, and is never more than was read ahead.
 */
import type { Body, BodyReader } from '../../exchange.ts';
import { BodyDecoder } from '../../wire/body-decoder.ts';
import type { Framing, HeaderList } from '../../wire/message.ts';
import { discardedBytes } from '../front-settings.ts';
import type { ReadAhead } from './read-ahead.ts';

/** Who owns the bytes. */
export interface BodySource {
  /** Somebody reads the body, for the first time or again. */
  bodyWanted(): void;
}

export class RequestBody implements Body, BodyReader {
  readonly #source: BodySource;
  readonly #decoder: BodyDecoder;
  /** What the head says; bytes that come count down from it. */
  #leftBytes: number;
  #reader: BodyReader | undefined;
  #isPaused = false;
  readonly #held: Buffer[] = [];
  #trailers: HeaderList | undefined;
  /** The reader has been told the end, or hears no more of it. */
  #isOver = false;
  #error: Error | undefined;
  #discardedBytes = -1;

  constructor(source: BodySource, framing: Framing, limits: ConstructorParameters<typeof BodyDecoder>[1]) {
    this.#source = source;
    this.#decoder = new BodyDecoder(framing, limits);
    this.#leftBytes = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
  }

  // --- For its reader ---

  read(reader: BodyReader): void {
    if (this.#reader !== undefined) throw new Error('A body can be read once.');
    this.#reader = reader;
    // The client left before anybody read it.
    if (this.#error !== undefined) reader.failed(this.#error);
    else if (!this.#isOver) this.#source.bodyWanted();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#reader !== undefined && !this.#isOver) this.#source.bodyWanted();
  }

  // --- For the connection ---

  get isRead(): boolean {
    return this.#reader !== undefined;
  }

  /** All of it has come. */
  get isDone(): boolean {
    return this.#decoder.isDone;
  }

  /** More of it would be taken. */
  get isWanted(): boolean {
    if (this.isDiscarding) return !this.isDone;
    return this.#reader !== undefined && !this.#isPaused && !this.#isOver;
  }

  get isDiscarding(): boolean {
    return this.#discardedBytes >= 0;
  }

  /** What is to come is so little that throwing it away is cheaper than a new connection. */
  get isSmallRest(): boolean {
    return this.#leftBytes <= discardedBytes;
  }

  get isTooMuchDiscarded(): boolean {
    return this.#discardedBytes > discardedBytes;
  }

  /** Nobody wants the rest of it, and its reader hears no more: the answer is whole, or was given up. */
  discard(): void {
    this.#isOver = true;
    this.#discardedBytes = 0;
    this.#held.length = 0;
  }

  /** Passes some of it on; false: nothing has come that could be. Throws `BadMessage`. */
  advance(ahead: ReadAhead): boolean {
    const held = this.#held.shift();
    if (held !== undefined) {
      this.#reader?.chunk(held);
      return true;
    }
    if (this.#trailers !== undefined) {
      this.#tellEnd();
      return true;
    }
    if (ahead.length === 0) return false;
    ahead.take(this.#decoder.read(ahead.bytes, ahead.at, this));
    return true;
  }

  // --- For the decoder ---

  chunk(bytes: Buffer): void {
    this.#leftBytes -= bytes.length;
    if (this.isDiscarding) this.#discardedBytes += bytes.length;
    else if (this.#isPaused || this.#held.length > 0) this.#held.push(bytes);
    else this.#reader?.chunk(bytes);
  }

  end(trailers: HeaderList): void {
    this.#trailers = trailers;
    if (!this.#isPaused && this.#held.length === 0) this.#tellEnd();
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#held.length = 0;
    this.#reader?.failed(error);
  }

  #tellEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader?.end(this.#trailers ?? []);
  }
}
