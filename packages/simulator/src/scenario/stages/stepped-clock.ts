/** A clock that can be set while it runs, as hands and time servers do; it waits as the other one does. */
import type { Clock } from 'sluice';

export class SteppedClock implements Clock {
  private readonly clock: Clock;
  private aheadMs = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  now(): number {
    return this.clock.now() + this.aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.clock.sleep(ms, signal);
  }

  /** What this one says when the other one says that. */
  at(otherMs: number): number {
    return otherMs + this.aheadMs;
  }

  step(byMs: number): void {
    this.aheadMs += byMs;
  }
}
