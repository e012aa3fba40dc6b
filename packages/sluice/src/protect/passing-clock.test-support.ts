/**
 * A test clock that passes from one waking to the next, and lets all that follows from it happen before it moves on: whoever wakes
 * may sleep again, and wakes at the right moment.
 */
import { TestClock } from '../testing/test-clock.ts';

/** Lets everything happen that waits for nothing but its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class PassingClock extends TestClock {
  private wakings: number[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.wakings.push(this.now() + ms);
    return super.sleep(ms, signal);
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.now() + ms;
    await turn();
    while (this.now() < endMs) {
      const nowMs = this.now();
      this.wakings = this.wakings.filter((atMs) => atMs > nowMs);
      this.set(this.wakings.reduce((first, atMs) => Math.min(first, atMs), endMs));
      await turn();
    }
  }
}
