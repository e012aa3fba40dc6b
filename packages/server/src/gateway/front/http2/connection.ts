/**
 * A client's HTTP/2 connection: `node:http2` speaks the protocol, each stream becomes an exchange.
 *
 *      accepted ──► SETTINGS within headMs ──► streams ──┬──► none for idleMs ──────────► GOAWAY, closed
 *                                                        ├──► a PING without an answer ─► closed
 *                                                        └──► drain: GOAWAY ────────────► closed after the last answer
 *
 * GOAWAY names the last stream that was taken: what the client sent beyond it was not looked at, and may safely be sent elsewhere. (A
 * notice before it, with the highest number there is, would be kinder; but Node has no way to send one, and what `session.goaway` sends
 * makes nghttp2 ignore the streams that it invites.)
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { UnderWay } from '../../../service/under-way.ts';
import type { Client } from '../../exchange.ts';
import type { HeaderList } from '../../wire/message.ts';
import { type FrontConnection, type FrontContext, lingerMs } from '../front-settings.ts';
import { badMessageOf, refusalOf, tooLong } from '../refusal.ts';
import { Http2Exchange } from './exchange.ts';
import { readHttp2Request } from './request-head.ts';
import { responseHeaders } from './response-headers.ts';

export class Http2Connection implements FrontConnection {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #context: FrontContext;
  readonly #client: Client;
  readonly #exchanges = new UnderWay<Http2Exchange>();
  #hasGreeted = false;
  #isAwaitingPong = false;
  /** When the client last asked for something. */
  #activeMs: number;
  /** When it last showed that it is there, or was asked to. */
  #aliveMs: number;
  #endedMs = 0;

  constructor(session: ServerHttp2Session, socket: Socket, client: Client, context: FrontContext) {
    this.#session = session;
    this.#socket = socket;
    this.#client = client;
    this.#context = context;
    this.#activeMs = context.clock.now();
    this.#aliveMs = this.#activeMs;
    session.once('remoteSettings', () => {
      this.#hasGreeted = true;
    });
    session.on('stream', (stream, _headers, flags, raw?: string[]) => this.#take(stream, flags, raw ?? []));
    session.on('error', (error) => {
      context.meter.malformed += 1;
      context.log.debug({ err: error }, 'a client’s HTTP/2 connection ended with an error');
    });
  }

  #take(stream: ServerHttp2Stream, flags: number, raw: HeaderList): void {
    const { limits, clock, meter, log, handle } = this.#context;
    this.#activeMs = clock.now();
    this.#aliveMs = this.#activeMs;
    // What went wrong with a stream shows in its end.
    stream.on('error', (error) => log.debug({ err: error }, 'a stream of HTTP/2 was broken off'));
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    let exchange: Http2Exchange;
    try {
      const request = readHttp2Request(raw, isEnded, limits);
      if (typeof request.framing === 'number' && request.framing > limits.bodyBytes) throw tooLong(limits.bodyBytes);
      exchange = new Http2Exchange(stream, request, this.#client, this.#context);
    } catch (error) {
      meter.malformed += 1;
      refuse(stream, refusalOf(badMessageOf(error)), isEnded);
      return;
    }
    this.#exchanges.add(exchange);
    stream.once('close', () => this.#finished(exchange));
    meter.requests += 1;
    handle(exchange);
  }

  #finished(exchange: Http2Exchange): void {
    this.#exchanges.delete(exchange);
    this.#activeMs = this.#context.clock.now();
    this.#aliveMs = this.#activeMs;
  }

  sweep(nowMs: number): void {
    const { idleMs, headMs } = this.#context.limits;
    const { meter } = this.#context;
    for (const exchange of this.#exchanges) exchange.sweep(nowMs);
    const isQuiet = this.#exchanges.count === 0;
    if (this.#session.closed || this.#session.destroyed) {
      // One that was told to go hangs up, or is hung up on.
      if (this.#endedMs === 0 || !isQuiet) this.#endedMs = nowMs;
      else if (nowMs - this.#endedMs > lingerMs) this.destroy();
      return;
    }
    const isSilent = nowMs - this.#aliveMs > headMs;
    if (isQuiet && nowMs - this.#activeMs > idleMs) {
      meter.timedOut += 1;
      this.#session.close();
    } else if (isSilent && (!this.#hasGreeted || this.#isAwaitingPong)) {
      meter.timedOut += 1;
      this.destroy();
    } else if (isSilent) this.#ping(nowMs);
  }

  // A connection that broke the protocol was sent GOAWAY by nghttp2, after which Node reads nothing more of it, not even its end, and
  // says nothing: it
  // would stay for good. And a client of a long answer may be gone without a word.
  #ping(nowMs: number): void {
    this.#aliveMs = nowMs;
    this.#isAwaitingPong = true;
    this.#session.ping((error) => {
      // Without an answer the next look finds it still waiting.
      if (error === null) this.#isAwaitingPong = false;
    });
  }

  endSoon(): void {
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  /**
   * Now, whatever is still open. `session.destroy` alone would wait for a peer that was already told to go. From timers only: Node 20
   * never returns from destroying a session with open streams inside one of its own callbacks.
   */
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }
}

/** An answer without an exchange. The client need not go on sending. */
function refuse(stream: ServerHttp2Stream, { head, body }: ReturnType<typeof refusalOf>, isEnded: boolean): void {
  if (stream.destroyed || stream.closed) return;
  const length = Buffer.byteLength(body);
  stream.respond({ ...responseHeaders(head.headers), ':status': head.status, 'content-length': length });
  stream.end(body);
  if (isEnded) return;
  stream.resume();
  stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
}
