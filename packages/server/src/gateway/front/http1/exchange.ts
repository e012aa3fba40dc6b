/**
 * A request of an HTTP/1 connection, and its answer. How the answer is framed depends on what the client understands:
 *
 *      length known              content-length
 *      unknown, HTTP/1.1         chunks, with trailers for whoever said `TE: trailers`
 *      unknown, HTTP/1.0         until the connection ends
 *      HEAD, 204, 304            no body, whatever is written
 */
import type { Duplex } from 'node:stream';
import type { Body, Client, Exchange, Sink } from '../../exchange.ts';
import type { Framing, HeaderList, ReadRequest, ResponseHead } from '../../wire/message.ts';
import { responseText } from '../../wire/write-head.ts';
import { dateText } from '../date-text.ts';
import { nowhere } from '../nowhere.ts';
import { AnswerSink } from './answer-sink.ts';
import type { Outgoing } from './outgoing.ts';
import type { RequestBody } from './request-body.ts';

/** What an exchange needs of its connection. */
export interface ExchangeHost {
  readonly outgoing: Outgoing;
  /** Whether another request can follow, as far as the connection knows. */
  readonly mayContinue: boolean;
  /** The answer is whole. */
  answered(): void;
  /** The answer cannot be finished. */
  abort(needsReset: boolean): void;
  /** Lets go of the connection, behind what was written to it. */
  letGo(): Duplex;
}

export class Http1Exchange implements Exchange {
  readonly request: ReadRequest;
  readonly requestBody: RequestBody | undefined;
  readonly client: Client;
  readonly #host: ExchangeHost;
  #status = 0;
  #isGone = false;
  #hasLeft = false;
  #isAnswered = false;
  #onGone: (() => void) | undefined;
  #isContinued = false;
  /** The connection can be used again after this answer. */
  isKept = true;
  bodyBytes = 0;
  sink: AnswerSink | undefined = undefined;

  constructor(host: ExchangeHost, request: ReadRequest, body: RequestBody | undefined, client: Client) {
    this.#host = host;
    this.request = request;
    this.requestBody = body;
    this.client = client;
  }

  get framing(): Framing {
    return this.request.framing;
  }

  get body(): Body | undefined {
    return this.requestBody;
  }

  get expectsContinue(): boolean {
    return this.request.expectsContinue;
  }

