/**
 * One connection to one node. Questions of one turn of the event loop leave in one write; replies come in the order of the questions.
 *
 *      send ──► queue ──► flush: one write ──► unanswered ──► reply ──► answered
 *                 ▲                                │
 *      not yet connected                           └── the connection is lost: nobody knows whether they arrived
 *
 * It opens when it is first needed and again when it was lost. A node that cannot be reached is not tried again for a while, and
 * whoever asks it meanwhile is told so at once.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SluiceError } from '../vocabulary/errors.ts';
import { Fifo } from './fifo.ts';
import { frameOf } from './frame.ts';
import { ErrorReply, type Reply, ReplyReader } from './reply-reader.ts';

/** Something that is asked of a node. */
export interface Question {
  readonly frame: string;
  /** Whether every character of the frame is one byte. */
  readonly isAscii: boolean;
  /** Nobody waits for it any more. */
  readonly isSettled: boolean;
  /** It is being written. */
  sent(nowMs: number): void;
  answered(reply: Reply): void;
  /** It was sent, and the connection ended before an answer came. */
  lost(error: SluiceError): void;
  /** It was not sent. */
  unsent(error: SluiceError): void;
}

export interface ConnectionSettings {
  readonly token: string | undefined;
  readonly tls: object | undefined;
  /** The most questions on their way to one node. */
  readonly maxPending: number;
  readonly connectTimeoutMs: number;
  now(): number;
  /** It has something to write. */
  onReady(connection: NodeConnection): void;
  /** It is being opened: somebody has to look after the time that takes. */
  onConnecting(connection: NodeConnection): void;
  /** It was lost, or could not be opened; not when it was closed. */
  onLost(connection: NodeConnection): void;
}

// After a connection that could not be opened; twice as long each time.
const firstPauseMs = 50;
const longestPauseMs = 1000;

// What nobody answered for so long will not be answered: the connection is dead, though nobody said so.
const stallMs = 1000;

export class NodeConnection {
  readonly address: string;
  /** Connected, and past AUTH. */
  isReady = false;
  private readonly settings: ConnectionSettings;
  private readonly reader = new ReplyReader();
  private readonly queue = new Fifo<Question>();
  private readonly unanswered = new Fifo<Question>();
  private socket: Socket | undefined;
  private rest: Buffer | undefined;
  private connectingSinceMs = 0;
  // Since when replies are due: the last reply, or the first question after it.
  private dueSinceMs = 0;
  private pauseMs = firstPauseMs;
  private pausedUntilMs = Number.NEGATIVE_INFINITY;
  private problem: SluiceError | undefined;
  private isClosed = false;
  // Whether this connection has answered anything but the token. One that ends before it has is as bad as none.
  private hasAnswered = false;

  constructor(address: string, settings: ConnectionSettings) {
    this.address = address;
    this.settings = settings;
  }

  get pending(): number {
    return this.queue.length + this.unanswered.length;
  }

  get isConnecting(): boolean {
    return this.socket !== undefined && !this.isReady;
  }

  /** When it is to be looked after next; Infinity: nothing is under way. */
  get dueMs(): number {
    if (this.isConnecting) return this.connectingSinceMs + this.settings.connectTimeoutMs;
    return this.unanswered.length > 0 ? this.dueSinceMs + stallMs : Number.POSITIVE_INFINITY;
  }

  /** Takes a question, or says that it cannot. */
  send(question: Question): void {
    if (this.pending >= this.settings.maxPending) {
      question.unsent(unavailable(`${this.address} has ${this.pending} questions to answer already.`));
    } else if (this.isClosed || (this.socket === undefined && this.settings.now() < this.pausedUntilMs)) {
      question.unsent(this.problem ?? unavailable(`${this.address} is not connected to.`));
    } else {
      this.queue.push(question);
      if (this.isReady) this.settings.onReady(this);
      else if (this.socket === undefined) this.open();
    }
  }

