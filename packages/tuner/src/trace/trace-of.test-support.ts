/** Traces for tests, made by the recorder itself. */
import type { LogLine } from '../log/log-line.ts';
import type { Trace } from './trace.ts';
import { type TraceRecorder, type TraceRecorderOptions, traceRecorder } from './trace-recorder.ts';

/** When, who, what it cost. */
export type Call = readonly [atMs: number, client: string, cost?: number];

const encoder = new TextEncoder();
const nothing = { bytes: new Uint8Array(0), start: 0, end: 0 };

/** As a reader hands lines on: one object for all of them, its client somewhere within a larger buffer. */
export function takeAll(recorder: TraceRecorder, calls: Iterable<Call>): void {
  const bytes = new Uint8Array(8192);
  const line: LogLine = { atMs: 0, cost: 1, status: 200, client: { bytes, start: 0, end: 0 }, route: nothing };
  let start = 0;
  for (const [atMs, client, cost = 1] of calls) {
    start = (start + 7) % 64;
    line.atMs = atMs;
    line.cost = cost;
    line.client.start = start;
    line.client.end = start + encoder.encodeInto(client, bytes.subarray(start)).written;
    recorder.take(line);
  }
}

export function traceOf(calls: Iterable<Call>, options?: TraceRecorderOptions): Trace {
  const recorder = traceRecorder(options);
  takeAll(recorder, calls);
  return recorder.finish();
}