  get upgrade(): string | undefined {
    return this.request.upgrade;
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

  /** The answer has all of its bytes, or nobody waits for it. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  whenGone(act: () => void): void {
    this.#onGone = act;
    if (this.#isGone) act();
  }

  inform({ status, headers }: ResponseHead): void {
    if (this.#isGone || this.request.version === '1.0') return;
    if (this.#status !== 0) throw new Error(`The answer ${this.#status} has begun: it is too late for ${status}.`);
    this.#host.outgoing.text(responseText(status, headers, []));
    this.#host.outgoing.flush();
  }

  answer(head: ResponseHead, framing: Framing): Sink {
    if (this.#isGone) return nowhere;
    const isBodyless = this.#begin(head, framing);
    this.#host.outgoing.flushSoon();
    const unknown = this.request.version === '1.1' ? 'chunked' : 'until-close';
    const known = typeof framing === 'number' ? framing : unknown;
    this.sink = new AnswerSink(this, this.#host, isBodyless ? 'nothing' : known);
    return this.sink;
  }

  answerWhole(head: ResponseHead, body: string | Buffer): void {
    if (this.#isGone) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const { outgoing } = this.#host;
    if (!this.#begin(head, length, true)) {
      // ASCII needs no other form.
      if (typeof body !== 'string') outgoing.bytes(body, true);
      else if (body.length === length) outgoing.text(body);
      else outgoing.bytes(Buffer.from(body), true);
      this.bodyBytes = length;
    }
    this.finish();
  }

  switchProtocols({ status, headers }: ResponseHead): Duplex {
    const { upgrade } = this.request;
    if (upgrade === undefined) throw new Error('This request did not ask for another protocol.');
    if (this.#status !== 0) throw new Error('This request has its answer.');
    const hop = ['connection', 'upgrade'];
    if (!hasName(headers, 'upgrade')) hop.push('upgrade', upgrade);
    if (!this.#isGone) this.#host.outgoing.text(responseText(status, headers, hop));
    this.#status = status;
    this.#isAnswered = true;
    return this.#host.letGo();
  }

  /** `TE: trailers`: without it nobody promises to do anything with them. */
  get takesTrailers(): boolean {
    const { headers } = this.request;
    for (let at = 0; at < headers.length; at += 2) {
      if (headers[at] === 'te' && /(^|[\s,])trailers($|[\s,;])/i.test(headers[at + 1] as string)) return true;
    }
    return false;
  }

  /** Sends `100 Continue` to a client that waits with its body, unless it does not. */
  continueOnce(hasBodyBytes: boolean): void {
    if (!this.request.expectsContinue || this.#isContinued || this.#status !== 0 || this.#isGone) return;
    this.#isContinued = true;
    if (!hasBodyBytes) this.probe();
  }

  /**
   * The one answer that every client of HTTP/1.1 passes over. Sent to one that has hung up it comes back as a reset; to one that has
   * only said all it has to say, nothing happens.
   */
  probe(): void {
    this.#host.outgoing.text(continueText);
    this.#host.outgoing.flush();
  }

  finish(): void {
    this.#isAnswered = true;
    this.#host.answered();
  }

  /** Whoever answers cannot go on, and need not be told. */
  giveUp(): void {
    this.#isAnswered = true;
    this.#isGone = true;
  }

  /** Nobody is there to be answered any more, or the front has done it. */
  leave(status = this.#status): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#isGone = true;
    // Where the front has answered it, it has another status now.
    this.#hasLeft = status === this.#status;
    this.#status = status;
    this.#onGone?.();
  }

  /** Writes the head; true: no body follows it. `isWhole`: all of the answer is there. */
  #begin({ status, headers }: ResponseHead, framing: Framing, isWhole = false): boolean {
    if (this.#status !== 0) throw new Error(`This request has its answer: ${this.#status}.`);
    const { method, version } = this.request;
    const isBodyless = method === 'HEAD' || status === 204 || status === 304;
    const isUntilClose = version === '1.0' && typeof framing !== 'number' && !isBodyless;
    this.isKept = this.#isKept(isWhole) && !isUntilClose;
    const hop: string[] = [];
    if (typeof framing === 'number') {
      // A 304 that says 0 would speak of another body than the one that the client has.
      if (status !== 204 && !(status === 304 && framing === 0)) hop.push('content-length', String(framing));
    } else if (!isBodyless && !isUntilClose) hop.push('transfer-encoding', 'chunked');
    if (!this.isKept) hop.push('connection', 'close');
    else if (version === '1.0') hop.push('connection', 'keep-alive');
    if (!hasName(headers, 'date')) hop.push('date', dateText());
    this.#host.outgoing.text(responseText(status, headers, hop));
    this.#status = status;
    return isBodyless;
  }

  #isKept(isWhole: boolean): boolean {
    if (!this.request.isKeepAlive || !this.#host.mayContinue) return false;
    const body = this.requestBody;
    if (body === undefined || body.isDone) return true;
    // Who waits for `100 Continue` may send its body or not: what comes next could be either.
    if (this.request.expectsContinue && !this.#isContinued) return false;
    // Who reads it may have all of it before the answer is whole; one that is whole already leaves the rest to be thrown away.
    return (body.isRead && !isWhole) || body.isSmallRest;
  }
}

const continueText = 'HTTP/1.1 100 Continue\r\n\r\n';

function hasName(headers: HeaderList, name: string): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return true;
  return false;
}
