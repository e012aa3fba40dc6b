/**
 * A time that all nodes share well enough, and that survives them: it only ever advances by the monotonic clock of a node that is there. Whoever
 * writes to etcd writes down how far it has come; whoever reads goes on from the furthest that he has seen. While nobody is there it stands
 * still, so what is counted by it lasts longer, never shorter. No wall clock has a say in it.
 *
 * How far it may differ. Clocks drift, and what is read is as old as the last renewal, so some are behind others:
 *
 *      others     ──────────── at most their ttl ahead of what etcd says ───┐
 *      etcd       ────────────────┬─────────────────────────────────────────┤ lagMs
 *      ours            read at ───┘ a right lasts less than our ttl ────────┘
 *
 * Nobody's time is further than its ttl ahead of what it has seen in etcd: whoever is cut off stands still, instead of drifting away and taking all
 * others along when it is back. And whoever has the right to decide has read etcd within its own ttl. So nobody is further than `lagMs` ahead
 * of somebody who may decide.
 */
import type { NodeClock } from './environment.ts';

export class ClusterTime {
  private readonly clock: NodeClock;
  private readonly ttlMs: number;
  private mostTtlMs: number;
  private baseMs = 0;
  private atMs: number;
  /** In etcd. */
  private furthestMs = 0;

  constructor(clock: NodeClock, ttlMs: number) {
    this.clock = clock;
    this.ttlMs = ttlMs;
    this.mostTtlMs = ttlMs;
    this.atMs = clock.nowMs();
  }

  nowMs(): number {
    return Math.min(this.baseMs + this.clock.nowMs() - this.atMs, this.furthestMs + this.ttlMs);
  }

  /** How far anybody may be ahead of us, while we have the right to decide. */
  get lagMs(): number {
    return this.ttlMs + this.mostTtlMs;
  }

  /** Somebody has come so far, who may go on for `ttlMs` without etcd. */
  seen(timeMs: number | undefined, ttlMs = 0): void {
    this.mostTtlMs = Math.max(this.mostTtlMs, ttlMs);
    if (timeMs === undefined) return;
    // Also where it is no news: from a time that stood still it goes on from there, not from where the clock has come meanwhile.
    this.baseMs = Math.max(timeMs, this.nowMs());
    this.atMs = this.clock.nowMs();
    this.furthestMs = Math.max(this.furthestMs, timeMs);
  }
}
