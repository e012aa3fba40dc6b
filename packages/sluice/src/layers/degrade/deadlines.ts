/**
 * One alarm for all calls that are under way. They all have as long, so the first to be sent is the first whose time is up:
 *
 *      sent ──► │ call │ call │ call │        the alarm is set for the first in line, and switched off when there is none
 *
 * A call that is answered in time costs a place in the line. A timer of its own for each would cost more than the rest of it.
 */
import type { Clock } from '../../vocabulary/clock.ts';

interface Waiting {
  untilMs: number;
  readonly expire: () => void;
}

// Timers are a little late as a rule. By more, and the event loop stood still.
const usualLatenessMs = 2;

export class Deadlines {
  private readonly clock: Clock;
  private readonly afterMs: number;
  private readonly line = new Set<Waiting>();
  private alarm: AbortController | undefined;
  private isWatching = false;

  constructor(clock: Clock, afterMs: number) {
    this.clock = clock;
    this.afterMs = afterMs;
  }

  /** The answer, or a rejection with `tooLate()` when it did not come in time. What comes later is told to `late`. */
  within<T>(answer: Promise<T>, tooLate: () => unknown, late: (value: T | undefined) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const one: Waiting = { untilMs: this.clock.now() + this.afterMs, expire: () => reject(tooLate()) };
      this.line.add(one);
      answer.then(
        (value) => {
          if (this.leave(one)) resolve(value);
          else late(value);
        },
        (error) => {
          if (this.leave(one)) reject(error);
          else late(undefined);
        },
      );
      if (!this.isWatching) void this.watch();
    });
  }

  /** Whether it was still in the line. */
  private leave(one: Waiting): boolean {
    const wasWaiting = this.line.delete(one);
    // Nothing is left to wait for: a timer that went on would keep the process from ending.
    if (this.line.size === 0) this.alarm?.abort();
    return wasWaiting;
  }

  private async watch(): Promise<void> {
    this.isWatching = true;
    let isLoopLate = false;
    for (let first = this.first(); first !== undefined; first = this.first()) {
      const nowMs = this.clock.now();
      if (first.untilMs > nowMs + this.afterMs) {
        // The clock stepped back: they have as long again, and not as long as the step.
        for (const one of this.line) one.untilMs = nowMs + this.afterMs;
      } else if (first.untilMs > nowMs) {
        isLoopLate = false;
        await this.sleep(first.untilMs - nowMs);
      } else if (nowMs - first.untilMs > usualLatenessMs && !isLoopLate) {
        // It was this process that stood still. The answer may have arrived: it is read before the timers of the next turn.
        isLoopLate = true;
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
      } else {
        this.line.delete(first);
        first.expire();
      }
    }
    this.isWatching = false;
  }

  private first(): Waiting | undefined {
    return this.line.values().next().value;
  }

  private async sleep(ms: number): Promise<void> {
    const alarm = new AbortController();
    this.alarm = alarm;
    try {
      await this.clock.sleep(ms, alarm.signal);
    } catch (error) {
      // Switched off, because the last call was answered. Anything else is no way for a clock to end.
      if (!alarm.signal.aborted) throw error;
    }
  }
}
