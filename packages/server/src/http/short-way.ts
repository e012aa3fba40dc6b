/**
 * The short way of `POST /v1/check`, which nearly all requests are.
 *
 *      socket ──► a whole plain check? ──yes──► answered here: read from the bytes that came, one write
 *                        │
 *                        no, not whole, or anything else ──► node:http has the connection from here on
 *
 * `node:http` makes a request object, a response object and two streams for each request, which takes longer than to read, decide and
 * write the answer. Here a connection stays as long as it brings whole checks; the first bytes that are not end that for good,
 * and Node's parser sees them as if nothing had been here before. So time-outs of half requests, odd headers and errors are in one
 * place only.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { LimitsConfig } from '../config/config.ts';
import { dropInput } from '../service/drop-input.ts';
import type { Answer } from '../service/service.ts';
import { headEnd, type PlainHead, plainHead, requestLine } from './plain-head.ts';
import type { Reply } from './reply.ts';

export interface ShortWayDoor {
  readonly limits: LimitsConfig;
  readonly isDraining: boolean;
  /** Undefined where checks are not to be had. It neither throws nor rejects. */
  readonly check: ((head: PlainHead, body: Buffer) => Answer<Reply>) | undefined;
  /** Takes the connection, with what was read of it pushed back. */
  handOver(socket: Socket): void;
  /** Nothing happened for too long. */
  timedOut(): void;
}

// A head that is longer has headers that are not plain.
const longestHead = 4096;
// After its last answer a client may still send for so long before it is cut off.
const longestIgnoringMs = 500;

export class ShortWay {
  readonly #socket: Socket;
  readonly #door: ShortWayDoor;
  // Clients send the same head over and over: it is read once.
  #headText = '';
  #head: PlainHead | undefined;
  #isWaiting = false;
  // The client asks nothing more, and may still read.
  #isHalfClosed = false;
  #isClosing = false;

  constructor(socket: Socket, door: ShortWayDoor) {
    this.#socket = socket;
    this.#door = door;
    // As node:http has it without TLS: our half stays open until the answers are written.
    socket.allowHalfOpen = true;
    socket.setTimeout(door.limits.idleMs);
    socket.on('data', this.#read);
    socket.on('end', this.#end);
    socket.on('timeout', this.#timeOut);
    socket.on('error', this.#fail);
  }

  /** Ends the connection once what was asked is answered. */
  drain(): void {
    if (!this.#isWaiting) this.#close();
  }

  readonly #read = (bytes: Buffer): void => {
    const { check, limits } = this.#door;
    let out = '';
    let isAscii = true;
    let at = 0;
    while (at < bytes.length) {
      const head = check && this.#headAt(bytes, at);
      const start = at + this.#headText.length;
      if (!check || !head || head.contentLength > limits.bodyBytes || start + head.contentLength > bytes.length) {
        this.#write(out, isAscii);
        this.#handOver(at === 0 ? bytes : bytes.subarray(at));
        return;
      }
      at = start + head.contentLength;
      const answer = check(head, bytes.subarray(start, at));
      if (answer instanceof Promise) {
        this.#write(out, isAscii);
        this.#waitFor(answer, bytes.subarray(at));
        return;
      }
      const length = Buffer.byteLength(answer.body);
      if (length !== answer.body.length) isAscii = false;
      out += this.#text(answer, length, at === bytes.length);
    }
    this.#write(out, isAscii);
    this.#endIfLast();
  };

  #headAt(bytes: Buffer, at: number): PlainHead | undefined {
    const known = this.#headText;
    if (known !== '' && bytes.toString('latin1', at, at + known.length) === known) return this.#head;
    this.#head = undefined;
    const isCheck = bytes.toString('latin1', at, at + requestLine.length) === requestLine;
    const end = isCheck ? bytes.indexOf(headEnd, at, 'latin1') : -1;
    if (end < 0 || end - at > longestHead) return undefined;
    this.#headText = bytes.toString('latin1', at, end + headEnd.length);
    this.#head = plainHead(this.#headText);
    return this.#head;
  }

  /** Meanwhile nothing more is read: a client that sends on and on waits for its answers. */
  #waitFor(answer: Promise<Reply>, rest: Buffer): void {
    const socket = this.#socket;
    this.#isWaiting = true;
    socket.pause();
    // Back into the stream: the end of the client's half is not heard before it then, and node:http can still be given it.
    if (rest.length > 0) socket.unshift(rest);
    void answer.then((reply) => {
      this.#isWaiting = false;
      if (socket.destroyed) return;
      const length = Buffer.byteLength(reply.body);
      const isTaken = this.#write(this.#text(reply, length, rest.length === 0), length === reply.body.length);
      if (isTaken) socket.resume();
      if (rest.length === 0) this.#endIfLast();
    });
  }

  /** Only the last answer may say that the connection closes: clients drop it there, and with it the answers that follow. */
  #text({ status, type, headers, body }: Reply, length: number, isLast: boolean): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    const connection = isLast && this.#door.isDraining ? 'Connection: close\r\n' : keepAlive(this.#door.limits.idleMs);
    return `${text}Date: ${dateText()}\r\n${connection}\r\n${body}`;
  }

  /** False: reading goes on when that much was taken. */
  #write(text: string, isAscii: boolean): boolean {
    if (text === '') return true;
    const socket = this.#socket;
    // ASCII is the same in both, and quicker in the first.
    const isTaken = socket.write(text, isAscii ? 'latin1' : 'utf8');
    if (!isTaken && !this.#isWaiting) {
      // Who does not read its answers is not read either.
      socket.pause();
      socket.once('drain', () => {
        if (!this.#isWaiting) socket.resume();
      });
    }
    return isTaken;
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    if (socket.destroyed || !socket.writable) return;
    socket.off('data', this.#read);
    socket.off('end', this.#end);
    socket.off('timeout', this.#timeOut);
    socket.setTimeout(0);
    socket.unshift(bytes);
    this.#door.handOver(socket);
    socket.off('error', this.#fail);
    socket.resume();
  }

  readonly #end = (): void => {
    this.#isHalfClosed = true;
    if (!this.#isWaiting) this.#socket.end();
  };

  /** Everything that was asked is answered. */
  #endIfLast(): void {
    if (this.#door.isDraining) this.#close();
    else if (this.#isHalfClosed) this.#socket.end();
  }

  #close(): void {
    const socket = this.#socket;
    if (this.#isClosing) return;
    this.#isClosing = true;
    socket.setTimeout(0);
    socket.off('data', this.#read);
    socket.on('data', dropInput(socket));
    socket.end(() => {
      const timer = setTimeout(() => socket.destroy(), longestIgnoringMs);
      socket.once('close', () => clearTimeout(timer));
    });
    socket.resume();
  }

  readonly #timeOut = (): void => {
    this.#door.timedOut();
    this.#socket.destroy();
  };

  readonly #fail = (): void => {
    // The connection broke. There is nobody to tell, and 'close' follows.
    this.#socket.destroy();
  };
}

let keepAliveMs = -1;
let keepAliveText = '';

function keepAlive(idleMs: number): string {
  if (idleMs !== keepAliveMs) {
    keepAliveMs = idleMs;
    keepAliveText = `Connection: keep-alive\r\n${idleMs > 0 ? `Keep-Alive: timeout=${Math.floor(idleMs / 1000)}\r\n` : ''}`;
  }
  return keepAliveText;
}

let dateSecond = -1;
let dateOfSecond = '';

function dateText(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateOfSecond = new Date(nowMs).toUTCString();
  }
  return dateOfSecond;
}
