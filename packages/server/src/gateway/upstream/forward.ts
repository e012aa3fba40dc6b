/**
 * One request to one member, and its answer back to the client.
 *
 *      a connection ──► the request ──► the answer ──┬─► passed on whole ──► answered
 *          │               │                         ├─► 101 ──► tunnel, until both sides have ended ──► answered
 *          │               │                         ├─► a status to be set aside ──► set-aside, for another attempt
 *          │               │                         └─► breaks off, is late, is no HTTP ──► failed
 *          │               └─ the kept connection was closing just then: once more on a fresh one, where that is safe
 *          └─ none to be had ──► failed
 *
 * Times: `responseMs` runs from when the request was handed over whole until the head of the final answer; `idleMs` between bytes of the
 * answer, and while the member takes none of the request's. While the gateway waits for the client (for its body, or until it has read)
 * no time runs here: the front has its own.
 */
import type { Exchange } from '../exchange.ts';
import { BadMessage, type HeaderList, type ReadResponse } from '../wire/message.ts';
import { type AddedHeaders, Answer, type AnswerListener, passedHeaders } from './answer.ts';
import { BodySender, type SendingListener } from './body-sender.ts';
import { mayBeDoneTwice } from './may-be-done-twice.ts';
import type { ConnectionTaker, ConnectionUser, MemberConnection } from './member-connection.ts';
import type { MemberConnections } from './member-connections.ts';
import { memberIdleMs } from './member-idle.ts';
import type { RepeatableBody } from './repeatable-body.ts';
import { mustAskFirst, type RequestParts, requestHead, upgradeOf } from './request-head.ts';
import { Tunnel } from './tunnel.ts';

export interface ForwardOptions extends RequestParts, AddedHeaders {
  /** The head of the answer is there, or the `101`. True: the answer is thrown away, for another attempt. */
  arrived(status: number): boolean;
  /** All of the body is there only now: what it took until here was up to the client. */
  bodyCame?(): void;
}

/** `busy`: all connections are in use, so that the member was not asked. */
export type FailureReason = 'connect' | 'busy' | 'timed-out' | 'reset' | 'malformed';

export type Forwarded =
  /** The whole answer was passed on; after `101`, the tunnel has ended. */
  | { readonly kind: 'answered'; readonly status: number; readonly headMs: number }
  | { readonly kind: 'set-aside'; readonly status: number }
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly message: string;
      /** The client has a part of the answer already: nothing more can be done. */
      readonly isAnswered: boolean;
      /** The member may have acted on the request. */
      readonly mayHaveArrived: boolean;
    }
  /** The client left, or its body was none and the front tells it so. The member was cut off. */
  | { readonly kind: 'gone' };

/** Rejects only what is no request: options that cannot be written, or a body that cannot be read again. */
export function forward(
  exchange: Exchange,
  body: RepeatableBody,
  connections: MemberConnections,
  options: ForwardOptions,
): Promise<Forwarded> {
  return new Promise((resolve) => {
    if (!body.isRepeatable) throw new Error('The body was read already and is not kept: it cannot be sent again.');
    new Forwarding(exchange, body, connections, options, resolve).start();
  });
}

// How long the client's body waits for the member's `100 Continue`; it may never come (RFC 9110 10.1.1).
const continueMs = 1000;

// All that a member sent before it hung up is there when that is noticed. It only has to be read.
const lingerMs = 250;

class Forwarding implements ConnectionTaker, ConnectionUser, AnswerListener, SendingListener {
  private readonly exchange: Exchange;
  private readonly body: RepeatableBody;
  private readonly connections: MemberConnections;
  private readonly options: ForwardOptions;
  private readonly resolve: (forwarded: Forwarded) => void;
  private readonly answer: Answer;
  private connection: MemberConnection | undefined;
  private head = '';
  private sender: BodySender | undefined;
  /** The head went out with `Expect`; the client was not asked for its body yet. */
  private isAwaitingContinue = false;
  private isWritten = false;
  private isSentWhole = false;
  /** The body was not there as a whole when it was to be sent. */
  private isBodyAwaited = false;
  /** The member takes no more of the request; what it has answered is still read. */
  private writingError: Error | undefined;
  private startMs = 0;
  private headMs = 0;
  private isSettled = false;

