/**
 * One client: its bytes become streams, each of which is a call, and what they answer goes back.
 *
 *      accepted ──► first SETTINGS within requestMs ──► calls ──┬──► no call for idleMs ────────────────► closed
 *                                                               ├──► a PING without an answer ──────────► closed
 *                                                               ├──► a broken protocol: GOAWAY ─────────► closed
 *                                                               └──► drain: GOAWAY, calls are finished ─► closed
 *
 * A client that takes no answers is not read from until it does, so that what it may hold here is bounded. One that asks for much at once is read from in
 * turns with the others.
 */
import type { Socket } from 'node:net';
import { UnderWay } from '../service/under-way.ts';
import { Call } from './call.ts';
import type { GrpcContext } from './connections.ts';
import { fieldListBytesMax } from './http2/field-reader.ts';
import { fieldOverheadBytes } from './http2/field-table.ts';
import type { BrokenProtocol } from './http2/frame.ts';
import type { RequestHead } from './http2/request-head.ts';
import { Session, type SessionOwner } from './http2/session.ts';
import type { Stream } from './http2/stream.ts';
import { headBytes } from './message-frame.ts';
import { GrpcError, statusCodes } from './status.ts';

const lingerMs = 500;

// Answers that a client has not taken: beyond this nothing more is read from it.
const unsentBytesMax = 256 * 1024;

// Bodies that a connection may leave unfinished, in bodies of the largest size: many calls at once must not be a way around it.
const unfinishedBodies = 4;

// Bodies that are not whole, of all connections together. Beyond it those calls fail that hold more than the smaller number and want to hold still more; one
// large body is fine, thousands at once are an attack.
const heldBytesMax = 64 * 1024 * 1024;
const smallHeldBytes = 16 * 1024;

// How long a client is listened to at once, while others wait. Some hundred calls, or one that has to be unpacked first.
const turnMs = 2;

export class Connection implements SessionOwner {
  readonly #socket: Socket;
  readonly #context: GrpcContext;
  readonly #session: Session;
  /** Also those whose client is gone, while they wait for what they asked. */
  readonly #calls = new UnderWay<Call>();
  /** The last `authorization` that was good here; the same text need not be hashed again while the tokens are the same. */
  acceptedAuthorization: string | undefined;
  /** Of the tokens that it was good by. */
  acceptedRevision = 0;
  /** Calls that watch the health of the service. */
  watches = 0;
  /** Bytes of bodies that are not whole yet, over all of its calls. */
  #heldBytes = 0;
  #hasGreeted = false;
  /** When the client last asked for something. */
  #activeMs: number;
  /** When it last showed that it is there, or was asked to. */
  #aliveMs: number;
  #isAwaitingPong = false;
  /** Since when the client says nothing more. It may still take answers, or be gone. */
  #halfClosedSinceMs: number | undefined;
  #linger: NodeJS.Timeout | undefined;
  #turnSinceMs = 0;
  #nextTurn: NodeJS.Immediate | undefined;

