/** A clock for what answers at once: it says a time, and whoever would wait by it has made a mistake. */
import type { Clock } from 'sluice';

export function sleeplessClock(now: () => number): Clock {
  return {
    now,
    sleep: () => Promise.reject(new Error('Nothing sleeps here: every call is answered at its own time.')),
  };
}
