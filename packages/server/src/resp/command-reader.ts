/**
 * Reads commands where they lie in the buffer: nothing is copied and no string is made. What is known of a command afterwards is
 * where each of its arguments begins and ends.
 *
 *      *2\r\n$4\r\nPING\r\n$2\r\nhi\r\n          an array of bulk strings, as clients send it
 *      PING "hi"\r\n                           inline, as a person with telnet types it
 *
 * A command of which only a part has come is read again from its beginning, but not before `needed` bytes are there: else a client
 * that sends byte by byte would make us read everything at every byte.
 *
 * Within a pipeline most commands are the one before with another key. Comparing them costs a fraction of reading them:
 *
 *      *5 $11 CL.THROTTLE $6 user:1 $2 15 $2 30 $2 60
 *      ══════════════════    ▲      ═════════════════     equal: where the arguments are is known, and so is all that was made of them (`shape`)
 *      *5 $11 CL.THROTTLE $7 user:27 $2 15 $2 30 $2 60
 */
import { splitInline } from './inline-arguments.ts';

/** How much one command may hold. */
export interface ReaderLimits {
  /** Arguments, the command's name included; at most `mostArguments`. */
  readonly arguments: number;
  /** Bytes of one argument, and of all of them with what stands around them. */
  readonly argumentBytes: number;
  readonly commandBytes: number;
  /** One command that may be longer than the others. */
  readonly large?: LargeCommand | undefined;
}

export interface LargeCommand {
  /** In lower case. */
  readonly name: string;
  /** Of the whole command. */
  readonly bytes: number;
}

/** What `read` found. */
export type Found = typeof complete | typeof incomplete | typeof malformed;
export const complete = 1;
export const incomplete = 0;
export const malformed = -1;

/** Room for one command's arguments. The longest of ours has eight; COMMAND INFO may ask about many. */
export const mostArguments = 1024;

const CR = 13;
const LF = 10;
const MINUS = 0x2d;
const ARRAY = 0x2a;
const BULK = 0x24;
const ZERO = 0x30;
const SPACE = 0x20;

// Typed by a person.
const mostInlineBytes = 64 * 1024;
// More would not fit the 31 bits in which lengths are counted, and no such length is allowed.
const mostDigits = 9;
// `$0\r\n\r\n`: what an argument takes at least.
const leastArgumentBytes = 6;

// Reading skips what is within an argument, comparing does not: commands with more around their key are read.
const mostComparedBytes = 256;

// What `readLength` says when there is no number.
const lineIsIncomplete = -1;
const notALength = -2;

export class CommandReader {
  /** How many arguments the command has, its name included. 0: an empty line, or an empty array; there is nothing to answer. */
  count = 0;
  /** Where the next command begins. */
  end = 0;
  /** After `incomplete`: reading again is of no use before the buffer reaches to here. */
  needed = 0;
  /** After `malformed`: what is wrong, in the words of Redis. */
  problem = '';
  /** Where arguments begin and end; the command's name is argument 0. */
  readonly starts = new Int32Array(mostArguments);
  readonly stops = new Int32Array(mostArguments);
  /** Commands of one shape have the same bytes but for argument 1, the key. Another command has another number, also the same one later. */
  shape = 0;
  private buffer: Buffer = Buffer.alloc(0);
  // The same by the word, once there is something to compare.
  private view: DataView | undefined;
  /** Where the command read last begins, which the next one may repeat; -1: there is none. */
  private before = -1;
  private beforeLimits: ReaderLimits | undefined;
  // Behind the line that `readLength` read.
  private afterLine = 0;

  /** The bytes that are read from now on, until the next call. They stay as they are meanwhile. */
  begin(buffer: Buffer): void {
    this.buffer = buffer;
    this.view = undefined;
    this.before = -1;
  }

  /** Reads the command that begins at `from`, of what has come up to `to`. */
  read(from: number, to: number, limits: ReaderLimits): Found {
    const { buffer } = this;
    if (this.before >= 0 && this.beforeLimits === limits && this.readRepeated(buffer, from, to, limits))
      return complete;
    this.before = -1;
    this.shape += 1;
    this.count = 0;
    if (from >= to) return this.wait(to + 1);
    if (buffer[from] !== ARRAY) return this.readInline(buffer, from, to, limits);
    const found = this.readArray(buffer, from, to, limits);
    if (found === complete && this.end < to && this.count > 1) this.mayBeRepeated(from, limits);
    return found;
  }

  private mayBeRepeated(from: number, limits: ReaderLimits): void {
    const { buffer } = this;
    this.view ??= new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
    this.before = from;
    this.beforeLimits = limits;
  }

  /** Whether the command is the one before with another key; only then anything is changed. */
  private readRepeated(buffer: Buffer, from: number, to: number, limits: ReaderLimits): boolean {
    const { before, count, starts, stops } = this;
    const view = this.view!;
    // Up to the `$` of the key, and from the line end behind it.
    const headBytes = stops[0]! + 3 - before;
    const tailBytes = this.end - stops[1]!;
    const lengthAt = from + headBytes;
    if (headBytes + tailBytes > mostComparedBytes || lengthAt >= to) return false;
    if (!isSame(view, before, from, headBytes)) return false;
    const length = this.readLength(buffer, lengthAt, to);
    if (length < 0 || length > limits.argumentBytes || buffer[lengthAt] === MINUS) return false;
    const start = this.afterLine;
    const stop = start + length;
    const end = stop + tailBytes;
    if (end > to || end - from > limits.commandBytes || !isSame(view, stops[1]!, stop, tailBytes)) return false;
    const moved = stop - stops[1]!;
    starts[0]! += from - before;
    stops[0]! += from - before;
    starts[1] = start;
    stops[1] = stop;
    for (let i = 2; i < count; i += 1) {
      starts[i]! += moved;
      stops[i]! += moved;
    }
    this.before = from;
    this.end = end;
    return true;
  }

