/** What a front is given, what it counts, and what its connections share. */
import type { Clock } from 'sluice';
import type { GatewayLimits } from '../../config/gateway-config.ts';
import type { TlsFiles } from '../../service/door.ts';
import type { Log } from '../../service/log.ts';
import type { Exchange } from '../exchange.ts';

export interface FrontSettings {
  readonly limits: GatewayLimits;
  /** Certificate, key and authority already read; undefined: plain TCP. */
  readonly tls: TlsFiles | undefined;
  /** HTTP/2 by ALPN, or by prior knowledge without TLS. */
  readonly http2: boolean;
  readonly log: Log;
  /** Times slow and idle clients. Default: the real one. */
  readonly clock?: Clock;
}

/** Plain numbers: each thread has its own, and they are added up when somebody asks. */
export interface FrontMeter {
  /** Open now. */
  connections: number;
  /** Turned away because there were too many. */
  refusedConnections: number;
  /** That were handed to the pipeline. */
  requests: number;
  /** That were no request, or more than is read. */
  malformed: number;
  /** Clients that were too slow, or silent for too long. */
  timedOut: number;
}

/** What all connections of a front share. */
export interface FrontContext {
  /** The latest: a reload changes them. */
  limits: GatewayLimits;
  readonly log: Log;
  readonly clock: Clock;
  readonly meter: FrontMeter;
  readonly handle: (exchange: Exchange) => void;
  /** Each answer is the last of its connection. */
  isDraining: boolean;
}

/**
 * A connection, whatever is spoken on it. Time-outs are looked for now and then, in all of them: a timer for each request would cost
 * more than it brings.
 */
export interface FrontConnection {
  sweep(nowMs: number): void;
  /** The front is draining: it ends now where nothing is under way, else afterwards. */
  endSoon(): void;
  destroy(): void;
}

/** How often connections are looked at: a time-out may come so much late. */
export const sweepMs = 250;

/**
 * How long a client whose connection was ended may go on reading and sending: closed under bytes that it still sends, it would lose its
 * answer.
 */
export const lingerMs = 1000;

/** A request may be on its way on a connection that looks idle; closed at once, it would be lost. */
export const drainMomentMs = 500;

/** Bytes of a client that are held while nobody reads them. The connection is not read beyond, and its end is noticed until then. */
export const readAheadBytes = 64 * 1024;

/** An answer that so many bytes wait for is full. */
export const fullBytes = 64 * 1024;

/** What is left of a body that nobody wants: so much is thrown away to keep the connection. */
export const discardedBytes = 64 * 1024;
