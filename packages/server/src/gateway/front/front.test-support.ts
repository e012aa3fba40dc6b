// What the tests of this folder share: a front on a free port, handlers that answer, and a client that says what it is told.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestClock } from 'sluice/testing';
import { onTestFinished } from 'vitest';
import type { GatewayLimits } from '../../config/gateway-config.ts';
import type { TlsFiles } from '../../service/door.ts';
import type { Exchange, Sink } from '../exchange.ts';
import type { HeaderList } from '../wire/message.ts';
import { type Front, openFront } from './front.ts';

export const limits: GatewayLimits = {
  headBytes: 16_384,
  headers: 100,
  bodyBytes: 100_000,
  connections: 1000,
  streams: 100,
  headMs: 10_000,
  idleMs: 60_000,
};

export interface OpenOptions {
  readonly limits?: Partial<GatewayLimits>;
  readonly tls?: TlsFiles;
  readonly http2?: boolean;
}

export interface Opened {
  readonly front: Front;
  readonly port: number;
  /** Of time-outs: it stands still until it is told. */
  readonly clock: TestClock;
  /** Each that was handed over, in order. */
  readonly exchanges: Exchange[];
  /** A new connection, closed with the test. */
  client(): RawClient;
}

export async function open(handle: (exchange: Exchange) => void, options: OpenOptions = {}): Promise<Opened> {
  const clock = new TestClock(0);
  const exchanges: Exchange[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const settings = {
    limits: { ...limits, ...options.limits },
    tls: options.tls,
    http2: options.http2 ?? true,
    log,
    clock,
  };
  const front = openFront(settings, (exchange) => {
    exchanges.push(exchange);
    handle(exchange);
  });
  const { port } = await front.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => front.drain(0));
  const client = () => {
    const made = new RawClient(port);
    onTestFinished(() => made.close());
    return made;
  };
  return { front, port, clock, exchanges, client };
}

// --- Handlers ---

/** Says which request it was. */
export function hello(exchange: Exchange): void {
  const { method, target } = exchange.request;
  exchange.answerWhole({ status: 200, headers: ['content-type', 'text/plain'] }, `${method} ${target}`);
}

/** Sends the body back as it comes, with its trailers, no faster than the client takes it. */
export function echo(exchange: Exchange): void {
  const { body, framing } = exchange;
  if (body === undefined) {
    hello(exchange);
    return;
  }
  let answer: Sink | undefined;
  const sink = () => {
    answer ??= exchange.answer({ status: 200, headers: [] }, framing);
    return answer;
  };
  body.read({
    chunk(bytes) {
      if (sink().write(bytes)) return;
      body.pause();
      sink().whenDrained(() => body.resume());
    },
    end: (trailers) => sink().end(trailers),
    failed: () => sink().abort(),
  });
}

/** Takes the whole body, and says how long it was. */
export function count(exchange: Exchange): void {
  let bodyBytes = 0;
  const answer = (trailers: HeaderList) => {
    const text = `${bodyBytes} bytes ${trailers.join('=')}`.trim();
    exchange.answerWhole({ status: 200, headers: [] }, text);
  };
  if (exchange.body === undefined) answer([]);
  else
    exchange.body.read({
      chunk(bytes) {
        bodyBytes += bytes.length;
      },
      end: answer,
      failed() {},
    });
}

// --- A client ---

export interface RawResponse {
  readonly status: number;
  /** Names in lower case; the last of several. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly trailers: Readonly<Record<string, string>>;
}

/** A connection that sends what it is told, and reads responses one by one. */
export class RawClient {
  readonly socket: Socket;
  /** What came and was not read yet. */
  received = '';
  isClosed = false;
  /** Settles when the server has closed. True: with a reset. */
  readonly closed: Promise<boolean>;
  #wake: (() => void) | undefined;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    let isReset = false;
    this.socket.on('error', () => {
      isReset = true;
    });
    this.socket.on('data', (data) => {
      this.received += data.toString('latin1');
      this.#wake?.();
    });
    this.socket.on('end', () => {
      this.isClosed = true;
      this.socket.end();
      this.#wake?.();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.isClosed = true;
        this.#wake?.();
        resolve(isReset);
      });
    });
  }

  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, 'latin1', () => resolve()));
  }

  async ask(bytes: string | Buffer): Promise<RawResponse | undefined> {
    await this.send(bytes);
    return this.response();
  }

  /** The next response; undefined when the connection ended before it was whole. A body without a length goes on until then. */
  async response({ isBodyless = false } = {}): Promise<RawResponse | undefined> {
    for (;;) {
      const found = this.#next(isBodyless);
      if (found !== undefined || this.isClosed) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Until so much of it has come. */
  async until(part: string): Promise<void> {
    while (!this.received.includes(part)) {
      if (this.isClosed) throw new Error(`closed before ${part}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #next(isBodyless: boolean): RawResponse | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [first = '', ...lines] = this.received.slice(0, end).split('\r\n');
    const status = Number(first.split(' ')[1]);
    const headers = namedLines(lines);
    const rest = this.received.slice(end + 4);
    const found =
      isBodyless || status < 200 || status === 204 ? { body: '', length: 0, trailers: {} } : this.#body(headers, rest);
    if (found === undefined) return undefined;
    this.received = rest.slice(found.length);
    return { status, headers, body: found.body, trailers: found.trailers };
  }

  #body(headers: Readonly<Record<string, string>>, rest: string) {
    if (headers['transfer-encoding'] === 'chunked') return unchunked(rest);
    const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
    if (length !== undefined)
      return rest.length < length ? undefined : { body: rest.slice(0, length), length, trailers: {} };
    return this.isClosed ? { body: rest, length: rest.length, trailers: {} } : undefined;
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Sends the same bytes again and again, each when those before are taken, and counts. */
export function pour(socket: Socket, piece: Buffer, totalBytes: number): { bytes: number } {
  const sent = { bytes: 0 };
  const send = () => {
    socket.write(piece, (error) => {
      if (error) return;
      sent.bytes += piece.length;
      if (sent.bytes < totalBytes) send();
    });
  };
  send();
  return sent;
}

/** A count, once it does not change any more. */
export async function settled(read: () => number): Promise<number> {
  for (;;) {
    const before = read();
    await sleep(50);
    if (read() === before) return before;
  }
}

function unchunked(text: string) {
  let body = '';
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size === 0) {
      const end = text.startsWith('\r\n', start) ? start : text.indexOf('\r\n\r\n', start) + 2;
      if (end < start) return undefined;
      return { body, length: end + 2, trailers: namedLines(text.slice(start, end).split('\r\n').filter(Boolean)) };
    }
    if (text.length < start + size + 2) return undefined;
    body += text.slice(start, start + size);
    at = start + size + 2;
  }
}

function namedLines(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

export function get(target: string, lines: readonly string[] = [], version = '1.1'): string {
  return `GET ${target} HTTP/${version}\r\n${['Host: shop.example', ...lines].join('\r\n')}\r\n\r\n`;
}

export function post(target: string, body: string, lines: readonly string[] = []): string {
  const all = ['Host: shop.example', `Content-Length: ${body.length}`, ...lines];
  return `POST ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`;
}

export function postChunked(target: string, chunks: readonly string[], lines: readonly string[] = []): string {
  const all = ['Host: shop.example', 'Transfer-Encoding: chunked', ...lines];
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
  return `POST ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${framed}`;
}
