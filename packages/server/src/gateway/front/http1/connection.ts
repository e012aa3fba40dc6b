/**
 * A client's HTTP/1 connection: one request after the other, answered in order.
 *
 *      bytes ──► ReadAhead ──► head ──► exchange ──► [body ──► its reader] ──► answered ──┐
 *                   │            ▲                                                        ├─► close, linger
 *                   │            └────────────── the next one ────────────────────────────┘
 *                   └── holds `readAheadBytes` and no more: then the socket is not read
 *
 * What is malformed is answered and ends the connection. Nothing behind it is looked at: whatever it was meant to be, it is not read as
 * a request, and that is what keeps smugglers out.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client } from '../../exchange.ts';
import { findHeadEnd, headTooLarge } from '../../wire/head-end.ts';
import type { BadMessage, ReadRequest } from '../../wire/message.ts';
import { readRequest } from '../../wire/read-request.ts';
import { responseText } from '../../wire/write-head.ts';
import { clientOf } from '../client.ts';
import { dateText } from '../date-text.ts';
import { type FrontConnection, type FrontContext, lingerMs, readAheadBytes } from '../front-settings.ts';
import { prefaceIn } from '../http2/preface.ts';
import { BrokenOff, badMessageOf, refusalOf, tooLong, tooSlow } from '../refusal.ts';
import { type ExchangeHost, Http1Exchange } from './exchange.ts';
import { halfClosed } from './half-closed.ts';
import { Outgoing } from './outgoing.ts';
import { ReadAhead } from './read-ahead.ts';
import { type BodySource, RequestBody } from './request-body.ts';
import { WriteProgress } from './write-progress.ts';

// Of a connection that was half closed Node reads nothing more, so that a reset which the first brings back shows only when the next is
// written.
const mostProbes = 2;

export interface Http1Options {
  readonly isTls: boolean;
  /** Takes a connection that turns out to speak HTTP/2, with what was read of it pushed back; undefined: there is none of that. */
  readonly takeHttp2: ((socket: Socket) => void) | undefined;
}

export class Http1Connection implements FrontConnection, ExchangeHost, BodySource {
  readonly outgoing: Outgoing;
  readonly #socket: Socket;
  readonly #context: FrontContext;
  readonly #options: Http1Options;
  readonly #client: Client;
  readonly #oldClient: Client;
  readonly #ahead = new ReadAhead();
  readonly #writing: WriteProgress;
  /** So much of the next head was looked at. */
  #scannedBytes = 0;
  #exchange: Http1Exchange | undefined;
  #isWorking = false;
  #hasAsked = false;
  /** The client has said all it has to say. */
  #isHalfClosed = false;
  #probes = 0;
  /** The front drains: it ends as soon as nothing is under way. */
  #isEndingSoon = false;
  /** It is being closed: what still comes is thrown away. */
  #isEnding = false;
  /** Somebody else has the socket. */
  #isLetGo = false;
  /** When it became idle, when the head that is not whole began, when the last bytes came, or when it was ended. */
  #sinceMs: number;

