import { type Clock, checkTime } from '../../vocabulary/clock.ts';
import type { Check } from '../store.ts';

/** When a batch happens, and whether the clock says so or the caller: on callers' own time each key may have its own. */
export interface Moment {
  readonly nowMs: number;
  readonly isClock: boolean;
  /** The latest that anything can have happened: time may have been further than it is now. */
  readonly latestMs: number;
  /** Tells batches apart. */
  readonly batch: number;
}

/** Tells the time of each batch, and remembers how far it ever was. One object for all batches: a check should make none. */
export class Moments implements Moment {
  nowMs = 0;
  isClock = true;
  latestMs = Number.NEGATIVE_INFINITY;
  batch = 0;
  #happenedMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a batch, now or at the caller's own time. */
  begin(atMs: number | undefined): this {
    this.isClock = atMs === undefined;
    this.nowMs = atMs === undefined ? checkTime(this.#clock.now(), 'the time of the clock') : checkTime(atMs);
    this.latestMs = Math.max(this.#happenedMs, this.nowMs);
    this.batch += 1;
    return this;
  }

  /** The batch takes place: peeking is not happening. */
  happen(): void {
    this.#happenedMs = this.latestMs;
  }

  /** Begins a batch of these checks. */
  of(checks: readonly Check[], atMs: number | undefined): this {
    this.begin(atMs);
    if (checks.some(({ operation }) => operation !== 'peek')) this.happen();
    return this;
  }
}
