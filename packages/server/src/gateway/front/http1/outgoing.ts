/**
 * What goes out on a connection. Small pieces are put together: a head with its body, and the answers to requests that came together,
 * are one write.
 */
import type { Socket } from 'node:net';
import { fullBytes } from '../front-settings.ts';

// Larger pieces are not worth being copied into a text.
const smallBytes = 4 * 1024;
const mostText = 16 * 1024;

export class Outgoing {
  readonly #socket: Socket;
  /** Latin1: a character is a byte. */
  #text = '';
  #isScheduled = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** It does not leave before `flush` or `flushSoon`. */
  text(text: string): void {
    this.#text += text;
    if (this.#text.length > mostText) this.flush();
  }

  /** As `text`. They are the caller's again when this returns, unless it says that they do not change any more. */
  bytes(bytes: Buffer, isLasting = false): void {
    if (bytes.length <= smallBytes) {
      this.text(bytes.toString('latin1'));
      return;
    }
    const socket = this.#socket;
    socket.cork();
    this.flush();
    socket.write(isLasting ? bytes : Buffer.from(bytes));
    socket.uncork();
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#socket.write(text, 'latin1');
  }

  /** Before anything else is read: more may come in the same turn. */
  flushSoon(): void {
    if (this.#isScheduled || this.#text === '') return;
    this.#isScheduled = true;
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  /** Node's own mark is lower, so a `drain` follows whenever this is true after a flush. */
  get isFull(): boolean {
    return this.#socket.writableLength + this.#text.length >= fullBytes;
  }
}
