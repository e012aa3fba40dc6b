/**
 * Appends replies to one buffer that goes out in one write. RESP2, and RESP3 where the client said HELLO 3. All connections of a
 * thread share one writer: whoever writes takes what it wrote in the same turn.
 */
import { OutputBuffer } from '../service/output-buffer.ts';

const CR = 13;
const LF = 10;
const ZERO = 0x30;
const MINUS = 0x2d;
const INTEGER = 0x3a;
const ARRAY = 0x2a;
const BULK = 0x24;
const MAP = 0x25;
const SET = 0x7e;
const VERBATIM = 0x3d;

// The longest number that is written digit by digit, with what stands around it. All of those fit 31 bits, for which the
// processor has the fastest arithmetic.
const numberBytes = 24;
const smallBelow = 1_000_000_000;
const largestInteger = 2n ** 63n - 1n;

export class ReplyWriter extends OutputBuffer {
  /** Of the client that is being answered. */
  isResp3 = false;

  /** Takes what was written after `mark` back out, as a buffer of its own. */
  cut(mark: number): Buffer {
    const written = Buffer.from(this.buffer.subarray(mark, this.length));
    this.length = mark;
    return written;
  }

  integer(value: number): void {
    this.number(INTEGER, value);
  }

  /** An array of five integers, as each CL.THROTTLE is answered: one look at the room there is, rather than six. */
  fiveIntegers(first: number, second: number, third: number, fourth: number, fifth: number): void {
    if (!(isSmall(first) && isSmall(second) && isSmall(third) && isSmall(fourth) && isSmall(fifth))) {
      this.array(5);
      for (const value of [first, second, third, fourth, fifth]) this.integer(value);
      return;
    }
    this.reserve(6 * numberBytes);
    const { buffer } = this;
    let at = putNumber(buffer, this.length, ARRAY, 5);
    at = putNumber(buffer, at, INTEGER, first);
    at = putNumber(buffer, at, INTEGER, second);
    at = putNumber(buffer, at, INTEGER, third);
    at = putNumber(buffer, at, INTEGER, fourth);
    this.length = putNumber(buffer, at, INTEGER, fifth);
  }

  array(count: number): void {
    this.number(ARRAY, count);
  }

  /** Field by field and value by value; to a RESP2 client a map is an array of both. */
  map(count: number): void {
    if (this.isResp3) this.number(MAP, count);
    else this.number(ARRAY, 2 * count);
  }

  set(count: number): void {
    this.number(this.isResp3 ? SET : ARRAY, count);
  }

  bulk(text: string): void {
    this.blob(BULK, text);
  }

  /** A range of bytes as a bulk string. */
  bytes(source: Buffer, start: number, stop: number): void {
    this.number(BULK, stop - start);
    this.reserve(stop - start + 2);
    this.length += source.copy(this.buffer, this.length, start, stop);
    this.lineEnd();
  }

  /** A text for people, as INFO is. */
  verbatim(text: string): void {
    if (this.isResp3) this.blob(VERBATIM, `txt:${text}`);
    else this.blob(BULK, text);
  }

  simple(text: string): void {
    this.line('+', text);
  }

  error(text: string): void {
    this.line('-', text);
  }

  /** Nothing at all. */
  none(): void {
    if (this.isResp3) this.line('_', '');
    else this.line('$', '-1');
  }

  private blob(kind: number, text: string): void {
    const bytes = Buffer.byteLength(text);
    this.number(kind, bytes);
    this.reserve(bytes + 2);
    this.length += this.buffer.write(text, this.length);
    this.lineEnd();
  }

  private line(kind: string, text: string): void {
    // A line end within would end the reply early, and what follows would be read as another.
    const line = kind + text.replace(/[\r\n]/g, ' ');
    this.reserve(Buffer.byteLength(line) + 2);
    this.length += this.buffer.write(line, this.length);
    this.lineEnd();
  }

  private lineEnd(): void {
    this.buffer[this.length] = CR;
    this.buffer[this.length + 1] = LF;
    this.length += 2;
  }

  private number(kind: number, value: number): void {
    if (!isSmall(value)) {
      this.largeNumber(kind, value);
      return;
    }
    this.reserve(numberBytes);
    this.length = putNumber(this.buffer, this.length, kind, value);
  }

  /** Redis' integers have 64 bits; what has more is the largest of them. Fractions are cut off. */
  private largeNumber(kind: number, value: number): void {
    if (Number.isNaN(value)) throw new RangeError('a reply must be a number, got NaN');
    const isBeyond = Math.abs(value) >= 2 ** 63;
    const within = isBeyond ? (value > 0 ? largestInteger : -largestInteger) : BigInt(Math.trunc(value));
    this.line(String.fromCharCode(kind), String(within));
  }
}

/** Whether a number is written digit by digit. */
function isSmall(value: number): boolean {
  return value < smallBelow && value > -smallBelow && (value | 0) === value;
}

/** Writes a line of a small number and says where it ends. Digit by digit: a string of each number would cost more than the check it reports. */
function putNumber(buffer: Buffer, start: number, kind: number, value: number): number {
  let at = start;
  buffer[at++] = kind;
  let rest = value | 0;
  if (rest < 0) {
    buffer[at++] = MINUS;
    rest = -rest;
  }
  if (rest < 10) buffer[at++] = ZERO + rest;
  else {
    let end = at + 2;
    for (let power = 100; rest >= power; power *= 10) end += 1;
    at = end;
    while (rest > 0) {
      const tens = (rest / 10) | 0;
      buffer[--end] = ZERO + (rest - tens * 10);
      rest = tens;
    }
  }
  buffer[at++] = CR;
  buffer[at++] = LF;
  return at;
}
