/**
 * Reads a log: bytes in, calls out.
 *
 *      chunks ─► lines ─► fields ─► call ─► take
 *                  │         └─ combined, JSON or CSV, decided from the first lines
 *                  └─ blank, comment, too long
 *
 * No line is made a string, and no object is made per line: at hundreds of thousands of lines a second that would cost more than the reading.
 * What is kept of a log is bounded, whatever is in it: one line, the first lines until the format is known, and the first malformed ones.
 */
import { invalidOption } from '../invalid-option.ts';
import { withoutKey } from './call-reader.ts';
import type { ChosenFields, KeyPart } from './choose-fields.ts';
import { emptyRange } from './fields.ts';
import { behindMarks, behindNothing } from './line-begin.ts';
import { type LineFormat, lineFormat } from './line-format.ts';
import { LineCutter, longestLineBytes } from './lines.ts';
import type { LogLine, TakeLine } from './log-line.ts';
import { checkOptions, type LogFormat, type LogReaderOptions } from './options.ts';
import { visible } from './visible.ts';

export interface LogReader {
  /**
   * The next bytes, cut anywhere. The reader keeps none of them. Throws a `SluiceError` where the format or the fields cannot be made out: a
   * sentence that shows a line and says which option helps.
   */
  push(chunk: Uint8Array): void;
  /** Reads the last line, and throws where not one line of the log could be read. A log without lines is no error. */
  end(): void;
  report(): ReadReport;
}

export interface ReadReport {
  readonly bytes: number;
  /** All of them: `read + withoutKey + skipped + malformed`, once the format is known. */
  readonly lines: number;
  /** Handed on. */
  readonly read: number;
  /** Calls that lack the key: nobody was logged in, for example. A rule with this key would not count them. */
  readonly withoutKey: number;
  /** Blank lines, comments (`#`), rows of names. */
  readonly skipped: number;
  readonly malformed: number;
  readonly firstMalformed: readonly MalformedLine[];
  /** Undefined: the log had no lines, or not enough of them so far. */
  readonly format: LogFormat | undefined;
  readonly fields: ReadFields | undefined;
}

export interface MalformedLine {
  /** From 1, over all that was pushed. */
  readonly line: number;
  /** In words that follow the number: `has no status behind a request in quotes`. */
  readonly problem: string;
  /** Its beginning, with control characters made visible. */
  readonly text: string;
}

/** The names of the fields that were used. Undefined: the log has none for it. */
export interface ReadFields {
  readonly time: string;
  readonly client: string;
  /** Undefined: each call costs 1. */
  readonly cost: string | undefined;
  readonly status: string | undefined;
  readonly route: string | undefined;
}

const malformedShown = 5;
const hash = 0x23;

// Enough for a server's messages before its first call; not so much that it could not be held.
const mostSampleLines = 1024;
const mostSampleBytes = 1024 * 1024;
const firstSampleLines = 32;

export function logReader(options: LogReaderOptions, take: TakeLine): LogReader {
  checkOptions(options);
  return new Reader(options, take);
}

interface SampleLine {
  readonly line: number;
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
}

class Reader implements LogReader {
  readonly #options: LogReaderOptions;
  readonly #take: TakeLine;
  readonly #lines = new LineCutter((bytes, start, end, isCut) => this.#line(bytes, start, end, isCut));
  readonly #call: LogLine = { atMs: 0, cost: 1, status: 0, client: emptyRange(), route: emptyRange() };
  #format: LineFormat | undefined;
  #sample: SampleLine[] = [];
  #sampleBytes = 0;
  #nextLook = firstSampleLines;
  #bytes = 0;
  #lineCount = 0;
  #readCount = 0;
  #withoutKey = 0;
  #skipped = 0;
  #malformed = 0;
  readonly #firstMalformed: MalformedLine[] = [];
  #firstWithoutKey = '';

  constructor(options: LogReaderOptions, take: TakeLine) {
    this.#options = options;
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#lines.push(chunk);
  }

