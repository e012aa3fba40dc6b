// A client of HTTP/2 that asks and tells what it got, and bytes for those that say what no client would.
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { onTestFinished } from 'vitest';

export interface Http2Response {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
  readonly informed: readonly (number | undefined)[];
  /** 0: it was not reset. */
  readonly resetCode: number | undefined;
}

export interface Http2Client {
  readonly session: ClientHttp2Session;
  /** Settles when the stream is closed, whatever came of it. */
  ask(headers: OutgoingHttpHeaders, body?: string | Buffer, trailers?: OutgoingHttpHeaders): Promise<Http2Response>;
}

export function http2Client(port: number, options: object = {}, scheme = 'http'): Http2Client {
  const session = connect(`${scheme}://localhost:${port}`, { lookup: loopback, ...options } as object);
  session.on('error', () => {});
  onTestFinished(() => session.destroy());
  return { session, ask: (headers, body, trailers) => ask(session, headers, body, trailers) };
}

const loopback = (_host: string, options: { all?: boolean }, found: (...given: unknown[]) => void) =>
  options.all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4);

function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  sent: string | Buffer | undefined,
  sentTrailers: OutgoingHttpHeaders | undefined,
): Promise<Http2Response> {
  return new Promise((resolve) => {
    const stream = session.request(headers, {
      endStream: sent === undefined,
      waitForTrailers: sentTrailers !== undefined,
    });
    let received: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const pieces: Buffer[] = [];
    const informed: (number | undefined)[] = [];
    stream.on('headers', (head) => informed.push(Number(head[':status'])));
    stream.on('response', (head) => {
      received = head;
    });
    stream.on('trailers', (head) => {
      trailers = head;
    });
    stream.on('data', (bytes: Buffer) => pieces.push(bytes));
    stream.on('error', () => {});
    stream.on('wantTrailers', () => stream.sendTrailers(sentTrailers ?? {}));
    stream.on('close', () => {
      const body = Buffer.concat(pieces).toString();
      resolve({
        status: Number(received[':status']) || undefined,
        headers: received,
        body,
        trailers,
        informed,
        resetCode: stream.rstCode,
      });
    });
    if (sent !== undefined) stream.end(sent);
  });
}

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** A frame (RFC 9113 4.1). */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header without an index and without Huffman's code (RFC 7541 6.2.2): names and values of less than 127 bytes. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value, 'latin1'),
  ]);
}

export const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 } as const;
export const endStream = 1;
export const endHeaders = 4;
