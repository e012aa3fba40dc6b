/**
 * The front: where clients come in. It speaks HTTP/1 and HTTP/2 with them, and makes an `Exchange` of each well-formed request.
 *
 *      accept ──┬── TLS: ALPN says h2 ────────────────────────┐
 *               ├── plain: it begins with `PRI * HTTP/2.0` ───┴──► Http2Connection ──┐
 *               └── everything else ─────────────────────────────► Http1Connection ──┴──► handle(exchange)
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { monotonicClock } from 'sluice';
import type { ListenOn, TlsFiles } from '../../service/door.ts';
import type { Client, Exchange } from '../exchange.ts';
import { readFirst } from '../read-first.ts';
import { clientOf } from './client.ts';
import {
  drainMomentMs,
  type FrontConnection,
  type FrontContext,
  type FrontMeter,
  type FrontSettings,
  sweepMs,
} from './front-settings.ts';
import { Http1Connection } from './http1/connection.ts';
import { Http2Connection } from './http2/connection.ts';
import { http2Sessions } from './http2/sessions.ts';

export type { FrontMeter, FrontSettings } from './front-settings.ts';

export interface Front {
  readonly meter: FrontMeter;
  listen(on: ListenOn): Promise<{ host: string; port: number }>;
  /** No new connections. Those that are open stay. */
  stopListening(): void;
  /** Finishes what was begun, at most so long, and closes all connections. */
  drain(timeoutMs: number): Promise<void>;
  /** For connections that come from now on. Whether there is TLS at all cannot be changed. */
  renewCertificate(tls: TlsFiles | undefined): void;
}

/** `handle` must not throw, and must answer each exchange that is not gone. */
export function openFront(settings: FrontSettings, handle: (exchange: Exchange) => void): Front {
  return new ListeningFront(settings, handle);
}

class ListeningFront implements Front {
  readonly meter: FrontMeter = { connections: 0, refusedConnections: 0, requests: 0, malformed: 0, timedOut: 0 };
  readonly #settings: FrontSettings;
  readonly #context: FrontContext;
  readonly #server: Server;
  /** Also those whose TLS handshake is not over. */
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Set<FrontConnection>();
  readonly #closed = new AbortController();
  #sessions: ReturnType<typeof http2Sessions>;
  #isOwnSocket = true;
  #isPastDrainMoment = false;
  #onLastClosed: (() => void) | undefined;

  constructor(settings: FrontSettings, handle: (exchange: Exchange) => void) {
    const { limits, log, clock = monotonicClock } = settings;
    this.#settings = settings;
    this.#context = { limits, log, clock, meter: this.meter, handle, isDraining: false };
    this.#sessions = http2Sessions(limits);
    this.#server = settings.tls === undefined ? this.#plainServer() : this.#tlsServer(settings.tls);
    this.#server.maxConnections = limits.connections;
    this.#server.on('drop', () => {
      this.meter.refusedConnections += 1;
    });
    this.#server.on('connection', (socket) => this.#accepted(socket));
  }

  async listen(on: ListenOn): Promise<{ host: string; port: number }> {
    const server = this.#server;
    this.#isOwnSocket = !('fd' in on);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(on, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // One that could not be accepted, because the process has too many files open: the others stay.
    server.on('error', (error) => this.#context.log.error({ err: error }, 'a connection could not be accepted'));
    void this.#sweep();
    const { address, port } = server.address() as AddressInfo;
    return { host: address, port };
  }

  stopListening(): void {
    // A socket that another thread opened is shared with it: closing it here would close it under the others.
    if (!this.#isOwnSocket) this.#server.unref();
    else if (this.#server.listening) this.#server.close();
  }

  async drain(timeoutMs: number): Promise<void> {
    this.stopListening();
    this.#context.isDraining = true;
    if (this.#sockets.size > 0) await this.#lastClosed(timeoutMs);
    this.#isPastDrainMoment = true;
    this.#closed.abort();
  }

  renewCertificate(tls: TlsFiles | undefined): void {
    if (tls !== undefined && 'setSecureContext' in this.#server) {
      (this.#server as TlsServer).setSecureContext(secretsOf(tls));
    }
  }

  #plainServer(): Server {
    const server = createServer(socketOptions);
    server.on('connection', (socket) => this.#takeHttp1(socket, false));
    return server;
  }

  #tlsServer(tls: TlsFiles): Server {
    const server = createTlsServer({
      ...socketOptions,
      ...secretsOf(tls),
      ...(tls.ca && { requestCert: true, rejectUnauthorized: true }),
      minVersion: 'TLSv1.2',
      ALPNProtocols: this.#settings.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
      handshakeTimeout: this.#context.limits.headMs,
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#takeHttp2(socket, true);
      else this.#takeHttp1(socket, true);
    });
    server.on('tlsClientError', (error, socket) => {
      this.meter.malformed += 1;
      this.#context.log.debug({ err: error }, 'a TLS handshake failed');
      // Node leaves a socket open that may be half closed: it would stay for good, even after its client has left.
      socket.destroy();
    });
    return server;
  }

  #accepted(socket: Socket): void {
    this.meter.connections += 1;
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.meter.connections -= 1;
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onLastClosed?.();
    });
  }

  #takeHttp1(socket: Socket, isTls: boolean): void {
    // One that came so late, from a socket that another thread still listens on, has asked nothing yet.
    if (this.#isPastDrainMoment || socket.destroyed) {
      socket.destroy();
      return;
    }
    const mayBeHttp2 = this.#settings.http2 && !isTls;
    const takeHttp2 = mayBeHttp2
      ? (taken: Socket) => {
          this.#connections.delete(connection);
          this.#takeHttp2(taken, false);
        }
      : undefined;
    const connection = new Http1Connection(socket, this.#context, { isTls, takeHttp2 });
    this.#add(connection, socket);
  }

  #takeHttp2(socket: Socket, isTls: boolean): void {
    const client: Client = clientOf(socket, isTls, 'HTTP/2.0');
    // HTTP/1 clients may say that they are done and go on reading; in HTTP/2 that is a way of leaving.
    socket.allowHalfOpen = false;
    const session = this.#sessions(socket);
    if (session === undefined) {
      socket.destroy();
      return;
    }
    const connection = new Http2Connection(session, socket, client, this.#context);
    this.#add(connection, socket);
    if (this.#isPastDrainMoment) connection.endSoon();
  }

  #add(connection: FrontConnection, socket: Socket): void {
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#closed;
    const { clock } = this.#context;
    while (!signal.aborted) {
      await clock.sleep(sweepMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await readFirst();
      const nowMs = clock.now();
      for (const connection of this.#connections) connection.sweep(nowMs);
    }
  }

  async #lastClosed(timeoutMs: number): Promise<void> {
    const timers: NodeJS.Timeout[] = [];
    await new Promise<void>((resolve) => {
      this.#onLastClosed = resolve;
      timers.push(setTimeout(() => this.#endIdle(), Math.min(drainMomentMs, timeoutMs / 2)));
      timers.push(setTimeout(() => this.#destroyAll(), timeoutMs));
    });
    for (const timer of timers) clearTimeout(timer);
  }

  #endIdle(): void {
    this.#isPastDrainMoment = true;
    for (const connection of this.#connections) connection.endSoon();
  }

  #destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}

const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  // A client that vanished without a word is noticed by the kernel.
  keepAlive: true,
};

function secretsOf({ cert, key, ca }: TlsFiles) {
  return ca === undefined ? { cert, key } : { cert, key, ca };
}
