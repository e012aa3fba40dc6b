/** A service that really limits, a door in front of it, and clients made of the public protocol. */
import {
  type ClientHttp2Session,
  type ClientSessionOptions,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import {
  type CallOptions,
  ChannelCredentials,
  type Client,
  type ClientOptions,
  type ClientReadableStream,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type Clock, fixedWindow, type Limiter, limiter, SluiceError } from 'sluice';
import { onTestFinished } from 'vitest';
import type { LimitsConfig } from '../config/config.ts';
import type { Descriptor, DescriptorStatus, RateLimitRequest, RateLimitResponse } from '../envoy/rate-limit-message.ts';
import type { Door, DoorSettings } from '../service/door.ts';
import { doorMeter } from '../service/door-meter.ts';
import type { Service } from '../service/service.ts';
import { Tokens } from '../service/tokens.ts';
import { type GrpcDoorOptions, grpcDoor } from './grpc-door.ts';

const protos = fileURLToPath(new URL('../../protos', import.meta.url));

/** The public protocol, read by protobufjs: an independent judge of every message. */
export const protocol = loadSync(['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [protos],
  longs: String,
  enums: String,
  defaults: false,
  oneofs: true,
});

export interface Method {
  readonly path: string;
  requestSerialize(message: object): Buffer;
  requestDeserialize(bytes: Buffer): Record<string, unknown>;
  responseSerialize(message: object): Buffer;
  responseDeserialize(bytes: Buffer): Record<string, unknown>;
}

export function method(service: string, name: string): Method {
  return (protocol[service] as unknown as Record<string, Method>)[name]!;
}

export const shouldRateLimitMethod = method('envoy.service.ratelimit.v3.RateLimitService', 'ShouldRateLimit');
export const healthCheckMethod = method('grpc.health.v1.Health', 'Check');

const windows = { SECOND: '1s', MINUTE: '1m', HOUR: '1h', DAY: '1d' } as const;

/** Three a minute for everybody, unless the descriptor brings a limit of its own. */
export class LimitingService {
  readonly #limiters = new Map<string, Limiter>();
  readonly #clock: Clock | undefined;
  readonly requests: RateLimitRequest[] = [];
  isReady = true;

  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  readiness(): { isReady: boolean } {
    return { isReady: this.isReady };
  }

  shouldRateLimit(request: RateLimitRequest): RateLimitResponse {
    this.requests.push(request);
    if (this.requests.length > 100) this.requests.shift();
    if (request.domain === '') throw wrong('rate limit domain must not be empty');
    if (request.descriptors.length === 0) throw wrong('rate limit descriptor list must not be empty');
    const statuses = request.descriptors.map((descriptor) => this.#status(request, descriptor));
    const isOver = statuses.some(({ code }) => code === 'OVER_LIMIT');
    return {
      overallCode: isOver ? 'OVER_LIMIT' : 'OK',
      statuses,
      responseHeadersToAdd: [{ key: 'RateLimit-Remaining', value: String(statuses[0]!.limitRemaining) }],
      requestHeadersToAdd: [{ key: 'x-größe', value: 'ümläut' }],
      dynamicMetadata: { domain: request.domain, nested: { list: [1, 'two', true, null, { three: 3.5 }] } },
    };
  }

  #status(request: RateLimitRequest, descriptor: Descriptor): DescriptorStatus {
    const { requestsPerUnit, unit } = descriptor.limit ?? { requestsPerUnit: 3, unit: 'MINUTE' };
    if (!(unit in windows)) throw wrong(`limit.unit must be one of ${Object.keys(windows).join(', ')}, got ${unit}`);
    const key = descriptor.entries.map((entry) => `${entry.key}=${entry.value}`).join('|');
    const limit = this.#limiter(requestsPerUnit, windows[unit as keyof typeof windows]);
    const hits = descriptor.hitsAddend ?? (request.hitsAddend || 1);
    const decision = descriptor.isNegativeHits ? limit.reward(key, hits) : limit.check(key, hits);
    return {
      code: decision.allowed ? 'OK' : 'OVER_LIMIT',
      currentLimit: { requestsPerUnit, unit, name: 'named' },
      limitRemaining: decision.remaining,
      durationUntilResetSeconds: Math.ceil(decision.resetAfterMs / 1000),
    };
  }

  #limiter(limit: number, window: string): Limiter {
    const name = `${limit}/${window}`;
    let found = this.#limiters.get(name);
    if (found === undefined) {
      found = limiter(fixedWindow({ limit, window: window as '1m' }), {
        ...(this.#clock && { clock: this.#clock }),
        maxKeys: 10_000,
      });
      this.#limiters.set(name, found);
    }
    return found;
  }
}

const wrong = (message: string) => new SluiceError('invalid-option', message);

export const roomyLimits: LimitsConfig = {
  bodyBytes: 65_536,
  keyBytes: 1024,
  batchItems: 100,
  connections: 1000,
  pipelineDepth: 10_000,
  idleMs: 300_000,
  requestMs: 30_000,
};

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

export interface OpenDoor {
  readonly door: Door;
  readonly port: number;
  readonly address: string;
  readonly settings: DoorSettings;
  readonly log: readonly LogLine[];
}

export interface DoorChoices {
  readonly limits?: Partial<LimitsConfig>;
  readonly tokens?: readonly string[];
  readonly tls?: DoorSettings['tls'];
  readonly options?: GrpcDoorOptions;
}

/** Listens on any free port; closed when the test ends. */
export async function openDoor(service: Partial<Service>, choices: DoorChoices = {}): Promise<OpenDoor> {
  const log: LogLine[] = [];
  const add = (level: string) => (fields: object, message: string) => {
    if (log.length < 1000) log.push({ level, fields, message });
  };
  const settings: DoorSettings = {
    limits: { ...roomyLimits, ...choices.limits },
    tokens: new Tokens(choices.tokens ?? []),
    tls: choices.tls,
    meter: doorMeter(),
    log: { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') },
  };
  const door = grpcDoor(service as Service, settings, choices.options);
  await door.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => door.drain(0));
  const { port } = door.server.address() as AddressInfo;
  return { door, port, address: `127.0.0.1:${port}`, settings, log };
}

export interface RateLimitReply {
  readonly overallCode: string;
  readonly statuses: readonly Record<string, unknown>[];
  readonly responseHeadersToAdd?: readonly Record<string, unknown>[];
  readonly requestHeadersToAdd?: readonly Record<string, unknown>[];
  readonly dynamicMetadata?: unknown;
}

/** A client that grpc-js makes of the protocol. */
export class GrpcClient {
  readonly #client: Client & Record<string, (...args: unknown[]) => unknown>;
  readonly #health: Client & Record<string, (...args: unknown[]) => unknown>;

  constructor(address: string, credentials = ChannelCredentials.createInsecure(), options: ClientOptions = {}) {
    const definition = loadPackageDefinition(protocol) as never as {
      envoy: { service: { ratelimit: { v3: { RateLimitService: new (...args: unknown[]) => never } } } };
      grpc: { health: { v1: { Health: new (...args: unknown[]) => never } } };
    };
    this.#client = new definition.envoy.service.ratelimit.v3.RateLimitService(address, credentials, options);
    this.#health = new definition.grpc.health.v1.Health(address, credentials, options);
    onTestFinished(() => this.close());
  }

  shouldRateLimit(request: object, options: CallOptions = {}, metadata = new Metadata()): Promise<RateLimitReply> {
    return new Promise((resolve, reject) => {
      this.#client.ShouldRateLimit!(request, metadata, options, (error: ServiceError | null, reply: RateLimitReply) =>
        error ? reject(error) : resolve(reply),
      );
    });
  }

  check(service = ''): Promise<{ readonly status: string }> {
    return new Promise((resolve, reject) => {
      this.#health.Check!({ service }, (error: ServiceError | null, reply: { status: string }) =>
        error ? reject(error) : resolve(reply),
      );
    });
  }

  watch(service = ''): ClientReadableStream<{ readonly status: string }> {
    return this.#health.Watch!({ service }) as ClientReadableStream<{ status: string }>;
  }

  close(): void {
    this.#client.close();
    this.#health.close();
  }
}

