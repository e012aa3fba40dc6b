/**
 * The head of a check in its plainest form: `POST /v1/check HTTP/1.1`, a length, JSON, and headers that change nothing about how the message is
 * to be read. Only what is certain is read here. Everything else, right or wrong, is for Node's parser to judge: whatever two parsers
 * could understand differently is a way to smuggle a request past the one in front.
 */
import { isJsonContent } from './request-body.ts';

export interface PlainHead {
  readonly contentLength: number;
  readonly authorization: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

export const requestLine = 'POST /v1/check HTTP/1.1\r\n';
export const headEnd = '\r\n\r\n';

// One name, one colon, printable ASCII. No folding, no bytes above ASCII.
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e]*)$/;

const understood = new Set([
  'host',
  'content-length',
  'content-type',
  'authorization',
  'connection',
  'traceparent',
  'tracestate',
]);

// Most of these change how the message or the connection is to be understood.
const unusual = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'proxy-connection',
  'keep-alive',
  'http2-settings',
]);

/** `text` is the head from the request line up to and with the empty line. Undefined: not as plain as that. */
export function plainHead(text: string): PlainHead | undefined {
  if (!text.startsWith(requestLine)) return undefined;
  const headers = new Map<string, string>();
  for (const line of text.slice(requestLine.length, -headEnd.length).split('\r\n')) {
    const [, written, value = ''] = headerLine.exec(line) ?? [];
    if (written === undefined) return undefined;
    const name = written.toLowerCase();
    if (unusual.has(name)) return undefined;
    if (!understood.has(name)) continue;
    if (headers.has(name)) return undefined;
    headers.set(name, value.trimEnd());
  }
  const length = headers.get('content-length') ?? '';
  const isPlain =
    Boolean(headers.get('host')) &&
    /^[1-9]\d{0,8}$/.test(length) &&
    isJsonContent(headers.get('content-type') ?? '') &&
    /^keep-alive$/i.test(headers.get('connection') ?? 'keep-alive');
  if (!isPlain) return undefined;
  return {
    contentLength: Number(length),
    authorization: headers.get('authorization'),
    traceparent: headers.get('traceparent'),
    tracestate: headers.get('tracestate'),
  };
}
