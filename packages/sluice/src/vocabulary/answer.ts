/** Memory answers at once, remote stores with a promise; the types know which. */
export type Mode = 'sync' | 'async';
export type Reply<M extends Mode, T> = M extends 'sync' ? T : Promise<T>;

/** A value that is there at once, or will be. */
export type Answer<T> = T | Promise<T>;

/** Goes on with an answer, at once or when it arrives: one code path for both kinds of store. */
export function andThen<T, U>(answer: Answer<T>, next: (value: T) => Answer<U>): Answer<U> {
  return isPromise(answer) ? answer.then(next) : next(answer);
}

function isPromise<T>(answer: Answer<T>): answer is Promise<T> {
  return typeof (answer as { then?: unknown } | undefined)?.then === 'function';
}
