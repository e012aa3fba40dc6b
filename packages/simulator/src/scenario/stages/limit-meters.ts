/**
 * What each limit of a stage let through. Of several, each is measured under its name and place in the list, and the stage as a whole by
 * the one that came nearest to its limit, or went furthest beyond it:
 *
 *      worstWindow.gcra-1 = 10 of 100    worstWindow.sliding-log-2 = 6 of 6    worstWindow = 6
 */
import { canDelay, isConcurrency } from '../../policy-kinds.ts';
import type { Call } from '../calls.ts';
import type { Limit } from '../scenario.ts';
import type { Measures } from '../vocabulary.ts';
import type { World } from '../world.ts';
import { type Answer, nameInList } from './deciding.ts';
import { InFlight } from './in-flight.ts';
import { WorstWindows } from './worst-windows.ts';

interface Named<T> {
  /** Absent where there is only one limit. */
  readonly name: string | undefined;
  readonly meter: T;
}

export class LimitMeters {
  private readonly windows: readonly Named<WorstWindows>[];
  private readonly leases: readonly Named<InFlight>[];

  constructor(limits: readonly Limit[], world: World) {
    const isDelayed = limits.some(({ policy }) => canDelay(policy));
    const named = limits.map((limit, i) => ({
      limit,
      name: limits.length > 1 ? nameInList(limit.policy, i) : undefined,
    }));
    this.windows = named
      .filter(({ limit }) => limit.policy.window !== undefined)
      .map(({ limit, name }) => ({ name, meter: new WorstWindows(limit, isDelayed) }));
    this.leases = named
      .filter(({ limit }) => isConcurrency(limit.policy))
      .map(({ limit, name }) => ({ name, meter: new InFlight(world, limit) }));
  }

  /** What goes before that time can be measured now. */
  flush(atMs: number): void {
    for (const { meter } of this.windows) meter.flush(atMs);
  }

  /** Returns how the call gives back what was taken. */
  grant(call: Call, delayMs: number, release: Answer['release']): Answer['release'] {
    for (const { meter } of this.windows) meter.grant(call.atMs + delayMs, call.cost, call.key);
    if (this.leases.length === 0) return release;
    const ends = this.leases.map(({ meter }) => meter.begin(call));
    return (releasedMs) => {
      for (const end of ends) end();
      return release?.(releasedMs);
    };
  }

  /** What was granted to a key otherwise than to a call. */
  take(key: string, cost: number, atMs: number): void {
    if (cost === 0) return;
    this.flush(atMs);
    for (const { meter } of this.windows) meter.grant(atMs, cost, key);
  }

  report(measures: Measures): void {
    this.flush(Number.POSITIVE_INFINITY);
    const tightest = highest(this.windows, ({ worstRatio }) => worstRatio);
    const gaps = this.windows.map(({ meter }) => meter.gapMsMin ?? Number.POSITIVE_INFINITY);
    measures.put('worstWindow', tightest?.worst);
    measures.put('worstRatio', tightest?.worstRatio);
    measures.put('gapMsMin', Math.min(...gaps));
    measures.put('inFlightMax', highest(this.leases, ({ mostRatio }) => mostRatio)?.most);
    for (const { name, meter } of this.windows) {
      if (name === undefined) continue;
      measures.put('worstWindow', meter.worst, name);
      measures.put('worstRatio', meter.worstRatio, name);
      measures.put('gapMsMin', meter.gapMsMin, name);
    }
    for (const { name, meter } of this.leases) if (name !== undefined) measures.put('inFlightMax', meter.most, name);
  }
}

/** The first, of equals. */
function highest<T>(named: readonly Named<T>[], ratioOf: (meter: T) => number): T | undefined {
  return named.reduce<T | undefined>(
    (best, { meter }) => (best === undefined || ratioOf(meter) > ratioOf(best) ? meter : best),
    undefined,
  );
}
