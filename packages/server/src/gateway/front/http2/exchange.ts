/**
 * A stream of HTTP/2, and its answer.
 *
 * Back-pressure is flow control: what is not read here is not allowed to the client, and what the client does not allow waits here.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Placed } from '../../../service/under-way.ts';
import type { Body, Client, Exchange, Sink } from '../../exchange.ts';
import type { BadMessage, Framing, HeaderList, ResponseHead } from '../../wire/message.ts';
import { type FrontContext, fullBytes } from '../front-settings.ts';
import { nowhere } from '../nowhere.ts';
import { BrokenOff, refusalOf, tooSlow } from '../refusal.ts';
import { Http2RequestBody } from './request-body.ts';
import type { ReadHttp2Request } from './request-head.ts';
import { responseHeaders } from './response-headers.ts';

export class Http2Exchange implements Exchange, Sink, Placed {
  place = 0;
  readonly request: ReadHttp2Request;
  readonly client: Client;
  readonly upgrade = undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #context: FrontContext;
  readonly #body: Http2RequestBody | undefined;
  #status = 0;
  #isGone = false;
  #hasLeft = false;
  #isAnswered = false;
  #onGone: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  #lengthBytes: number | undefined;
  #isBodyless = false;
  #isContinued = false;
  #trailers: HeaderList = [];
  #waitingBytes = 0;
  /** When the bytes that wait were last seen to become fewer. */
  #progressMs = 0;
  bodyBytes = 0;

  constructor(stream: ServerHttp2Stream, request: ReadHttp2Request, client: Client, context: FrontContext) {
    this.#stream = stream;
    this.request = request;
    this.client = client;
    this.#context = context;
    if (request.framing !== 0) this.#body = new Http2RequestBody(stream, request.framing, this, context);
    stream.on('drain', () => this.#drained());
    stream.on('close', () => this.#closed());
  }

  get framing(): Framing {
    return this.request.framing;
  }

  get body(): Body | undefined {
    return this.#body;
  }

  get expectsContinue(): boolean {
    return this.request.expectsContinue;
  }

  get status(): number {
    return this.#status;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  whenGone(act: () => void): void {
    this.#onGone = act;
    if (this.#isGone) act();
  }

  inform({ status, headers }: ResponseHead): void {
    if (!this.#isOpen) return;
    if (this.#status !== 0) throw new Error(`The answer ${this.#status} has begun: it is too late for ${status}.`);
    this.#stream.additionalHeaders({ ...responseHeaders(headers), ':status': status });
  }

  answer(head: ResponseHead, framing: Framing): Sink {
    if (!this.#isOpen) return nowhere;
    const isWhole = this.#begin(head, framing, typeof framing !== 'number' && this.request.takesTrailers);
    if (isWhole) this.#finish();
    return this;
  }

  answerWhole(head: ResponseHead, body: string | Buffer): void {
    if (!this.#isOpen) return;
    this.#sendWhole(head, body);
    this.#finish();
  }

  switchProtocols(): Duplex {
    throw new Error('There is no other protocol to switch to on a stream of HTTP/2.');
  }

  // --- Sink ---

  write(bytes: Buffer): boolean {
    if (!this.#isOpen || this.#isAnswered || this.#isBodyless || bytes.length === 0) return true;
    this.bodyBytes += bytes.length;
    if (this.#lengthBytes !== undefined && this.bodyBytes > this.#lengthBytes) {
      this.abort();
      return true;
    }
    // Copied: Node holds them until the client allows them, and they are the caller's again before.
    this.#stream.write(Buffer.from(bytes));
    return this.#stream.writableLength < fullBytes;
  }

  end(trailers: HeaderList = []): void {
    if (!this.#isOpen || this.#isAnswered) return;
    if (this.#lengthBytes !== undefined && !this.#isBodyless && this.bodyBytes < this.#lengthBytes) {
      this.abort();
      return;
    }
    this.#trailers = trailers;
    this.#finish();
  }

  abort(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#isGone = true;
    this.#reset();
  }

  whenDrained(act: () => void): void {
    if (!this.#isOpen || this.#stream.writableLength < fullBytes) process.nextTick(act);
    else this.#onDrained = act;
  }

  // --- For the body and the connection ---

  /** Sends `100 Continue` to a client that waits for it. */
  continueOnce(): void {
    if (!this.request.expectsContinue || this.#isContinued || this.#status !== 0 || !this.#isOpen) return;
    this.#isContinued = true;
    this.#stream.additionalHeaders({ ':status': constants.HTTP_STATUS_CONTINUE });
  }

  /** The request cannot become whole: it is answered with a status, if it is not too late for that. */
  refuse(bad: BadMessage): void {
    const { meter } = this.#context;
    if (bad.status === 408) meter.timedOut += 1;
    else meter.malformed += 1;
    const isAnswerable = this.#isOpen && this.#status === 0;
    const { head, body } = refusalOf(bad);
    if (isAnswerable) this.#sendWhole(head, body);
    else if (this.#isOpen) this.#reset();
    this.#leave(!isAnswerable);
    this.#body?.failed(bad);
    if (isAnswerable) this.#finish();
  }

  sweep(nowMs: number): void {
    const { idleMs } = this.#context.limits;
    const waitingBytes = this.#stream.writableLength;
    if (waitingBytes === 0 || waitingBytes !== this.#waitingBytes) {
      this.#waitingBytes = waitingBytes;
      this.#progressMs = nowMs;
    } else if (nowMs - this.#progressMs > idleMs) {
      this.#context.meter.timedOut += 1;
      this.#reset();
    }
    if (!this.#isAnswered && this.#body !== undefined && this.#body.awaitedMs(nowMs) > idleMs)
      this.refuse(tooSlow.body());
  }

  get #isOpen(): boolean {
    return !this.#isGone && !this.#stream.destroyed && !this.#stream.closed;
  }

  #sendWhole(head: ResponseHead, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (this.#begin(head, bytes.length, false)) return;
    this.bodyBytes = bytes.length;
    this.#stream.end(bytes);
  }

  /** True: nothing follows the head. */
  #begin({ status, headers }: ResponseHead, framing: Framing, waitForTrailers: boolean): boolean {
    if (this.#status !== 0) throw new Error(`This request has its answer: ${this.#status}.`);
    const sent = responseHeaders(headers);
    // Node ends a 205 with its head: RFC 9110 15.3.6 gives it no body, and a length without one would break the stream.
    const isEmpty = status === 204 || status === 205;
    this.#isBodyless = this.request.method === 'HEAD' || isEmpty || status === 304;
    sent[':status'] = status;
    if (typeof framing === 'number') {
      this.#lengthBytes = framing;
      if (!isEmpty && !(status === 304 && framing === 0)) sent['content-length'] = framing;
    }
    const isLast = this.#isBodyless || framing === 0;
    this.#stream.respond(sent, { endStream: isLast, waitForTrailers: waitForTrailers && !isLast });
    this.#status = status;
    if (waitForTrailers) this.#stream.once('wantTrailers', () => this.#sendTrailers());
    return isLast;
  }

  #sendTrailers(): void {
    if (this.#stream.destroyed) return;
    if (this.#trailers.length > 0) this.#stream.sendTrailers(responseHeaders(this.#trailers));
    else this.#stream.close();
  }

  #finish(): void {
    this.#isAnswered = true;
    const stream = this.#stream;
    if (!stream.writableEnded) stream.end();
    if (this.#body !== undefined && !this.#body.isDone) this.#body.discard();
  }

  /** `close` would end the answer before it resets the stream, and a client would take it for whole. */
  #reset(): void {
    this.#stream.destroy(new Error('the answer was broken off'));
  }

  #drained(): void {
    const act = this.#onDrained;
    this.#onDrained = undefined;
    act?.();
  }

  #closed(): void {
    if (!this.#isAnswered) this.#leave(true);
    this.#body?.failed(new BrokenOff());
    this.#drained();
  }

  /** `hasLeft`: by itself. */
  #leave(hasLeft: boolean): void {
    if (this.#isGone) return;
    this.#isAnswered = true;
    this.#isGone = true;
    this.#hasLeft = hasLeft;
    this.#onGone?.();
  }
}
