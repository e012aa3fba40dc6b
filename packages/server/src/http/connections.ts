/**
 * The connections of the door: how many, how long they may be silent or slow, and how they end.
 *
 *      too many              refused at once
 *      a request begins      it must be there whole within `requestMs`, else 408; silence before the first one counts too
 *      between requests      closed after `idleMs`
 *      drain                 each is closed when what it sent is answered, or after a moment in which it asks nothing
 */
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { LimitsConfig } from '../config/config.ts';
import type { DoorSettings } from '../service/door.ts';
import { Problem, problemReply } from './problem.ts';
import { ShortWay, type ShortWayDoor } from './short-way.ts';

// Answers that take longer may also be longer: so many are being made for one connection at once.
const mostWaiting = 64;

// A request may be on its way on a connection that looks idle; closed at once, it would be lost.
const lingerMs = 500;

export class Connections {
  readonly #server: Server;
  readonly #meter: DoorSettings['meter'];
  readonly #open = new Set<Socket>();
  // Those that Node does not have yet.
  readonly #shortWays = new Set<ShortWay>();
  // Requests of a connection that the service has not answered yet; only where that takes time.
  readonly #waiting = new Map<Socket, number>();
  readonly #pipelineDepth: number;
  #whenEmpty: (() => void) | undefined;
  isDraining = false;
  #isClosing = false;

  constructor(server: Server, { limits, meter, tls }: DoorSettings, check: ShortWayDoor['check']) {
    this.#server = server;
    this.#meter = meter;
    this.#pipelineDepth = Math.min(limits.pipelineDepth, mostWaiting);
    server.maxConnections = limits.connections;
    server.headersTimeout = limits.requestMs;
    server.requestTimeout = limits.requestMs;
    server.keepAliveTimeout = limits.idleMs;
    // Also ends a connection whose client does not read its answers.
    server.timeout = limits.idleMs;
    // Else Node closes its half as soon as the client has closed its own, and drops answers that are not ready by then, of checks that were charged.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('drop', () => {
      meter.refusedConnections += 1;
    });
    server.on('timeout', (socket) => {
      meter.timedOut += 1;
      socket.destroy();
    });
    server.on('connection', (socket) => this.#opened(socket));
    this.#takeShortWay(tls ? 'secureConnection' : 'connection', limits, check);
    server.on('clientError', (error: Error & { code?: string }, socket) => this.#failed(error.code ?? '', socket));
  }

  /** Puts the short way before Node's own handling of a new connection. */
  #takeShortWay(event: string, limits: LimitsConfig, check: ShortWayDoor['check']): void {
    const server = this.#server;
    const [accept] = server.listeners(event) as ((socket: Socket) => void)[];
    if (accept === undefined) throw new Error(`node:http has no listener for ${event}`);
    server.off(event, accept);
    server.on(event, (socket: Socket) => {
      if (socket.destroyed) return;
      const connections = this;
      const way = new ShortWay(socket, {
        limits,
        check,
        get isDraining() {
          return connections.isDraining;
        },
        handOver(taken) {
          connections.#shortWays.delete(way);
          accept.call(server, taken);
        },
        timedOut() {
          connections.#meter.timedOut += 1;
        },
      });
      this.#shortWays.add(way);
      socket.once('close', () => this.#shortWays.delete(way));
    });
  }

  /** Refuses to ask more for a client that sends on and on while its first requests are not answered yet. */
  mustNotBeCrowded(socket: Socket): void {
    const waiting = this.#waiting.get(socket) ?? 0;
    if (waiting < this.#pipelineDepth) return;
    throw new Problem(
      503,
      `There are ${waiting} unanswered requests on this connection. Wait for answers, or open another one.`,
      {
        headers: ['Retry-After', '1'],
      },
    );
  }

  /** A request whose answer is not there at once. */
  waits(socket: Socket): void {
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + 1);
  }

  answered(socket: Socket): void {
    const waiting = (this.#waiting.get(socket) ?? 1) - 1;
    if (waiting > 0) this.#waiting.set(socket, waiting);
    else this.#waiting.delete(socket);
  }

  #opened(socket: Socket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    this.#meter.connections += 1;
    this.#open.add(socket);
    socket.once('close', () => {
      this.#meter.connections -= 1;
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#whenEmpty?.();
    });
  }

  /** What came was no request. */
  #failed(code: string, socket: Duplex): void {
    const problem = problemOf(code);
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#meter.timedOut += 1;
    else if (code !== 'ECONNRESET' && code !== 'EPIPE') this.#meter.malformed += 1;
    if (problem === undefined || !socket.writable) socket.destroy();
    // Whatever else arrives is not read.
    else socket.end(rawAnswer(problem), () => socket.destroy());
  }

  async drain(timeoutMs: number): Promise<void> {
    this.isDraining = true;
    if (this.#open.size === 0) return;
    const timers: NodeJS.Timeout[] = [];
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      timers.push(setTimeout(() => this.#closeIdle(), Math.min(lingerMs, timeoutMs / 2)));
      timers.push(
        setTimeout(() => {
          for (const socket of this.#open) socket.destroy();
        }, timeoutMs),
      );
    });
    for (const timer of timers) clearTimeout(timer);
  }

  #closeIdle(): void {
    this.#isClosing = true;
    for (const way of this.#shortWays) way.drain();
    this.#server.closeIdleConnections();
  }
}

/** Node's parser names what it found; a broken connection, or a handshake that failed, is answered by nothing. */
function problemOf(code: string): Problem | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem(408, 'The request did not arrive whole in time.');
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem(431, 'The headers are longer than is read. Send fewer or shorter ones.');
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new Problem(413, 'The chunk extensions are longer than is read. Leave them out.');
  return code.startsWith('HPE_') ? new Problem(400, `This is not HTTP/1.1 (${code}).`) : undefined;
}

/** An answer to what has no response object, because it never became a request. */
function rawAnswer(problem: Problem): string {
  const { status, type, body } = problemReply(problem);
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}
