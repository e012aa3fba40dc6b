/**
 * What a member answers, read strictly and passed on to the client.
 *
 *      bytes ──► 1xx ... ──► head ──┬─► all of it came with the head ──► exchange.answerWhole, one write
 *                                   └─► more is to come ──► exchange.answer ──► sink, no faster than the client reads
 *
 * Nothing is passed on before the head was read whole and well-formed, and of what came together with it all is read before any of it is
 * passed on.
 */
import type { BodyReader, Exchange, Sink } from '../exchange.ts';
import { BodyDecoder, type BodyLimits } from '../wire/body-decoder.ts';
import { findHeadEnd } from '../wire/head-end.ts';
import { endToEnd } from '../wire/hop-by-hop.ts';
import { BadMessage, type Framing, type HeaderList, type ReadResponse } from '../wire/message.ts';
import { readResponse } from '../wire/read-response.ts';

export interface AnswerListener {
  /** `100`: the member wants the body. */
  continued(): void;
  /** The head of the final answer is there. True: it is not to be passed on, and `setAside` is all that follows. */
  arrived(head: ReadResponse): boolean;
  /** The rest is thrown away. `isWhole`: there is none, the connection is as good as before. */
  setAside(status: number, isWhole: boolean): void;
  /** `101`. What follows is no HTTP any more; `rest` has come already. */
  switched(head: ReadResponse, rest: Buffer): void;
  /** The client reads slower than the member sends. */
  heldUp(): void;
  flowing(): void;
  /** All of it was passed on. */
  passed(hasLeftovers: boolean): void;
}

export interface AddedHeaders {
  /** Added to the answer. */
  readonly responseHeaders: HeaderList;
  /** Which of the member's headers these stand in place of. Default: none. */
  readonly isReplaced?: ((name: string) => boolean) | undefined;
}

/** What the client gets of the member's headers, and what is added to them. */
export function passedHeaders(headers: HeaderList, { responseHeaders, isReplaced }: AddedHeaders): string[] {
  const own = endToEnd(headers);
  const passed = isReplaced === undefined ? own : without(own, isReplaced);
  for (const part of responseHeaders) passed.push(part);
  return passed;
}

function without(headers: HeaderList, isLeftOut: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (!isLeftOut(headers[at]!)) kept.push(headers[at]!, headers[at + 1]!);
  }
  return kept;
}

// More of them before an answer are no hints any more.
const mostInterim = 64;

export class Answer implements BodyReader {
  /** Something of an answer has come. */
  hasBytes = false;
  /** Of the final answer. */
  head: ReadResponse | undefined;
  isHeldUp = false;
  private readonly exchange: Exchange;
  private readonly added: AddedHeaders;
  private readonly limits: BodyLimits;
  private readonly listener: AnswerListener;
  private rest: Buffer | undefined;
  private interimCount = 0;
  private decoder: BodyDecoder | undefined;
  /** Parts of the body that came with the head; undefined: the head was passed on. */
  private first: Buffer[] | undefined;
  private trailers: HeaderList | undefined;
  private sink: Sink | undefined;
  /** Nothing more is passed on. */
  private isOver = false;
  private isPassed = false;

  constructor(exchange: Exchange, added: AddedHeaders, limits: BodyLimits, listener: AnswerListener) {
    this.exchange = exchange;
    this.added = added;
    this.limits = limits;
    this.listener = listener;
  }

  /** The client has a part of it. */
  get isBegun(): boolean {
    return this.sink !== undefined;
  }

  /** Throws `BadMessage`. */
  read(bytes: Buffer): void {
    this.hasBytes = true;
    if (this.decoder === undefined) this.readHeads(bytes);
    else this.readBody(bytes, 0);
  }

  /** The member sends no more; true if that was the end of the answer. */
  memberEnded(): boolean {
    if (this.head?.framing !== 'until-close') return false;
    this.endSink([]);
    return true;
  }

  /** It will not be whole. */
  abort(): void {
    this.isOver = true;
    this.sink?.abort();
  }

  // --- Heads ---

