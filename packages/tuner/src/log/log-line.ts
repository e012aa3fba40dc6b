/**
 * A line of a log as the reader hands it on: one object, used again for every line, whose texts are ranges of bytes. Making strings of hundreds of
 * thousands of lines a second would cost more than reading them. Whoever keeps something copies it.
 */
export interface LogLine {
  /** Milliseconds since the epoch, or since whatever the log counts from. */
  atMs: number;
  /** 1, or what the log's cost field says; finite, 0 or more. */
  cost: number;
  /** HTTP's status; 0: the log does not say. */
  status: number;
  /** Who called: the bytes of its name. */
  readonly client: ByteRange;
  /** What was called: method and path without the query, as far as the log says; empty: it does not. */
  readonly route: ByteRange;
}

export interface ByteRange {
  bytes: Uint8Array;
  start: number;
  /** Exclusive. */
  end: number;
}

export type TakeLine = (line: LogLine) => void;
