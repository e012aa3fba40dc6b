/**
 * The connections of the door: how many, how long without a word, and how they end.
 *
 *      accepted ──► first SETTINGS within requestMs ──► calls ──┬──► no call for idleMs ────────────────► closed
 *                                                               ├──► a PING without an answer ──────────► closed
 *                                                               └──► drain: GOAWAY, calls are finished ─► closed
 *
 * They and their calls are looked at now and then, all together: a timer for each call would cost a tenth of the call.
 */
import type { Http2Server, Http2Session, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from 'sluice';
import type { DoorSettings } from '../service/door.ts';
import { type Placed, UnderWay } from '../service/under-way.ts';

// A time-out may come so much late.
const sweepMs = 250;

const lingerMs = 500;

export interface GrpcDoorSettings extends DoorSettings {
  readonly clock: Clock;
  /** Of all connections together. */
  readonly openCallsMax: number;
}

/** What the sweep needs to know of a call. */
export interface TimedCall extends Placed {
  sweep(nowMs: number): void;
}

/** Over all connections. */
interface Tally {
  openCalls: number;
}

/** What is remembered about a connection between its calls. */
export class Connection {
  readonly session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #calls = new UnderWay<TimedCall>();
  readonly #tally: Tally;
  /** The last `authorization` that was good here; the same text need not be hashed again while the tokens are the same. */
  acceptedAuthorization: string | undefined;
  /** Of the tokens that it was good by. */
  acceptedRevision = 0;
  /** Bytes of bodies that are not whole yet, over all of its calls. */
  heldBytes = 0;
  hasGreeted = false;
  /** When the client last asked for something. */
  activeMs: number;
  /** When it last showed that it is there, or was asked to. */
  aliveMs: number;
  isAwaitingPong = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(session: ServerHttp2Session, socket: Socket, tally: Tally, nowMs: number) {
    this.session = session;
    this.#socket = socket;
    this.#tally = tally;
    this.activeMs = nowMs;
    this.aliveMs = nowMs;
  }

  get openCalls(): number {
    return this.#calls.count;
  }

  begin(call: TimedCall, nowMs: number): void {
    this.activeMs = nowMs;
    this.aliveMs = nowMs;
    this.#calls.add(call);
    this.#tally.openCalls++;
  }

  finish(call: TimedCall): void {
    this.#calls.delete(call);
    this.#tally.openCalls--;
    if (this.session.closed && this.#calls.count === 0) this.#hangUpSoon();
  }

  sweep(nowMs: number): void {
    for (const call of this.#calls) call.sweep(nowMs);
  }

  /** GOAWAY now; when the calls that were begun are finished, the end. */
  close(): void {
    this.session.close();
    if (this.#calls.count === 0) this.#hangUpSoon();
  }

  /**
   * Now, whatever is still open. `session.destroy` alone would wait for a peer that was already told to go. From timers only: Node 20
   * never returns from destroying a session with open streams inside one of its own callbacks.
   */
  destroy(): void {
    this.session.destroy();
    this.#socket.destroy();
  }

  // The peer is given a moment to read the last answers and to hang up first: closing under bytes that it still sends would reset the
  // connection, and take the answers with it. One that never hangs up must not hold a drain.
  #hangUpSoon(): void {
    if (this.#socket.destroyed) return;
    this.#linger ??= setTimeout(() => this.destroy(), lingerMs);
    this.#socket.once('close', () => clearTimeout(this.#linger));
  }
}

export class Connections {
  readonly #settings: GrpcDoorSettings;
  readonly #open = new Map<Http2Session, Connection>();
  /** Also those whose TLS handshake is not over, which have no session. */
  readonly #sockets = new Set<Socket>();
  readonly #tally: Tally = { openCalls: 0 };
  readonly #end = new AbortController();
  #accepted: Socket | undefined;
  #isDraining = false;
  #onLastClosed: (() => void) | undefined;

  constructor(server: Http2Server, settings: GrpcDoorSettings) {
    const { limits, meter, log } = settings;
    this.#settings = settings;
    server.maxConnections = limits.connections;
    server.on('drop', () => meter.refusedConnections++);
    // Before the listener that makes a session of it: a session hides its socket.
    server.prependListener(settings.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#accepted = socket;
    });
    server.on('connection', (socket) => {
      meter.connections++;
      this.#sockets.add(socket);
      socket.once('close', () => {
        meter.connections--;
        this.#sockets.delete(socket);
      });
    });
    server.on('session', (session) => this.#add(session));
    // One client's protocol error ends its connection and nothing else.
    server.on('sessionError', (error) => {
      meter.malformed++;
      log.debug({ err: error }, 'a gRPC connection ended with an error');
    });
  }

  /**
   * A call that waits for its body takes some kilobytes, so there is a most. When it is reached, those who have less than their share
   * still get it: nobody who opens calls and leaves them open takes the room of the others.
   */
  hasRoomFor(connection: Connection): boolean {
    const { openCallsMax } = this.#settings;
    return this.#tally.openCalls < openCallsMax || connection.openCalls < openCallsMax / this.#open.size;
  }

  /** Undefined for a call whose connection has gone in the meantime. */
  of(session: Http2Session | undefined): Connection | undefined {
    return session && this.#open.get(session);
  }

  /** Ends what takes too long, until `drain`. */
  async sweep(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      await this.#settings.clock.sleep(sweepMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      const nowMs = this.#settings.clock.now();
      for (const connection of this.#open.values()) this.#sweep(connection, nowMs);
    }
  }

  /** GOAWAY names the last call that was taken, so that a client knows which others it may safely send elsewhere. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#open.size > 0) {
      const lastClosed = new Promise<void>((resolve) => {
        this.#onLastClosed = resolve;
      });
      for (const connection of this.#open.values()) connection.close();
      const timer = setTimeout(() => this.#destroyAll(), timeoutMs);
      await lastClosed;
      clearTimeout(timer);
    }
    for (const socket of this.#sockets) socket.destroy();
    this.#end.abort();
  }

  #destroyAll(): void {
    for (const connection of this.#open.values()) connection.destroy();
  }

  #add(session: ServerHttp2Session): void {
    const connection = new Connection(session, this.#accepted!, this.#tally, this.#settings.clock.now());
    this.#open.set(session, connection);
    session.once('remoteSettings', () => {
      connection.hasGreeted = true;
    });
    session.once('close', () => {
      this.#open.delete(session);
      if (this.#open.size === 0) this.#onLastClosed?.();
    });
    // Accepted after the drain began, by a socket that somebody else has not closed yet.
    if (this.#isDraining) connection.close();
  }

  #sweep(connection: Connection, nowMs: number): void {
    const { idleMs, requestMs } = this.#settings.limits;
    connection.sweep(nowMs);
    // One that was told to go hangs up, or is hung up on.
    if (connection.session.closed) return;
    const isIdle = idleMs > 0 && connection.openCalls === 0 && nowMs - connection.activeMs > idleMs;
    const isSilent = nowMs - connection.aliveMs > requestMs;
    if (isIdle) {
      // Politely: its next call may be on the way, and GOAWAY tells it to make it elsewhere.
      this.#settings.meter.timedOut++;
      connection.close();
    } else if (isSilent && (!connection.hasGreeted || connection.isAwaitingPong)) {
      this.#settings.meter.timedOut++;
      connection.destroy();
    } else if (isSilent) ping(connection, nowMs);
  }
}

// A health watch may be silent for days, and its client may be gone for as long. And a connection that broke the protocol was sent
// GOAWAY by nghttp2, after which Node reads nothing more of it, not even its end, and says nothing: it would stay for good.
function ping(connection: Connection, nowMs: number): void {
  connection.aliveMs = nowMs;
  connection.isAwaitingPong = true;
  connection.session.ping((error) => {
    // Without an answer the next look finds it still waiting.
    if (error === null) connection.isAwaitingPong = false;
  });
}
