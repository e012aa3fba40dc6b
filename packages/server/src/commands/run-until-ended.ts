/**
 * The life of a command that serves: started, or a sentence about why not (2); ended by SIGTERM or SIGINT once what was begun is finished (0, or
 * 1 where it could not end well), its own start among it; the next signal ends it at once.
 */
import type { ServiceLog } from '../operations/log.ts';

export interface Running {
  /** Finishes what was begun, and ends. */
  stop(): Promise<void>;
}

// A supervisor that signals a whole group, and npm that passes on what it gets itself, say the same thing twice.
const sameWishMs = 200;

/**
 * After so long, and after the signals that came meanwhile. Those are heard late while the thread is busy, as it is for longer than that when it saves the state
 * of many keys: the time at which they are heard says nothing. Before immediates the loop looks at what has come.
 */
function afterThoseThatCame(ms: number, callback: () => void): void {
  setTimeout(() => setImmediate(callback), ms).unref();
}

/** Ends it with this exit code, for this reason. */
export type End = (exitCode: number, reason: string) => void;

/** @param problemOf what keeps it from starting, said to a person */
export async function runUntilEnded<T extends Running>(
  log: ServiceLog,
  start: (end: End) => Promise<T>,
  problemOf: (error: unknown) => string,
): Promise<T> {
  let running: T | undefined;
  let isEnding = false;
  let earlySignal: NodeJS.Signals | undefined;
  let wasSignalled = false;
  let isSameWish = false;

  function endAtOnce(reason: string): never {
    log.info({ reason }, 'ending at once');
    log.flush();
    process.exit(1);
  }

  async function end(exitCode: number, reason: string): Promise<void> {
    if (isEnding) endAtOnce(reason);
    isEnding = true;
    log.info({ reason }, 'ending');
    let code = exitCode;
    try {
      await running?.stop();
    } catch (error) {
      log.error({ err: error }, 'could not end well');
      code = 1;
    }
    log.flush();
    process.exit(code);
  }

  // Before the start: its first door takes requests while it opens the others, and a signal that nobody listens for would cut them off. It is
  // waited for, not broken off, because half of a service cannot be ended: it does not know yet what it would have to save.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isSameWish) return;
      if (!wasSignalled) {
        wasSignalled = isSameWish = true;
        afterThoseThatCame(sameWishMs, () => {
          isSameWish = false;
        });
      }
      if (running !== undefined) void end(0, signal);
      else if (earlySignal !== undefined) endAtOnce(signal);
      else {
        earlySignal = signal;
        log.info({ reason: signal }, 'ending as soon as it has started');
      }
    });
  }
  try {
    running = await start((exitCode, reason) => void end(exitCode, reason));
  } catch (error) {
    process.stderr.write(`${problemOf(error)}\n`);
    log.flush();
    process.exit(2);
  }
  if (earlySignal !== undefined) await end(0, earlySignal);
  return running;
}