  constructor(
    exchange: Exchange,
    body: RepeatableBody,
    connections: MemberConnections,
    options: ForwardOptions,
    resolve: (forwarded: Forwarded) => void,
  ) {
    this.exchange = exchange;
    this.body = body;
    this.connections = connections;
    this.options = options;
    this.resolve = resolve;
    this.answer = new Answer(exchange, options, connections.answerLimits, this);
  }

  start(): void {
    this.head = requestHead(this.exchange, this.body, this.options);
    this.exchange.whenGone(() => this.clientLeft());
    if (!this.isSettled) this.connections.acquire(this);
  }

  // --- The connection ---

  take(connection: MemberConnection): void {
    this.connection = connection;
    connection.user = this;
    this.isWritten = true;
    this.startMs = this.connections.clock.now();
    if (this.body.isNone) {
      connection.writeText(this.head);
      this.sentWhole();
    } else if (mustAskFirst(this.exchange, this.body)) {
      connection.writeText(this.head);
      this.isAwaitingContinue = true;
      connection.deadlineMs = this.startMs + continueMs;
    } else this.sendBody(connection, this.head);
  }

  refuse(message: string, reason: 'connect' | 'busy'): void {
    this.fail(reason, message);
  }

  bytes(bytes: Buffer): void {
    try {
      this.answer.read(bytes);
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      this.fail('malformed', error.message);
    }
    if (this.answer.head !== undefined) this.watchAnswer();
  }

  ended(): void {
    if (this.answer.memberEnded()) this.passed(true);
    else this.broke('the member closed the connection');
  }

  closed(error: Error | undefined): void {
    this.broke(error?.message ?? 'the connection was closed');
  }

  drained(): void {
    this.sender?.drained();
  }

  /** In the middle of its body: why the member takes no more may have come already. */
  writingFailed(error: Error): boolean {
    if (this.writingError !== undefined) return true;
    if (this.sender === undefined || this.connection === undefined) return false;
    this.writingError = error;
    this.sender = undefined;
    this.isSentWhole = false;
    this.body.leave();
    this.connection.deadlineMs = this.later('idleMs');
    return true;
  }

  overdue(): void {
    const { responseMs, idleMs } = this.connections.settings.timeouts;
    if (this.isAwaitingContinue) this.continued();
    else if (this.writingError !== undefined) this.broke(this.writingError.message);
    else if (this.answer.head !== undefined) this.fail('timed-out', `nothing of the answer came for ${idleMs} ms`);
    else if (this.isSentWhole) this.fail('timed-out', `no answer within ${responseMs} ms`);
    else this.fail('timed-out', `the member took nothing of the request for ${idleMs} ms`);
  }

  /**
   * The connection died under the request. A kept one may have been closed by the member before the request came to it; nobody can tell
   * that from a member that died of the request. So it is repeated, but only where twice is the same as once.
   */
  private broke(message: string): void {
    const connection = this.connection!;
    const isSafe = mayBeDoneTwice(this.exchange) && this.body.isRepeatable;
    if (!connection.isReused || this.answer.hasBytes || !isSafe) {
      this.fail('reset', message);
      return;
    }
    this.connection = undefined;
    this.sender = undefined;
    this.writingError = undefined;
    this.isAwaitingContinue = false;
    this.isSentWhole = false;
    this.body.leave();
    this.connections.acquireFresh(this);
    connection.destroy();
  }

  // --- The request ---

  private sendBody(connection: MemberConnection, head: string): void {
    this.sender = new BodySender(this.body, connection, head, this);
    this.sender.start();
    this.isBodyAwaited = !this.isSentWhole;
  }

  continued(): void {
    if (!this.isAwaitingContinue) return;
    this.isAwaitingContinue = false;
    this.connection!.deadlineMs = Number.POSITIVE_INFINITY;
    this.sendBody(this.connection!, '');
  }

  sent(isFull: boolean): void {
    if (this.isSentWhole || this.connection === undefined) return;
    if (this.answer.head !== undefined) this.watchAnswer();
    else this.connection.deadlineMs = isFull ? this.later('idleMs') : Number.POSITIVE_INFINITY;
  }

