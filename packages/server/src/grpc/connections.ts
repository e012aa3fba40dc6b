/**
 * The connections of the door: how many, who may begin a call, and how they all end.
 *
 *      socket ──► counted ──► TLS, where that is spoken ──► Connection
 *
 * They and their calls are looked at now and then, all together: a timer for each call would cost a tenth of the call.
 */
import type { Server, Socket } from 'node:net';
import type { Clock } from 'sluice';
import type { DoorSettings } from '../service/door.ts';
import { tlsHandshakes } from '../service/tls-handshakes.ts';
import type { Call } from './call.ts';
import { Connection } from './connection.ts';
import { firstWindowBytes, windowBytesMax } from './http2/frame.ts';
import { FrameWriter } from './http2/frame-writer.ts';
import type { RequestHead } from './http2/request-head.ts';
import type { SessionLimits } from './http2/session.ts';
import { headBytes } from './message-frame.ts';

// A time-out may come so much late.
const sweepMs = 250;

// Of one connection, whatever `pipelineDepth` says: a waiting call takes far more memory than a waiting command of RESP does.
const concurrentCallsMax = 1000;

export interface GrpcDoorSettings extends DoorSettings {
  readonly clock: Clock;
  /** Of all connections together. */
  readonly openCallsMax: number;
}

/** What the connections of a door share. */
export interface GrpcContext extends GrpcDoorSettings {
  readonly writer: FrameWriter;
  readonly sessionLimits: SessionLimits;
  openCalls: number;
  /** Bytes of bodies that are not whole yet, of all connections. */
  heldBytes: number;
  hasRoomFor(connection: Connection): boolean;
  begin(call: Call, connection: Connection, head: RequestHead): void;
}

export class Connections {
  readonly #context: GrpcContext;
  readonly #open = new Set<Connection>();
  /** Also those whose TLS handshake is not over. */
  readonly #sockets = new Set<Socket>();
  readonly #end = new AbortController();
  #isDraining = false;
  #onLastClosed: (() => void) | undefined;

  constructor(server: Server, settings: GrpcDoorSettings, begin: GrpcContext['begin']) {
    const { limits, meter, tls, log } = settings;
    this.#context = {
      ...settings,
      writer: new FrameWriter(),
      sessionLimits: sessionLimitsOf(settings),
      openCalls: 0,
      heldBytes: 0,
      hasRoomFor: (connection) => this.#hasRoomFor(connection),
      begin,
    };
    const handshakes = tls && tlsHandshakes(tls, settings, (socket) => this.#add(socket), { protocol: 'h2' });
    server.maxConnections = limits.connections;
    server.on('drop', () => meter.refusedConnections++);
    server.on('connection', (socket) => {
      meter.connections++;
      this.#sockets.add(socket);
      socket.once('close', () => {
        meter.connections--;
        this.#sockets.delete(socket);
      });
      if (handshakes === undefined) {
        this.#add(socket);
        return;
      }
      // A handshake that breaks off is the client's affair; 'close' follows.
      socket.on('error', (error) => log.debug({ err: error }, 'connection failed'));
      handshakes.emit('connection', socket);
    });
  }

  /** Ends what takes too long, until `drain`. */
  async sweep(): Promise<void> {
    const { clock } = this.#context;
    const { signal } = this.#end;
    while (!signal.aborted) {
      await clock.sleep(sweepMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      const nowMs = clock.now();
      for (const connection of this.#open) connection.sweep(nowMs);
    }
  }

  /** GOAWAY names the last call that was taken, so that a client knows which others it may safely send elsewhere. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#open.size > 0) {
      const lastClosed = new Promise<void>((resolve) => {
        this.#onLastClosed = resolve;
      });
      for (const connection of this.#open) connection.close();
      const timer = setTimeout(() => this.#destroyAll(), timeoutMs);
      await lastClosed;
      clearTimeout(timer);
    }
    for (const socket of this.#sockets) socket.destroy();
    this.#end.abort();
  }

  #destroyAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /**
   * A call that waits for its body takes some kilobytes, so there is a most. When it is reached, those who have less than their share
   * still get it: nobody who opens calls and leaves them open takes the room of the others.
   */
  #hasRoomFor(connection: Connection): boolean {
    const { openCalls, openCallsMax } = this.#context;
    return openCalls < openCallsMax || connection.openStreams < openCallsMax / this.#open.size;
  }

  #add(socket: Socket): void {
    const connection = new Connection(socket, this.#context);
    this.#open.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      if (this.#open.size === 0) this.#onLastClosed?.();
    });
    // Accepted after the drain began, by a socket that somebody else has not closed yet.
    if (this.#isDraining) connection.close();
  }
}

function sessionLimitsOf({ limits }: DoorSettings): SessionLimits {
  // One byte more than a body may have: a client that sends too much is to be told so, and not to wait for room. And not less than clients
  // may send before they have heard of it.
  const windowBytes = limits.bodyBytes + headBytes + 1;
  return {
    streamsMax: Math.min(limits.pipelineDepth, concurrentCallsMax),
    windowBytes: Math.min(windowBytesMax, Math.max(firstWindowBytes, windowBytes)),
  };
}
