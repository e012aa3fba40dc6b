/**
 * One line of the terminal that says how far a long work is, and is gone when it ends. Whoever has the answer within the time of a blink sees none;
 * neither does a log.
 */
export interface ProgressStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface StatusLine {
  /** What it says now: asked for only when it is time to say something, with how long the work has taken. */
  update(textOf: (columns: number, elapsedMs: number) => string): void;
  clear(): void;
}

/** Shorter works end before anybody wonders. */
const quietMs = 500;
/** As often as an eye follows. */
const everyMs = 100;
const clearLine = '\r\u001b[2K';

/** `now`: by default the monotonic time of this process. */
export function statusLine(stream: ProgressStream, now: () => number = () => performance.now()): StatusLine {
  const startedMs = now();
  let shownMs = Number.NEGATIVE_INFINITY;
  return {
    update(textOf) {
      const nowMs = now();
      if (stream.isTTY !== true || nowMs - startedMs < quietMs || nowMs - shownMs < everyMs) return;
      shownMs = nowMs;
      stream.write(`${clearLine}${textOf(stream.columns ?? 80, nowMs - startedMs)}`);
    },
    clear() {
      if (shownMs > Number.NEGATIVE_INFINITY) stream.write(clearLine);
      shownMs = Number.NEGATIVE_INFINITY;
    },
  };
}
