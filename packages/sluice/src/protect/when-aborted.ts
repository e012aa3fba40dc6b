/**
 * One listener on a signal, however many wait for it. A signal that says "the server shuts down" is given to every call, and some
 * runtimes take more than ten listeners for a leak and say so.
 */
interface Waiting {
  readonly acts: Set<() => void>;
  readonly listener: () => void;
}

const all = new WeakMap<AbortSignal, Waiting>();

/** Acts when the signal is aborted, or at once if it is; unless the returned function is called before. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  const waiting = all.get(signal) ?? listenTo(signal);
  // Of its own, so that the same function may wait twice and leave once.
  const own = () => act();
  waiting.acts.add(own);
  return () => {
    // Nobody is left to be told: nothing of ours stays on a signal that may live for long.
    if (waiting.acts.delete(own) && waiting.acts.size === 0) {
      signal.removeEventListener('abort', waiting.listener);
      all.delete(signal);
    }
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const acts = new Set<() => void>();
  const waiting = {
    acts,
    listener() {
      all.delete(signal);
      for (const act of acts) act();
    },
  };
  signal.addEventListener('abort', waiting.listener, { once: true });
  all.set(signal, waiting);
  return waiting;
}
