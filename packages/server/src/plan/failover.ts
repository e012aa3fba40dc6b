/**
 * What a crash costs those whose keys the node had.
 *
 *      crash ──── nobody decides ────► taken over ──── window + g ────► as before
 *                 all are refused                      without a copy all are refused;
 *                                                      with one, only who is within u of the limit
 */
import { parsePolicy } from 'sluice';
import { allFences } from '../cluster/fences.ts';
import { OwnedPolicies } from '../cluster/owned-policy.ts';
import { silenceMs } from '../cluster/right.ts';
import type { ClusterSize } from './cluster-size.ts';
import { renewEveryMs } from './etcd-load.ts';
import { checksPerWindow } from './memory-need.ts';
import { type PlanQuestion, planDefaults } from './plan-question.ts';

export interface FailoverCost {
  /** How many of each key count as used beside what the copy has. */
  readonly lag: number;
  /** Of all traffic, what the lost nodes had. */
  readonly shareOfTraffic: number;
  readonly unservedMs: number;
  /** After the take-over, without a copy. */
  readonly quarantineMs: number;
  /** Of the checks of those keys in a window after the take-over, with a copy: refused though the limit would let them pass. */
  readonly tightRatio: number;
  /** Of the lost shards, those whose copy was on a node that was lost with the owner. */
  readonly copyLostRatio: number;
  /** Checks refused by one such failure. */
  readonly refusedWithCopy: number;
  readonly refusedWithout: number;
  readonly failuresPerYear: number;
  /** Of all checks of a year. */
  readonly refusedRatioPerYearWithCopy: number;
  readonly refusedRatioPerYearWithout: number;
}

const secondsPerYear = 365.25 * 86_400;

export function failoverCost(question: PlanQuestion, { clusters, nodes }: ClusterSize): FailoverCost {
  const { ttlMs, graceMs, unreplicated, durableFromMs } = question;
  const { policy, nodesPerFailure, failuresPerNodePerYear, checksPerSecond } = question;
  const all = clusters * nodes;
  const together = Math.min(nodes, Math.max(1, nodesPerFailure));
  // Whoever watches sees the last renewal up to one look late, waits until the right must have ended, and then has to look once more.
  const unservedMs = silenceMs(ttlMs, allFences) + 2 * renewEveryMs(ttlMs);
  // Without copies the question is what some would change: as many ahead as the default.
  const shared = { graceMs, durableFromMs, unreplicated: unreplicated || planDefaults.unreplicated };
  const { spanMs: quarantineMs, lag } = new OwnedPolicies(shared, allFences).of(parsePolicy(policy));
  const tightRatio = refusedByDebt(checksPerWindow(question), policy.limit, lag);
  const copyLostRatio = nodes > 1 ? (together - 1) / (nodes - 1) : 1;
  const shareOfTraffic = together / all;
  const failuresPerYear = (all * failuresPerNodePerYear) / together;
  const withoutMs = unservedMs + quarantineMs;
  const withMs = unservedMs + quarantineMs * (copyLostRatio + (1 - copyLostRatio) * tightRatio);
  const refused = (ms: number) => (checksPerSecond * shareOfTraffic * ms) / 1000;
  const perYear = (ms: number) => (failuresPerYear * shareOfTraffic * ms) / 1000 / secondsPerYear;
  return {
    lag,
    shareOfTraffic,
    unservedMs,
    quarantineMs,
    tightRatio,
    copyLostRatio,
    refusedWithCopy: refused(withMs),
    refusedWithout: refused(withoutMs),
    failuresPerYear,
    refusedRatioPerYearWithCopy: perYear(withMs),
    refusedRatioPerYearWithout: perYear(withoutMs),
  };
}

/**
 * Calls of a user in a window are Poisson with this mean. When `debt` more count as used, so many of them are refused that would have passed:
 * E[min(N, limit)] - E[min(N, limit - debt)], as a share of the mean.
 */
export function refusedByDebt(mean: number, limit: number, debt: number): number {
  if (mean === 0) return 0;
  const passes = (most: number) => passedOf(mean, most);
  return Math.max(0, passes(limit) - passes(Math.max(0, limit - debt))) / mean;
}

/** E[min(N, most)] = the sum over k from 0 to most - 1 of P(N > k). */
function passedOf(mean: number, most: number): number {
  // Far from the mean on either side nothing is left to add up.
  if (most > mean + 12 * Math.sqrt(mean) + 50) return mean;
  let passed = 0;
  let atMost = 0;
  let logFactorial = 0;
  for (let k = 0; k < most; k += 1) {
    if (k > 0) logFactorial += Math.log(k);
    atMost += Math.exp(k * Math.log(mean) - mean - logFactorial);
    passed += Math.max(0, 1 - atMost);
  }
  return passed;
}
