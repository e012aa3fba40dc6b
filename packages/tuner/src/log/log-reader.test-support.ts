/** The reader as tests and benchmarks drive it. */
import type { BenchCase } from '../../../../bench/cases.ts';
import type { LogLine } from './log-line.ts';
import { logReader, type ReadReport } from './log-reader.ts';
import type { NaiveCall, NaiveReader } from './naive-reader.test-support.ts';
import type { LogReaderOptions } from './options.ts';

export interface Read {
  readonly calls: NaiveCall[];
  readonly report: ReadReport;
}

/** Copies a line that the reader is about to use again. */
export function copyOf({ atMs, cost, status, client, route }: LogLine): NaiveCall {
  const text = ({ bytes, start, end }: LogLine['client']) => Buffer.from(bytes.subarray(start, end)).toString();
  return { atMs, client: text(client), cost, status, route: text(route) };
}

export function readAll(chunks: readonly (string | Uint8Array)[], options: LogReaderOptions = {}): Read {
  const calls: NaiveCall[] = [];
  const reader = logReader(options, (line) => calls.push(copyOf(line)));
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  reader.end();
  return { calls, report: reader.report() };
}

const blockLines = 1000;

/** A thousand lines, and where each of them begins. */
function blockOf(lineOf: (i: number) => string) {
  const lines = Array.from({ length: blockLines }, (_, i) => `${lineOf(i)}\n`);
  let end = 0;
  const ends = lines.map((line) => (end += line.length));
  return { bytes: Buffer.from(lines.join('')), ends: [0, ...ends] };
}

export interface ReaderCaseOptions {
  readonly header?: string;
  readonly options?: LogReaderOptions;
}

export function readerCase(name: string, lineOf: (i: number) => string, given: ReaderCaseOptions = {}): BenchCase {
  const { bytes, ends } = blockOf(lineOf);
  let calls = 0;
  let clientBytes = 0;
  const reader = logReader(given.options ?? {}, ({ client }) => {
    calls += 1;
    clientBytes += client.end - client.start;
  });
  if (given.header !== undefined) reader.push(Buffer.from(`${given.header}\n`));
  // Until the format is decided, lines are kept; that is no part of the pace.
  reader.push(bytes);
  return {
    name,
    run(iterations) {
      const before = calls;
      for (let left = iterations; left > 0; left -= blockLines)
        reader.push(left >= blockLines ? bytes : bytes.subarray(0, ends[left]));
      if (calls - before !== iterations || clientBytes === 0) throw new Error(`${name}: a line was not read`);
    },
  };
}

export function naiveCase(name: string, lineOf: (i: number) => string, read: NaiveReader): BenchCase {
  const { bytes, ends } = blockOf(lineOf);
  return {
    name,
    run(iterations) {
      let calls = 0;
      for (let left = iterations; left > 0; left -= blockLines) {
        const text = bytes.subarray(0, ends[Math.min(left, blockLines)]).toString();
        for (const line of text.split('\n')) if (line !== '' && read(line)?.client) calls += 1;
      }
      if (calls !== iterations) throw new Error(`${name}: a line was not read`);
    },
  };
}
