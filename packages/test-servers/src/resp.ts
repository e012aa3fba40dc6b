/** As much of the Redis protocol (RESP2) as it takes to give orders to a server: one connection, calls in order. */
import { connect, type Socket } from 'node:net';

export type Reply = string | number | null | Reply[];

/** What the server said no with, e.g. `MOVED 1234 127.0.0.1:20001`. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

export interface RespConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly password?: string | undefined;
  /** How long a call may take, connecting included. A paused server would let it wait for ever. */
  readonly timeoutMs: number;
}

export interface RespConnection {
  readonly isOpen: boolean;
  call(args: readonly (string | number)[]): Promise<Reply>;
  close(): void;
}

interface PendingCall {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export function respConnection({ host, port, password, timeoutMs }: RespConnectionOptions): RespConnection {
  const pending: PendingCall[] = [];
  let received: Buffer = Buffer.alloc(0);
  let isOpen = true;
  const socket: Socket = connect({ host, port, noDelay: true });

  function fail(error: Error): void {
    if (!isOpen) return;
    isOpen = false;
    socket.destroy();
    for (const { reject, timer } of pending.splice(0)) {
      clearTimeout(timer);
      reject(error);
    }
  }

  function call(args: readonly (string | number)[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (!isOpen) return reject(new Error(`The connection to ${host}:${port} is closed.`));
      // A late reply would be taken for the answer to the next call, so the connection ends with its first timeout.
      const timeout = () => fail(new Error(`${host}:${port} did not answer ${args[0]} within ${timeoutMs} ms.`));
      pending.push({ resolve, reject, timer: setTimeout(timeout, timeoutMs) });
      socket.ref();
      socket.write(encodeCommand(args));
    });
  }

  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${host}:${port} closed the connection.`)));
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    for (;;) {
      const parsed = parseReply(received, 0);
      if (parsed === undefined) break;
      received = received.subarray(parsed.end);
      const waiting = pending.shift();
      if (waiting === undefined) return fail(new Error(`${host}:${port} answered what nobody asked.`));
      clearTimeout(waiting.timer);
      if (parsed.value instanceof ReplyError) waiting.reject(parsed.value);
      else waiting.resolve(parsed.value);
    }
    // An idle connection is no reason for this process to stay alive.
    if (pending.length === 0) socket.unref();
  });

  // Its error also fails the calls behind it, each with the server's own words.
  if (password !== undefined) call(['AUTH', password]).catch(fail);

  return {
    get isOpen() {
      return isOpen;
    },
    call,
    close: () => fail(new Error(`The connection to ${host}:${port} was closed.`)),
  };
}

export function encodeCommand(args: readonly (string | number)[]): string {
  const parts = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${parts.join('')}`;
}

interface Parsed<T> {
  readonly value: T;
  readonly end: number;
}

/** The reply that starts at `start`, or undefined while bytes are missing. */
export function parseReply(bytes: Buffer, start: number): Parsed<Reply | ReplyError> | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[start]!)) {
    case '+':
      return { value: line, end };
    case '-':
      return { value: new ReplyError(line), end };
    case ':':
      return { value: Number(line), end };
    case '$':
      return parseBulk(bytes, end, Number(line));
    case '*':
      return parseArray(bytes, end, Number(line));
    default:
      throw new Error(`Not a RESP2 reply: ${bytes.toString('utf8', start, Math.min(start + 40, bytes.length))}`);
  }
}

function parseBulk(bytes: Buffer, start: number, length: number): Parsed<Reply> | undefined {
  if (length === -1) return { value: null, end: start };
  if (bytes.length < start + length + 2) return undefined;
  return { value: bytes.toString('utf8', start, start + length), end: start + length + 2 };
}

/** An error inside an array (a command of a transaction that failed) is the answer to the whole call. */
function parseArray(bytes: Buffer, start: number, count: number): Parsed<Reply | ReplyError> | undefined {
  if (count === -1) return { value: null, end: start };
  const items: Reply[] = [];
  let end = start;
  let failure: ReplyError | undefined;
  for (let index = 0; index < count; index += 1) {
    const item = parseReply(bytes, end);
    if (item === undefined) return undefined;
    end = item.end;
    if (item.value instanceof ReplyError) failure ??= item.value;
    else items.push(item.value);
  }
  return { value: failure ?? items, end };
}