  private readHeads(arrived: Buffer): void {
    const before = this.rest?.length ?? 0;
    const bytes = this.rest === undefined ? arrived : Buffer.concat([this.rest, arrived]);
    let at = 0;
    let from = before;
    while (!this.isOver) {
      const end = findHeadEnd(bytes, at, from);
      if (end === -1) {
        if (bytes.length - at > this.limits.headBytes) throw tooLarge(this.limits);
        this.rest = Buffer.from(bytes.subarray(at));
        return;
      }
      const head = readResponse(bytes, at, end, this.limits, this.exchange.request.method);
      if (head.status >= 200) {
        this.take(head, bytes, end);
        return;
      }
      if (head.status === 101) {
        this.listener.switched(head, bytes.subarray(end));
        return;
      }
      this.inform(head);
      at = end;
      from = end;
    }
  }

  private inform(head: ReadResponse): void {
    this.interimCount += 1;
    if (this.interimCount > mostInterim) throw new BadMessage(502, `more than ${mostInterim} interim answers`);
    if (head.status === 100) this.listener.continued();
    else this.exchange.inform({ status: head.status, headers: endToEnd(head.headers) });
  }

  private take(head: ReadResponse, bytes: Buffer, at: number): void {
    this.head = head;
    const { framing } = head;
    if (this.listener.arrived(head)) {
      this.isOver = true;
      this.listener.setAside(head.status, bytes.length - at === framing);
    } else if (typeof framing === 'number' && bytes.length - at >= framing) {
      this.passWhole(head, [bytes.subarray(at, at + framing)]);
      this.listener.passed(bytes.length - at > framing);
    } else {
      this.decoder = new BodyDecoder(framing, this.limits);
      this.first = [];
      this.readBody(bytes, at);
    }
  }

  private passedHead(head: ReadResponse): { status: number; headers: HeaderList } {
    return { status: head.status, headers: passedHeaders(head.headers, this.added) };
  }

  private passWhole(head: ReadResponse, parts: readonly Buffer[]): void {
    this.isOver = true;
    this.isPassed = true;
    if (this.exchange.request.method === 'HEAD' || head.status === 304) {
      this.exchange.answer(this.passedHead(head), announcedFraming(head.headers)).end();
      // Copied: the connection's bytes are ours only until this returns, and a whole answer may wait until the client has read the one before it.
    } else this.exchange.answerWhole(this.passedHead(head), Buffer.concat(parts));
  }

  // --- The body ---

  private readBody(bytes: Buffer, at: number): void {
    const end = this.decoder!.read(bytes, at, this);
    if (this.first !== undefined) this.passFirst(this.head!, this.first);
    // The client may have left while it was written to.
    else if (this.trailers !== undefined && !this.isOver) this.endSink(this.trailers);
    if (this.isPassed) this.listener.passed(end < bytes.length);
  }

  /** What came with the head: all of it, or the beginning. */
  private passFirst(head: ReadResponse, first: readonly Buffer[]): void {
    this.first = undefined;
    if (this.trailers?.length === 0) {
      this.passWhole(head, first);
      return;
    }
    this.sink = this.exchange.answer(this.passedHead(head), head.framing);
    for (const part of first) this.write(part);
    if (this.trailers !== undefined && !this.isOver) this.endSink(this.trailers);
  }

  private endSink(trailers: HeaderList): void {
    this.isOver = true;
    this.isPassed = true;
    this.sink!.end(trailers);
  }

  chunk(bytes: Buffer): void {
    if (this.first !== undefined) this.first.push(bytes);
    else this.write(bytes);
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
  }

  failed(error: Error): void {
    throw error;
  }

  private write(bytes: Buffer): void {
    if (this.isOver || this.sink!.write(bytes) || this.isHeldUp || this.isOver) return;
    this.isHeldUp = true;
    this.listener.heldUp();
    this.sink!.whenDrained(() => {
      this.isHeldUp = false;
      if (!this.isOver) this.listener.flowing();
    });
  }
}

/** How long the body would be that an answer to HEAD, or of `304`, does not have. */
function announcedFraming(headers: HeaderList): Framing {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length') return Number(headers[i + 1]);
    if (headers[i] === 'transfer-encoding') return 'chunked';
  }
  return 'until-close';
}

function tooLarge({ headBytes }: BodyLimits): BadMessage {
  return new BadMessage(502, `the head of the answer is longer than ${headBytes} bytes`);
}
