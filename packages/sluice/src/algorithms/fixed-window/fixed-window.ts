/**
 * A counter per window. Cheap and easily explained; across a boundary it lets through up to twice the limit.
 *
 *      │■■■■■·····│■■■··│        the count starts again at each boundary
 *      0          60 s
 *
 * Windows are aligned to the epoch, or with `align: 'first'` start at a key's first call. With `wait` callers may be
 * served from a later window (resilience4j's limiter): they are told how long to wait for it, and the count runs ahead.
 */
import type { Duration } from '../../vocabulary/duration.ts';
import {
  countedRateOf,
  knownFields,
  oneOf,
  optionalDuration,
  type Policy,
  policyOf,
  type RateOptions,
} from '../../vocabulary/policy.ts';
import type { Algorithm } from '../algorithm.ts';
import { type WindowCountNumbers, windowCount } from '../window-count.ts';

export interface FixedWindowOptions extends RateOptions {
  /** Where windows begin: `'epoch'` (default), or at a key's `'first'` call. */
  readonly align?: 'epoch' | 'first';
  /** The longest a caller may be told to wait for a later window. Default: not at all. */
  readonly wait?: Duration;
}

export interface FixedWindowPolicy extends Policy {
  readonly algorithm: 'fixed-window';
  readonly window: number;
  readonly align?: 'epoch' | 'first';
  readonly wait?: number;
}

const algorithm: Algorithm<FixedWindowPolicy, WindowCountNumbers> = {
  ...windowCount,
  name: 'fixed-window',
  factory: fixedWindow,
  // In a window nothing drains, and at its end all of it falls off together: whose charge it was that came before makes no difference.
  keepsChargesApart: true,
  delays: ({ wait = 0 }) => wait > 0,
  prepare: ({ limit, window, align, wait = 0 }) => ({
    limit,
    perWindow: limit,
    window,
    waitMs: wait,
    aligned: align !== 'first',
    initial: 0,
  }),
};

export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  knownFields('fixedWindow', options, 'limit window align wait');
  const align = oneOf('align', options.align, ['epoch', 'first']);
  const wait = optionalDuration('wait', options.wait);
  return policyOf<FixedWindowPolicy>(algorithm, {
    algorithm: 'fixed-window',
    ...countedRateOf(options),
    align,
    wait,
  } as FixedWindowPolicy);
}
