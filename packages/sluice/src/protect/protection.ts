/**
 * What all of them have in common: each runs a call or does not, and learns from how it ended. That is the whole interface, so
 * any of them goes around any other.
 */
import { invalid } from '../vocabulary/errors.ts';

/** A call that is to be protected. Whoever wants to be stopped early passes the signal on. */
export type ProtectedCall<T> = (signal?: AbortSignal) => T | Promise<T>;

export interface RunOptions {
  /**
   * The caller's way to give up. A call that throws after its signal was aborted says nothing about the service; unless its time was up
   * (`AbortSignal.timeout`, a `timeout()` further out), which says that the service did not answer in it.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface Protection {
  /** Makes the call if it may be made, and answers as the call does. Throws a `SluiceError` of its own where it may not. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
}

/** A protection that may answer with something that the call never would. A `Protection` is one of `never`. */
export interface ProtectionOr<Instead> {
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T | Instead>;
}

/** How a call ended: with a value, or with an error. */
export type Ended<T = unknown> = { readonly value: T } | { readonly error: unknown };

/** What an end says about the service. */
export type Outcome = 'ok' | 'failed' | 'ignored';

/** Leave to make one call. Say how it ended, once; what is said after that does nothing. */
export interface Pass {
  ok(): void;
  failed(): void;
  /** It says nothing about the service: the caller gave up, or asked for what cannot be. */
  ignored(): void;
}

/** Refuses what cannot be called before anything is counted: that the caller gave a promise is not the fault of the service. */
export function mustBeCall(call: unknown): void {
  if (typeof call !== 'function') throw invalid('call', 'a function', call, 'Give () => fetch(url), not fetch(url).');
}

/** Makes the call, and says how it ended instead of throwing. */
export async function endOf<T>(call: ProtectedCall<T>, signal?: AbortSignal): Promise<Ended<T>> {
  try {
    return { value: await call(signal) };
  } catch (error) {
    return { error };
  }
}

/** Answers as the call did. */
export function answerOf<T>(ended: Ended<T>): T {
  if ('error' in ended) throw ended.error;
  return ended.value;
}
