/** One command being answered: its arguments, and where the answer goes. One object serves all commands of a thread, one after the other. */
import { isUtf8 } from 'node:buffer';
import type { Answer } from '../service/service.ts';
import type { Command, CommandTable } from './command.ts';
import { CommandReader } from './command-reader.ts';
import { CommandError } from './error-reply.ts';
import { ReplyWriter } from './reply-writer.ts';
import type { Session } from './session.ts';

/** Keeps the place in the order of replies for an answer that comes later. */
export type Defer = <T>(answer: Promise<T>, write: (writer: ReplyWriter, value: T) => void) => void;

const ZERO = 0x30;
const MINUS = 0x2d;
const PLUS = 0x2b;
// Every number of so many digits is exact.
const exactDigits = 15;

export class Turn {
  readonly reader = new CommandReader();
  readonly writer = new ReplyWriter();
  buffer: Buffer = Buffer.alloc(0);
  session!: Session;
  defer!: Defer;
  private readonly keyBytes: number;
  private found: Command | undefined;
  /** Of the command that was found. */
  private foundShape = -1;

  constructor(keyBytes: number) {
    this.keyBytes = keyBytes;
  }

  /** How many arguments, the command's name included. */
  get count(): number {
    return this.reader.count;
  }

  /** The command that was read; undefined where none has its name. The table is always the same one. */
  command(table: CommandTable): Command | undefined {
    const { reader } = this;
    if (reader.shape !== this.foundShape) {
      this.found = table.find(this.buffer, reader.starts[0]!, reader.stops[0]!);
      this.foundShape = reader.shape;
    }
    return this.found;
  }

  /** Writes the answer, now or in its turn. */
  reply<T>(answer: Answer<T>, write: (writer: ReplyWriter, value: T) => void): void {
    if (answer instanceof Promise) this.defer(answer, write);
    else write(this.writer, answer);
  }

  text(i: number): string {
    return this.buffer.toString('utf8', this.reader.starts[i]!, this.reader.stops[i]!);
  }

  /** A key or a name. What is no text would be read as some other text, and two clients would share a limit. */
  key(i: number, field = 'key'): string {
    this.mustBeKey(i, field);
    const bytes = this.buffer.subarray(this.reader.starts[i]!, this.reader.stops[i]!);
    if (!isUtf8(bytes)) throw new CommandError(`${field} must be UTF-8. CL.THROTTLE takes any bytes.`);
    return bytes.toString();
  }

  mustBeKey(i: number, field = 'key'): void {
    const length = this.reader.stops[i]! - this.reader.starts[i]!;
    if (length > this.keyBytes) {
      throw new CommandError(
        `${field} must have at most ${this.keyBytes} bytes (limits.keyBytes), got ${length}. Send a digest of it.`,
      );
    }
  }

  /** Whether an argument is this word, in any case. `word` is given in lower case. */
  is(i: number, word: string): boolean {
    return this.text(i).toLowerCase() === word;
  }

  /** An integer of 64 bits, strictly; NaN where it is none. Those beyond 2^53 are the nearest number there is. */
  integer(i: number): number {
    const { buffer } = this;
    const stop = this.reader.stops[i]!;
    let at = this.reader.starts[i]!;
    const isNegative = buffer[at] === MINUS;
    if (isNegative || buffer[at] === PLUS) at += 1;
    if (at >= stop) return Number.NaN;
    if (stop - at > exactDigits) return longInteger(buffer.toString('latin1', this.reader.starts[i]!, stop));
    let value = 0;
    for (; at < stop; at += 1) {
      const digit = buffer[at]! - ZERO;
      if (digit < 0 || digit > 9) return Number.NaN;
      value = value * 10 + digit;
    }
    // Never -0, which is another number to some comparisons.
    return isNegative && value !== 0 ? -value : value;
  }

  /** A finite number that may have a fraction. */
  number(i: number, field: string): number {
    const text = this.text(i);
    if (/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
    throw new CommandError(`${field} must be a number, got '${text.slice(0, 64)}'`);
  }
}

function longInteger(text: string): number {
  if (!/^[+-]?\d{1,100}$/.test(text)) return Number.NaN;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? Number(value) : Number.NaN;
}
