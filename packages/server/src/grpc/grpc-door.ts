/**
 * The gRPC door: Envoy's rate limit service (RLS v3) and the standard health service.
 *
 *      Envoy ── h2c or TLS ──► stream ──► Call ──► decode ──► Service.shouldRateLimit ──► encode ──► Call ──► Envoy
 *
 * Own code for these few messages instead of a gRPC library, and for what HTTP/2 they need (`http2/`): docs/decisions/0022 says why.
 */
import { createServer, type Server } from 'node:net';
import { type Clock, monotonicClock } from 'sluice';
import type { Door, DoorSettings, ListenOn } from '../service/door.ts';
import type { Service, TraceContext } from '../service/service.ts';
import type { Call } from './call.ts';
import { httpStatusOfStranger, parseCallHeaders } from './call-headers.ts';
import type { Connection } from './connection.ts';
import { Connections } from './connections.ts';
import { Health, rateLimitServiceName } from './health.ts';
import { decodeHealthCheckRequest, writeHealthCheckResponse } from './health-codec.ts';
import { fieldOf, type RequestHead } from './http2/request-head.ts';
import { decodeRateLimitRequest, writeRateLimitResponse } from './rate-limit-codec.ts';
import { GrpcError, statusCodes } from './status.ts';

// A peer that vanished without a word is noticed by the kernel's probes.
const keepAliveMs = 60_000;

export interface GrpcDoorOptions {
  /** Times idle and slow clients. Default: the real one. */
  readonly clock?: Clock;
  /** Calls that are open at once, of all connections together. Default 20,000. */
  readonly openCallsMax?: number;
  /** How often the service is asked whether it is ready while somebody watches. Default 1000. */
  readonly watchEveryMs?: number;
}

interface Method {
  /** Health is for load balancers, which have no token. */
  readonly needsToken: boolean;
  readonly messageBytesMax: number;
  readonly answer: (call: Call, message: Buffer, trace: TraceContext) => void;
}

export function grpcDoor(service: Service, doorSettings: DoorSettings, options: GrpcDoorOptions = {}): Door {
  const settings = {
    ...doorSettings,
    clock: options.clock ?? monotonicClock,
    openCallsMax: options.openCallsMax ?? 20_000,
  };
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
  const connections = new Connections(server, settings, begin);
  const health = new Health(service, settings, options.watchEveryMs ?? 1000);
  const methods = methodsOf(service, health, settings);
  const hasToken = tokenCheck(settings);
  let isOwnSocket = false;

  function begin(call: Call, connection: Connection, head: RequestHead): void {
    const httpStatus = httpStatusOfStranger(head);
    if (httpStatus !== undefined) {
      settings.meter.malformed++;
      call.refuse({ ':status': String(httpStatus) });
      return;
    }
    try {
      const method = methods.get(head.path);
      if (method === undefined) throw unknownMethod(head.path);
      if (method.needsToken && !hasToken(connection, fieldOf(head, 'authorization'))) throw unauthenticated();
      call.receive(parseCallHeaders(head), method);
    } catch (error) {
      call.fail(error);
    }
  }

  return {
    server,
    async listen(on: ListenOn) {
      isOwnSocket = !('fd' in on);
      await listening(server, on);
      void connections.sweep();
    },
    async drain(timeoutMs: number) {
      // A socket that another thread opened is shared with it: closing it here would close it under the others.
      if (!isOwnSocket) server.unref();
      else if (server.listening) server.close();
      health.drain();
      await connections.drain(timeoutMs);
    },
  };
}

// The name of a service. Whoever has no token should not keep a megabyte here.
const healthBytesMax = 1024;

function methodsOf(service: Service, health: Health, { limits }: DoorSettings): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    [
      `/${rateLimitServiceName}/ShouldRateLimit`,
      {
        needsToken: true,
        messageBytesMax: limits.bodyBytes,
        answer: (call, message, trace) => {
          const request = decodeRateLimitRequest(message, limits.batchItems);
          call.answer(service.shouldRateLimit(request, trace), writeRateLimitResponse);
        },
      },
    ],
    [
      '/grpc.health.v1.Health/Check',
      {
        needsToken: false,
        messageBytesMax: healthBytesMax,
        answer: (call, message) =>
          call.answer(health.check(decodeHealthCheckRequest(message)), writeHealthCheckResponse),
      },
    ],
    [
      '/grpc.health.v1.Health/Watch',
      {
        needsToken: false,
        messageBytesMax: healthBytesMax,
        answer: (call, message) => health.watch(decodeHealthCheckRequest(message), call),
      },
    ],
  ]);
}

function tokenCheck({ tokens, meter }: DoorSettings): (connection: Connection, header: string | undefined) => boolean {
  return (connection, header) => {
    if (!tokens.areNeeded) return true;
    const { acceptedAuthorization, acceptedRevision } = connection;
    const isRemembered = header === acceptedAuthorization && tokens.revision === acceptedRevision;
    if (header !== undefined && isRemembered) return true;
    if (tokens.hasBearer(header)) {
      connection.acceptedAuthorization = header;
      connection.acceptedRevision = tokens.revision;
      return true;
    }
    meter.unauthorized++;
    return false;
  };
}

function listening(server: Server, on: ListenOn): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(on, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

const unauthenticated = () =>
  new GrpcError(statusCodes.unauthenticated, 'a token is needed: send the metadata authorization: Bearer <token>');

function unknownMethod(path: string): GrpcError {
  return new GrpcError(statusCodes.unimplemented, `there is no method ${JSON.stringify(path.slice(0, 200))}`);
}