  sentWhole(): void {
    this.isSentWhole = true;
    if (this.isBodyAwaited && this.answer.head === undefined) this.options.bodyCame?.();
    if (this.answer.head === undefined && this.connection !== undefined) {
      this.connection.deadlineMs = this.later('responseMs');
    }
  }

  bodyFailed(): void {
    this.clientLeft();
  }

  // --- The answer ---

  arrived(head: ReadResponse): boolean {
    const connection = this.connection!;
    this.headMs = this.connections.clock.now() - this.startMs;
    this.isAwaitingContinue = false;
    connection.memberIdleMs ??= memberIdleMs(head.headers);
    return this.options.arrived(head.status);
  }

  setAside(status: number, isWhole: boolean): void {
    this.giveBack(isWhole);
    this.settle({ kind: 'set-aside', status });
  }

  switched(head: ReadResponse, rest: Buffer): void {
    const { exchange, connection, connections } = this;
    if (exchange.upgrade === undefined || upgradeOf(exchange) === undefined || !this.isSentWhole) {
      throw new BadMessage(502, 'the member switches protocols, which nobody asked for');
    }
    this.arrived(head);
    this.isSettled = true;
    const { headMs } = this;
    const client = exchange.switchProtocols({ status: 101, headers: this.switchHeaders(head.headers) });
    const over = () => this.resolve({ kind: 'answered', status: 101, headMs });
    new Tunnel(client, connection!, connections, over).start(rest);
  }

  private switchHeaders(headers: HeaderList): string[] {
    const passed = passedHeaders(headers, this.options);
    const at = headers.findIndex((part, i) => i % 2 === 0 && part === 'upgrade');
    return at === -1 ? passed : [...passed, 'upgrade', headers[at + 1]!];
  }

  heldUp(): void {
    this.connection?.pause();
  }

  flowing(): void {
    if (this.connection === undefined) return;
    this.connection.resume();
    this.watchAnswer();
  }

  passed(hasLeftovers: boolean): void {
    const { status } = this.answer.head!;
    this.giveBack(!hasLeftovers);
    this.settle({ kind: 'answered', status, headMs: this.headMs });
  }

  /** While the client is slower than the member, the member is not late. */
  private watchAnswer(): void {
    if (this.connection === undefined || this.isSettled) return;
    this.connection.deadlineMs = this.answer.isHeldUp ? Number.POSITIVE_INFINITY : this.later('idleMs');
  }

  private later(timeout: 'idleMs' | 'responseMs'): number {
    if (this.writingError !== undefined) return this.connections.clock.now() + lingerMs;
    return this.connections.clock.now() + this.connections.settings.timeouts[timeout];
  }

  // --- The end ---

  /** After its answer. It is kept if nothing of this exchange is left on it, in either direction. */
  private giveBack(isClean: boolean): void {
    const connection = this.connection!;
    this.connection = undefined;
    if (!this.isSentWhole) this.body.leave();
    const isKept = isClean && this.isSentWhole && this.answer.head!.isKeepAlive && connection.unsentBytes === 0;
    if (!isKept) {
      connection.destroy();
      return;
    }
    if (this.answer.isHeldUp) connection.resume();
    this.connections.release(connection);
  }

  private clientLeft(): void {
    if (this.isSettled) return;
    this.cutOff();
    this.settle({ kind: 'gone' });
  }

  private fail(reason: FailureReason, message: string): void {
    const isAnswered = this.answer.isBegun;
    this.cutOff();
    this.settle({ kind: 'failed', reason, message, isAnswered, mayHaveArrived: this.isWritten });
  }

  /** Nothing more is sent to the member or taken from it, and an answer that was begun cannot be finished. */
  private cutOff(): void {
    const { connection } = this;
    this.connection = undefined;
    this.body.leave();
    this.answer.abort();
    if (connection === undefined) this.connections.abandon(this);
    else connection.destroy();
  }

  private settle(forwarded: Forwarded): void {
    this.isSettled = true;
    this.resolve(forwarded);
  }
}