  constructor(socket: Socket, context: FrontContext, options: Http1Options) {
    this.#socket = socket;
    this.#context = context;
    this.#options = options;
    this.#client = clientOf(socket, options.isTls, 'HTTP/1.1');
    this.#oldClient = { ...this.#client, protocol: 'HTTP/1.0' };
    this.outgoing = new Outgoing(socket);
    this.#writing = new WriteProgress(socket);
    this.#sinceMs = context.clock.now();
    socket.on('data', this.#read);
    socket.on('end', this.#halfClose);
    socket.on('drain', this.#drained);
    socket.on('error', this.#failed);
    socket.on('close', this.#closed);
  }

  // --- The socket ---

  readonly #read = (bytes: Buffer): void => {
    if (this.#isEnding) return;
    // The time of a head counts from its first byte: a client that sends one after the other gains nothing.
    if (this.#exchange !== undefined || this.#ahead.length === 0) this.#sinceMs = this.#context.clock.now();
    this.#ahead.append(bytes);
    this.#work();
  };

  readonly #halfClose = (): void => {
    // In the middle of an answer nobody who wants the rest of it says that. It may be a stream of events that is silent for long: it
    // must not stay open for a client that has left.
    if (this.#exchange?.sink !== undefined) {
      this.#socket.destroy();
      return;
    }
    this.#isHalfClosed = true;
    this.#work();
  };

  readonly #drained = (): void => {
    this.#exchange?.sink?.drained();
    this.#work();
  };

  readonly #failed = (error: Error): void => {
    // The connection broke: there is nobody to tell, and 'close' follows.
    this.#context.log.debug({ err: error }, 'a client’s connection broke');
  };

  readonly #closed = (): void => {
    this.#isEnding = true;
    this.#ahead.clear();
    this.#breakOff(new BrokenOff(), 0);
  };

  // --- Requests ---

  #work(): void {
    // Answers that are there at once come back here from inside: they go on below.
    if (this.#isWorking) return;
    this.#isWorking = true;
    let isGoingOn = true;
    while (isGoingOn) isGoingOn = this.#exchange === undefined ? this.#begin() : this.#advance(this.#exchange);
    this.#isWorking = false;
    if (this.#isLetGo || this.#isEnding) return;
    this.outgoing.flush();
    const isLast = this.#isHalfClosed || (this.#isEndingSoon && this.#ahead.length === 0);
    if (isLast && this.#exchange === undefined && !this.outgoing.isFull) this.#end();
    else this.#regulate();
  }

  /** The next request, if it is there. */
  #begin(): boolean {
    const ahead = this.#ahead;
    // Who does not read its answers is not asked for more.
    if (ahead.length === 0 || this.#isEnding || this.outgoing.isFull) return false;
    if (!this.#hasAsked && this.#isHttp2()) return false;
    const { limits } = this.#context;
    let request: ReadRequest;
    try {
      const end = findHeadEnd(ahead.bytes, ahead.at, ahead.at + this.#scannedBytes);
      if (end < 0) {
        if (ahead.length > limits.headBytes) throw headTooLarge(ahead.bytes, ahead.at, limits.headBytes);
        this.#scannedBytes = ahead.length;
        return false;
      }
      request = readRequest(ahead.bytes, ahead.at, end, limits);
      if (typeof request.framing === 'number' && request.framing > limits.bodyBytes) throw tooLong(limits.bodyBytes);
      ahead.take(end);
    } catch (error) {
      this.#refuse(badMessageOf(error));
      return false;
    }
    this.#scannedBytes = 0;
    this.#hasAsked = true;
    this.#hand(request);
    return true;
  }

  #hand(request: ReadRequest): void {
    const { framing, version } = request;
    const context = this.#context;
    const body = framing === 0 ? undefined : new RequestBody(this, framing, context.limits);
    const client = version === '1.1' ? this.#client : this.#oldClient;
    this.#exchange = new Http1Exchange(this, request, body, client);
    this.#probes = 0;
    context.meter.requests += 1;
    context.handle(this.#exchange);
  }

  /** More of the body to whoever wants it. */
  #advance({ requestBody }: Http1Exchange): boolean {
    if (requestBody === undefined || !requestBody.isWanted) return false;
    try {
      if (!requestBody.advance(this.#ahead)) {
        if (this.#isHalfClosed && !requestBody.isDone) this.#breakOff(new BrokenOff(), 0);
        return false;
      }
    } catch (error) {
      const bad = badMessageOf(error);
      this.#breakOff(bad, bad.status);
      return false;
    }
    if (requestBody.isDiscarding) this.#discarded(requestBody);
    return true;
  }

  #discarded(body: RequestBody): void {
    if (body.isDone) this.#next();
    else if (body.isTooMuchDiscarded) this.#end();
  }

  /** Reads no more than may be held. */
  #regulate(): void {
    const socket = this.#socket;
    // A head is refused once it is longer than it may be, and must be able to become so long.
    const mostHead = this.#exchange === undefined ? this.#context.limits.headBytes + 1 : 0;
    const isFull = this.#ahead.length >= Math.max(readAheadBytes, mostHead);
    if (isFull !== socket.isPaused()) {
      if (isFull) socket.pause();
      else socket.resume();
    }
  }

  // --- For exchanges and bodies ---

  get mayContinue(): boolean {
    const isLast = this.#isHalfClosed && this.#ahead.length === 0;
    return !isLast && !this.#context.isDraining;
  }

  bodyWanted(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#sinceMs = this.#context.clock.now();
    exchange.continueOnce(this.#ahead.length > 0);
    this.#work();
  }

  answered(): void {
    const exchange = this.#exchange as Http1Exchange;
    const body = exchange.requestBody;
    body?.discard();
    if (!exchange.isKept) this.#end();
    else if (body === undefined || body.isDone) this.#next();
    else this.#sinceMs = this.#context.clock.now();
    this.#work();
  }

  #next(): void {
    this.#exchange = undefined;
    this.#sinceMs = this.#context.clock.now();
  }

  abort(needsReset: boolean): void {
    this.#exchange?.requestBody?.discard();
    this.#exchange = undefined;
    this.#isEnding = true;
    if (needsReset && !this.#options.isTls) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  letGo(): Duplex {
    this.outgoing.flush();
    this.#exchange = undefined;
    return this.#isHalfClosed ? this.#releaseHalfClosed() : this.#release();
  }

  // --- Its end ---

  /** Answers what is no request, and ends the connection. */
  #refuse(bad: BadMessage): void {
    const { meter, log } = this.#context;
    if (bad.status === 408) meter.timedOut += 1;
    else meter.malformed += 1;
    log.debug({ status: bad.status, reason: bad.message, client: this.#client.address }, 'a request was refused');
    const { head, body } = refusalOf(bad);
    const length = String(Buffer.byteLength(body));
    const hop = ['content-length', length, 'connection', 'close', 'date', dateText()];
    this.outgoing.text(responseText(head.status, head.headers, hop));
    this.outgoing.bytes(Buffer.from(body));
    this.#end();
  }

  /** The request under way cannot become whole: it is answered with a status, if it is not too late for that. */
  #breakOff(error: Error | BadMessage, status: number): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange === undefined) return;
    const isTooLate = exchange.status !== 0;
    if (!this.#isEnding) {
      if (status !== 0 && !isTooLate) this.#refuse(error as BadMessage);
      else if (exchange.isAnswered) this.#end();
      else this.abort(false);
    }
    exchange.leave(isTooLate ? exchange.status : status);
    exchange.requestBody?.failed(error);
    exchange.sink?.drained();
  }

  /** No more requests; the client may take its last answer. */
  #end(): void {
    if (this.#isEnding || this.#isLetGo) return;
    this.#isEnding = true;
    this.#exchange = undefined;
    this.#ahead.clear();
    this.#sinceMs = this.#context.clock.now();
    this.outgoing.flush();
    this.#socket.end();
    this.#socket.resume();
  }

  #release(): Socket {
    const socket = this.#socket;
    this.#isLetGo = true;
    socket.off('data', this.#read);
    socket.off('end', this.#halfClose);
    socket.off('drain', this.#drained);
    socket.off('close', this.#closed);
    // Whoever has it now says when to read.
    socket.pause();
    const { bytes, at, length } = this.#ahead;
    if (length > 0) socket.unshift(bytes.subarray(at));
    this.#ahead.clear();
    return socket;
  }

  /** Of a socket whose end was seen nothing can be pushed back, and it would not say its end again. */
  #releaseHalfClosed(): Duplex {
    const { bytes, at } = this.#ahead;
    const rest = bytes.subarray(at);
    this.#ahead.clear();
    return halfClosed(this.#release(), rest);
  }

  /** True: it is no business of this connection, or that cannot be told yet. */
  #isHttp2(): boolean {
    const { takeHttp2 } = this.#options;
    if (takeHttp2 === undefined) return false;
    const found = prefaceIn(this.#ahead.bytes, this.#ahead.at);
    if (found === 'whole') takeHttp2(this.#release());
    return found !== 'none';
  }

  // --- What the front asks of all connections ---

  sweep(nowMs: number): void {
    if (this.#isLetGo || this.#socket.destroyed) return;
    const { limits, meter } = this.#context;
    const waitedMs = nowMs - this.#sinceMs;
    if (this.#writing.stalledMs(nowMs) > limits.idleMs) {
      meter.timedOut += 1;
      this.destroy();
    } else if (this.#exchange !== undefined) this.#sweepExchange(this.#exchange, waitedMs);
    else if (this.#socket.writableLength > 0) {
      // It is still taking its last answer.
      this.#sinceMs = nowMs;
    } else if (this.#isEnding) {
      if (waitedMs > lingerMs) this.destroy();
    } else if (this.#ahead.length > 0) {
      if (waitedMs > limits.headMs) this.#refuse(tooSlow.head());
    } else if (waitedMs > (this.#hasAsked ? limits.idleMs : limits.headMs)) {
      // Without an answer: a browser that opened it to be prepared would take one for that to its next request.
      meter.timedOut += 1;
      this.#end();
    }
  }

  #sweepExchange(exchange: Http1Exchange, waitedMs: number): void {
    const { requestBody: body, request } = exchange;
    const isAwaited = body?.isWanted === true && !body.isDone;
    if (isAwaited && waitedMs > this.#context.limits.idleMs) {
      if (exchange.status !== 0) this.#context.meter.timedOut += 1;
      this.#breakOff(tooSlow.body(), 408);
    } else if (this.#isHalfClosed && this.#probes < mostProbes && exchange.status === 0 && request.version === '1.1') {
      this.#probes += 1;
      exchange.probe();
    }
  }

  endSoon(): void {
    // Where something is under way, its answer says `close`, unless it began before: then the connection ends behind it all the same.
    this.#isEndingSoon = true;
    this.#work();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
