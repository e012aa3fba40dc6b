// What the tests of this folder share: a client in memory, and members that are real servers, some of them badly behaved.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { waitUntil } from '@sluice/test-servers';
import type { Body, BodyReader, Client, Exchange, Sink } from '../exchange.ts';
import type { Framing, HeaderList, RequestHead, ResponseHead } from '../wire/message.ts';
import { type Forwarded, type ForwardOptions, forward } from './forward.ts';
import { MemberConnections, type MemberSettings } from './member-connections.ts';
import { RepeatableBody } from './repeatable-body.ts';

export const settings: MemberSettings = {
  connections: 10,
  timeouts: { connectMs: 5_000, responseMs: 30_000, idleMs: 60_000 },
  limits: { headBytes: 16 * 1024, headers: 100 },
};

/** A client's body: chunks are held while it is paused, as a front does. */
export class MemoryBody implements Body {
  reader: BodyReader | undefined;
  isPaused = false;
  private readonly waiting: (() => void)[] = [];

  read(reader: BodyReader): void {
    this.reader = reader;
    this.flush();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.flush();
  }

  /** Bytes that were given and not taken yet. */
  get waitingParts(): number {
    return this.waiting.length;
  }

  give(text: string | Buffer): this {
    // The reader's own only until it returns: what it did not copy by then is overwritten.
    const bytes = Buffer.from(text);
    return this.add(() => {
      this.reader!.chunk(bytes);
      bytes.fill('#');
    });
  }

  end(trailers: HeaderList = []): this {
    return this.add(() => this.reader!.end(trailers));
  }

  fail(error: Error): this {
    return this.add(() => this.reader!.failed(error));
  }

  private add(act: () => void): this {
    this.waiting.push(act);
    this.flush();
    return this;
  }

  private flush(): void {
    while (this.reader !== undefined && !this.isPaused) {
      const act = this.waiting.shift();
      if (act === undefined) return;
      act();
    }
  }
}

interface ExchangeOptions extends Partial<RequestHead> {
  readonly body?: MemoryBody;
  readonly framing?: Framing;
  readonly expectsContinue?: boolean;
  readonly upgrade?: string;
  /** How many bytes the client takes before it must be waited for. */
  readonly room?: number;
  /** What `switchProtocols` gives. */
  readonly connection?: Duplex;
}

/** A client in memory. */
export class MemoryExchange implements Exchange, Sink {
  readonly request: RequestHead;
  readonly framing: Framing;
  readonly body: MemoryBody | undefined;
  readonly expectsContinue: boolean;
  readonly upgrade: string | undefined;
  readonly client: Client = { address: '192.0.2.1', port: 1, localPort: 80, isTls: false, protocol: 'HTTP/1.1' };
  isGone = false;
  hasLeft = false;
  status = 0;
  readonly informed: ResponseHead[] = [];
  head: ResponseHead | undefined;
  answerFraming: Framing | 'whole' | undefined;
  trailers: HeaderList = [];
  isEnded = false;
  isAborted = false;
  /** The most that was written while it waited for `whenDrained`. */
  heldBytesMost = 0;
  bodyBytes = 0;
  room: number;
  private heldBytes = 0;
  private readonly parts: Buffer[] = [];
  private readonly isKept: boolean;
  private readonly connection: Duplex | undefined;
  private left: (() => void) | undefined;
  private drained: (() => void) | undefined;

  constructor(options: ExchangeOptions = {}) {
    const { method = 'GET', target = '/', authority = 'example.com', headers = [] } = options;
    this.request = { method, target, authority, headers };
    this.body = options.body;
    this.framing = options.framing ?? (options.body === undefined ? 0 : 'chunked');
    this.expectsContinue = options.expectsContinue ?? false;
    this.upgrade = options.upgrade;
    this.room = options.room ?? Number.POSITIVE_INFINITY;
    this.isKept = options.room === undefined;
    this.connection = options.connection;
  }

  get text(): string {
    return Buffer.concat(this.parts).toString('latin1');
  }

  leave(): void {
    this.isGone = true;
    this.hasLeft = true;
    this.left?.();
  }

  /** The client has read what it was sent. */
  drain(): void {
    this.heldBytes = 0;
    const act = this.drained;
    this.drained = undefined;
    act?.();
  }

  get isWaitedFor(): boolean {
    return this.drained !== undefined;
  }

  whenGone(act: () => void): void {
    this.left = act;
    if (this.isGone) act();
  }

  inform(head: ResponseHead): void {
    this.informed.push(head);
  }

  answer(head: ResponseHead, framing: Framing): Sink {
    if (this.head !== undefined) throw new Error('It has its answer.');
    this.head = head;
    this.status = head.status;
    this.answerFraming = framing;
    return this;
  }

  answerWhole(head: ResponseHead, body: string | Buffer): void {
    this.answer(head, 0);
    this.answerFraming = 'whole';
    this.write(Buffer.from(body));
    this.end();
  }

  switchProtocols(head: ResponseHead): Duplex {
    this.head = head;
    this.status = head.status;
    if (this.connection === undefined) throw new Error('This exchange has no connection to switch.');
    return this.connection;
  }

