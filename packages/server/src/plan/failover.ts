/**
 * What a crash costs those whose keys the node had.
 *
 *      crash ──── nobody decides ────► taken over ──── window + g ────► as before
 *                 all are refused                      without a copy all are refused;
 *                                                      with one, only who is within u of the limit;
 *                                                      from etcd, only who is within what was reserved
 */
import { allFences } from '../cluster/fences.ts';
import { silenceMs } from '../cluster/right.ts';
import type { ClusterSize } from './cluster-size.ts';
import { ownedPolicyOf, renewEveryMs, reservationsPerKeySecond } from './etcd-load.ts';
import { grantsPerKeySecond } from './grants.ts';
import { checksPerWindow } from './memory-need.ts';
import { type PlanQuestion, planDefaults } from './plan-question.ts';

export interface FailoverCost {
  /** How many of each key count as used beside what the copy has. */
  readonly lag: number;
  /** Of all traffic, what the lost nodes had. */
  readonly shareOfTraffic: number;
  readonly unservedMs: number;
  /** For how long what was granted before counts after the take-over; without a copy, and not in etcd, all are refused for so long. */
  readonly quarantineMs: number;
  /** What was granted is in etcd too: without a copy it is read from there. */
  readonly isDurable: boolean;
  /** Of the checks of those keys in that time, without a copy: refused though the limit would let them pass. */
  readonly withoutRatio: number;
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
  const { ttlMs, unreplicated, policy, nodesPerFailure, failuresPerNodePerYear, checksPerSecond } = question;
  const all = clusters * nodes;
  const together = Math.min(nodes, Math.max(1, nodesPerFailure));
  // Whoever watches sees the last renewal up to one look late, waits until the right must have ended, and then has to look once more.
  const unservedMs = silenceMs(ttlMs, allFences) + 2 * renewEveryMs(ttlMs);
  // Without copies the question is what some would change: as many ahead as the default.
  const copied = { ...question, unreplicated: unreplicated || planDefaults.unreplicated };
  const { spanMs: quarantineMs, lag, isDurable, isBucket } = ownedPolicyOf(copied);
  const tightRatio = refusedByDebt(checksPerWindow(question), policy.limit, lag);
  const withoutRatio = isDurable
    ? refusedByDebt(checksPerWindow(question), policy.limit, reservedAhead(question, isBucket))
    : 1;
  const copyLostRatio = nodes > 1 ? (together - 1) / (nodes - 1) : 1;
  const shareOfTraffic = together / all;
  const failuresPerYear = (all * failuresPerNodePerYear) / together;
  const withoutMs = unservedMs + quarantineMs * withoutRatio;
  const withMs = unservedMs + quarantineMs * (copyLostRatio * withoutRatio + (1 - copyLostRatio) * tightRatio);
  const refused = (ms: number) => (checksPerSecond * shareOfTraffic * ms) / 1000;
  const perYear = (ms: number) => (failuresPerYear * shareOfTraffic * ms) / 1000 / secondsPerYear;
  return {
    lag,
    shareOfTraffic,
    unservedMs,
    quarantineMs,
    isDurable,
    withoutRatio,
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
 * Of each key, what counts as used though it was not, when its record is read from etcd: what was left of a reservation, a tenth of the limit at most;
 * of a bucket, also what has come in since the grants that are in the record.
 */
function reservedAhead(question: PlanQuestion, isBucket: boolean): number {
  const { limit } = question.policy;
  const each = Math.ceil(grantsPerKeySecond(question) / reservationsPerKeySecond(question));
  const left = Math.min(each, Math.max(1, Math.floor(limit / 10)));
  return Math.min(limit, isBucket ? left + Math.ceil(checksPerWindow(question)) : left);
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

/** Up to this mean every count is added up by itself. */
const mostExact = 100_000;
const mostTerms = 20_000;

/** E[min(N, most)] = the sum over k from 0 to most - 1 of P(N > k). */
function passedOf(mean: number, most: number): number {
  // Far from the mean on either side nothing is left to add up.
  const far = 12 * Math.sqrt(mean) + 50;
  if (most > mean + far) return mean;
  if (mean > mostExact) return most < mean - far ? most : passedOfMany(mean, most, far);
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

/** The same from where counts begin to matter, in steps that are small against their spread. */
function passedOfMany(mean: number, most: number, far: number): number {
  const step = (2 * far) / mostTerms;
  let passed = mean - far;
  let atMost = 0;
  for (let k = passed; k < most; k += step) {
    const width = Math.min(step, most - k);
    const there = width * densityOf(mean, k + width / 2);
    passed += width * Math.max(0, 1 - atMost - there / 2);
    atMost += there;
  }
  return passed;
}

/** Of Poisson at k, by Stirling's formula around the mean: powers and factorials of such numbers are too large to be subtracted. */
function densityOf(mean: number, k: number): number {
  const deviation = (k - mean) / mean;
  return Math.exp(-mean * ((1 + deviation) * Math.log1p(deviation) - deviation)) / Math.sqrt(2 * Math.PI * k);
}
