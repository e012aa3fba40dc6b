/**
 * A time that all nodes share well enough, and that survives them: it only ever advances by the monotonic clock of a node that is there. Whoever
 * writes to etcd writes down how far it has come; whoever reads goes on from the furthest that he has seen. While nobody is there it stands
 * still, so what is counted by it lasts longer, never shorter. No wall clock has a say in it.
 */
import type { NodeClock } from './environment.ts';

export class ClusterTime {
  private readonly clock: NodeClock;
  private baseMs = 0;
  private atMs: number;

  constructor(clock: NodeClock) {
    this.clock = clock;
    this.atMs = clock.nowMs();
  }

  nowMs(): number {
    return this.baseMs + this.clock.nowMs() - this.atMs;
  }

  /** Somebody has come so far. */
  seen(timeMs: number | undefined): void {
    if (timeMs === undefined || timeMs <= this.nowMs()) return;
    this.baseMs = timeMs;
    this.atMs = this.clock.nowMs();
  }
}