  end(): void {
    this.#lines.end();
    if (this.#format === undefined && this.#sample.length > 0) this.#decide(true);
    if (this.#readCount === 0) this.#refuseNothingRead();
    else this.#refuseNoCost();
  }

  report(): ReadReport {
    return {
      bytes: this.#bytes,
      lines: this.#lineCount,
      read: this.#readCount,
      withoutKey: this.#withoutKey,
      skipped: this.#skipped,
      malformed: this.#malformed,
      firstMalformed: [...this.#firstMalformed],
      format: this.#format?.format,
      fields: this.#format && namesOf(this.#format.fields),
    };
  }

  #line(bytes: Uint8Array, start: number, end: number, isCut: boolean): void {
    this.#lineCount += 1;
    if (this.#format !== undefined) {
      this.#readLine(this.#format, bytes, start, end, isCut, this.#lineCount);
      return;
    }
    const text = behindNothing(bytes, start, end);
    // What is before the first line that may say something is a comment in every format; after it, it may be a row of CSV.
    const isComment = bytes[text] === hash && this.#sample.length === 0;
    if (!isCut && (text === end || isComment)) this.#skipped += 1;
    else this.#keepSample(bytes, behindMarks(bytes, start, end), end, isCut);
  }

  #readLine(
    { read, csv }: LineFormat,
    bytes: Uint8Array,
    lineStart: number,
    end: number,
    isCut: boolean,
    line: number,
  ): void {
    let start = lineStart;
    const first = bytes[start]!;
    // Blank, a comment, the NULs that a truncated file begins with, the mark of UTF-8: all other lines begin with something else.
    if (start === end || first <= hash || first === 0xef) {
      const text = behindNothing(bytes, start, end);
      start = csv?.isTabbed ? behindMarks(bytes, start, end) : text;
      const isComment = bytes[text] === hash && !csv?.isRow(bytes, start, end);
      if (!isCut && (text === end || isComment)) {
        this.#skipped += 1;
        return;
      }
    }
    if (isCut) {
      this.#noteMalformed(line, `is longer than ${longestLineBytes} bytes`, bytes, start, end);
      return;
    }
    if (csv !== undefined && isSame(bytes, start, end, csv.header)) {
      this.#skipped += 1;
      return;
    }
    const problem = read(bytes, start, end, this.#call);
    if (problem === undefined) {
      this.#readCount += 1;
      this.#take(this.#call);
    } else if (problem === withoutKey) {
      this.#withoutKey += 1;
      if (this.#withoutKey === 1) this.#firstWithoutKey = visible(bytes, start, end);
    } else {
      this.#noteMalformed(line, problem, bytes, start, end);
    }
  }

  #noteMalformed(line: number, problem: string, bytes: Uint8Array, start: number, end: number): void {
    this.#malformed += 1;
    if (this.#firstMalformed.length < malformedShown)
      this.#firstMalformed.push({ line, problem, text: visible(bytes, start, end) });
  }

  #keepSample(bytes: Uint8Array, start: number, end: number, isCut: boolean): void {
    // Of a line that is too long the beginning is shown, and nothing else is done with it.
    const kept = bytes.slice(start, isCut ? Math.min(end, start + 1024) : end);
    this.#sample.push({ line: this.#lineCount, bytes: kept, isCut });
    this.#sampleBytes += kept.length;
    const isAll = this.#sample.length >= mostSampleLines || this.#sampleBytes >= mostSampleBytes;
    if (isAll || this.#sample.length >= this.#nextLook) {
      this.#nextLook *= 2;
      this.#decide(isAll);
    }
  }

  #decide(isAll: boolean): void {
    const whole = this.#sample.filter(({ isCut }) => !isCut).map(({ bytes }) => bytes);
    if (whole.length === 0) {
      if (isAll) throw this.#tooLong();
      return;
    }
    const format = lineFormat(this.#options, whole, isAll);
    if (format === undefined) return;
    this.#format = format;
    const sample = this.#sample;
    this.#sample = [];
    for (const { line, bytes, isCut } of sample) this.#readLine(format, bytes, 0, bytes.length, isCut, line);
  }

  #tooLong(): Error {
    const [{ bytes } = { bytes: new Uint8Array(0) }] = this.#sample;
    return invalidOption(
      `No line of the log is shorter than ${longestLineBytes} bytes, which is the longest that is read. A log has one call per line: ` +
        `if it is one long list, cut it into lines first. Its first line begins with: ${visible(bytes, 0, bytes.length)}`,
    );
  }

  /** Every call would count as one, and the answer look as if it were about costs. */
  #refuseNoCost(): void {
    const { cost } = this.#options;
    if (cost === undefined || this.#format === undefined || this.#format.hasCosts()) return;
    throw invalidOption(
      `No line of the log has the cost "${cost}". Name another with cost; without it each call costs 1.`,
    );
  }

  /** Lines, but not one call: an answer about nothing would look like an answer. */
  #refuseNothingRead(): void {
    if (this.#format === undefined) return;
    const { format, fields } = this.#format;
    if (this.#withoutKey > 0) {
      throw invalidOption(
        `No line of the log has the key ${keyText(fields.key)}. Name another with key; "all" counts everybody as one. ` +
          `One of its lines: ${this.#firstWithoutKey}`,
      );
    }
    const [first] = this.#firstMalformed;
    if (first === undefined) return;
    throw invalidOption(
      `${this.#malformed === 1 ? 'The only line could not' : `None of the ${this.#malformed} lines could`} be read as ${format}: line ${first.line} ${first.problem}. ` +
        `If the log is in another format, say which with format. The line: ${first.text}`,
    );
  }
}

function isSame(bytes: Uint8Array, start: number, end: number, header: Uint8Array): boolean {
  if (end - start !== header.length) return false;
  for (let i = 0; i < header.length; i += 1) if (bytes[start + i] !== header[i]) return false;
  return true;
}

function namesOf({ time, key, costs, status, route }: ChosenFields): ReadFields {
  return {
    time,
    client: key.map(partText).join('+'),
    cost: costs.length === 0 ? undefined : costs.join('+'),
    status,
    route:
      route.kind === 'none'
        ? undefined
        : route.kind === 'parts'
          ? [route.method, route.target].filter((name) => name !== undefined).join(' ')
          : route.field,
  };
}

function partText(part: KeyPart): string {
  return 'field' in part ? part.field : part.kind;
}

function keyText(key: readonly KeyPart[]): string {
  return JSON.stringify(key.map(partText).join('+'));
}
