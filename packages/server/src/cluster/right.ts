/**
 * A node's right to decide: until when, by its own clock, nobody else can have been given what it owns.
 *
 *      sent ──────── ttl, less drift and margin ───────► the right ends
 *        └─ renewal ──► etcd: seen by others from here on ─────── ttl, more drift and margin ───────► others may act
 *
 * Counted from before the renewal was sent: others count from when they saw it, which is later.
 */
import type { NodeClock } from './environment.ts';
import type { Fences } from './fences.ts';
import { type ClusterSettings, drift } from './settings.ts';

/** What clocks and computers may be off by, beyond drift. */
export function marginMs(ttlMs: number): number {
  return ttlMs / 20;
}

/** How long a record must have been seen unchanged before its owner's right has certainly ended. */
export function silenceMs(ttlMs: number, fences: Fences): number {
  if (!fences.observedSilence) return 0;
  return fences.driftAllowance ? ttlMs * (1 + 2 * drift) + marginMs(ttlMs) : ttlMs;
}

export class Right {
  private readonly clock: NodeClock;
  private readonly fences: Fences;
  private readonly lengthMs: number;
  private readonly toleranceMs: number;
  private untilMs = Number.NEGATIVE_INFINITY;
  /** How far the clock that sleeps was behind the one that does not. */
  private asleepMs = 0;

  constructor(clock: NodeClock, { ttlMs }: Pick<ClusterSettings, 'ttlMs'>, fences: Fences) {
    this.clock = clock;
    this.fences = fences;
    this.lengthMs = fences.driftAllowance ? ttlMs * (1 - 2 * drift) - marginMs(ttlMs) : ttlMs;
    // Half of the margin: what is slept unnoticed must not use up all of it.
    this.toleranceMs = marginMs(ttlMs) / 2;
  }

  /** A renewal went through that was sent at `sentMs`, when the machine had slept for `asleepMs`. */
  renewed(sentMs: number, asleepMs: number): void {
    const fromMs = this.fences.rightFromSending ? sentMs : this.clock.nowMs();
    this.untilMs = Math.max(this.untilMs, fromMs + this.lengthMs);
    this.asleepMs = asleepMs;
  }

  /** What has to be noted before a renewal is sent. */
  sleepSoFar(): number {
    return this.sleptUntil(this.clock.nowMs());
  }

  private sleptUntil(nowMs: number): number {
    return this.clock.uptimeMs(nowMs) - nowMs;
  }

  end(): void {
    this.untilMs = Number.NEGATIVE_INFINITY;
  }

  /** For how long it still holds; 0 or less: it does not. `nowMs` was read just now, in this tick. */
  leftMs(nowMs = this.clock.nowMs()): number {
    if (!this.fences.rightInTheTick) return 1;
    const leftMs = this.untilMs - nowMs;
    if (leftMs > 0 && this.fences.suspensionEndsRight && this.sleptUntil(nowMs) - this.asleepMs > this.toleranceMs) {
      this.end();
      return 0;
    }
    return leftMs;
  }
}
