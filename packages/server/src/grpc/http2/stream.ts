/**
 * One request and its answer, as seen by whoever answers.
 *
 *      respond ──► send ──► send ──► end          headers, any number of pieces, trailers
 *      refuse                                     headers that are all there is
 *      reset                                      nothing more, for a reason
 */
import type { Placed } from '../../service/under-way.ts';
import { type EndCode, endCodes } from './frame.ts';

/** Whoever takes a request is told of its body. */
export interface StreamReader {
  /** A piece of it, to keep. */
  received(chunk: Buffer): void;
  receivedAll(): void;
  /** Nothing more comes, and nothing more goes. */
  closed(): void;
}

/** What a stream needs of its connection. */
export interface StreamCarrier {
  sendHeaders(stream: Stream, block: Buffer, isLast: boolean): void;
  /** As much of what is unsent as the other side has room for; then the trailers. */
  sendMore(stream: Stream): void;
  reset(stream: Stream, code: EndCode): void;
  close(stream: Stream): void;
}

const nothing = Buffer.alloc(0);

export class Stream implements Placed {
  readonly id: number;
  readonly #carrier: StreamCarrier;
  place = 0;
  reader: StreamReader | undefined;
  /** What the other side may still send, and what may still be sent to it. */
  receiveBytes: number;
  sendBytes: number;
  /** Of the body: how many there must be, if that was said, and how many came. */
  expectedBytes: number | undefined;
  bodyBytes = 0;
  unsent: Buffer = nothing;
  trailers: Buffer | undefined;
  hasResponded = false;
  /** All of the request is here. */
  isReceived = false;
  /** The answer has its end, though perhaps not sent yet. */
  isEnded = false;
  isClosed = false;

  constructor(id: number, carrier: StreamCarrier, receiveBytes: number, sendBytes: number) {
    this.id = id;
    this.#carrier = carrier;
    this.receiveBytes = receiveBytes;
    this.sendBytes = sendBytes;
  }

  /** The other side has not made room for what was sent before. */
  get isHeldUp(): boolean {
    return this.unsent.length > 0;
  }

  respond(block: Buffer): void {
    if (this.isClosed || this.hasResponded) return;
    this.hasResponded = true;
    this.#carrier.sendHeaders(this, block, false);
  }

  send(bytes: Buffer): void {
    if (this.isClosed || this.isEnded) return;
    this.unsent = this.isHeldUp ? Buffer.concat([this.unsent, bytes]) : bytes;
    this.#carrier.sendMore(this);
  }

  end(trailers: Buffer): void {
    if (this.isClosed || this.isEnded) return;
    this.isEnded = true;
    this.trailers = trailers;
    this.#carrier.sendMore(this);
  }

  refuse(block: Buffer): void {
    if (this.isClosed || this.hasResponded) return;
    this.hasResponded = true;
    this.isEnded = true;
    this.#carrier.sendHeaders(this, block, true);
    // The client may still be sending. This tells it to stop, and that the answer it got stands.
    if (this.isReceived) this.#carrier.close(this);
    else this.reset(endCodes.noError);
  }

  reset(code: EndCode): void {
    if (!this.isClosed) this.#carrier.reset(this, code);
  }
}
