/**
 * What a policy promises, as clauses that a history of uses can be held against. A policy with several clauses keeps all
 * of them. The moments are those of use: for algorithms that delay, the decision's moment plus `delayMs`.
 */
import type { ConcurrencyPolicy } from '../../algorithms/concurrency/concurrency.ts';
import type { FixedWindowPolicy } from '../../algorithms/fixed-window/fixed-window.ts';
import type { SlidingLogPolicy } from '../../algorithms/sliding-log/sliding-log.ts';
import type { SmoothPolicy } from '../../algorithms/smooth/smooth.ts';
import type { TokenBucketPolicy } from '../../algorithms/token-bucket/token-bucket.ts';
import { invalid } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';

/** At most `most` in every window, or in every window that begins at a multiple of its length. */
export interface WindowClause {
  readonly kind: 'window';
  readonly most: number;
  readonly windowMs: number;
  readonly aligned?: boolean;
  /** Calls are counted, whatever they cost. */
  readonly countsCalls?: boolean;
  /** A call may have been paid for, in part, by the time before: less than one call more, the largest so far. */
  readonly lends?: boolean;
}

/** At most `burst + limit / windowMs * t` over any time t. */
export interface RateClause {
  readonly kind: 'rate';
  readonly burst: number;
  readonly limit: number;
  readonly windowMs: number;
  /** A call goes first and the next one pays: one call more, the largest so far. */
  readonly lends?: boolean;
}

/** At each use, this window's uses and the share of the last window's that is still covered are at most `most`. */
export interface EstimateClause {
  readonly kind: 'estimate';
  readonly most: number;
  readonly windowMs: number;
}

/** At most `most` at the same time. */
export interface HeldClause {
  readonly kind: 'held';
  readonly most: number;
}

export type Clause = WindowClause | RateClause | EstimateClause | HeldClause;

export function promiseOf(policy: Policy): readonly Clause[] {
  const { algorithm, limit, window = 0, burst = limit } = policy;
  switch (algorithm) {
    case 'sliding-log': {
      const { minGap } = policy as SlidingLogPolicy;
      const log: Clause = { kind: 'window', most: limit, windowMs: window };
      return minGap ? [log, { kind: 'window', most: 1, windowMs: minGap, countsCalls: true }] : [log];
    }
    case 'sliding-slots':
      return [{ kind: 'window', most: limit, windowMs: window }];
    case 'sliding-window':
      return [{ kind: 'estimate', most: limit, windowMs: window }];
    case 'gcra':
      return [{ kind: 'rate', burst, limit, windowMs: window }];
    case 'leaky-bucket':
      return [{ kind: 'rate', burst: burst + 1, limit, windowMs: window }];
    case 'token-bucket':
      return tokenBucketPromise(policy as TokenBucketPolicy);
    case 'fixed-window':
      return fixedWindowPromise(policy as FixedWindowPolicy);
    case 'smooth':
      return [smoothPromise(policy as SmoothPolicy)];
    case 'concurrency':
      return [{ kind: 'held', most: (policy as ConcurrencyPolicy).limit }];
    default:
      throw invalid('policy', 'of an algorithm whose promise is known', algorithm);
  }
}

// When the refills come depends on a key's first call, which a history need not hold. Less than a window sees at most one
// refill, and time t at most t / window + 1 of them.
function tokenBucketPromise({ limit, window, burst, refill }: TokenBucketPolicy): readonly Clause[] {
  if (refill !== 'interval') return [{ kind: 'rate', burst, limit, windowMs: window }];
  const perRefill = Math.min(limit, burst);
  return [
    { kind: 'window', most: burst + perRefill, windowMs: window },
    { kind: 'rate', burst: burst + perRefill, limit: perRefill, windowMs: window },
  ];
}

// Windows that begin with a key's first call begin where a history need not show it (the call may have been cancelled).
// Less than a window touches at most two of them, and time t at most t / window + 2. With `wait`, a call that is served
// from a later window may have been paid for, in part, by the ones before.
function fixedWindowPromise({ limit, window, align, wait }: FixedWindowPolicy): readonly Clause[] {
  const lends = Boolean(wait);
  if (align !== 'first') return [{ kind: 'window', most: limit, windowMs: window, aligned: true, lends }];
  return [
    { kind: 'window', most: 2 * limit, windowMs: window, lends },
    { kind: 'rate', burst: 2 * limit, limit, windowMs: window, lends },
  ];
}

// With a warm-up, stored permits are dearer than fresh ones: there is no burst at all.
function smoothPromise({ limit, window, maxBurst, warmup }: SmoothPolicy): Clause {
  const secondsWorth = (limit / window) * 1000;
  const burst = warmup === undefined ? (maxBurst ?? secondsWorth) : 0;
  return { kind: 'rate', burst, limit, windowMs: window, lends: true };
}

/** The clause as a sentence. */
export function clauseText(clause: Clause): string {
  switch (clause.kind) {
    case 'window': {
      const what = clause.countsCalls ? `${clause.most} call` : `${clause.most}`;
      const where = clause.aligned ? 'window aligned to the epoch' : 'window';
      return `at most ${what} in every ${where} of ${clause.windowMs} ms${clause.lends ? ', less than one call more' : ''}`;
    }
    case 'rate': {
      const more = clause.lends ? ', and one call more' : '';
      return `at most ${clause.burst} + ${clause.limit} per ${clause.windowMs} ms over any time${more}`;
    }
    case 'estimate':
      return `at most ${clause.most}, by the weighted estimate of two windows of ${clause.windowMs} ms`;
    case 'held':
      return `at most ${clause.most} at the same time`;
  }
}
