import type { Clock } from 'sluice';
import type { EventLoop } from './events.ts';

/** Sluice's clock in simulated time: whatever waits by it, `limiter.wait` for one, waits for events and not for seconds. */
export function simulatedClock(loop: EventLoop): Clock {
  return {
    now: () => loop.nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        if (ms <= 0) return resolve();
        // A sleep without an end is no event: it would keep the run from ending.
        const callOff = ms === Number.POSITIVE_INFINITY ? () => {} : loop.at(loop.nowMs + ms, wake);
        function wake(): void {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        }
        function onAbort(): void {
          callOff();
          reject(signal?.reason);
        }
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
  };
}
