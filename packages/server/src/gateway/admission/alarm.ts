/** Wakes up once, after a time that can be called off. */
import type { Clock } from 'sluice';

export class Alarm {
  private readonly clock: Clock;
  private asleep: AbortController | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isSet(): boolean {
    return this.asleep !== undefined;
  }

  set(afterMs: number, act: () => void): void {
    this.stop();
    const asleep = new AbortController();
    this.asleep = asleep;
    this.clock.sleep(afterMs, asleep.signal).then(
      () => {
        if (this.asleep !== asleep) return;
        this.asleep = undefined;
        act();
      },
      (error) => {
        // Called off. Anything else is the clock's failure, and must surface.
        if (!asleep.signal.aborted) throw error;
      },
    );
  }

  stop(): void {
    this.asleep?.abort();
    this.asleep = undefined;
  }
}
