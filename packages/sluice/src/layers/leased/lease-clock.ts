/**
 * How long ago was that, at the longest? A lease that is taken for shorter than it was is quota spent twice, so of two clocks
 * the one that moved further counts. A monotonic clock stands still while the machine sleeps; the wall clock does not. And a
 * wall clock may be set back; the monotonic one is not.
 */
import type { Clock } from '../../vocabulary/clock.ts';

export interface Stamp {
  readonly ms: number;
  readonly wallMs: number;
  readonly steps: number;
}

// The wall clock tells whole milliseconds.
const wallGrainMs = 1;

export class LeaseClock {
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  #latestMs = Number.NEGATIVE_INFINITY;
  /** How often the clock stepped back. What was stamped before a step is as old as can be. */
  #steps = 0;

  constructor(clock: Clock, wallNow: () => number) {
    this.#clock = clock;
    this.#wallNow = wallNow;
  }

  stamp(): Stamp {
    const ms = this.#clock.now();
    if (ms < this.#latestMs) this.#steps += 1;
    this.#latestMs = ms;
    return { ms, wallMs: this.#wallNow(), steps: this.#steps };
  }

  /** From one stamp to a later one; `Infinity` where that cannot be told. */
  static passedMs(from: Stamp, to: Stamp): number {
    if (from.steps !== to.steps) return Number.POSITIVE_INFINITY;
    return Math.max(to.ms - from.ms, to.wallMs - from.wallMs - wallGrainMs);
  }
}
