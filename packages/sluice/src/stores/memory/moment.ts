import { type Clock, checkTime } from '../../vocabulary/clock.ts';
import { invalid } from '../../vocabulary/errors.ts';
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
  batch = 0;
  private happenedMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    // Only who asks it needs to know: `checkClock` is for everybody.
    const { recent } = clock;
    if (recent !== undefined && typeof recent !== 'function')
      throw invalid('clock.recent', 'a function, or left out', recent);
    this.clock = clock;
  }

  get latestMs(): number {
    return Math.max(this.happenedMs, this.nowMs);
  }

  /** Begins a batch of these checks, now or at the caller's own time. */
  begin(checks: readonly Check[], atMs: number | undefined, strict: boolean): this {
    this.batch += 1;
    this.isClock = atMs === undefined;
    this.nowMs = atMs === undefined ? this.reading(strict) : checkTime(atMs);
    // Peeking is not happening.
    if (checks.some(({ operation }) => operation !== 'peek')) this.happenedMs = this.latestMs;
    return this;
  }

  /** Begins a single check, now. Without `strict`, a recent reading of the clock will do. */
  read(strict: boolean): number {
    const nowMs = this.reading(strict);
    this.isClock = true;
    this.nowMs = nowMs;
    if (nowMs > this.happenedMs) this.happenedMs = nowMs;
    return nowMs;
  }

  private reading(strict: boolean): number {
    const { clock } = this;
    return checkTime(clock.recent !== undefined && !strict ? clock.recent() : clock.now(), 'the time of the clock');
  }
}
