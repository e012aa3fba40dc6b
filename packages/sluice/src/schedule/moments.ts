/**
 * The time of a scheduler: the caller's where it gives one, else the clock's, and never an earlier one than before. A given time that
 * is earlier counts as the latest seen. A clock that steps back counts as standing still for that moment, and time goes on from there:
 * what was due in a second stays due in a second.
 */
import { type Clock, checkTime } from '../vocabulary/clock.ts';

export class Moments {
  /** The last that was asked for. Whoever only takes somebody out reads no clock: times may all be the caller's. */
  latestMs = Number.NEGATIVE_INFINITY;
  /** Whether the caller gave that. Then the clock may go by another time altogether. */
  isGiven = false;
  private readonly clock: Clock;
  private readMs = Number.NEGATIVE_INFINITY;
  /** How far the clock has stepped back altogether. */
  private lostMs = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  now(atMs?: number): number {
    this.isGiven = atMs !== undefined;
    this.latestMs = Math.max(this.latestMs, atMs === undefined ? this.read() : checkTime(atMs));
    return this.latestMs;
  }

  /** A moment by the clock as it goes now, in this time. */
  onOwnTime(momentMs: number): number {
    return momentMs + this.lostMs;
  }

  private read(): number {
    const nowMs = checkTime(this.clock.now(), 'the time of the clock');
    if (nowMs < this.readMs) this.lostMs += this.readMs - nowMs;
    this.readMs = nowMs;
    return nowMs + this.lostMs;
  }
}
