/** The default clock of what runs in the background: nobody waits for it, so it does not keep the process alive. */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';

// Timers hold the delay in 32 signed bits; a longer one would fire at once.
const longestTimerMs = 2 ** 31 - 1;

export const backgroundClock: Clock = {
  now: () => monotonicClock.now(),
  async sleep(ms, signal) {
    const endMs = monotonicClock.now() + ms;
    for (let leftMs = ms; leftMs > 0; leftMs = endMs - monotonicClock.now()) {
      await quietTimer(Math.min(leftMs, longestTimerMs), signal);
    }
    signal?.throwIfAborted();
  },
};

function quietTimer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(handle);
      reject(signal?.reason);
    };
    const handle = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, Math.ceil(ms));
    signal?.addEventListener('abort', onAbort, { once: true });
    // Node, Bun and Deno's Node side have it; a browser's timers keep nothing alive anyway.
    (handle as unknown as { unref?: () => void }).unref?.();
  });
}
