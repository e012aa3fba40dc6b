/**
 * Sends the body of a request to a member as it comes from the client, framed anew.
 *
 *      client ──► RepeatableBody ──► BodySender ──► connection
 *                       ▲ pause when the connection is full, resume when it has room
 *
 * The head goes out together with the first bytes, where they are there already: a small request is one write.
 */
import type { BodyReader } from '../exchange.ts';
import { chunkEnd, chunkHead, lastChunk } from '../wire/chunk.ts';
import type { HeaderList } from '../wire/message.ts';
import type { MemberConnection } from './member-connection.ts';
import type { RepeatableBody } from './repeatable-body.ts';

/** Who wants to know how far it is. */
export interface SendingListener {
  /** Some of it was written. */
  sent(isFull: boolean): void;
  /** All of it was written. */
  sentWhole(): void;
  /** The client's body broke off, or was none; the front knows, and tells the client. */
  bodyFailed(): void;
}

export class BodySender implements BodyReader {
  private readonly body: RepeatableBody;
  private readonly connection: MemberConnection;
  private readonly listener: SendingListener;
  private readonly isChunked: boolean;
  /** Text that waits for the bytes it can be written with. */
  private before: string;
  isFull = false;

  constructor(body: RepeatableBody, connection: MemberConnection, head: string, listener: SendingListener) {
    this.body = body;
    this.connection = connection;
    this.listener = listener;
    this.isChunked = body.framing === 'chunked';
    this.before = head;
  }

  start(): void {
    this.body.read(this);
    if (this.before !== '') this.flush('');
  }

  chunk(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const before = this.isChunked ? this.before + chunkHead(bytes.length) : this.before;
    this.before = '';
    const after = this.isChunked ? chunkEnd.length : 0;
    // Copied: the client's bytes are ours only until this returns, and the socket may hold them for longer.
    const written = Buffer.allocUnsafe(before.length + bytes.length + after);
    written.write(before, 0, 'latin1');
    bytes.copy(written, before.length);
    if (this.isChunked) written.write(chunkEnd, written.length - 2, 'latin1');
    this.wrote(this.connection.write(written));
  }

  end(trailers: HeaderList): void {
    if (this.isChunked) this.flush(lastChunk(trailers));
    else if (this.before !== '') this.flush('');
    this.listener.sentWhole();
  }

  failed(): void {
    this.listener.bodyFailed();
  }

  drained(): void {
    if (!this.isFull) return;
    this.isFull = false;
    this.listener.sent(false);
    this.body.resume();
  }

  private flush(after: string): void {
    const text = this.before + after;
    this.before = '';
    this.wrote(this.connection.writeText(text));
  }

  private wrote(hasRoom: boolean): void {
    if (!hasRoom && !this.isFull) {
      this.isFull = true;
      this.body.pause();
    }
    this.listener.sent(this.isFull);
  }
}
