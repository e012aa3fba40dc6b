/**
 * When a response came, as its dates are to be compared with. The default clock is right about how much time has passed, and stands
 * still while the machine sleeps: what time it is it knows only until then. The wall clock knows. A clock that was given is the only
 * source of time, for this too.
 */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';

export function arrivalMs(clock: Clock): number {
  return clock === monotonicClock ? Date.now() : clock.now();
}
