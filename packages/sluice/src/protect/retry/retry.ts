/**
 * Makes the call again when it failed, later each time, and not too often.
 *
 *      call ──► ended ──► worth another? ──► attempts left? ──► told to wait too long? ──► budget? ──► wait ──┐
 *        ▲                      │ no               │ no                   │ yes               │ no            │
 *        │                      ▼                  ▼                      ▼                   ▼               │
 *        │                  answers as the last attempt did                                                   │
 *        └────────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The budget is asked last and before the wait: nobody waits for a retry that is then not made. Where a further attempt is refused on its
 * way (a circuit that has opened meanwhile), the service never saw it: the answer is that of the last one that was made.
 */
import { invalid } from '../../vocabulary/errors.ts';
import { listenersOf } from '../listeners.ts';
import { wasNotMade } from '../passes.ts';
import {
  answerOf,
  type Ended,
  endOf,
  mustBeCall,
  type ProtectedCall,
  type Protection,
  type RunOptions,
} from '../protection.ts';
import { whenAborted } from '../when-aborted.ts';
import { delayMs } from './backoff.ts';
import { type RetryOptions, readSettings } from './settings.ts';

/** Why it made no further attempt, where it would have; `'refused'`: a protection further in did not let it through. */
export type RetryGiveUpReason = 'attempts' | 'wait-too-long' | 'budget' | 'refused';

export interface RetryEvents {
  /** The call will be made again. `attempt` is the one that ended, from 1, and `ended` how; it is still the answer if no other is made. */
  retry: { readonly attempt: number; readonly delayMs: number; readonly ended: Ended };
  /** The call was worth another attempt, and gets none. `attempt` was the last; its end is the answer. */
  'gave-up': { readonly attempt: number; readonly reason: RetryGiveUpReason; readonly ended: Ended };
  /** What an attempt came to is nobody's from here on: another was made, or the caller gave up. What it holds can be let go. */
  dropped: { readonly attempt: number; readonly ended: Ended };
}

export interface Retry extends Protection {
  /** Makes the call, again where it is worth it, and answers as the last attempt that was made. The wait ends with the reason of the signal. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof RetryEvents>(name: Name, listener: (event: RetryEvents[Name]) => void): () => void;
}

export function retry(options: RetryOptions = {}): Retry {
  const settings = readSettings(options);
  const { budget, clock } = settings;
  const { on, tell } = listenersOf<RetryEvents>(['retry', 'gave-up', 'dropped']);

  async function run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<T> {
    mustBeCall(call);
    signal?.throwIfAborted();
    budget.request();
    // The last attempt that was made and is to be made again.
    let last: { readonly attempt: number; readonly ended: Ended<T> } | undefined;
    const drop = () => {
      if (last) tell('dropped', last);
      last = undefined;
    };
    try {
      for (let attempt = 1; ; attempt += 1) {
        const ended = await endOf(call, signal);
        const wasRefused = wasNotMade(ended);
        if (!wasRefused) drop();
        // Whoever has given up wants no second attempt, whatever the first one came to.
        if (signal?.aborted) return answerOf(ended);
        const isRetryable = settings.isRetryable(ended, attempt);
        if (!isRetryable && !(wasRefused && last)) return answerOf(ended);
        const toldMs = isRetryable ? told(ended) : undefined;
        const reason = isRetryable ? reasonToGiveUp(attempt, toldMs) : 'refused';
        if (reason) {
          const answer = wasRefused && last ? last : { attempt, ended };
          last = undefined;
          tell('gave-up', { ...answer, reason });
          return answerOf(answer.ended);
        }
        if (!wasRefused) last = { attempt, ended };
        const waitMs = delayMs(settings.backoff, attempt, toldMs, settings.random());
        tell('retry', { attempt, delayMs: waitMs, ended });
        await sleep(waitMs, signal);
      }
    } finally {
      drop();
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
