/**
 * The people who watch through one door. A snapshot is made each second, once for all of them, and none while there is nobody.
 *
 *      service.status() ──each second──► one event ──┬──► listener        writes it
 *                                                    ├──► listener        writes it
 *                                                    └──► slow listener   still has the last one under way: it is passed over, and
 *                                                                         gets the newest when that has gone
 *
 * So a listener never has more than one event waiting, however slowly it reads; and whoever reads nothing at all makes room for others.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, monotonicClock } from 'sluice';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';
import { occasionalLog } from '../operations/occasional-log.ts';
import type { Log } from '../service/log.ts';
import type { Answer } from '../service/service.ts';
import { Problem } from './problem.ts';
import { jsonText, type Reply } from './reply.ts';

export interface LiveStreamsOptions {
  /** Connections of the door. Those who watch get a part of them only. */
  readonly connections: number;
  readonly log: Log;
  /** Default: real time. */
  readonly clock?: Clock | undefined;
}

export const eventStreamType = 'text/event-stream';

const everyMs = 1000;
const mostStreams = 32;
const shareOfConnections = 0.25;

// Events come each second. Whoever takes nothing of one for so long does not read, and has the place of somebody who would; the silence
// that connections are allowed between requests is much longer.
const longestStallMs = 15_000;

// An event is written piece by piece: that one was taken shows that somebody reads, however slowly.
const pieceBytes = 16 * 1024;

// A proxy that collects an answer until it is whole would never pass on one that does not end.
const headers = ['Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'] as const;

interface Listener {
  readonly response: ServerResponse;
  /** Tokens may change while it listens. */
  mayStay(): boolean;
  isWriting: boolean;
  /** When it was last handed something, all before having been taken. */
  handedAtMs: number;
  /** An event came while it was writing another one. */
  isBehind: boolean;
}

export class LiveStreams {
  readonly #status: () => Answer<LiveSnapshot>;
  readonly #most: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #listeners = new Map<Socket, Listener>();
  /** Undefined: nobody listens. */
  #watch: AbortController | undefined;
  /** The event of this second. */
  #latest: Buffer | undefined;
  #lastId = 0;
  #isEnded = false;

  constructor(status: () => Answer<LiveSnapshot>, options: LiveStreamsOptions) {
    const { connections, log, clock = monotonicClock } = options;
    this.#status = status;
    this.#most = Math.max(1, Math.min(mostStreams, Math.floor(connections * shareOfConnections)));
    this.#log = occasionalLog(log);
    this.#clock = clock;
  }

  /** Throws a problem where there is no room for another one. */
  reply(socket: Socket, mayStay: () => boolean): Reply {
    if (this.#isEnded) throw full('The service is ending.');
    if (this.#listeners.has(socket)) throw full('There is a stream on this connection already. Open another one.');
    if (this.#listeners.size >= this.#most)
      throw full(
        `${this.#most} others are watching already, which is the most of one door. Close a page, or ask again.`,
      );
    const stream = (response: ServerResponse) => this.#join(socket, response, mayStay);
    return { status: 200, type: eventStreamType, body: '', headers, stream };
  }

  /** Tells everybody that it is over. */
  end(): void {
    this.#isEnded = true;
    this.#endAll();
  }

  #join(socket: Socket, response: ServerResponse, mayStay: () => boolean): void {
    if (socket.destroyed) return;
    if (socket.readableEnded) {
      socket.destroy();
      return;
    }
    const listener: Listener = { response, mayStay, isWriting: false, handedAtMs: 0, isBehind: false };
    this.#listeners.set(socket, listener);
    // Not the response's own end: one that waits behind another on its connection is never told.
    socket.once('close', () => this.#leave(socket));
    // Who asks nothing more gets the answers to what was asked; this one never ends.
    socket.once('end', () => socket.destroy());
    // Of the silence between requests; here the clock decides.
    socket.setTimeout(0);
    response.flushHeaders();
    if (this.#latest !== undefined) this.#write(socket, listener, this.#latest);
    if (this.#watch === undefined) {
      this.#watch = new AbortController();
      void this.#collect(this.#watch.signal);
    }
  }

  #leave(socket: Socket): void {
    this.#listeners.delete(socket);
    if (this.#listeners.size > 0) return;
    this.#watch?.abort();
    this.#watch = undefined;
    this.#latest = undefined;
  }

  async #collect(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const startMs = this.#clock.now();
        const snapshot = await this.#status();
        if (signal.aborted) return;
        this.#tell(snapshot);
        await this.#clock.sleep(Math.max(1, startMs + everyMs - this.#clock.now()), signal);
      }
    } catch (error) {
      // The last one left while nothing was to be done.
      if (signal.aborted) return;
      this.#log.error({ err: error }, 'those who watch could not be told');
      this.#endAll();
    }
  }

  #tell(snapshot: LiveSnapshot): void {
    this.#lastId += 1;
    const text = `id: ${this.#lastId}\nevent: snapshot\nretry: ${everyMs}\ndata: ${jsonText(snapshot)}\n\n`;
    const event = Buffer.from(text);
    this.#latest = event;
    for (const [socket, listener] of this.#listeners) {
      if (!listener.mayStay()) this.#dismiss(socket, listener);
      else if (this.#isStalled(listener)) socket.destroy();
      else if (listener.isWriting) listener.isBehind = true;
      else this.#write(socket, listener, event);
    }
  }

  #isStalled({ isWriting, handedAtMs }: Listener): boolean {
    return isWriting && this.#clock.now() - handedAtMs >= longestStallMs;
  }

  #write(socket: Socket, listener: Listener, event: Buffer, at = 0): void {
    listener.isWriting = true;
    listener.handedAtMs = this.#clock.now();
    const end = at + pieceBytes;
    listener.response.write(event.subarray(at, end), () => {
      if (this.#listeners.get(socket) !== listener) return;
      if (end < event.length) {
        this.#write(socket, listener, event, end);
        return;
      }
      listener.isWriting = false;
      if (!listener.isBehind) return;
      listener.isBehind = false;
      if (this.#latest !== undefined) this.#write(socket, listener, this.#latest);
    });
  }

  #endAll(): void {
    for (const [socket, listener] of this.#listeners) this.#dismiss(socket, listener);
  }

  #dismiss(socket: Socket, { response }: Listener): void {
    response.end(() => socket.destroySoon());
    this.#leave(socket);
  }
}

function full(detail: string): Problem {
  return new Problem(503, detail, { headers: ['Retry-After', '1'] });
}
