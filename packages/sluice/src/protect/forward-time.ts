/**
 * Time as it passes, from a clock that may step back: a step counts as no time at all, and then time goes on. Without it,
 * what is due in a second would be due in an hour and a second after a clock that was set back by an hour.
 */
import { type Clock, checkTime } from '../vocabulary/clock.ts';

export class ForwardTime {
  /** How often the clock stepped back: what was measured across a step was not measured. */
  steps = 0;
  private readonly clock: Clock;
  private latestMs: number;
  private lostMs = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.latestMs = this.read();
  }

  /** Never less than the last time. As long as the clock has not stepped back, it is the clock's. */
  now(): number {
    const nowMs = this.read();
    if (nowMs < this.latestMs) {
      this.lostMs += this.latestMs - nowMs;
      this.steps += 1;
    }
    this.latestMs = nowMs;
    return nowMs + this.lostMs;
  }

  private read(): number {
    return checkTime(this.clock.now(), 'the time of the clock');
  }
}