  private readArray(buffer: Buffer, from: number, to: number, limits: ReaderLimits): Found {
    const count = this.readLength(buffer, from + 1, to);
    if (count === lineIsIncomplete) return this.wait(to + 1);
    if (count === notALength || count > limits.arguments) return this.fail('invalid multibulk length');
    const { starts, stops } = this;
    let at = this.afterLine;
    for (let i = 0; i < count; i += 1) {
      if (at >= to) return this.wait(at + leastArgumentBytes * (count - i));
      if (buffer[at] !== BULK) return this.fail(`expected '$', got '${shown(buffer[at]!)}'`);
      const length = this.readLength(buffer, at + 1, to);
      if (length === lineIsIncomplete) return this.wait(Math.max(to + 1, at + leastArgumentBytes * (count - i)));
      // An absent argument (-1) is fine in a reply and nonsense in a command.
      if (length === notALength || buffer[at + 1] === MINUS) return this.fail('invalid bulk length');
      if (length > limits.argumentBytes && !this.mayBeLarge(buffer, i, length, limits)) {
        return this.fail('invalid bulk length');
      }
      const start = this.afterLine;
      const stop = start + length;
      at = stop + 2;
      if (at - from > limits.commandBytes && !this.mayBeLarge(buffer, i, at - from, limits)) {
        return this.fail(`request longer than ${limits.commandBytes} bytes`);
      }
      if (at > to) return this.wait(at + leastArgumentBytes * (count - i - 1));
      if (buffer[stop] !== CR || buffer[stop + 1] !== LF) return this.fail('bulk string longer than its length');
      starts[i] = start;
      stops[i] = stop;
    }
    this.count = count;
    this.end = at;
    return complete;
  }

  /** Asked only about what is too long for other commands: whether the command, whose argument `i` is being read, is the one that may. */
  private mayBeLarge(buffer: Buffer, i: number, bytes: number, { large }: ReaderLimits): boolean {
    if (large === undefined || i === 0 || bytes > large.bytes) return false;
    const [start, stop] = [this.starts[0]!, this.stops[0]!];
    return stop - start === large.name.length && buffer.toString('latin1', start, stop).toLowerCase() === large.name;
  }

  /** The whole number up to the end of the line; a negative one, which Redis takes for an empty array, is 0. */
  private readLength(buffer: Buffer, from: number, to: number): number {
    // Nearly all lengths have one digit or two.
    if (from + 3 < to) {
      const first = buffer[from]! - ZERO;
      const second = buffer[from + 1]! - ZERO;
      if (first >= 0 && first <= 9) {
        if (second === CR - ZERO && buffer[from + 2] === LF) {
          this.afterLine = from + 3;
          return first;
        }
        if (second >= 0 && second <= 9 && buffer[from + 2] === CR && buffer[from + 3] === LF) {
          this.afterLine = from + 4;
          return first * 10 + second;
        }
      }
    }
    return this.readLongLength(buffer, from, to);
  }

  private readLongLength(buffer: Buffer, from: number, to: number): number {
    let at = from;
    let length = 0;
    const isNegative = at < to && buffer[at] === MINUS;
    if (isNegative) at += 1;
    const first = at;
    for (; at < to; at += 1) {
      const digit = buffer[at]! - ZERO;
      if (digit < 0 || digit > 9) break;
      length = at - first < mostDigits ? length * 10 + digit : length;
    }
    if (at - first > mostDigits) return notALength;
    if (at === to) return lineIsIncomplete;
    if (at === first || buffer[at] !== CR) return notALength;
    if (at + 1 === to) return lineIsIncomplete;
    if (buffer[at + 1] !== LF) return notALength;
    this.afterLine = at + 2;
    return isNegative ? 0 : length;
  }

  private readInline(buffer: Buffer, from: number, to: number, limits: ReaderLimits): Found {
    const mostBytes = Math.min(mostInlineBytes, limits.commandBytes);
    const within = buffer.subarray(from, Math.min(to, from + mostBytes));
    const length = within.indexOf(LF);
    if (length < 0) return within.length === mostBytes ? this.fail('too big inline request') : this.wait(to + 1);
    const stop = length > 0 && within[length - 1] === CR ? from + length - 1 : from + length;
    this.end = from + length + 1;
    this.count = splitInline(buffer, from, stop, this.starts, this.stops, limits.arguments);
    if (this.count < 0) {
      this.count = 0;
      return this.fail('unbalanced quotes in request, or too many arguments');
    }
    // A web page that posts to this port must not have the lines of its body taken for commands.
    if (this.count === 3 && buffer.toString('latin1', this.starts[2]!, this.starts[2]! + 5) === 'HTTP/') {
      return this.fail('this port speaks the protocol of Redis, not HTTP');
    }
    return complete;
  }

  private wait(needed: number): Found {
    this.needed = needed;
    return incomplete;
  }

  private fail(problem: string): Found {
    this.problem = `Protocol error: ${problem}`;
    return malformed;
  }
}

/** Whether so many bytes are the same in both places. */
function isSame(view: DataView, one: number, other: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    if (view.getInt32(one + i, true) !== view.getInt32(other + i, true)) return false;
  }
  for (; i < length; i += 1) if (view.getUint8(one + i) !== view.getUint8(other + i)) return false;
  return true;
}

/** A byte as it can be shown. */
function shown(byte: number): string {
  return byte > SPACE && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
}
