/** The options, checked, in the units that everything else counts in. */
import { within } from '../../protect/option-checks.ts';
import { type Clock, checkClock, monotonicClock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero, knownFields, type Policy } from '../../vocabulary/policy.ts';
import { type Lending, lendingOf } from './lending.ts';

export interface LeasedOptions {
  /** How long borrowed units may be spent, from the moment they were asked for. A few round trips; far less than a window. */
  readonly lease: Duration;
  /** How long before that it ends here: for clocks that run at different speeds, and for what happens between a grant and its use. Default: a tenth of the lease. */
  readonly margin?: Duration;
  /** The least to borrow at once. Default 1. */
  readonly minSlice?: number;
  /** The most to borrow at once, beyond what a call itself costs. Default 1000. */
  readonly maxSlice?: number;
  /** The most to borrow at once, as a share of what could ever pass at once: above 0, at most 1. Default 0.1. */
  readonly maxShare?: number;
  /** The most keys with slices. One more, and the slice of the key that borrowed longest ago goes back. Default 10,000. */
  readonly maxKeys?: number;
  /** The most callers that wait for slices. One more is refused. Default 10,000. */
  readonly maxWaiting?: number;
  /** Default: monotonic, with the wall clock beside it. It must not step back, and not stand still. */
  readonly clock?: Clock;
}

/** What `leased` comes down to; tests take parts of it away to see the auditor fail. */
export interface LeasedSettings {
  readonly leaseMs: number;
  readonly marginMs: number;
  readonly minSlice: number;
  readonly maxSlice: number;
  readonly maxShare: number;
  readonly maxKeys: number;
  readonly maxWaiting: number;
  readonly clock: Clock;
  readonly wallNow: () => number;
  readonly lendingOf: (policy: Policy, leaseMs: number) => Lending | undefined;
}

export function settingsOf(options: LeasedOptions): LeasedSettings {
  knownFields('leased options', options, 'lease margin minSlice maxSlice maxShare maxKeys maxWaiting clock');
  const leaseMs = parseDuration(options.lease, 'lease');
  const marginMs = options.margin === undefined ? leaseMs / 10 : parseDuration(options.margin, 'margin');
  if (marginMs >= leaseMs) throw invalid('margin', `shorter than the lease (${leaseMs} ms)`, options.margin);
  const { minSlice = 1, maxSlice = 1000, maxShare = 0.1, maxKeys = 10_000, maxWaiting = 10_000, clock } = options;
  aboveZero('minSlice', minSlice);
  if (!(maxSlice >= minSlice)) throw invalid('maxSlice', `at least minSlice (${minSlice})`, maxSlice);
  within('maxShare', maxShare, maxShare > 0 && maxShare <= 1, 'a number above 0, at most 1');
  for (const [field, value] of Object.entries({ maxKeys, maxWaiting })) {
    if (!Number.isInteger(value) || value < 1) throw invalid(field, 'a whole number above 0', value);
  }
  if (clock !== undefined) checkClock(clock);
  return {
    leaseMs,
    marginMs,
    minSlice,
    maxSlice: aboveZero('maxSlice', maxSlice),
    maxShare,
    maxKeys,
    maxWaiting,
    clock: clock ?? monotonicClock,
    wallNow: clock ? () => clock.now() : Date.now,
    lendingOf,
  };
}
