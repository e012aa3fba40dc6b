/** The headers behind the last chunk: none, mostly. They are held until the empty line has come, never more than a head may have. */
import { carriageReturn, lineFeed } from './characters.ts';
import { isClaim } from './claims.ts';
import { findHeadEnd } from './head-end.ts';
import { HeaderLines } from './header-lines.ts';
import { BadMessage, type MessageLimits } from './message.ts';
import { plainName } from './plain-name.ts';

/** They say how a message is framed, or where it goes: when they come behind the body, somebody is to be misled. */
const refused = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** RFC 9110 6.5.1: they change how the message is handled, which has been decided by then. A next hop might merge them with its headers. */
const dropped = new Set([
  'age',
  'authorization',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'location',
  'max-forwards',
  'origin',
  'pragma',
  'proxy-authenticate',
  'proxy-authorization',
  'range',
  'retry-after',
  'set-cookie',
  'vary',
  'via',
  'warning',
  'www-authenticate',
]);

export class Trailers {
  readonly #limits: MessageLimits;
  #held: Buffer = Buffer.alloc(0);
  #length = 0;
  #headers: string[] | undefined;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
  }

  get isDone(): boolean {
    return this.#headers !== undefined;
  }

  /** Those that are passed on. */
  get headers(): readonly string[] {
    return this.#headers ?? [];
  }

  /** Returns the index after what it has used. */
  read(bytes: Buffer, start: number): number {
    if (this.#length === 0 && bytes[start] === carriageReturn && bytes[start + 1] === lineFeed) {
      this.#headers = [];
      return start + 2;
    }
    const before = this.#length;
    this.#hold(bytes, start);
    const end = this.#end(before);
    if (end === -1 && this.#length <= this.#limits.headBytes) return bytes.length;
    if (end === -1 || end > this.#limits.headBytes) {
      throw new BadMessage(431, `trailers must be at most ${this.#limits.headBytes} bytes`);
    }
    this.#headers = passedOn(this.#lines(end));
    return start + end - before;
  }

  // Copied into one buffer that doubles: pieces of one byte must not become as many objects. What goes beyond the limit is not needed.
  #hold(bytes: Buffer, start: number): void {
    const more = Math.min(bytes.length - start, this.#limits.headBytes + 1 - this.#length);
    if (this.#length + more > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(64, (this.#length + more) * 2));
      this.#held.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    bytes.copy(this.#held, this.#length, start, start + more);
    this.#length += more;
  }

  #end(from: number): number {
    const held = this.#held.subarray(0, this.#length);
    // No headers: the empty line is the first. A carriage return in its place is for the lines to judge, when its neighbour has come.
    if (held[0] === lineFeed) return 1;
    if (held[0] === carriageReturn) return held.length === 1 ? -1 : 2;
    return findHeadEnd(held, 0, from);
  }

  #lines(end: number): readonly string[] {
    const text = this.#held.toString('latin1', 0, end);
    const lines = new HeaderLines();
    lines.read(this.#held.subarray(0, end), text, 0, 0, end, this.#limits, 0);
    if (lines.host !== undefined) throw misplaced('host');
    return lines.headers;
  }
}

function passedOn(lines: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < lines.length; index += 2) {
    const name = lines[index]!;
    const plain = plainName(name);
    if (refused.has(plain)) throw misplaced(name);
    if (!dropped.has(plain) && !isClaim(plain)) kept.push(name, lines[index + 1]!);
  }
  return kept;
}

function misplaced(name: string): BadMessage {
  return new BadMessage(400, `${name} must not be a trailer`);
}
