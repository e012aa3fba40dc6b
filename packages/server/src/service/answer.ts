import type { Answer } from './service.ts';

/** Goes on with an answer, at once or when it arrives. */
export function andThen<T, U>(answer: Answer<T>, next: (value: T) => Answer<U>): Answer<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer);
}
