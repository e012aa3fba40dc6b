/** The body of a request on a stream of HTTP/2. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Body, BodyReader } from '../../exchange.ts';
import { BadMessage, type Framing, type HeaderList } from '../../wire/message.ts';
import { discardedBytes, type FrontContext } from '../front-settings.ts';
import { BrokenOff, tooLong } from '../refusal.ts';
import { readHttp2Trailers } from './request-head.ts';

/** Whose body it is. */
export interface BodyOwner {
  continueOnce(): void;
  refuse(bad: BadMessage): void;
}

export class Http2RequestBody implements Body {
  readonly #stream: ServerHttp2Stream;
  readonly #framing: Framing;
  readonly #owner: BodyOwner;
  readonly #context: FrontContext;
  #reader: BodyReader | undefined;
  #isOver = false;
  #error: Error | undefined;
  #receivedBytes = 0;
  #trailers: HeaderList = [];
  /** When bytes last came, or were last asked for. */
  #sinceMs = 0;

  constructor(stream: ServerHttp2Stream, framing: Framing, owner: BodyOwner, context: FrontContext) {
    this.#stream = stream;
    this.#framing = framing;
    this.#owner = owner;
    this.#context = context;
    // Before it is read: Node does not wait for a listener.
    stream.once('trailers', (_headers, _flags, raw?: string[]) => this.#takeTrailers(raw ?? []));
  }

  get isDone(): boolean {
    return this.#stream.readableEnded;
  }

  read(reader: BodyReader): void {
    if (this.#reader !== undefined) throw new Error('A body can be read once.');
    this.#reader = reader;
    if (this.#error !== undefined) reader.failed(this.#error);
    if (this.#isOver) return;
    this.#sinceMs = this.#context.clock.now();
    this.#owner.continueOnce();
    this.#stream.on('data', (bytes: Buffer) => this.#take(bytes));
    this.#stream.on('end', () => this.#end());
  }

  pause(): void {
    // Whoever read it may say so after the answer: what is being thrown away would stay, and the stream with it, and the connection for good.
    if (!this.#isOver) this.#stream.pause();
  }

  resume(): void {
    this.#sinceMs = this.#context.clock.now();
    if (this.#reader !== undefined && !this.#isOver) this.#stream.resume();
  }

  /** How long its reader has been waiting for more of it. */
  awaitedMs(nowMs: number): number {
    const isAwaited = this.#reader !== undefined && !this.#isOver && !this.#stream.isPaused();
    return isAwaited ? nowMs - this.#sinceMs : 0;
  }

  /**
   * Nobody wants the rest. A little is thrown away as it comes; of more the client is told that it need not send it, and that the
   * answer stands (RFC 9113 8.1): that must come behind the answer.
   */
  discard(): void {
    this.#isOver = true;
    const stream = this.#stream;
    let discarded = 0;
    stream.on('data', (bytes: Buffer) => {
      discarded += bytes.length;
      if (discarded > discardedBytes && stream.writableFinished) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    stream.resume();
    const isMuch = typeof this.#framing !== 'number' || this.#framing - this.#receivedBytes > discardedBytes;
    if (isMuch) stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#reader?.failed(error);
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    const { bodyBytes } = this.#context.limits;
    this.#receivedBytes += bytes.length;
    this.#sinceMs = this.#context.clock.now();
    if (this.#receivedBytes > bodyBytes) this.#owner.refuse(tooLong(bodyBytes));
    else this.#reader?.chunk(bytes);
  }

  #takeTrailers(raw: HeaderList): void {
    try {
      this.#trailers = readHttp2Trailers(raw, this.#context.limits);
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      this.#owner.refuse(error);
    }
  }

  #end(): void {
    if (this.#isOver) return;
    // A stream that was reset ends as well, in the middle of its body. With a length that shows; without one, an end that comes
    // together with
    // the stream's is not believed.
    const stream = this.#stream;
    const isWhole = typeof this.#framing === 'number' ? this.#receivedBytes === this.#framing : !stream.closed;
    if (!isWhole || stream.aborted || stream.rstCode !== 0) {
      this.failed(new BrokenOff());
      return;
    }
    this.#isOver = true;
    this.#reader?.end(this.#trailers);
  }
}
