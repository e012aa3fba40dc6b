/** The body of an answer on an HTTP/1 connection. */
import type { Sink } from '../../exchange.ts';
import { chunkEnd, chunkHead, lastChunk } from '../../wire/chunk.ts';
import type { Framing, HeaderList } from '../../wire/message.ts';
import type { ExchangeHost, Http1Exchange } from './exchange.ts';

export class AnswerSink implements Sink {
  readonly #exchange: Http1Exchange;
  readonly #host: ExchangeHost;
  readonly #framing: Framing | 'nothing';
  #onDrained: (() => void) | undefined;

  constructor(exchange: Http1Exchange, host: ExchangeHost, framing: Framing | 'nothing') {
    this.#exchange = exchange;
    this.#host = host;
    this.#framing = framing;
  }

  write(bytes: Buffer): boolean {
    const exchange = this.#exchange;
    const framing = this.#framing;
    // A chunk of nothing would be the last one.
    if (exchange.isAnswered || framing === 'nothing' || bytes.length === 0) return true;
    exchange.bodyBytes += bytes.length;
    if (typeof framing === 'number' && exchange.bodyBytes > framing) {
      // The client would take the rest for its next answer.
      this.abort();
      return true;
    }
    const { outgoing } = this.#host;
    if (framing === 'chunked') {
      outgoing.text(chunkHead(bytes.length));
      outgoing.bytes(bytes);
      outgoing.text(chunkEnd);
    } else outgoing.bytes(bytes);
    outgoing.flushSoon();
    return !outgoing.isFull;
  }

  end(trailers: HeaderList = []): void {
    const exchange = this.#exchange;
    const framing = this.#framing;
    if (exchange.isAnswered) return;
    if (typeof framing === 'number' && exchange.bodyBytes < framing) {
      this.abort();
      return;
    }
    if (framing === 'chunked') {
      this.#host.outgoing.text(lastChunk(trailers.length > 0 && exchange.takesTrailers ? trailers : []));
    }
    exchange.finish();
  }

  abort(): void {
    if (this.#exchange.isAnswered) return;
    this.#exchange.giveUp();
    // Where its end is the end of the connection, only a reset says that it was none.
    this.#host.abort(this.#framing === 'until-close');
  }

  whenDrained(act: () => void): void {
    if (this.#exchange.isAnswered || !this.#host.outgoing.isFull) process.nextTick(act);
    else this.#onDrained = act;
  }

  /** There is room again, or there never will be. */
  drained(): void {
    const act = this.#onDrained;
    this.#onDrained = undefined;
    act?.();
  }
}
