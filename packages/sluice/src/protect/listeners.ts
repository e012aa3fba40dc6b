/** Who wants to be told of what. */
import { invalid } from '../vocabulary/errors.ts';

export interface Listeners<Events extends object> {
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof Events & string>(name: Name, listener: (event: Events[Name]) => void): () => void;
  tell<Name extends keyof Events & string>(name: Name, event: Events[Name]): void;
}

export function listenersOf<Events extends object>(names: readonly (keyof Events & string)[]): Listeners<Events> {
  const all = new Map<string, Set<(event: never) => void>>(names.map((name) => [name, new Set()]));

  return {
    on(name, listener) {
      const listeners = all.get(name);
      if (!listeners) throw invalid('event', `one of ${names.join(', ')}`, name);
      if (typeof listener !== 'function') throw invalid('listener', 'a function', listener);
      // Of its own, so that the same function may listen twice and leave once.
      const own = (event: never) => listener(event);
      listeners.add(own);
      return () => {
        listeners.delete(own);
      };
    },
    tell(name, event) {
      for (const listener of all.get(name) ?? []) {
        try {
          listener(event as never);
        } catch (error) {
          // A mistake of the listener's: it must surface, but not as the outcome of a call that has nothing to do with it.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
  };
}
