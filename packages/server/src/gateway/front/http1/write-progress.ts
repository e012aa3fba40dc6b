/** Whether a client takes what is written to it: seen from outside, now and then. */
import type { Socket } from 'node:net';

/** What is in libuv's hands: a large write is one for Node until all of it has gone. */
interface QueueOwner {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

export class WriteProgress {
  readonly #socket: Socket;
  #waitingBytes = 0;
  #queuedBytes = 0;
  #writtenBytes = 0;
  #sinceMs = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** How long nothing has gone out although something waits, as far as the last looks can tell. */
  stalledMs(nowMs: number): number {
    const socket = this.#socket;
    const waitingBytes = socket.writableLength;
    if (waitingBytes === 0) {
      this.#waitingBytes = 0;
      return 0;
    }
    const queuedBytes = (socket as QueueOwner)._handle?.writeQueueSize ?? 0;
    const writtenBytes = socket.bytesWritten;
    const isSame =
      waitingBytes === this.#waitingBytes && queuedBytes === this.#queuedBytes && writtenBytes === this.#writtenBytes;
    if (!isSame) {
      this.#waitingBytes = waitingBytes;
      this.#queuedBytes = queuedBytes;
      this.#writtenBytes = writtenBytes;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs;
  }
}
