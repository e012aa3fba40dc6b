/** A service that really limits, a door in front of it, and a client that sees every byte. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Clock, gcra, leakyBucket, memoryStore, rules, slidingLog } from 'sluice';
import { onTestFinished } from 'vitest';
import type { ClusterDoor } from '../cluster/view.ts';
import type { LimitsConfig } from '../config/config.ts';
import type { Door, TlsFiles } from '../service/door.ts';
import { type DoorMeter, doorMeter } from '../service/door-meter.ts';
import type { Answer } from '../service/service.ts';
import { Throttle } from '../service/throttle.ts';
import { Tokens } from '../service/tokens.ts';
import { type RespService, respDoor } from './resp-door.ts';

/** Three a minute of rule `per-user`, ten an hour of `burst`, one a second of `shaped`, and any policy that comes with a call. */
export function limitingService(clock?: Clock): RespService {
  const store = memoryStore({ ...(clock && { clock }), maxKeys: 10_000 });
  const throttle = new Throttle(store);
  const configured = rules(
    [
      { name: 'per-user', key: 'user', policy: slidingLog({ limit: 3, window: '1m' }) },
      { name: 'burst', key: 'user', policy: gcra({ limit: 10, window: '1h', burst: 10 }) },
      { name: 'shaped', key: 'user', policy: leakyBucket({ limit: 1, window: '1s', burst: 5 }) },
    ],
    { store },
  );
  return {
    throttle: (bytes, start, end, numbers, quantity) => throttle.check(bytes, start, end, numbers, quantity),
    checkRule: (rule, key, { cost, requestId, maxDelayMs } = {}) =>
      configured.checkKey(rule, key, {
        ...(cost !== undefined && { cost }),
        ...(requestId && { requestId }),
        ...(maxDelayMs !== undefined && { maxDelayMs }),
      }),
    checkPolicy(policy, key, { cost = 1, maxDelayMs } = {}) {
      const [decision] = store.apply([{ name: JSON.stringify(policy), key, policy, cost, maxDelayMs }]);
      return decision!;
    },
    apply: (checks, requestId) => store.apply(checks, undefined, requestId),
  };
}

/** The same answers, each of them only when it is let go. */
export class HeldService implements RespService {
  readonly held: (() => void)[] = [];
  private readonly service: RespService;

  constructor(service = limitingService()) {
    this.service = service;
  }

  readonly throttle: RespService['throttle'] = (...question) =>
    this.later(() => ({ ...(this.service.throttle(...question) as object) }) as never);
  readonly checkRule: RespService['checkRule'] = (...question) => this.later(() => this.service.checkRule(...question));
  readonly checkPolicy: RespService['checkPolicy'] = (...question) =>
    this.later(() => this.service.checkPolicy(...question));

  readonly apply: RespService['apply'] = (...question) => this.later(() => this.service.apply(...question));

  private later<T>(ask: () => Answer<T>): Promise<T> {
    // Asked at once and answered later, as over a network.
    const answer = new Promise<T>((resolve) => resolve(ask()));
    answer.catch(() => undefined);
    return new Promise<void>((release) => this.held.push(release)).then(() => answer);
  }
}

export const roomyLimits: LimitsConfig = {
  bodyBytes: 65_536,
  keyBytes: 1024,
  batchItems: 100,
  connections: 1000,
  pipelineDepth: 1000,
  idleMs: 300_000,
  requestMs: 30_000,
};

export interface OpenDoorOptions {
  readonly service?: RespService;
  readonly limits?: Partial<LimitsConfig>;
  readonly tokens?: readonly string[];
  readonly tls?: TlsFiles;
  readonly clock?: Clock;
  readonly cluster?: ClusterDoor;
  /** Default 0, as in the main thread. */
  readonly threadNumber?: number;
  /** Default: any that is free. */
  readonly port?: number;
}

export interface OpenDoor {
  readonly door: Door;
  readonly port: number;
  readonly meter: DoorMeter;
  /** Warnings and errors of the door. */
  readonly complaints: unknown[];
  client(): Promise<RawClient>;
}

