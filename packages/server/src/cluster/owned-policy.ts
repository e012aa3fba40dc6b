/**
 * A policy as its owner applies it: strict where the grant is *used*, which may be up to `graceMs` after it was given.
 *
 *      given    │x  x x│          two windows' worth of grants may come closer together on their way,
 *      used       │  xxx│         so windows are wider by the longest way
 *
 * Windows, gaps and leases grow by it. Buckets, whose promise is `burst + rate * t`, lose from their burst what the rate gives in that time; where
 * that would be nearly all of it, they are slower instead. `fixed-window`, `sliding-window` and `smooth` promise nothing that a few
 * milliseconds could break, or nothing at the edges where they could, and stay as they are.
 */
import { type Check, memoryStore, type Policy, parsePolicy } from 'sluice';
import type { Fences } from './fences.ts';
import { drift, type SharedSettings } from './settings.ts';

export interface OwnedPolicy {
  /** As the caller gave it. */
  readonly policy: Policy;
  readonly applied: Policy;
  /** The `limit` that decisions show. */
  readonly limit: number;
  /** For how long something that was granted still counts; whoever knows nothing of the past has to wait for so long. */
  readonly spanMs: number;
  /** How much of a key may be granted ahead of its standby. */
  readonly lag: number;
  /** For how long the latest grant alone forbids another (`minGap`); 0: not at all. */
  readonly gapMs: number;
  readonly isDurable: boolean;
  /** What was taken is made up for at a rate: it counts until the bucket was full, however long ago it was. */
  readonly isBucket: boolean;
}

/** A check whose policy is the applied one. */
export interface OwnedCheck extends Check {
  readonly owned: OwnedPolicy;
  /** The request by whose id it is done once. */
  readonly once?: string | undefined;
}

interface PolicyData {
  readonly algorithm: string;
  readonly limit: number;
  readonly window: number;
  readonly burst?: number;
  readonly minGap?: number;
  readonly lease?: number;
}

/** Works each policy out once. */
export class OwnedPolicies {
  private readonly known = new WeakMap<Policy, OwnedPolicy>();
  /** What was asked for last is likely asked for next. */
  private last: OwnedPolicy | undefined;
  private readonly shared: SharedSettings;
  private readonly fences: Fences;

  constructor(shared: SharedSettings, fences: Fences) {
    this.shared = shared;
    this.fences = fences;
  }

  of(policy: Policy): OwnedPolicy {
    if (this.last?.policy === policy) return this.last;
    let owned = this.known.get(policy);
    if (owned === undefined) {
      owned = this.work(policy);
      this.known.set(policy, owned);
    }
    this.last = owned;
    return owned;
  }

  /** A check as its owner carries it out. When a policy came into force is told by another clock, and means nothing here. */
  ownedCheck(
    { name, key, policy, cost, operation, shadow, maxDelayMs, receipt, actual, durationMs, onStoreFailure }: Check,
    once?: string,
  ): OwnedCheck {
    const owned = this.of(policy);
    // Written out: a copy by spreading takes longer than the check itself.
    return {
      name,
      key,
      policy: owned.applied,
      cost,
      operation,
      shadow,
      maxDelayMs,
      receipt,
      actual,
      durationMs,
      onStoreFailure,
      owned,
      once,
    };
  }

  private work(policy: Policy): OwnedPolicy {
    const { graceMs, unreplicated, durableFromMs } = this.shared;
    const data = policy as unknown as PolicyData;
    const rate = this.fences.driftAllowance ? 1 + 2 * drift : 1;
    const applied = this.fences.widerWindow ? parsePolicy(widened(data, graceMs, rate)) : policy;
    return {
      policy,
      applied,
      limit: limitShown(policy),
      spanMs: spanMs(applied) + graceMs * rate,
      lag: lagOf(limitShown(policy), unreplicated),
      gapMs: gapMs(applied, graceMs * rate),
      isDurable: (data.window ?? 0) >= durableFromMs,
      isBucket: buckets.includes(data.algorithm),
    };
  }
}

const buckets: readonly string[] = ['gcra', 'token-bucket', 'leaky-bucket'];

// Limits beyond this are not of calls: CL.THROTTLE counts nanoseconds.
const mostCalls = 1e9;

/** At most a tenth of the limit, and at most as many calls as was agreed; of what is no calls, the tenth. */
function lagOf(limit: number, unreplicated: number): number {
  const tenth = Math.max(1, Math.floor(limit / 10));
  return limit > mostCalls && unreplicated > 0 ? tenth : Math.min(unreplicated, tenth);
}

function gapMs(applied: Policy, graceMs: number): number {
  const { minGap = 0 } = applied as unknown as PolicyData;
  return minGap === 0 ? 0 : minGap + graceMs;
}

function widened(data: PolicyData, graceMs: number, rate: number): PolicyData {
  const { algorithm, limit, window, burst, minGap, lease } = data;
  switch (algorithm) {
    case 'sliding-log':
    case 'sliding-slots':
      return {
        ...data,
        window: (window + graceMs) * rate,
        ...(minGap !== undefined && minGap > 0 && { minGap: (minGap + graceMs) * rate }),
      };
    case 'gcra':
    case 'token-bucket':
    case 'leaky-bucket': {
      const intervalMs = window / limit;
      const less = Math.ceil(graceMs / intervalMs);
      if (burst !== undefined && burst - less >= 1 && less <= burst / 2) {
        return { ...data, window: window * rate, burst: burst - less };
      }
      // A burst of n comes at most graceMs closer together than it was given.
      return { ...data, window: window * ((intervalMs + graceMs) / intervalMs) * rate };
    }
    case 'concurrency':
      // The holder counts its lease from when it heard of it.
      return lease === undefined ? data : { ...data, lease: (lease + graceMs) * rate };
    default:
      return data;
  }
}

const probe = 'probe';

function limitShown(policy: Policy): number {
  return memoryStore({ maxKeys: 1 }).apply([{ name: probe, key: '', policy, cost: 0, operation: 'peek' }])[0]!.limit;
}

/** How long until a key that has used everything is as good as new. */
function spanMs(policy: Policy): number {
  const { window = 0, lease, limit } = policy as unknown as PolicyData;
  if (lease !== undefined) return lease;
  const store = memoryStore({ maxKeys: 2 });
  const used = {
    name: probe,
    key: '',
    policy,
    cost: Math.max(limitShown(policy), limit),
    operation: 'penalize',
  } as const;
  return Math.max(window, store.apply([used], 0)[0]!.resetAfterMs);
}
