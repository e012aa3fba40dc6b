/**
 * GCRA, the generic cell rate algorithm of ATM networks (ITU-T I.371): a call conforms when it is not earlier than its
 * theoretical arrival time by more than the tolerance.
 *
 *      emission interval T = window / limit, tolerance = burst * T
 *      allowed when  max(tat, now) + cost * T - now <= burst * T
 *
 * Promise: over any time t at most `burst + limit/window * t` pass. It is the token bucket seen from the other side, so
 * the two share one arithmetic (`bucket.ts`) and answer alike, decision for decision.
 */
import { aboveZero, knownFields, type Policy, policyOf, type RateOptions, rateOf } from '../../vocabulary/policy.ts';
import type { Algorithm } from '../algorithm.ts';
import { type BucketNumbers, bucket, bucketNumbers } from '../bucket.ts';

export interface GcraOptions extends RateOptions {
  /** How much may pass at once. Default: `limit`. */
  readonly burst?: number;
}

export interface GcraPolicy extends Policy {
  readonly algorithm: 'gcra';
  readonly window: number;
  readonly burst: number;
}

const algorithm: Algorithm<GcraPolicy, BucketNumbers> = {
  ...bucket,
  name: 'gcra',
  factory: gcra,
  prepare: ({ limit, window, burst }) => bucketNumbers(limit, window, burst),
};

/** The default choice: exact, two numbers per key, smooth, with a burst of your own. */
export function gcra(options: GcraOptions): GcraPolicy {
  knownFields('gcra', options, 'limit window burst');
  const { limit, window } = rateOf(options);
  const { burst = limit } = options;
  aboveZero('burst', burst);
  bucketNumbers(limit, window, burst);
  return policyOf<GcraPolicy>(algorithm, { algorithm: 'gcra', limit, window, burst });
}
