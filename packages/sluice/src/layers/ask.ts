import { mustFit, type Store } from '../stores/store.ts';
import { type Answer, isPromise } from '../vocabulary/answer.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';

/** Asks, and goes on with the answer or with the failure: at once, or when it arrives. */
export function ask<T, U>(
  question: () => Answer<T>,
  answered: (value: T) => Answer<U>,
  failed: (error: unknown) => Answer<U>,
): Answer<U> {
  let answer: Answer<T>;
  try {
    answer = question();
  } catch (error) {
    return failed(error);
  }
  return isPromise(answer) ? answer.then(answered, failed) : answered(answer);
}

/** Holds a layer to the one store it was made for: what it remembers of one is not true of another. */
export function oneStore(layer: string): (store: Store) => void {
  let isTaken = false;
  return (store) => {
    if (store === undefined) throw invalid('store', 'a store such as memoryStore()', store);
    mustFit(store, undefined);
    if (isTaken)
      throw new SluiceError('invalid-option', `This ${layer}() wraps a store already. Make one for each store.`);
    isTaken = true;
  };
}
