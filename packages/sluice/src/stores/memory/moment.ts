import { type Clock, checkTime } from '../../vocabulary/clock.ts';

/** When a batch happens, and whether the clock says so or the caller: on callers' own time each key may have its own. */
export interface Moment {
  readonly nowMs: number;
  readonly isClock: boolean;
}

export function momentOf(clock: Clock, atMs: number | undefined): Moment {
  const isClock = atMs === undefined;
  return { nowMs: isClock ? checkTime(clock.now(), 'the time of the clock') : checkTime(atMs), isClock };
}
