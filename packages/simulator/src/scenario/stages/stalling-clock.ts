/**
 * A clock whose timers can be late, as those of a busy thread are: what is due while it stalls goes off at the end of it.
 *
 *      due        100   200   300   400   500
 *      stalls            ├─────────────┤
 *      goes off   100                  450 450 450 500
 */
import type { Clock } from 'sluice';

export class StallingClock implements Clock {
  private readonly clock: Clock;
  private readonly stalls: readonly { readonly fromMs: number; readonly untilMs: number }[];

  constructor(clock: Clock, stalls: readonly { readonly fromMs: number; readonly untilMs: number }[]) {
    this.clock = clock;
    this.stalls = stalls;
  }

  now(): number {
    return this.clock.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const nowMs = this.clock.now();
    let dueMs = nowMs + ms;
    // In the order of their beginnings: what one of them puts off may be due in the next.
    for (const { fromMs, untilMs } of this.stalls) if (dueMs >= fromMs && dueMs < untilMs) dueMs = untilMs;
    return this.clock.sleep(dueMs - nowMs, signal);
  }
}
