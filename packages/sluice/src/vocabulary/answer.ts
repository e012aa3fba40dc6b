/** Memory answers at once, remote stores with a promise; the types know which. */
export type Mode = 'sync' | 'async';
export type Reply<M extends Mode, T> = M extends 'sync' ? T : Promise<T>;

/** A value that is there at once, or will be. */
export type Answer<T> = T | Promise<T>;

/**
 * Goes on with an answer, at once or when it arrives: one code path for both kinds of store. Promises of another make become the engine's own, by which
 * whoever asked recognises one: taken for what it promises, it would have neither a limit nor a refusal.
 */
export function andThen<T, U>(answer: Answer<T>, next: (value: T) => Answer<U>): Answer<U> {
  return isPromise(answer) ? Promise.resolve(answer).then(next) : next(answer);
}

export function isPromise<T>(answer: Answer<T>): answer is Promise<T> {
  return typeof (answer as { then?: unknown } | undefined)?.then === 'function';
}

/**
 * Functions of a store that answers later answer later always: also where there is nothing to wait for, and where what they
 * were given is wrong.
 */
export function answering<F extends Record<string, (...args: never[]) => unknown>>(mode: Mode, functions: F): F {
  if (mode === 'sync') return functions;
  const later = Object.entries(functions).map(([name, run]) => [
    name,
    (...args: never[]) => {
      try {
        return Promise.resolve(run(...args));
      } catch (error) {
        return Promise.reject(error);
      }
    },
  ]);
  return Object.fromEntries(later) as F;
}
