/**
 * Everybody who waits: who goes next, who must go when there are too many, and who has waited for too long.
 *
 *      priority 0   level ──► candidate ─┐
 *      priority 1   level ──► candidate ─┼──► the one that ranks first has the next place
 *         ···                            │
 *      priority 9   level ──► candidate ─┘    rank = when it came + priority * ageing
 *
 * Everybody ages at the same pace, so that who ranks before whom never changes by waiting alone, and nothing is ever sorted anew. Ageing is
 * between priorities, and never between tenants of one: where requests wait for long it would turn shares into first come, first served,
 * and whoever sends most would have most.
 */
import type { Clock } from 'sluice';
import type { AdmissionConfig } from '../../config/gateway-config.ts';
import type { AdmissionRequest } from './admission-types.ts';
import { Level } from './level.ts';
import { Line } from './line.ts';
import type { Account, Waiter } from './waiter.ts';

/** Priorities are 0 to 9. */
const priorities = 10;

// The least that the fair scheduler takes.
const leastWeight = 0.01;

export class WaitingRoom {
  private readonly clock: Clock;
  /** Made when somebody has to wait in it for the first time. */
  private readonly levels: (Level | undefined)[] = Array.from({ length: priorities }, () => undefined);
  /** All wait equally long, so the first is the first whose time is up. */
  private readonly arrivals = new Line<Waiter>();
  private weights: ReadonlyMap<string, number> = new Map();
  private defaultWeight = 1;
  private ageingMs = 0;
  /** For so long nobody may be passed over for tenants of its own priority. */
  private passedOverMs = Number.POSITIVE_INFINITY;

  constructor(config: AdmissionConfig, clock: Clock) {
    this.clock = clock;
    this.reconfigure(config);
  }

  get size(): number {
    return this.arrivals.length;
  }

  /** Whoever has waited for longest. */
  get oldest(): Waiter | undefined {
    return this.arrivals.first;
  }

  reconfigure({ weights, defaultWeight, ageingMs, queueTimeoutMs }: AdmissionConfig): void {
    this.weights = new Map(Object.entries(weights));
    this.defaultWeight = defaultWeight;
    this.ageingMs = ageingMs;
    // Before its time is up: whoever is shed by then has no use for a turn.
    const soonestMs = Math.min(ageingMs * priorities, queueTimeoutMs / 2);
    this.passedOverMs = ageingMs === 0 ? Number.POSITIVE_INFINITY : soonestMs;
    for (const level of this.levels) level?.weigh();
  }

  add(waiter: Waiter, nowMs: number): void {
    const { priority } = waiter;
    const level = this.levels[priority] ?? this.open(priority);
    waiter.inArrivals = this.arrivals.add(waiter);
    level.add(waiter, nowMs);
  }

  /** From wherever it stands. Whether it was waiting. */
  remove(waiter: Waiter): boolean {
    if (!this.leaveArrivals(waiter)) return false;
    this.levels[waiter.priority]!.remove(waiter);
    return true;
  }

  /** Takes out who goes next, with the account that is told when it has ended. */
  take(nowMs: number): { readonly waiter: Waiter; readonly account: Account } | undefined {
    let first: Waiter | undefined;
    for (const level of this.levels) {
      if (level === undefined || level.size === 0) continue;
      const candidate = level.candidate(nowMs, this.passedOverMs)!;
      if (first === undefined || this.rankOf(candidate) < this.rankOf(first)) first = candidate;
    }
    if (first === undefined) return undefined;
    this.leaveArrivals(first);
    return { waiter: first, account: this.levels[first.priority]!.take(first, nowMs) };
  }

  /** Who must go so that the newcomer can wait; undefined where that is the newcomer itself. */
  worst(newcomer: AdmissionRequest, nowMs: number): Waiter | undefined {
    const { priority, tenant } = newcomer;
    let worst = this.levels[priority]?.worst(tenant);
    let rank = this.rankOf(worst ?? { priority, sinceMs: nowMs });
    for (const level of this.levels) {
      if (level === undefined || level.priority === priority) continue;
      const other = level.worst();
      // Among equals the newcomer goes: it must not push out another's.
      if (other === undefined || this.rankOf(other) <= rank) continue;
      worst = other;
      rank = this.rankOf(other);
    }
    return worst;
  }

  /** Something has ended: it had waited (`account`), or else found a place at once. */
  ended(request: AdmissionRequest, account: Account | undefined, beganMs: number, nowMs: number): void {
    const level = this.levels[request.priority];
    if (account) level!.ended(account, nowMs - beganMs, nowMs);
    else if (level && level.size > 0) level.endedWithoutWaiting(request.tenant, beganMs, nowMs);
  }

  private rankOf({ priority, sinceMs }: Pick<Waiter, 'priority' | 'sinceMs'>): number {
    return this.ageingMs === 0 ? priority : sinceMs + priority * this.ageingMs;
  }

  private leaveArrivals(waiter: Waiter): boolean {
    if (waiter.inArrivals === undefined) return false;
    this.arrivals.remove(waiter.inArrivals);
    waiter.inArrivals = undefined;
    return true;
  }

  private open(priority: number): Level {
    const level = new Level({ priority, clock: this.clock, weightOf: (tenant) => this.weightOf(tenant) });
    this.levels[priority] = level;
    return level;
  }

  private weightOf(tenant: string): number {
    return Math.max(leastWeight, this.weights.get(tenant) ?? this.defaultWeight);
  }
}
