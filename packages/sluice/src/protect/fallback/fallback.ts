/** Answers with something else where the call failed. */
import { knownFields } from '../../vocabulary/policy.ts';
import { listenersOf } from '../listeners.ts';
import { functionOf } from '../option-checks.ts';
import {
  answerOf,
  type Ended,
  endOf,
  mustBeCall,
  type ProtectedCall,
  type ProtectionOr,
  type RunOptions,
} from '../protection.ts';

export interface FallbackOptions {
  /** Whether a call that ended so is answered by the fallback. Default: when it threw. It is not asked once the caller's signal is aborted. */
  readonly when?: (ended: Ended) => boolean;
}

export interface FallbackEvents {
  /** The fallback has answered, and how the call had ended. */
  used: { readonly ended: Ended; readonly value: unknown };
  /** The fallback threw too. Its error is the answer. */
  failed: { readonly ended: Ended; readonly error: unknown };
}

export interface Fallback<Instead> extends ProtectionOr<Instead> {
  /** Makes the call, and answers with the fallback where it failed. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T | Instead>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof FallbackEvents>(name: Name, listener: (event: FallbackEvents[Name]) => void): () => void;
}

/** What the function returns is the answer where the call failed; it is told how, and gets the caller's signal. */
export function fallback<Instead>(
  make: (ended: Ended, signal?: AbortSignal) => Instead,
  options?: FallbackOptions,
): Fallback<Awaited<Instead>>;
/** The value is the answer where the call failed. */
export function fallback<Instead>(value: Instead, options?: FallbackOptions): Fallback<Awaited<Instead>>;
export function fallback(instead: unknown, options: FallbackOptions = {}): Fallback<unknown> {
  knownFields('fallback options', options, 'when');
  const when = functionOf('when', options.when, (ended) => 'error' in ended);
  const { on, tell } = listenersOf<FallbackEvents>(['used', 'failed']);

  async function run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<unknown> {
    mustBeCall(call);
    signal?.throwIfAborted();
    const ended = await endOf(call, signal);
    // Whoever has given up waits for no other answer.
    if (signal?.aborted || !when(ended)) return answerOf(ended);
    const made = await endOf(() => (typeof instead === 'function' ? instead(ended, signal) : instead));
    if ('error' in made) tell('failed', { ended, error: made.error });
    else tell('used', { ended, value: made.value });
    return answerOf(made);
  }

  return { run, on };
}
