/** What the headers of a call say, checked before its body is read. */
import type { TraceContext } from '../service/service.ts';
import { parseGrpcTimeoutMs } from './grpc-timeout.ts';
import { fieldOf, type RequestHead } from './http2/request-head.ts';
import { type Encoding, parseEncoding } from './message-frame.ts';

export interface CallHeaders extends TraceContext {
  readonly encoding: Encoding;
  /** From now on; Infinity: the client waits for good. */
  readonly timeoutMs: number;
}

/**
 * The HTTP status for what is not gRPC at all, undefined for what is. A browser or a proxy that came to the wrong port understands
 * this; it would not understand trailers.
 */
export function httpStatusOfStranger(head: RequestHead): number | undefined {
  if (!isGrpc(fieldOf(head, 'content-type'))) return 415;
  if (head.method !== 'POST') return 405;
  return undefined;
}

/** `te: trailers` is not asked for: it would only show that no proxy in between removes trailers, and Envoy is the proxy. */
export function parseCallHeaders(head: RequestHead): CallHeaders {
  return {
    encoding: parseEncoding(fieldOf(head, 'grpc-encoding')),
    timeoutMs: parseGrpcTimeoutMs(fieldOf(head, 'grpc-timeout')),
    traceparent: fieldOf(head, 'traceparent'),
    tracestate: fieldOf(head, 'tracestate'),
  };
}

// Parameters after a semicolon say nothing to us; another format of messages, such as +json, does.
const isGrpc = (contentType: string | undefined) =>
  contentType === 'application/grpc' || /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType ?? '');
