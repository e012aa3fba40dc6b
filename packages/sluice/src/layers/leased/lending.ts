/**
 * What has to be asked of the store so that a policy's promise holds where borrowed units are *used*.
 *
 * The store charges a unit when it is borrowed; it is used at some time within the lease after that. So uses of a time t were
 * charged within `t + lease`:
 *
 *      charged      ├─lease─┤├──────────── window ────────────┤
 *      used                  ├──────────── window ────────────┤
 *
 * - a window is widened by the lease: at most `limit` charged in `window + lease`, so at most `limit` used in `window`;
 * - a bucket's burst is less by what flows in during a lease: `burst - rate * lease + rate * (t + lease) = burst + rate * t`;
 * - windows that begin at a boundary stay as they are, and what is kept of them ends with them.
 */
import { remadePolicy } from '../../algorithms/algorithm.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { invalid } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';

export interface Lending {
  /** The policy under which the store counts. All users of a name have to use the same. */
  readonly policy: Policy;
  /** The most that could ever be borrowed at once. */
  readonly most: number;
  /** How long after the store's decision its units may be kept, whatever the lease. */
  keepsMs(decision: Decision): number;
}

const asLongAsLeased = () => Number.POSITIVE_INFINITY;

/** `undefined` for policies that cannot be decided from a slice: they go through to the store, call by call. */
export function lendingOf(policy: Policy, leaseMs: number): Lending | undefined {
  switch (policy.algorithm) {
    case 'sliding-log':
      // Two neighbours at the distance of `minGap`, and refused calls that count, are known to the store alone.
      return 'minGap' in policy || 'countRejected' in policy ? undefined : widened(policy, leaseMs);
    case 'sliding-slots':
      return widened(policy, leaseMs);
    case 'gcra':
      return lowered(policy, leaseMs);
    case 'token-bucket':
      // What is added at once at the end of a window belongs to that moment, which only the store knows.
      return 'refill' in policy && policy.refill === 'interval' ? undefined : lowered(policy, leaseMs);
    case 'leaky-bucket':
      return 'delay' in policy && policy.delay === 'none' ? lowered(policy, leaseMs) : undefined;
    case 'fixed-window':
      return 'wait' in policy && policy.wait ? undefined : bounded(policy, 0);
    case 'sliding-window':
      // As good as new is one window after the end of this one.
      return bounded(policy, policy.window ?? 0);
    default:
      return undefined;
  }
}

function widened(policy: Policy, leaseMs: number): Lending {
  const wider = remadePolicy(policy, { ...policy, window: (policy.window ?? 0) + leaseMs });
  return { policy: wider, most: policy.limit, keepsMs: asLongAsLeased };
}

function lowered(policy: Policy, leaseMs: number): Lending {
  const { algorithm, limit, window = 0, burst = limit } = policy;
  const flows = (limit / window) * leaseMs;
  const lower = burst - flows;
  // A leaky bucket has room for one more than its burst.
  const most = algorithm === 'leaky-bucket' ? lower + 1 : lower;
  if (lower < 0 || most < 1) {
    const least = Math.ceil(algorithm === 'leaky-bucket' ? flows : flows + 1);
    throw invalid(
      'burst',
      `at least ${least}, because ${flows} flow in during a lease of ${leaseMs} ms`,
      burst,
      'Raise the burst, or shorten the lease.',
    );
  }
  const initial = 'initial' in policy ? { initial: Math.min(policy.initial as number, lower) } : {};
  return { policy: remadePolicy(policy, { ...policy, burst: lower, ...initial }), most, keepsMs: asLongAsLeased };
}

function bounded(policy: Policy, afterMs: number): Lending {
  return {
    policy,
    most: policy.limit,
    // The wait was rounded up to a whole millisecond.
    keepsMs: ({ resetAfterMs }) => resetAfterMs - afterMs - 1,
  };
}