  write(bytes: Buffer): boolean {
    if (this.isEnded || this.isAborted || this.isGone) throw new Error('Written after the end.');
    this.bodyBytes += bytes.length;
    this.heldBytes += bytes.length;
    this.heldBytesMost = Math.max(this.heldBytesMost, this.heldBytes);
    if (this.isKept) this.parts.push(Buffer.from(bytes));
    return this.heldBytes <= this.room;
  }

  end(trailers: HeaderList = []): void {
    if (this.isEnded || this.isAborted) throw new Error('Ended twice.');
    this.trailers = trailers;
    this.isEnded = true;
  }

  abort(): void {
    this.isAborted = true;
  }

  whenDrained(act: () => void): void {
    this.drained = act;
  }
}

export function forwarded(
  exchange: MemoryExchange,
  connections: MemberConnections,
  options: Partial<ForwardOptions> = {},
  body = new RepeatableBody(exchange.body, exchange.framing, 64 * 1024),
): Promise<Forwarded> {
  return forward(exchange, body, connections, {
    target: exchange.request.target,
    authority: exchange.request.authority,
    headers: [],
    responseHeaders: [],
    arrived: () => false,
    ...options,
  });
}

// --- Members ---

const closing: (() => void | Promise<void>)[] = [];

/** For `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

/** One connection as the member sees it. */
export class MemberSide {
  readonly socket: Socket;
  received = '';
  isEnded = false;
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => {
      this.received += bytes.toString('latin1');
    });
    socket.on('end', () => {
      this.isEnded = true;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** How many heads have come. */
  get requests(): number {
    return this.received.split('\r\n\r\n').length - 1;
  }

  write(text: string): void {
    this.socket.write(text, 'latin1');
  }
}

export interface Member {
  readonly connections: MemberConnections;
  readonly sides: MemberSide[];
  readonly server: Server;
  /** The connection on which a request has come; waits for it. */
  requested(side?: number, requests?: number): Promise<MemberSide>;
}

/** A server that says what it is told to, byte by byte. */
export async function member(
  given: Partial<MemberSettings> = {},
  accept: (side: MemberSide) => void = () => {},
): Promise<Member> {
  const sides: MemberSide[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const side = new MemberSide(socket);
    sides.push(side);
    accept(side);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connections = connectionsTo(server, given);
  closing.push(() => {
    for (const { socket } of sides) socket.destroy();
    server.close();
  });
  return {
    connections,
    sides,
    server,
    async requested(side = 0, requests = 1) {
      await waitUntil('the request has come', () => (sides[side]?.requests ?? 0) >= requests);
      return sides[side]!;
    },
  };
}

export function connectionsTo(server: Server, given: Partial<MemberSettings> = {}): MemberConnections {
  const { port } = server.address() as AddressInfo;
  return connectionsToPort(port, given);
}

export function connectionsToPort(port: number, given: Partial<MemberSettings> = {}): MemberConnections {
  const connections = new MemberConnections({ host: '127.0.0.1', port }, { ...settings, ...given });
  closing.push(() => connections.close());
  return connections;
}

/** A member that answers each head that comes with this text. */
export function answering(text: string, given: Partial<MemberSettings> = {}): Promise<Member> {
  return member(given, (side) => {
    let answered = 0;
    side.socket.on('data', () => {
      for (; answered < side.requests; answered += 1) side.write(text);
    });
  });
}

/** A text that node:net sends in one packet. */
export const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

export interface MemberProcess {
  readonly port: number;
  readonly child: ChildProcess;
  /** It has printed this. */
  says(word: string): Promise<void>;
  /** SIGKILL; resolves when it is dead. */
  kill(): Promise<void>;
  /** SIGSTOP; resolves when it stands still: until then it could still answer. */
  stop(): Promise<void>;
}

/** A member that can be killed and stopped: a process of its own, with a server of node:http that runs this code for each request. */
export async function memberProcess(code: string, backlog = 511): Promise<MemberProcess> {
  const script = `
    const server = require('node:http').createServer((request, response) => { ${code} });
    server.listen({ port: 0, host: '127.0.0.1', backlog: ${backlog} }, () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(() => {
    child.kill('SIGKILL');
  });
  let said = '';
  child.stdout.on('data', (bytes) => {
    said += bytes;
  });
  await waitUntil('it listens', () => said.endsWith('\n'));
  return {
    port: Number.parseInt(said, 10),
    child,
    says: (word) => waitUntil(`it says ${word}`, () => said.includes(word)),
    async kill() {
      child.kill('SIGKILL');
      await waitUntil('it is dead', () => child.signalCode !== null);
    },
    async stop() {
      child.kill('SIGSTOP');
      // "pid (name) state ..."
      const isStopped = () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(') T ');
      await waitUntil('it stands still', isStopped, { everyMs: 1 });
    },
  };
}

/** Whatever was due has been done. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
}

/** A port on which nobody is refused and nobody gets through: the process stands still, and its line is full. */
export async function fullPort(): Promise<number> {
  const { port, stop } = await memberProcess('response.end();', 1);
  await stop();
  let connected = 0;
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1', () => connected++));
  closing.push(() => {
    for (const socket of sockets) socket.on('error', () => {}).destroy();
  });
  await waitUntil('its line is full', () => connected >= 2);
  return port;
}
