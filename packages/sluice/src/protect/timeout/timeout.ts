/**
 * Ends a call that takes too long, and answers at once, whether or not the call listens.
 *
 *      caller's signal ──┐
 *                        ├──► signal of the call          the first of the three decides; the others are switched off:
 *      the time is up ───┘                                no timer and no listener is left when it has answered
 *      the call ends
 *
 * The signals are wired by hand: what `AbortSignal.any` ties to a signal that lives for long may live as long as that.
 */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import { listenersOf } from '../listeners.ts';
import { clockOf } from '../option-checks.ts';
import { type Ended, endOf, mustBeCall, type ProtectedCall, type Protection, type RunOptions } from '../protection.ts';
import { whenAborted } from '../when-aborted.ts';

export interface TimeoutOptions {
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export interface TimeoutEvents {
  /** A call had not ended after its time. */
  'timed-out': { readonly afterMs: number };
  /** A call that had timed out has ended after all. Nobody gets what it came to. */
  late: { readonly ended: Ended; readonly durationMs: number };
}

export interface Timeout extends Protection {
  /** Makes the call with a signal of its own. Throws `timed-out` when its time is up, and the reason of the caller's signal when that is aborted. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof TimeoutEvents>(name: Name, listener: (event: TimeoutEvents[Name]) => void): () => void;
}

/** A call has so long: `timeout('2s')`. */
export function timeout(after: Duration, options: TimeoutOptions = {}): Timeout {
  const afterMs = parseDuration(after, 'after');
  knownFields('timeout options', options, 'clock');
  const clock = clockOf(options.clock);
  const { on, tell } = listenersOf<TimeoutEvents>(['timed-out', 'late']);

  async function run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<T> {
    mustBeCall(call);
    signal?.throwIfAborted();
    return new Promise<T>((resolve, reject) => {
      const startedMs = clock.now();
      const ofCall = new AbortController();
      const ofAlarm = new AbortController();
      // First, so that a clock that cannot leaves nothing behind.
      const alarm = clock.sleep(afterMs, ofAlarm.signal);
      let isAnswered = false;
      let isTimedOut = false;
      const leave = signal && whenAborted(signal, () => stop(signal.reason));

      /** Whether this is the first of the three; the others are then over. */
      function answer(): boolean {
        if (isAnswered) return false;
        isAnswered = true;
        ofAlarm.abort('answered');
        leave?.();
        return true;
      }

      function stop(reason: unknown): void {
        if (!answer()) return;
        reject(reason);
        ofCall.abort(reason);
      }

      alarm.then(
        () => {
          if (isAnswered) return;
          isTimedOut = true;
          stop(new SluiceError('timed-out', `The call did not end within ${afterMs} ms.`));
          tell('timed-out', { afterMs });
        },
        // Switched off, because there is an answer; or a clock that is broken, which is one too.
        stop,
      );
      void endOf(call, ofCall.signal).then((ended) => {
        if (!answer()) {
          if (isTimedOut) tell('late', { ended, durationMs: Math.max(0, clock.now() - startedMs) });
        } else if ('error' in ended) reject(ended.error);
        else resolve(ended.value);
      });
    });
  }

  return { run, on };
}
