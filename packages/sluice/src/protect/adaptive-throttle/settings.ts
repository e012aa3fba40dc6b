/** The options of an adaptive throttle, and what they come down to. */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { knownFields, optionalDuration } from '../../vocabulary/policy.ts';
import { clockOf, functionOf, nameOf, randomOf, wholeNumber, within } from '../option-checks.ts';
import { type Judge, judgeBy, threw } from '../passes.ts';
import type { Ended } from '../protection.ts';

export interface AdaptiveThrottleOptions {
  /** Named in errors. Default: no name. */
  readonly name?: string;
  /** How many times as many calls as are accepted may reach the service: 1 or more. Less is stricter, and slower to recover. Default 2. */
  readonly k?: number;
  /** How far back it remembers. Default 2 minutes. */
  readonly window?: Duration;
  /** However bad it is, a share of the calls is made, so that it is noticed when the service is back: above 0, below 1. Default 0.9. */
  readonly rejectRatioMax?: number;
  /** With fewer requests in the window none is rejected here. Default 10. */
  readonly minRequests?: number;
  /** A call that is under way for longer counts as not accepted, until it is. 0: from the start. Default 1 second. */
  readonly answerWithin?: Duration;
  /** Whether the service rejected a call of `run`. Default: when it threw. */
  readonly isRejection?: (ended: Ended) => boolean;
  /** Whether a call of `run` says nothing about the service. Default: none; but a call whose own signal was aborted (unless its time was up), or that another protection did not let through, never does. */
  readonly isIgnored?: (ended: Ended) => boolean;
  /** Default: monotonic. */
  readonly clock?: Clock;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

export interface Settings {
  readonly name: string;
  readonly k: number;
  readonly windowMs: number;
  readonly rejectRatioMax: number;
  readonly minRequests: number;
  readonly answerWithinMs: number;
  readonly judge: Judge;
  readonly clock: Clock;
  readonly random: () => number;
}

const fields = 'name k window rejectRatioMax minRequests answerWithin isRejection isIgnored clock random';

export function readSettings(options: AdaptiveThrottleOptions): Settings {
  knownFields('adaptiveThrottle options', options, fields);
  const { k = 2, rejectRatioMax = 0.9 } = options;
  const windowMs = parseDuration(options.window ?? '2m', 'window');
  return {
    name: nameOf(options.name),
    k: within('k', k, k >= 1 && k < Number.POSITIVE_INFINITY, 'a number of 1 or more'),
    windowMs: within('window', windowMs, windowMs >= 1, 'at least 1 ms'),
    rejectRatioMax: within(
      'rejectRatioMax',
      rejectRatioMax,
      rejectRatioMax > 0 && rejectRatioMax < 1,
      'above 0 and below 1',
    ),
    minRequests: wholeNumber('minRequests', options.minRequests ?? 10, 1, 2 ** 32),
    answerWithinMs: optionalDuration('answerWithin', options.answerWithin) ?? 1000,
    judge: judgeBy(
      functionOf('isRejection', options.isRejection, threw),
      functionOf('isIgnored', options.isIgnored, () => false),
    ),
    clock: clockOf(options.clock),
    random: randomOf(options.random),
  };
}
