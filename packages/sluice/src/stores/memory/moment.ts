import { type Clock, checkTime } from '../../vocabulary/clock.ts';
import type { Check } from '../store.ts';

/** When a batch happens, and whether the clock says so or the caller: on callers' own time each key may have its own. */
export interface Moment {
  readonly nowMs: number;
  readonly isClock: boolean;
  /** The latest that anything can have happened: time may have been further than it is now. */
  readonly latestMs: number;
}

/** Tells the time of each batch, and remembers how far it ever was; peeking is not happening. */
export function momentsOf(clock: Clock): (checks: readonly Check[], atMs: number | undefined) => Moment {
  let happenedMs = Number.NEGATIVE_INFINITY;
  return (checks, atMs) => {
    const isClock = atMs === undefined;
    const nowMs = isClock ? checkTime(clock.now(), 'the time of the clock') : checkTime(atMs);
    const latestMs = Math.max(happenedMs, nowMs);
    if (checks.some(({ operation }) => operation !== 'peek')) happenedMs = latestMs;
    return { nowMs, isClock, latestMs };
  };
}
