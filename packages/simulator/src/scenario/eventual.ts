/** What is there at once, or will be: memory answers at once, other stores later. */
export type Eventual<T> = T | Promise<T>;

/** Goes on at once where it can: most runs wait for nothing, and should not pay for promises. */
export function andThen<T, R>(value: Eventual<T>, next: (value: T) => Eventual<R>): Eventual<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
