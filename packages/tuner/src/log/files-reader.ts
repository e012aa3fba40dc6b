/**
 * Several files as one log: each has a reader of its own, as each may be in a format of its own and has its own line 1; their calls go to one taker.
 *
 *      access.log.1.gz   combined ─┐
 *      access.log        combined ─┼──► take
 *      calls.json        json     ─┘
 */
import { SluiceError } from 'sluice';
import type { TakeLine } from './log-line.ts';
import { type LogReader, logReader, type MalformedLine, type ReadFields, type ReadReport } from './log-reader.ts';
import type { LogFormat, LogReaderOptions } from './options.ts';

export interface FilesReport {
  readonly bytes: number;
  readonly lines: number;
  readonly read: number;
  readonly withoutKey: number;
  readonly skipped: number;
  readonly malformed: number;
  readonly firstMalformed: readonly MalformedInFile[];
  /** In the order in which they were read. */
  readonly files: readonly FileReport[];
}

export interface MalformedInFile extends MalformedLine {
  readonly file: string;
}

export interface FileReport {
  readonly file: string;
  readonly lines: number;
  readonly read: number;
  readonly malformed: number;
  /** Undefined: it has no lines. */
  readonly format: LogFormat | undefined;
  readonly fields: ReadFields | undefined;
}

export interface FilesReader {
  /** The next bytes of a file, given by its place in the list. One file after the other. */
  push(chunk: Uint8Array, file: number): void;
  /** Throws where there are lines and not one call. */
  end(): void;
  report(): FilesReport;
}

const malformedShown = 5;

/** Throws a `SluiceError` where a file cannot be read; it names the file where there are several. */
export function filesReader(names: readonly string[], options: LogReaderOptions, take: TakeLine): FilesReader {
  const reports: ReadReport[] = [];
  let reader: LogReader = logReader(options, take);
  let current = 0;
  let nobodyFound: unknown;

  function named<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof SluiceError) || names.length === 1) throw error;
      throw new SluiceError(
        error.code,
        `${names[current]}: ${error.message} If it continues another file, read the two as one.`,
        { cause: error },
      );
    }
  }

  function endFile(): void {
    try {
      named(() => reader.end());
    } catch (error) {
      const { read, withoutKey } = reader.report();
      // A night in which nobody was logged in is no reason to refuse the days.
      if (read > 0 || withoutKey === 0) throw error;
      nobodyFound ??= error;
    }
    reports[current] = reader.report();
  }

  const reportsSoFar = () => [...reports.slice(0, current), reader.report()];

  return {
    push(chunk, file) {
      while (current < file) {
        endFile();
        current += 1;
        reader = logReader(options, take);
      }
      named(() => reader.push(chunk));
    },
    end() {
      endFile();
      if (nobodyFound !== undefined && reports.every(({ read }) => read === 0)) throw nobodyFound;
    },
    report: () => summed(names, reportsSoFar()),
  };
}

function summed(names: readonly string[], reports: readonly ReadReport[]): FilesReport {
  const total = { bytes: 0, lines: 0, read: 0, withoutKey: 0, skipped: 0, malformed: 0 };
  for (const report of reports)
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += report[name];
  return {
    ...total,
    firstMalformed: reports
      .flatMap(({ firstMalformed }, i) => firstMalformed.map((line) => ({ file: names[i]!, ...line })))
      .slice(0, malformedShown),
    files: reports.map(({ lines, read, malformed, format, fields }, i) => {
      return { file: names[i]!, lines, read, malformed, format, fields };
    }),
  };
}
