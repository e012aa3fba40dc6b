/**
 * A clock that runs on while the machine sleeps. Linux' monotonic clock stands still then: a grant that waited in the socket meanwhile would look as
 * young as it was before, and be used long after its owner counted it.
 *
 *      monotonic   ───────────┊──────        where the wall clock moves by itself, the machine has slept,
 *      wall        ───────────┊········──────   or somebody has set it: both end what is under way
 */
import type { Clock } from '../vocabulary/clock.ts';

// The wall clock counts whole milliseconds. No machine falls asleep and wakes up in less.
const toleranceMs = 2;

export function awakeClock(clock: Clock, wallMs: () => number = () => Date.now()): Clock {
  let aheadMs = wallMs() - clock.now();
  let asleepMs = 0;
  return {
    now() {
      // In this order: who sleeps between the two readings is seen to have slept.
      const nowMs = clock.now();
      const aheadNowMs = wallMs() - nowMs;
      // Never back: a wall clock that is set back says nothing about sleep.
      if (aheadNowMs - aheadMs > toleranceMs) asleepMs += aheadNowMs - aheadMs;
      // What it is corrected by little by little is no sleep, and must not add up to some.
      aheadMs = aheadNowMs;
      return nowMs + asleepMs;
    },
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}