  constructor(socket: Socket, context: GrpcContext) {
    this.#socket = socket;
    this.#context = context;
    this.#session = new Session(socket, context.writer, context.sessionLimits, this);
    this.#activeMs = context.clock.now();
    this.#aliveMs = this.#activeMs;
    // Else Node ends our half with the client's, before the answers that come later.
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('drain', () => this.#readOn());
    socket.on('end', () => this.#halfClose());
    socket.on('close', () => {
      clearTimeout(this.#linger);
      this.#session.end();
    });
    // The connection of one client is all that it can break; 'close' follows.
    socket.on('error', (error) => context.log.debug({ err: error }, 'a gRPC connection ended with an error'));
  }

  // --- What the session asks ---

  get openStreams(): number {
    return this.#calls.count;
  }

  get wantsMore(): boolean {
    return !this.#isBehind() && this.#context.clock.now() - this.#turnSinceMs < turnMs;
  }

  takes(stream: Stream, head: RequestHead): boolean {
    const hasRoom = this.#context.hasRoomFor(this);
    if (hasRoom) this.#context.begin(this.#begin(stream), this, head);
    return hasRoom;
  }

  takesTooLong(stream: Stream): void {
    this.#begin(stream).fail(
      new GrpcError(
        statusCodes.resourceExhausted,
        `the metadata of a call must be at most ${fieldListBytesMax} bytes, counting ${fieldOverheadBytes} for each field, got more`,
      ),
    );
  }

  greeted(): void {
    this.#hasGreeted = true;
  }

  ponged(): void {
    this.#isAwaitingPong = false;
  }

  broken(error: BrokenProtocol): void {
    this.#context.meter.malformed++;
    this.#context.log.debug({ err: error }, 'a gRPC connection broke the protocol');
    this.#hangUp();
  }

  // --- What calls and the door ask ---

  finish(call: Call): void {
    this.#calls.delete(call);
    this.#context.openCalls--;
    this.#hangUpIfDone();
  }

  /** So much more of a body that is not whole yet, of which it has `heldBytes` then. Throws where that is too much. */
  hold(byteCount: number, heldBytes: number): void {
    const context = this.#context;
    this.#heldBytes += byteCount;
    context.heldBytes += byteCount;
    const ownBytesMax = (context.limits.bodyBytes + headBytes) * unfinishedBodies;
    if (this.#heldBytes > ownBytesMax)
      throw tooManyBodies(`of a connection must be at most ${ownBytesMax} bytes together`);
    if (context.heldBytes > heldBytesMax && heldBytes > smallHeldBytes) {
      throw tooManyBodies(`of all clients must be at most ${heldBytesMax} bytes together`);
    }
  }

  /** The body is whole, or nobody wants it. */
  letGo(byteCount: number): void {
    this.#heldBytes -= byteCount;
    this.#context.heldBytes -= byteCount;
  }

  /** GOAWAY now; when the calls that were begun are finished, the end. */
  close(): void {
    this.#session.goAway();
    this.#hangUpIfDone();
  }

  /** Now, whatever is still open. */
  destroy(): void {
    this.#socket.destroy();
  }

  sweep(nowMs: number): void {
    const { meter, limits } = this.#context;
    for (const call of this.#calls) call.sweep(nowMs);
    if (this.#halfClosedSinceMs !== undefined && nowMs - this.#halfClosedSinceMs > limits.requestMs) this.destroy();
    // One that was told to go hangs up, or is hung up on.
    if (this.#session.isGoingAway) return;
    const isIdle = limits.idleMs > 0 && this.#calls.count === 0 && nowMs - this.#activeMs > limits.idleMs;
    const isSilent = nowMs - this.#aliveMs > limits.requestMs;
    if (isIdle) {
      // Politely: its next call may be on the way, and GOAWAY tells it to make it elsewhere.
      meter.timedOut++;
      this.close();
    } else if (isSilent && (!this.#hasGreeted || this.#isAwaitingPong)) {
      meter.timedOut++;
      this.destroy();
    } else if (isSilent) {
      // A health watch may be silent for days, and its client may be gone for as long.
      this.#aliveMs = nowMs;
      this.#isAwaitingPong = true;
      this.#session.ping();
    }
  }

  #begin(stream: Stream): Call {
    const call = new Call(stream, this, this.#context);
    stream.reader = call;
    this.#activeMs = call.sinceMs;
    this.#aliveMs = call.sinceMs;
    this.#calls.add(call);
    this.#context.openCalls++;
    return call;
  }

  #receive(chunk: Buffer): void {
    this.#turnSinceMs = this.#context.clock.now();
    const taken = this.#session.receive(chunk);
    if (taken === chunk.length && this.wantsMore) return;
    this.#socket.pause();
    if (taken < chunk.length) this.#socket.unshift(chunk.subarray(taken));
    // Else 'drain' follows.
    if (!this.#isBehind()) this.#readOn();
  }

  /** The client has not taken its answers. */
  #isBehind(): boolean {
    return this.#socket.writableLength > unsentBytesMax;
  }

  /** Once the others had their turn: what a socket takes at once it drains at once, and that would be before them. */
  #readOn(): void {
    if (!this.#socket.isPaused()) return;
    this.#nextTurn ??= setImmediate(() => {
      this.#nextTurn = undefined;
      this.#socket.resume();
    });
  }

  #halfClose(): void {
    this.#halfClosedSinceMs = this.#context.clock.now();
    this.#session.endInput();
    this.close();
  }

  #hangUpIfDone(): void {
    if (!this.#session.isGoingAway || this.#calls.count > 0) return;
    if (this.#halfClosedSinceMs === undefined) this.#hangUpSoon();
    else this.#hangUp();
  }

  // The client is given a moment to read the last answers and to hang up first: closing under bytes that it still sends would reset the
  // connection, and take the answers with it. One that never hangs up must not hold a drain.
  #hangUpSoon(): void {
    this.#linger ??= setTimeout(() => this.destroy(), lingerMs);
  }

  /** On one that has nothing more to say, or nothing that could be understood. */
  #hangUp(): void {
    this.#hangUpSoon();
    this.#context.writer.send();
    this.#socket.end();
  }
}

function tooManyBodies(what: string): GrpcError {
  return new GrpcError(statusCodes.resourceExhausted, `the unfinished messages ${what}, got more; try again later`);
}
