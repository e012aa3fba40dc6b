/**
 * One call, from its headers to its trailers.
 *
 *      headers ──► content type, method, token, encoding, timeout ──► body ──► the method ──► message, trailers `grpc-status: 0`
 *                        │                                             │          │
 *                        └─────────── wrong, late or too large ────────┴──────────┴───► headers that are trailers: status, text
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Answer } from '../service/service.ts';
import type { CallHeaders } from './call-headers.ts';
import type { Connection, GrpcDoorSettings } from './connections.ts';
import { acceptedEncodings, frameOf, headBytes, RequestBody } from './message-frame.ts';
import { GrpcError, grpcErrorOf, percentEncoded, statusCodes } from './status.ts';
import type { WireWriter } from './wire-writer.ts';

const responseHeaders = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': acceptedEncodings,
};
const okTrailers = { 'grpc-status': '0' };
const withTrailers = { waitForTrailers: true };
const withoutBody = { endStream: true };

// Bodies that a connection may leave unfinished, in bodies of the largest size: many calls at once must not be a way around it.
const unfinishedBodies = 4;

const timerMsMax = 2 ** 31 - 1;

// One listener of a kind for all calls, which finds its own through the stream: five closures less in every call.
const callOf = Symbol('call');
type CallStream = ServerHttp2Stream & { [callOf]: Call };

function onData(this: CallStream, chunk: Buffer): void {
  this[callOf].received(chunk);
}

function onEnd(this: CallStream): void {
  this[callOf].receivedAll();
}

function onWantTrailers(this: CallStream): void {
  this.sendTrailers(this[callOf].trailers);
}

function onError(this: CallStream, error: Error): void {
  this[callOf].broken(error);
}

function onClose(this: CallStream): void {
  this[callOf].closed();
}

type Use = (call: Call, message: Buffer, headers: CallHeaders) => void;
type Write<Message> = (writer: WireWriter, message: Message) => void;

export class Call {
  readonly #stream: ServerHttp2Stream;
  readonly #connection: Connection;
  readonly #settings: GrpcDoorSettings;
  /** When it began, and later when it was answered. */
  #sinceMs: number;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #body: RequestBody | undefined;
  #headers: CallHeaders | undefined;
  #use: Use | undefined;
  /** Bytes of the body, until it is whole. */
  #heldBytes = 0;
  #isAnswered = false;
  place = 0;
  trailers: Readonly<Record<string, string>> = okTrailers;

  constructor(stream: ServerHttp2Stream, connection: Connection, settings: GrpcDoorSettings) {
    this.#stream = stream;
    this.#connection = connection;
    this.#settings = settings;
    this.#sinceMs = settings.clock.now();
    connection.begin(this, this.#sinceMs);
    (stream as CallStream)[callOf] = this;
    stream.on('error', onError);
    stream.on('close', onClose);
  }

  /** False once nobody listens any more. */
  get isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  onClose(listener: () => void): void {
    this.#stream.once('close', listener);
  }

  /** Collects the body and hands on its one message. What `use` throws is the answer. */
  receive(headers: CallHeaders, use: Use): void {
    this.#deadlineMs = this.#sinceMs + headers.timeoutMs;
    this.#headers = headers;
    this.#use = use;
    this.#body = new RequestBody(this.#settings.limits.bodyBytes);
    this.#stream.on('data', onData);
    this.#stream.on('end', onEnd);
  }

  /** The one answer of a unary call, now or when it comes. */
  answer<Message>(answer: Answer<Message>, write: Write<Message>): void {
    if (!(answer instanceof Promise)) {
      this.#answer(answer, write);
      return;
    }
    this.#awaitDeadline();
    answer.then(
      (message) => this.#answer(message, write),
      (error) => this.fail(error),
    );
  }

  /** One of many messages; `end` comes after the last. False: the client is slow, and this one was not sent. */
  send<Message>(message: Message, write: Write<Message>): boolean {
    const stream = this.#stream;
    if (this.#isAnswered || !this.isOpen || stream.writableNeedDrain) return false;
    if (!stream.headersSent) {
      this.#awaitDeadline();
      this.#respond();
    }
    stream.write(frameOf(message, write));
    return true;
  }

  /** Ends the call with a status: after the messages that were sent, or instead of one. */
  fail(reason: unknown): void {
    const error = grpcErrorOf(reason);
    this.#report(error);
    if (this.#isAnswered || !this.isOpen) return;
    if (this.#stream.headersSent) {
      this.trailers = trailersOf(error);
      this.#count();
      this.#stream.end();
    } else this.refuse({ ...responseHeaders, ...trailersOf(error) });
  }

  /** Answers with headers alone, and wants nothing more of the body. */
  refuse(headers: Record<string, string | number>): void {
    this.#count();
    this.#stream.respond(headers, withoutBody);
    // The client may still be sending. NO_ERROR tells it to stop, and that the answer it got stands.
    if (!this.#stream.readableEnded) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    const { meter, limits } = this.#settings;
    const isLate = nowMs - this.#sinceMs > limits.requestMs;
    if (this.#isAnswered) {
      // A client that never takes its answer would hold the call for good.
      if (isLate) this.#stream.close(constants.NGHTTP2_CANCEL);
    } else if (nowMs >= this.#deadlineMs) {
      this.fail(deadlineExceeded());
    } else if (isLate && this.#body !== undefined) {
      meter.timedOut++;
      this.fail(
        new GrpcError(statusCodes.deadlineExceeded, `the request was not there whole within ${limits.requestMs} ms`),
      );
    }
  }

  received(chunk: Buffer): void {
    if (this.#isAnswered) return;
    try {
      this.#body!.add(chunk);
      this.#hold(chunk.length);
    } catch (error) {
      this.fail(error);
    }
  }

  receivedAll(): void {
    // A call that was broken off ends as well, in the middle of its body.
    if (this.#isAnswered || !this.isOpen) return;
    const body = this.#body!;
    this.#letGo();
    try {
      // Asked before the service is: what nobody waits for any more should not be counted.
      if (this.#deadlineMs !== Number.POSITIVE_INFINITY && this.#leftMs() <= 0) throw deadlineExceeded();
      this.#use!(this, body.message(this.#headers!.encoding), this.#headers!);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The client reset its call, or the connection broke: nobody is left to be told. */
  broken(error: Error): void {
    this.#settings.log.debug({ err: error }, 'a gRPC call was broken off');
  }

  closed(): void {
    clearTimeout(this.#deadlineTimer);
    this.#connection.finish(this);
    this.#letGo();
  }

  #hold(byteCount: number): void {
    this.#heldBytes += byteCount;
    this.#connection.heldBytes += byteCount;
    const heldBytesMax = (this.#settings.limits.bodyBytes + headBytes) * unfinishedBodies;
    if (this.#connection.heldBytes > heldBytesMax) throw tooManyBodies(heldBytesMax);
  }

  #letGo(): void {
    this.#connection.heldBytes -= this.#heldBytes;
    this.#heldBytes = 0;
    this.#body = undefined;
  }

  #answer<Message>(message: Message, write: Write<Message>): void {
    if (this.#isAnswered || !this.isOpen) return;
    let frame: Buffer;
    try {
      frame = frameOf(message, write);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#count();
    this.#respond();
    this.#stream.end(frame);
  }

  #respond(): void {
    this.#stream.respond(responseHeaders, withTrailers);
    this.#stream.on('wantTrailers', onWantTrailers);
  }

  #count(): void {
    this.#isAnswered = true;
    this.#sinceMs = this.#settings.clock.now();
    this.#settings.meter.requests++;
  }

  #leftMs(): number {
    return this.#deadlineMs - this.#settings.clock.now();
  }

  /** Only where an answer takes its time: the sweep is too coarse for 20 ms, and most answers are there at once. */
  #awaitDeadline(): void {
    if (this.#deadlineMs === Number.POSITIVE_INFINITY) return;
    const ms = Math.min(Math.ceil(this.#leftMs()), timerMsMax);
    this.#deadlineTimer = setTimeout(() => this.fail(deadlineExceeded()), ms);
  }

  #report(error: GrpcError): void {
    const { meter, log } = this.#settings;
    if (error.status === statusCodes.internal && error.cause !== undefined) {
      log.error({ err: error.cause }, 'a gRPC call met a mistake of the service');
    } else if (error.status === statusCodes.invalidArgument || error.status === statusCodes.unimplemented) {
      meter.malformed++;
    }
  }
}

function trailersOf(error: GrpcError): Record<string, string> {
  return { 'grpc-status': String(error.status), 'grpc-message': percentEncoded(error.message) };
}

const deadlineExceeded = () => new GrpcError(statusCodes.deadlineExceeded, 'the deadline of the call has passed');

function tooManyBodies(bytesMax: number): GrpcError {
  return new GrpcError(
    statusCodes.resourceExhausted,
    `the unfinished messages of a connection must be at most ${bytesMax} bytes together, got more`,
  );
}
