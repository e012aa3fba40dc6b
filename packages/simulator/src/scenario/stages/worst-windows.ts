/** What one limit let through: the most in any window of a key, and how close together. */
import { Heap } from '../../heap.ts';
import { WindowMeter } from '../../window-meter.ts';
import type { Limit } from '../scenario.ts';

interface Grant {
  readonly atMs: number;
  readonly cost: number;
  readonly key: string;
  readonly order: number;
}

/** What goes later than it was asked is kept until then: meters want it in order. */
export class WorstWindows {
  private readonly limit: number;
  private readonly windowMs: number;
  private readonly isShared: boolean;
  private readonly isDelayed: boolean;
  private readonly meters = new Map<string, WindowMeter>();
  private readonly later = new Heap<Grant>((a, b) => (a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs));
  private order = 0;
  private latestMs: number | undefined;
  private smallestGapMs = Number.POSITIVE_INFINITY;

  /** @param isDelayed whether this limit, or another beside it, lets calls go later */
  constructor({ policy, per }: Limit, isDelayed: boolean) {
    this.limit = policy.limit;
    this.windowMs = policy.window!;
    this.isShared = per === 'all';
    this.isDelayed = isDelayed;
  }

  grant(atMs: number, cost: number, key: string): void {
    this.order += 1;
    if (this.isDelayed) this.later.push({ atMs, cost, key, order: this.order });
    else this.meterOf(key).add(atMs, cost);
  }

  /** Whatever goes before that time goes. */
  flush(untilMs: number): void {
    for (let next = this.later.first(); next && next.atMs < untilMs; next = this.later.first()) {
      this.later.pop();
      if (this.latestMs !== undefined) this.smallestGapMs = Math.min(this.smallestGapMs, next.atMs - this.latestMs);
      this.latestMs = next.atMs;
      this.meterOf(next.key).add(next.atMs, next.cost);
    }
  }

  get worst(): number {
    let worst = 0;
    for (const meter of this.meters.values()) worst = Math.max(worst, meter.worst);
    return worst;
  }

  get worstRatio(): number {
    return this.worst / this.limit;
  }

  /** `undefined` between calls of different keys: there a gap says nothing. */
  get gapMsMin(): number | undefined {
    return this.meters.size === 1 ? this.smallestGapMs : undefined;
  }

  private meterOf(key: string): WindowMeter {
    const who = this.isShared ? '' : key;
    const known = this.meters.get(who);
    if (known) return known;
    const meter = new WindowMeter(this.windowMs);
    this.meters.set(who, meter);
    return meter;
  }
}
