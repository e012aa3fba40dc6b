/**
 * Runs arrivals through a limiter, each at its own time: no clock ticks, nothing sleeps, and the same traffic always has
 * the same history.
 */
import { type Clock, type ConcurrencyPolicy, type Decision, type Lease, limiter, type Policy } from 'sluice';
import { Heap } from './heap.ts';
import { byKey, type Counts, countsOf, grantsOf } from './measure.ts';
import type { Grant, Outcome } from './outcome.ts';
import { isConcurrency } from './policy-kinds.ts';
import { sleeplessClock } from './sleepless-clock.ts';
import type { Arrival, Traffic } from './traffic.ts';

export interface ReplayOptions {
  /** How long a call of a concurrency policy stays in flight. Default: until its lease ends. */
  readonly holdMs?: number | ((arrival: Arrival) => number);
}

export interface Replay {
  /** Every arrival with its decision, in the order of arrival. */
  readonly history: readonly Outcome[];
  /** What was let through, in the order in which it goes: a delayed call goes after its delay. */
  readonly grants: readonly Grant[];
  readonly refusals: readonly Outcome[];
  readonly counts: Counts;
  readonly countsByKey: ReadonlyMap<string, Counts>;
}

export function replay(policy: Policy, traffic: Traffic, options: ReplayOptions = {}): Replay {
  const history: Outcome[] = [];
  let decide: ((arrival: Arrival) => Decision) | undefined;
  for (const arrival of traffic) {
    // The limiter begins when the traffic does: some algorithms reward the idle time since then.
    decide ??= deciding(policy, options, arrival.atMs);
    history.push({ ...arrival, decision: decide(arrival) });
  }
  const histories = [...byKey(history)];
  return {
    history,
    grants: grantsOf(history),
    refusals: history.filter(({ decision }) => !decision.allowed),
    counts: countsOf(history),
    countsByKey: new Map(histories.map(([key, own]) => [key, countsOf(own)])),
  };
}

function deciding(policy: Policy, { holdMs }: ReplayOptions, startMs: number): (arrival: Arrival) => Decision {
  // It only says when the limiter began: every call brings its own time.
  const clock = sleeplessClock(() => startMs);
  if (isConcurrency(policy)) return holding(policy, clock, holdMs);
  const limit = limiter(policy, { clock });
  return ({ key, cost, atMs }) => limit.check(key, { cost, atMs });
}

/** Calls that are in flight for a while: each gives its place back before the next arrival at or after its end. */
function holding(policy: ConcurrencyPolicy, clock: Clock, holdMs: ReplayOptions['holdMs']) {
  interface InFlight {
    readonly lease: Lease;
    readonly endMs: number;
    readonly order: number;
  }
  const limit = limiter(policy, { clock });
  const inFlight = new Heap<InFlight>((a, b) => (a.endMs === b.endMs ? a.order < b.order : a.endMs < b.endMs));
  let order = 0;
  return (arrival: Arrival): Decision => {
    const { key, cost, atMs } = arrival;
    while (inFlight.size > 0 && inFlight.first()!.endMs <= atMs) {
      const { lease, endMs } = inFlight.pop()!;
      lease.release({ atMs: endMs });
    }
    const lease = limit.acquire(key, { cost, atMs });
    const heldMs = typeof holdMs === 'function' ? holdMs(arrival) : holdMs;
    order += 1;
    if (lease.allowed && heldMs !== undefined) inFlight.push({ lease, endMs: atMs + heldMs, order });
    // The receipt is its limiter's own, and another one each time.
    const { receipt: _, ...decision } = lease.decision;
    return decision;
  };
}
