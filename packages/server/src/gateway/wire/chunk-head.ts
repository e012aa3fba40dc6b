/**
 * The line before a chunk: its size in hexadecimal digits, perhaps extensions, CRLF. It may come in any pieces.
 *
 *      1F4 ; name = "quoted" CRLF        without the blanks: RFC 9112 has them as bad, and readers differ about them
 *
 * Extensions are ignored, as RFC 9112 7.1.1 demands, but they are read by their grammar: readers that look for the end of the line instead have been
 * made to see another message by a line feed in them.
 */
import { byteName, carriageReturn, hexDigit, lineFeed, nameByte } from './characters.ts';
import { BadMessage } from './message.ts';

type State =
  | 'size'
  | 'name-start'
  | 'name'
  | 'value-start'
  | 'value'
  | 'quoted'
  | 'escaped'
  | 'unquoted'
  | 'line-feed'
  | 'done';

const semicolon = 0x3b;
const equals = 0x3d;
const quote = 0x22;
const backslash = 0x5c;

const mostDigits = 16;

export class ChunkHead {
  readonly #extensionBytesMost: number;
  #state: State = 'size';
  #digits = 0;
  #size = 0;
  /** Beyond the bytes of data that came with them: who sends a byte at a time with a long extension each makes much work of little. */
  #extensionBytes = 0;

  constructor(extensionBytesMost: number) {
    this.#extensionBytesMost = extensionBytesMost;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** The size, once it is there; the next line may come then. */
  take(): number {
    const size = this.#size;
    this.#extensionBytes = Math.max(0, this.#extensionBytes - size);
    this.#state = 'size';
    this.#digits = 0;
    this.#size = 0;
    return size;
  }

  /** Returns the index after what it has used. */
  read(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'size') at = this.#readSize(bytes, at);
      else if (this.#state === 'line-feed') at = this.#readLineFeed(bytes, at);
      else at = this.#readExtension(bytes, at);
    }
    return at;
  }

  #readSize(bytes: Buffer, start: number): number {
    let at = start;
    for (; at < bytes.length; at++) {
      const digit = hexDigit[bytes[at]!]!;
      if (digit === 0) break;
      this.#digits += 1;
      this.#size = this.#size * 16 + (digit - 1);
    }
    if (this.#digits > mostDigits || this.#size > Number.MAX_SAFE_INTEGER) {
      throw new BadMessage(400, 'the size of a chunk is larger than can be counted');
    }
    if (at === bytes.length) return at;
    const byte = bytes[at]!;
    if (this.#digits === 0 || (byte !== carriageReturn && byte !== semicolon)) {
      throw new BadMessage(400, `the size of a chunk must be hexadecimal digits, got ${byteName(byte)}`);
    }
    this.#state = byte === carriageReturn ? 'line-feed' : 'name-start';
    return at + 1;
  }

  #readLineFeed(bytes: Buffer, at: number): number {
    if (bytes[at] !== lineFeed) throw new BadMessage(400, 'the line before a chunk must end in CRLF');
    this.#state = 'done';
    return at + 1;
  }

  #readExtension(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && this.#state !== 'line-feed') {
      const next = afterExtensionByte(this.#state, bytes[at]!);
      if (next === undefined) throw new BadMessage(400, `a chunk extension has ${byteName(bytes[at])}`);
      this.#state = next;
      at += 1;
    }
    this.#extensionBytes += at - start;
    if (this.#extensionBytes > this.#extensionBytesMost) {
      throw new BadMessage(
        400,
        `chunk extensions must be at most ${this.#extensionBytesMost} bytes more than the data of their chunks`,
      );
    }
    return at;
  }
}

/** Undefined: it must not stand there. */
function afterExtensionByte(state: State, byte: number): State | undefined {
  const isToken = nameByte[byte] !== 0;
  switch (state) {
    case 'name-start':
      return isToken ? 'name' : undefined;
    case 'name':
      if (byte === equals) return 'value-start';
      return isToken ? 'name' : afterExtension(byte);
    case 'value-start':
      if (byte === quote) return 'quoted';
      return isToken ? 'value' : undefined;
    case 'value':
      return isToken ? 'value' : afterExtension(byte);
    case 'quoted':
      if (byte === quote) return 'unquoted';
      if (byte === backslash) return 'escaped';
      return isPrintable(byte) ? 'quoted' : undefined;
    case 'escaped':
      return isPrintable(byte) ? 'quoted' : undefined;
    case 'unquoted':
      return afterExtension(byte);
    default:
      return undefined;
  }
}

function afterExtension(byte: number): State | undefined {
  if (byte === semicolon) return 'name-start';
  return byte === carriageReturn ? 'line-feed' : undefined;
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f;
}
