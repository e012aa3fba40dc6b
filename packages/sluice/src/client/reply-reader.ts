/**
 * Reads replies of the Redis protocol, version 2, where they lie in the buffer.
 *
 *      :1000\r\n   +OK\r\n   -MOVED 3999 10.0.0.2:6380\r\n   $2\r\nhi\r\n   *2\r\n:1\r\n:2\r\n
 *
 * A reply of which only a part has come is read again from its beginning when there is more.
 */
import { SluiceError } from '../vocabulary/errors.ts';

/** An error that the server answered with. Its first word is a code. */
export class ErrorReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Reply = number | string | null | ErrorReply | Reply[];

const CR = 13;
const ZERO = 0x30;
const MINUS = 0x2d;
const INTEGER = 0x3a;
const ARRAY = 0x2a;
const BULK = 0x24;
const SIMPLE = 0x2b;
const ERROR = 0x2d;

// A server of ours says nothing that is longer or deeper; CLUSTER SLOTS of a large cluster is the most.
const mostBytes = 8 * 1024 * 1024;
const mostItems = 100_000;
const mostDepth = 8;
const mostDigits = 17;

export class ReplyReader {
  /** The reply read last. */
  value: Reply = null;
  /** Where the next one begins. */
  at = 0;
  private buffer!: Buffer;
  private end = 0;

  /** Reads the reply that begins at `from`; false when it is not there whole. Throws on what is no reply. */
  read(buffer: Buffer, from: number, end: number): boolean {
    this.buffer = buffer;
    this.at = from;
    this.end = end;
    const value = this.next(0);
    if (value === undefined) {
      if (end - from > mostBytes) throw broken(`a reply of more than ${mostBytes} bytes`);
      return false;
    }
    this.value = value;
    return true;
  }

  private next(depth: number): Reply | undefined {
    if (this.at >= this.end) return undefined;
    const kind = this.buffer[this.at];
    this.at += 1;
    if (kind === INTEGER) return this.integer();
    if (kind === ARRAY) return this.array(depth);
    if (kind === BULK) return this.bulk();
    if (kind === SIMPLE) return this.line();
    if (kind === ERROR) {
      const text = this.line();
      return text === undefined ? undefined : new ErrorReply(text);
    }
    throw broken(`a reply that begins with byte ${kind}`);
  }

  /** Up to the end of the line. */
  private integer(): number | undefined {
    const { buffer, end } = this;
    let { at } = this;
    const isNegative = buffer[at] === MINUS;
    if (isNegative) at += 1;
    const first = at;
    let value = 0;
    for (; at < end; at += 1) {
      const digit = buffer[at]! - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (at + 1 >= end) return undefined;
    if (at === first || at - first > mostDigits || buffer[at] !== CR) throw broken('a number that is none');
    this.at = at + 2;
    return isNegative ? -value : value;
  }

  private line(): string | undefined {
    const { buffer, at, end } = this;
    const stop = buffer.indexOf(CR, at);
    if (stop < 0 || stop + 1 >= end) return undefined;
    this.at = stop + 2;
    return buffer.toString('utf8', at, stop);
  }

  private bulk(): string | null | undefined {
    const length = this.integer();
    if (length === undefined) return undefined;
    if (length < 0) return null;
    if (length > mostBytes) throw broken(`a text of ${length} bytes`);
    const { buffer, at } = this;
    if (at + length + 2 > this.end) return undefined;
    this.at = at + length + 2;
    return buffer.toString('utf8', at, at + length);
  }

  private array(depth: number): Reply[] | null | undefined {
    const length = this.integer();
    if (length === undefined) return undefined;
    if (length < 0) return null;
    if (length > mostItems || depth >= mostDepth) throw broken(`an array of ${length} at depth ${depth}`);
    const items: Reply[] = [];
    for (let i = 0; i < length; i += 1) {
      const item = this.next(depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  }
}

function broken(what: string): SluiceError {
  return new SluiceError(
    'store-unavailable',
    `A node of the cluster does not speak the Redis protocol: it sent ${what}.`,
  );
}
