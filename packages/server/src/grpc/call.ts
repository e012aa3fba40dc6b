/**
 * One call, from its headers to its trailers.
 *
 *      headers ──► content type, method, token, encoding, timeout ──► body ──► the method ──► message, trailers `grpc-status: 0`
 *                        │                                             │          │
 *                        └─────────── wrong, late or too large ────────┴──────────┴───► headers that are trailers: status, text
 */
import type { Answer } from '../service/service.ts';
import type { Placed } from '../service/under-way.ts';
import type { CallHeaders } from './call-headers.ts';
import type { Connection } from './connection.ts';
import type { GrpcDoorSettings } from './connections.ts';
import { fieldBlock } from './http2/field-block.ts';
import { endCodes } from './http2/frame.ts';
import type { Stream, StreamReader } from './http2/stream.ts';
import { acceptedEncodings, frameOf, RequestBody } from './message-frame.ts';
import { GrpcError, grpcErrorOf, percentEncoded, statusCodes } from './status.ts';
import type { WireWriter } from './wire-writer.ts';

const responseFields = {
  ':status': '200',
  'content-type': 'application/grpc',
  'grpc-accept-encoding': acceptedEncodings,
};
const responseBlock = fieldBlock(responseFields);
const okBlock = fieldBlock({ 'grpc-status': '0' });

const timerMsMax = 2 ** 31 - 1;

/** What is done with a message when it is there, and how long that may be. */
interface Use {
  readonly messageBytesMax: number;
  readonly answer: (call: Call, message: Buffer, headers: CallHeaders) => void;
}

type Write<Message> = (writer: WireWriter, message: Message) => void;

export class Call implements StreamReader, Placed {
  readonly #stream: Stream;
  readonly #connection: Connection;
  readonly #settings: GrpcDoorSettings;
  #sinceMs: number;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #body: RequestBody | undefined;
  #headers: CallHeaders | undefined;
  #use: Use | undefined;
  /** Bytes of the body, until it is whole. */
  #heldBytes = 0;
  #isAnswered = false;
  /** The service is asked, and has not answered. */
  #isAsked = false;
  #onClose: (() => void) | undefined;
  place = 0;

  constructor(stream: Stream, connection: Connection, settings: GrpcDoorSettings) {
    this.#stream = stream;
    this.#connection = connection;
    this.#settings = settings;
    this.#sinceMs = settings.clock.now();
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** When it began, and later when it was answered. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Collects the body and hands on its one message. What `use.answer` throws is the answer. */
  receive(headers: CallHeaders, use: Use): void {
    this.#deadlineMs = this.#sinceMs + headers.timeoutMs;
    this.#headers = headers;
    this.#use = use;
    this.#body = new RequestBody(use.messageBytesMax);
  }

  /** The one answer of a unary call, now or when it comes. */
  answer<Message>(answer: Answer<Message>, write: Write<Message>): void {
    if (!(answer instanceof Promise)) {
      this.#answer(answer, write);
      return;
    }
    this.#awaitDeadline();
    this.#isAsked = true;
    answer
      .then(
        (message) => this.#answer(message, write),
        (error) => this.fail(error),
      )
      .finally(() => {
        this.#isAsked = false;
        if (this.#stream.isClosed) this.#connection.finish(this);
      });
  }

  /** One of many messages; `end` comes after the last. False: the client is slow, and this one was not sent. */
  send<Message>(message: Message, write: Write<Message>): boolean {
    const stream = this.#stream;
    if (this.#isAnswered || stream.isClosed || stream.isHeldUp) return false;
    if (!stream.hasResponded) {
      this.#awaitDeadline();
      stream.respond(responseBlock);
    }
    stream.send(frameOf(message, write));
    return true;
  }

  /** Ends the call with a status: after the messages that were sent, or instead of one. */
  fail(reason: unknown): void {
    const error = grpcErrorOf(reason);
    this.#report(error);
    if (this.#isAnswered || this.#stream.isClosed) return;
    if (this.#stream.hasResponded) {
      this.#count();
      this.#stream.end(fieldBlock(trailersOf(error)));
    } else this.refuse({ ...responseFields, ...trailersOf(error) });
  }

  /** Answers with headers alone, and wants nothing more of the body. */
  refuse(fields: Record<string, string>): void {
    this.#count();
    this.#stream.refuse(fieldBlock(fields));
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    const { meter, limits } = this.#settings;
    const isLate = nowMs - this.#sinceMs > limits.requestMs;
    if (this.#isAnswered) {
      // A client that never takes its answer would hold the call for good.
      if (isLate) this.#stream.reset(endCodes.cancel);
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
    if (this.#isAnswered) return;
    const body = this.#body!;
    this.#letGo();
    try {
      // Asked before the service is: what nobody waits for any more should not be counted.
      if (this.#deadlineMs !== Number.POSITIVE_INFINITY && this.#leftMs() <= 0) throw deadlineExceeded();
      this.#use!.answer(this, body.message(this.#headers!.encoding), this.#headers!);
    } catch (error) {
      this.fail(error);
    }
  }

  closed(): void {
    clearTimeout(this.#deadlineTimer);
    this.#letGo();
    // What the service was asked goes on without the client, and counts as open until then: resetting calls would be a way to ask for more.
    if (!this.#isAsked) this.#connection.finish(this);
    this.#onClose?.();
  }

  #hold(byteCount: number): void {
    this.#heldBytes += byteCount;
    this.#connection.hold(byteCount, this.#heldBytes);
  }

  #letGo(): void {
    this.#connection.letGo(this.#heldBytes);
    this.#heldBytes = 0;
    this.#body = undefined;
  }

  #answer<Message>(message: Message, write: Write<Message>): void {
    if (this.#isAnswered || this.#stream.isClosed) return;
    let frame: Buffer;
    try {
      frame = frameOf(message, write);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#count();
    this.#stream.respond(responseBlock);
    this.#stream.send(frame);
    this.#stream.end(okBlock);
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
