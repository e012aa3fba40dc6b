/**
 * A clock that is read once for many calls. Reading the time costs as much as everything else in a check together, and the
 * calls of one turn of the event loop happen at the same moment as far as anybody outside can tell.
 *
 *      turn of the event loop │ check check check ··· │ check check │
 *      reading                 ▲            ▲ (again after 64 calls) ▲
 *
 * So a reading is never older than the turn it was taken in. A bucket or a window that is asked by it grants at most what it
 * may grant over a time longer by that much. Strict algorithms do not use it: they read the time at each call.
 */
import { type Clock, checkClock, monotonicClock } from './clock.ts';

const callsPerReading = 64;

// Browsers have no end of a turn to be told of; there the time is read at each call.
const { setImmediate } = globalThis as { setImmediate?: (end: () => void) => unknown };

/** Reads `clock` once per turn of the event loop, or per 64 calls. Default: the monotonic clock. */
export function tickClock(clock: Clock = monotonicClock): Clock {
  checkClock(clock);
  // A field that never held anything but a fraction is kept as one; a variable would be an object, looked at before it is used.
  const last = { readingMs: Number.NaN, callsLeft: 0 };
  let isEndAwaited = false;

  function now(): number {
    last.readingMs = clock.now();
    return last.readingMs;
  }

  function onEnd(): void {
    isEndAwaited = false;
    last.callsLeft = 0;
  }

  // Short, so that the engine takes it into its callers; and what it returns is always the field.
  function recent(): number {
    if (last.callsLeft === 0) read();
    last.callsLeft -= 1;
    return last.readingMs;
  }

  function read(): void {
    // A clock that throws leaves no calls to the reading before: that may be of any age.
    now();
    last.callsLeft = callsPerReading;
    if (isEndAwaited) return;
    isEndAwaited = true;
    setImmediate!(onEnd);
  }

  return {
    now,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    ...(clock.stalenessMs !== undefined && { stalenessMs: clock.stalenessMs }),
    ...(setImmediate && { recent }),
  };
}