export async function openDoor(options: OpenDoorOptions = {}): Promise<OpenDoor> {
  const meter = doorMeter();
  const complaints: unknown[] = [];
  const complain = (fields: object, message: string) => void complaints.push({ ...fields, message });
  const door = respDoor(
    options.service ?? limitingService(options.clock),
    {
      limits: { ...roomyLimits, ...options.limits },
      tokens: new Tokens(options.tokens ?? []),
      tls: options.tls,
      meter,
      log: { debug: () => undefined, info: () => undefined, warn: complain, error: complain },
      cluster: options.cluster,
    },
    { ...(options.clock && { clock: options.clock }), threadNumber: options.threadNumber ?? 0 },
  );
  await door.listen({ host: '127.0.0.1', port: options.port ?? 0 });
  onTestFinished(() => door.drain(0));
  const { port } = door.server.address() as AddressInfo;
  return { door, port, meter, complaints, client: () => rawClient(port) };
}

export type Value = string | number | boolean | null | Error | Value[] | Map<Value, Value> | Set<Value>;

/** Sends bytes and reads replies, RESP2 and RESP3, knowing nothing of the code under test. */
export class RawClient {
  readonly socket: Socket;
  private received = Buffer.alloc(0);
  private isEnded = false;
  private wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    const end = () => {
      this.isEnded = true;
      this.wake();
    };
    // A connection that is reset is over as well; what is asserted is what came before.
    socket.on('error', end).on('end', end).on('close', end);
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** One command and its reply. */
  call(...args: (string | number | Uint8Array)[]): Promise<Value> {
    this.send(frame(...args));
    return this.reply();
  }

  /** The next reply; an Error for an error reply. Rejects when the connection ends first. */
  async reply(): Promise<Value> {
    for (;;) {
      const found = parse(this.received, 0);
      if (found) {
        this.received = this.received.subarray(found.end);
        return found.value;
      }
      if (this.isEnded) throw new Error(`the connection ended after ${JSON.stringify(this.received.toString())}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** Everything up to the end of the connection. */
  async untilEnd(): Promise<string> {
    while (!this.isEnded) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.received.toString();
  }
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return new RawClient(socket);
}

export async function rawTlsClient(port: number, options: { ca: Buffer; cert?: Buffer; key?: Buffer }) {
  const socket = connectTls({ port, host: '127.0.0.1', ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return new RawClient(socket);
}

/** The first few items of a reply that is an array. */
export function beginning(reply: Value, count: number): Value {
  return Array.isArray(reply) ? reply.slice(0, count) : reply;
}

/** A command as clients send it. */
export function frame(...args: (string | number | Uint8Array)[]): Buffer {
  const parts = args.map((arg) => (typeof arg === 'object' ? Buffer.from(arg) : Buffer.from(String(arg))));
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')]),
  ]);
}

interface Parsed {
  readonly value: Value;
  readonly end: number;
}

function parse(bytes: Buffer, from: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd < 0) return undefined;
  const kind = String.fromCharCode(bytes[from]!);
  const line = bytes.toString('utf8', from + 1, lineEnd);
  const end = lineEnd + 2;
  if (kind === '+') return { value: line, end };
  if (kind === '-') return { value: new Error(line), end };
  if (kind === ':') return { value: Number(line), end };
  if (kind === '_') return { value: null, end };
  if (kind === '$' || kind === '=') {
    const length = Number(line);
    if (length < 0) return { value: null, end };
    if (bytes.length < end + length + 2) return undefined;
    return { value: bytes.toString('utf8', kind === '=' ? end + 4 : end, end + length), end: end + length + 2 };
  }
  if (!'*~%'.includes(kind)) throw new Error(`not a reply: ${JSON.stringify(bytes.toString('utf8', from, from + 80))}`);
  return parseMany(kind, bytes, end, Number(line));
}

function parseMany(kind: string, bytes: Buffer, from: number, count: number): Parsed | undefined {
  const values: Value[] = [];
  let end = from;
  for (let i = 0; i < (kind === '%' ? 2 * count : count); i += 1) {
    const item = parse(bytes, end);
    if (!item) return undefined;
    values.push(item.value);
    end = item.end;
  }
  if (kind === '~') return { value: new Set(values), end };
  if (kind === '*') return { value: values, end };
  return { value: new Map(Array.from({ length: count }, (_, i) => [values[2 * i]!, values[2 * i + 1]!])), end };
}
