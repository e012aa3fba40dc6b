/**
 * Makes the call again when it failed, later each time, and not too often.
 *
 *      call ──► ended ──► worth another? ──► attempts left? ──► told to wait too long? ──► budget? ──► wait ──┐
 *        ▲                      │ no               │ no                   │ yes               │ no            │
 *        │                      ▼                  ▼                      ▼                   ▼               │
 *        │                  answers as the last attempt did                                                   │
 *        └────────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The budget is asked last and before the wait: nobody waits for a retry that is then not made.
 */
import { invalid } from '../../vocabulary/errors.ts';
import { listenersOf } from '../listeners.ts';
import { answerOf, type Ended, endOf, type ProtectedCall, type Protection, type RunOptions } from '../protection.ts';
import { whenAborted } from '../when-aborted.ts';
import { delayMs } from './backoff.ts';
import { type RetryOptions, readSettings } from './settings.ts';

/** Why it made no further attempt, where it would have. */
export type RetryGiveUpReason = 'attempts' | 'wait-too-long' | 'budget';

export interface RetryEvents {
  /** The call will be made again. `attempt` is the one that ended, from 1, and `ended` how: what it holds is nobody's from here on. */
  retry: { readonly attempt: number; readonly delayMs: number; readonly ended: Ended };
  /** The call was worth another attempt, and gets none. `attempt` was the last; its end is the answer. */
  'gave-up': { readonly attempt: number; readonly reason: RetryGiveUpReason; readonly ended: Ended };
}

export interface Retry extends Protection {
  /** Makes the call, again where it is worth it, and answers as the last attempt did. The wait ends with the reason of the signal. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof RetryEvents>(name: Name, listener: (event: RetryEvents[Name]) => void): () => void;
}

export function retry(options: RetryOptions = {}): Retry {
  const settings = readSettings(options);
  const { budget, clock } = settings;
  const { on, tell } = listenersOf<RetryEvents>(['retry', 'gave-up']);

  async function run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<T> {
    signal?.throwIfAborted();
    budget.request();
    for (let attempt = 1; ; attempt += 1) {
      const ended = await endOf(call, signal);
      // Whoever has given up wants no second attempt, whatever the first one came to.
      if (signal?.aborted || !settings.isRetryable(ended, attempt)) return answerOf(ended);
      const toldMs = told(ended);
      const reason = reasonToGiveUp(attempt, toldMs);
      if (reason) {
        tell('gave-up', { attempt, reason, ended });
        return answerOf(ended);
      }
      const waitMs = delayMs(settings.backoff, attempt, toldMs, settings.random());
      tell('retry', { attempt, delayMs: waitMs, ended });
      await sleep(waitMs, signal);
    }
  }

  async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal === undefined) return clock.sleep(ms);
    const ofWait = new AbortController();
    const leave = whenAborted(signal, () => ofWait.abort(signal.reason));
    try {
      await clock.sleep(ms, ofWait.signal);
    } finally {
      leave();
    }
    // Aborted in the very turn in which the wait was over.
    signal.throwIfAborted();
  }

  function told(ended: Ended): number | undefined {
    const toldMs = settings.waitFor(ended);
    if (toldMs === undefined || (typeof toldMs === 'number' && toldMs >= 0)) return toldMs;
    throw invalid('what waitFor returns', 'milliseconds of 0 or more, or undefined', toldMs);
  }

  function reasonToGiveUp(attempt: number, toldMs = 0): RetryGiveUpReason | undefined {
    if (attempt >= settings.attempts) return 'attempts';
    if (toldMs > settings.maxWaitMs) return 'wait-too-long';
    return budget.tryRetry() ? undefined : 'budget';
  }

  return { run, on };
}