/** One descriptor of one entry. */
export function request(key: string, value: string, more: object = {}): object {
  return { domain: 'shop', descriptors: [{ entries: [{ key, value }] }], ...more };
}

export function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export interface RawReply {
  readonly httpStatus: number;
  readonly headers: Record<string, unknown>;
  /** `grpc-status`, from the trailers or from headers that are trailers. */
  readonly status: string | undefined;
  readonly message: string | undefined;
  readonly body: Buffer;
  readonly resetCode: number;
}

/** A client that speaks HTTP/2 and may say anything. */
export function rawClient(port: number, options: ClientSessionOptions = {}): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, options);
  // What the door did to the connection shows in its calls.
  session.on('error', () => undefined);
  // Later, because Node 20 never returns from destroying a session with open streams inside one of its own callbacks.
  onTestFinished(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    session.destroy();
  });
  return session;
}

/** However it ends: a reset is an error to its socket, and what was asked for here. */
export function closed(connection: Socket | ClientHttp2Session): Promise<void> {
  if ('resume' in connection) connection.resume();
  return new Promise((resolve) => connection.once('close', () => resolve()));
}

export interface RawCall {
  readonly headers?: OutgoingHttpHeaders;
  /** Pieces of the body; each is a DATA frame of its own. */
  readonly pieces?: readonly Uint8Array[];
  /** Leave the body open. */
  readonly isUnfinished?: boolean;
}

export function rawCall(session: ClientHttp2Session, call: RawCall = {}): Promise<RawReply> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': shouldRateLimitMethod.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...call.headers,
    });
    const chunks: Buffer[] = [];
    let headers: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset is a result here: it is in `resetCode`.
    stream.on('error', () => undefined);
    stream.on('close', () =>
      resolve({
        httpStatus: Number(headers[constants.HTTP2_HEADER_STATUS] ?? 0),
        headers,
        status: (trailers['grpc-status'] ?? headers['grpc-status']) as string | undefined,
        message: (trailers['grpc-message'] ?? headers['grpc-message']) as string | undefined,
        body: Buffer.concat(chunks),
        resetCode: stream.rstCode,
      }),
    );
    for (const piece of call.pieces ?? []) stream.write(piece);
    if (!call.isUnfinished) stream.end();
  });
}
