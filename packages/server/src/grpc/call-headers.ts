/** What the headers of a call say, checked before its body is read. */
import type { IncomingHttpHeaders } from 'node:http2';
import type { TraceContext } from '../service/service.ts';
import { parseGrpcTimeoutMs } from './grpc-timeout.ts';
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
export function httpStatusOfStranger(headers: IncomingHttpHeaders): number | undefined {
  if (!isGrpc(headers['content-type'])) return 415;
  if (headers[':method'] !== 'POST') return 405;
  return undefined;
}

/** `te: trailers` is not asked for: it would only show that no proxy in between removes trailers, and Envoy is the proxy. */
export function parseCallHeaders(headers: IncomingHttpHeaders): CallHeaders {
  return {
    encoding: parseEncoding(single(headers['grpc-encoding'])),
    timeoutMs: parseGrpcTimeoutMs(single(headers['grpc-timeout'])),
    traceparent: single(headers.traceparent),
    tracestate: single(headers.tracestate),
  };
}

// Parameters after a semicolon say nothing to us; another format of messages, such as +json, does.
const isGrpc = (contentType: string | undefined) =>
  contentType === 'application/grpc' || /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType ?? '');

// A header that came several times is a list; no rule says which of them counts, and the text of all of them is none that is valid.
const single = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(', ') : header);
