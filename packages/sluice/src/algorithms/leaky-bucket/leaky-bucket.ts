/**
 * The leaky bucket as a meter, as in nginx `limit_req`: requests fill it, it drains at `limit` per `window`, and what
 * would overflow is refused. `burst` is how much may be waiting beyond the one being served, so `burst + 1` fit.
 *
 *      arrivals ──►│▒▒▒│ burst waiting
 *                  │▒▒▒│
 *                  │███│ one being served
 *                  └─┬─┘
 *                    └──► one every window / limit
 *
 * `delay` says who of the waiting is held back: `'all'` makes the output smooth, `'none'` lets everything that fits go at
 * once (nginx's `nodelay`), a number N lets the first N of the excess go and delays the rest (nginx's `delay=N`).
 */
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy, policyOf, type RateOptions, rateOf, zeroOrMore } from '../../vocabulary/policy.ts';
import type { Algorithm } from '../algorithm.ts';
import { type BucketNumbers, bucket, bucketNumbers, debtAt, seenAtMs } from '../bucket.ts';

export interface LeakyBucketOptions extends RateOptions {
  /** How much may be waiting beyond the one being served. Default 0. */
  readonly burst?: number;
  /** Who is delayed: `'all'` (default), `'none'`, or all but the first N of the excess. */
  readonly delay?: 'all' | 'none' | number;
}

export interface LeakyBucketPolicy extends Policy {
  readonly algorithm: 'leaky-bucket';
  readonly window: number;
  readonly burst: number;
  readonly delay: 'all' | 'none' | number;
}

interface LeakyNumbers extends BucketNumbers {
  /** The excess that goes at once, in units. */
  readonly undelayed: number;
}

/** A cost of n waits as long as the last of n single calls would: the output never runs faster than the rate. */
function delayMs(cells: Float64Array, at: number, numbers: LeakyNumbers, cost: number, nowMs: number): number {
  const excess = debtAt(cells, at, numbers, nowMs) + (cost - 1 - numbers.undelayed) * numbers.unit;
  return excess > 0 ? seenAtMs(cells, at, nowMs) - nowMs + excess / numbers.drain : 0;
}

const { step: _neverDelays, ...delayable } = bucket;

const algorithm: Algorithm<LeakyBucketPolicy, LeakyNumbers> = {
  ...delayable,
  name: 'leaky-bucket',
  factory: leakyBucket,
  delays: ({ delay }) => delay !== 'none',
  prepare: ({ limit, window, burst, delay }) => ({
    ...bucketNumbers(limit, window, burst + 1),
    undelayed: delay === 'all' ? 0 : delay === 'none' ? Number.POSITIVE_INFINITY : delay,
  }),
  wait(cells, at, numbers, cost, nowMs, maxDelayMs) {
    const tooLongMs = delayMs(cells, at, numbers, cost, nowMs) - maxDelayMs;
    return Math.max(0, bucket.wait(cells, at, numbers, cost, nowMs), Math.ceil(tooLongMs));
  },
  delay: delayMs,
  // A promised departure does not move when one before it is taken out; only the last in line can step back.
  refund(cells, at, numbers, cost, nowMs, receipt, refundedSince = 0) {
    const left = receipt ? debtAt(Float64Array.from(receipt), 0, numbers, nowMs) : 0;
    const isLast = refundedSince === 0 && left === debtAt(cells, at, numbers, nowMs);
    if (!receipt || isLast || numbers.undelayed === Number.POSITIVE_INFINITY) {
      bucket.refund(cells, at, numbers, cost, nowMs, receipt, refundedSince);
    }
  },
};

export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  knownFields('leakyBucket', options, 'limit window burst delay');
  const { limit, window } = rateOf(options);
  const { burst = 0, delay = 'all' } = options;
  zeroOrMore('burst', burst);
  if (delay !== 'all' && delay !== 'none' && !(typeof delay === 'number' && delay >= 0)) {
    throw invalid('delay', '"all", "none" or a number of 0 or more', delay);
  }
  bucketNumbers(limit, window, burst + 1);
  return policyOf<LeakyBucketPolicy>(algorithm, { algorithm: 'leaky-bucket', limit, window, burst, delay });
}
