/** A scenario, read and checked: what `runScenario` takes. Plain data all through, but for the traffic. */
import type { Policy } from 'sluice';
import type { BalancerName, HashRingOptions, HealthCheckedOptions, PeakEwmaOptions } from 'sluice/balance';
import type { AdaptiveThrottleOptions, CircuitBreakerOptions, RetryBudgetOptions, RetryOptions } from 'sluice/protect';
import type { LeakyQueueOptions, SchedulerOptions, TenantShare } from 'sluice/schedule';
import type { Traffic } from '../traffic.ts';
import type { Claim } from './claim.ts';

export interface Scenario {
  readonly name: string;
  /** What it shows, in a sentence or two. */
  readonly about: string;
  readonly seed: number;
  readonly durationMs: number;
  readonly sources: readonly Source[];
  readonly variants: readonly Variant[];
  readonly claims: readonly Claim[];
}

/** One of the traffic's shapes, and what all of its calls have in common. */
export interface Source {
  /** What measures of its own are named after; without one it has none. */
  readonly name: string | undefined;
  /** It was given; else it is that of its key. */
  readonly isNamed: boolean;
  readonly traffic: (seed: number) => Traffic;
  /** About how many calls; `undefined` where only going through it tells. */
  readonly expectedCalls: number | undefined;
  /** Lower goes first. */
  readonly priority: number;
  /** So long after it came, a call that waits is too late. */
  readonly deadlineMs: number | undefined;
  /** In place of the scenario's. */
  readonly service: ServiceTime | undefined;
}

/** How long calls take. */
export type ServiceTime =
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'exponential'; readonly meanMs: number }
  | { readonly kind: 'uniform'; readonly fromMs: number; readonly toMs: number };

export interface Variant {
  readonly name: string;
  readonly stages: Stages;
}

/** What a call goes through, in this order; what is absent lets everything pass. */
export interface Stages {
  readonly service: ServiceTime | undefined;
  readonly limit: readonly Limit[] | undefined;
  readonly schedule: Schedule | undefined;
  readonly servers: Servers | undefined;
  readonly balance: Balance | undefined;
  readonly protect: Protect | undefined;
  /** What is done to the stages while calls come, in the order of their times. */
  readonly operations: readonly Operation[] | undefined;
}

export interface Limit {
  readonly policy: Policy;
  /** Whether each key has a limit of its own, or all share one. */
  readonly per: 'key' | 'all';
}

/** What the schedulers of the library are made with, but for their clock. */
export type Schedule = {
  /** Of calls whose source has no deadline of its own. */
  readonly deadlineMs: number | undefined;
} & (
  | { readonly kind: 'priority'; readonly options: SchedulerOptions & { readonly ageingMs?: number } }
  | {
      readonly kind: 'fair';
      readonly options: SchedulerOptions;
      readonly tenants: Readonly<Record<string, TenantShare>>;
    }
  | { readonly kind: 'leaky'; readonly options: LeakyQueueOptions }
);

export interface Servers {
  readonly members: readonly ServerSpec[];
  /** How many calls may wait at one of them. */
  readonly queue: number;
  readonly happenings: readonly Happening[];
}

export interface ServerSpec {
  readonly id: string;
  readonly weight: number;
  /** Calls take so much less: 2 is twice as fast. */
  readonly speed: number;
  /** How many calls it works on at once. */
  readonly workers: number;
  /** When it comes. */
  readonly joinsMs: number;
  /** When it goes; `Infinity`: never. */
  readonly leavesMs: number;
}

/** For a while a server is not what it was. */
export interface Happening {
  readonly server: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The share of the calls that fail. */
  readonly fails: number;
  /** How many times as long calls take. */
  readonly slow: number;
}

export interface Balance {
  readonly kind: BalancerName;
  readonly options: HashRingOptions & PeakEwmaOptions;
  /** Checks have no probe here: the servers know how they are. */
  readonly health: (Omit<HealthCheckedOptions, 'checks'> & { readonly checks?: object }) | undefined;
}

export interface Protect {
  readonly retry: (Omit<RetryOptions, 'budget'> & { readonly budget?: RetryBudgetOptions | 'none' }) | undefined;
  readonly throttle: AdaptiveThrottleOptions | undefined;
  readonly breaker: CircuitBreakerOptions | undefined;
  readonly timeoutMs: number | undefined;
}

export type Operation = {
  readonly atMs: number;
  /** Its place in the list of the scenario, where what is done again and again stands once. */
  readonly index: number;
} & (LimitOperation | ScheduleOperation);

/** What is done to a key of the limit, or to the clock that the limit goes by. */
export type LimitOperation =
  | { readonly do: 'peek' | 'take'; readonly key: string; readonly cost: number }
  | { readonly do: 'penalize' | 'reward'; readonly key: string; readonly cost: number }
  | { readonly do: 'reset'; readonly key: string }
  | { readonly do: 'block'; readonly key: string; readonly forMs: number }
  | {
      readonly do: 'reserve';
      readonly key: string;
      readonly cost: number;
      /** Default: the library's. */
      readonly expiresMs: number | undefined;
      /** So long after it was reserved; without one it is never settled. */
      readonly settle: { readonly afterMs: number; readonly actual: number | 'cancel' } | undefined;
    }
  /** Gives back every place that the key was given so far, whether it was given back before or not. */
  | { readonly do: 'release'; readonly key: string }
  | { readonly do: 'set-clock'; readonly byMs: number };

/** What is done to the tasks of a group that wait, to a tenant, or to the scheduler itself. */
export type ScheduleOperation =
  | { readonly do: 'boost' | 'demote'; readonly of: string; readonly by: number }
  | { readonly do: 'remove' | 'abort'; readonly of: string }
  | { readonly do: 'block-tenant' | 'wake-tenant' | 'remove-tenant'; readonly tenant: string }
  | { readonly do: 'drain' | 'close' }
  /** Its timers that are due in the meantime go off at the end of it. */
  | { readonly do: 'stall'; readonly forMs: number };

/** The key of calls that have none, and the one that a limit has which all share. */
export const everybody = 'all';

/** As the library has it, up and down. */
export const furthestPriority = 1e6;

/** More is refused: a run should end while somebody waits for it. */
export const mostArrivals = 50_000_000;

/** Of the health of servers: they cost more than calls do, because each is waited for by promises. */
export const mostChecks = 10_000_000;