  /** Writes everything that waits. */
  flush(nowMs: number): void {
    const { socket } = this;
    if (!this.isReady || socket === undefined) return;
    if (this.unanswered.length === 0) this.dueSinceMs = nowMs;
    let out = '';
    let isAscii = true;
    for (let question = this.queue.shift(); question !== undefined; question = this.queue.shift()) {
      if (question.isSettled) continue;
      question.sent(nowMs);
      this.unanswered.push(question);
      out += question.frame;
      isAscii &&= question.isAscii;
    }
    // One byte for each character is quicker to write than to look which take more.
    if (out !== '') socket.write(out, isAscii ? 'latin1' : 'utf8');
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    if (nowMs < this.dueMs) return;
    const what = this.isConnecting ? 'could not be connected to' : 'answered nothing';
    const ms = this.isConnecting ? this.settings.connectTimeoutMs : stallMs;
    this.end(unavailable(`${this.address} ${what} within ${ms} ms.`));
  }

  close(): void {
    this.isClosed = true;
    this.end(unavailable(`The connection to ${this.address} was closed.`));
  }

  private open(): void {
    const { host, port } = endpointOf(this.address);
    const { tls, token } = this.settings;
    this.connectingSinceMs = this.settings.now();
    this.hasAnswered = false;
    const socket = tls ? connectTls({ host, port, ...tls }) : connect({ host, port });
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on(tls ? 'secureConnect' : 'connect', () => {
      if (token === undefined) this.start();
      else this.authenticate(socket, token);
    });
    socket.on('data', (chunk) => this.receive(socket, chunk));
    socket.on('error', (error) => {
      if (socket === this.socket) this.end(unavailable(`${this.address}: ${error.message}`, error));
    });
    socket.on('close', () => {
      if (socket === this.socket) this.end(unavailable(`${this.address} closed the connection.`));
    });
    this.settings.onConnecting(this);
  }

  private authenticate(socket: Socket, token: string): void {
    const fail = (error: SluiceError) => this.end(error);
    const auth: Question = {
      frame: frameOf(['AUTH', token]),
      isAscii: false,
      isSettled: false,
      sent: () => undefined,
      answered: (reply) => {
        if (reply instanceof ErrorReply) fail(unavailable(`${this.address} refused the token: ${reply.text}`));
        else this.start();
      },
      lost: () => undefined,
      unsent: () => undefined,
    };
    this.unanswered.push(auth);
    socket.write(auth.frame);
  }

  private start(): void {
    this.isReady = true;
    this.settings.onReady(this);
  }

  private receive(socket: Socket, chunk: Buffer): void {
    if (socket !== this.socket) return;
    const { reader } = this;
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = undefined;
    this.dueSinceMs = this.settings.now();
    let at = 0;
    try {
      while (at < bytes.length && reader.read(bytes, at, bytes.length)) {
        at = reader.at;
        const question = this.unanswered.shift();
        if (question === undefined) throw unavailable(`${this.address} answered what nobody asked.`);
        if (this.isReady) this.hasAnswered = true;
        question.answered(reader.value);
        // An answer may have ended this connection.
        if (socket !== this.socket) return;
      }
    } catch (error) {
      this.end(error instanceof SluiceError ? error : unavailable(`${this.address}: ${error}`, error));
      return;
    }
    if (at < bytes.length) this.rest = bytes.subarray(at);
  }

  /** The connection is over. What was sent may have arrived; what was not is sent by the next one, if it comes about. */
  private end(error: SluiceError): void {
    const { socket, isReady } = this;
    if (socket === undefined) return;
    this.socket = undefined;
    this.isReady = false;
    this.rest = undefined;
    this.problem = error;
    socket.destroy();
    const lost = this.unanswered.take();
    const waiting = this.queue.take();
    if (this.hasAnswered) this.pauseMs = firstPauseMs;
    else {
      this.pausedUntilMs = this.settings.now() + this.pauseMs;
      this.pauseMs = Math.min(2 * this.pauseMs, longestPauseMs);
    }
    if (!this.isClosed) this.settings.onLost(this);
    // Before it was ready nothing was sent but the token.
    for (const question of lost) if (isReady) question.lost(error);
    for (const question of waiting) this.send(question);
  }
}

export function unavailable(message: string, cause?: unknown): SluiceError {
  return new SluiceError('store-unavailable', message, { cause });
}

/** `host:port`, also `[::1]:6380`. */
export function endpointOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}
