/**
 * A bucket of `burst` tokens, refilled continuously and lazily: nothing runs between calls.
 *
 *      tokens = min(burst, tokens + elapsed * limit / window)
 *
 * Promise: over any time t at most `burst + limit/window * t` pass. The tokens are the room left above the debt of
 * `bucket.ts`, which `gcra` shares. `refill: 'interval'` adds a whole `limit` once per window instead.
 */
import {
  aboveZero,
  knownFields,
  oneOf,
  type Policy,
  policyOf,
  type RateOptions,
  rateOf,
  zeroOrMore,
} from '../../vocabulary/policy.ts';
import type { Algorithm } from '../algorithm.ts';
import { type BucketNumbers, bucket, bucketNumbers } from '../bucket.ts';
import { type WindowCountNumbers, windowCount } from '../window-count.ts';

export interface TokenBucketOptions extends RateOptions {
  /** How many tokens fit. Default: `limit`. */
  readonly burst?: number;
  /** Tokens a key starts with, 0 to `burst`. Default: `burst`. */
  readonly initial?: number;
  /** `'continuous'` (default), or `'interval'`: `limit` tokens at once, at the end of each window since the first call. */
  readonly refill?: 'continuous' | 'interval';
}

export interface TokenBucketPolicy extends Policy {
  readonly algorithm: 'token-bucket';
  readonly window: number;
  readonly burst: number;
  readonly initial?: number;
  readonly refill?: 'continuous' | 'interval';
}

// A key that starts below full is better off remembered than new. A day after it filled up it counts as new again.
const dayMs = 86_400_000;

const lingerMs = ({ initial }: { readonly initial: number }) => (initial > 0 ? dayMs : 0);

interface TokenNumbers extends BucketNumbers {
  /** Tokens missing at the start. */
  readonly initial: number;
}

const continuous: Algorithm<TokenBucketPolicy, TokenNumbers> = {
  ...bucket,
  name: 'token-bucket',
  factory: tokenBucket,
  lingerMs,
  prepare: ({ limit, window, burst, initial = burst }) => ({
    ...bucketNumbers(limit, window, burst),
    initial: burst - initial,
  }),
  fresh(cells, at, numbers, nowMs) {
    bucket.fresh(cells, at, numbers, nowMs);
    bucket.charge(cells, at, numbers, numbers.initial, nowMs);
  },
};

const interval: Algorithm<TokenBucketPolicy, WindowCountNumbers> = {
  ...windowCount,
  name: 'token-bucket',
  factory: tokenBucket,
  twin: 'token-bucket-interval',
  delays: () => false,
  lingerMs,
  prepare: ({ limit, window, burst, initial = burst }) => ({
    limit: burst,
    perWindow: limit,
    window,
    waitMs: 0,
    aligned: false,
    initial: burst - initial,
  }),
};

export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy {
  knownFields('tokenBucket', options, 'limit window burst initial refill');
  const { limit, window } = rateOf(options);
  const { burst = limit } = options;
  aboveZero('burst', burst);
  const initial = options.initial === undefined ? undefined : zeroOrMore('initial', options.initial, burst);
  const refill = oneOf('refill', options.refill, ['continuous', 'interval']);
  bucketNumbers(limit, window, burst);
  const data = { algorithm: 'token-bucket', limit, window, burst, initial, refill } as TokenBucketPolicy;
  return policyOf<TokenBucketPolicy>(refill === 'interval' ? interval : continuous, data);
}
