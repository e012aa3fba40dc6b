/** The options of a retry, and what they come down to. */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { type ErrorCode, invalid } from '../../vocabulary/errors.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import { clockOf, functionOf, randomOf, wholeNumber, within } from '../option-checks.ts';
import { sluiceCodeOf } from '../passes.ts';
import type { Ended } from '../protection.ts';
import type { Backoff } from './backoff.ts';
import { type RetryBudget, retryBudget } from './budget.ts';

export interface RetryOptions {
  /** How often the call is made at most, the first time included: 1 to 100. Default 3. */
  readonly attempts?: number;
  /** The wait after the first attempt is anywhere from 0 to this. Default 100 milliseconds. */
  readonly baseDelay?: Duration;
  /** After each attempt the longest wait grows so many times: 1 or more. Default 2. */
  readonly growth?: number;
  /** However often it grew, the longest wait is no longer than this. Default 10 seconds, or `baseDelay` where that is more. */
  readonly maxDelay?: Duration;
  /**
   * Whether a call that ended so is worth another attempt; `attempt` says which it was, from 1. Default: when it threw, and not to
   * say that it must not be called. It is not asked once the caller's signal is aborted.
   */
  readonly isRetryable?: (ended: Ended, attempt: number) => boolean;
  /** How many milliseconds the service itself asked to wait; `undefined` where it did not. Default: it never does. */
  readonly waitFor?: (ended: Ended) => number | undefined;
  /** Gives up where the service asks for a longer wait than this. Default 1 minute. */
  readonly maxWait?: Duration;
  /** How many retries there may be; one for all that call the same service. Default: one of its own, with the defaults of `retryBudget()`. */
  readonly budget?: RetryBudget;
  /** Default: monotonic. */
  readonly clock?: Clock;
  /** From 0 to below 1, for the jitter. Default `Math.random`. */
  readonly random?: () => number;
}

export interface Settings {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly isRetryable: (ended: Ended, attempt: number) => boolean;
  readonly waitFor: (ended: Ended) => number | undefined;
  readonly maxWaitMs: number;
  readonly budget: RetryBudget;
  readonly clock: Clock;
  readonly random: () => number;
}

const mostAttempts = 100;

const fields = 'attempts baseDelay growth maxDelay isRetryable waitFor maxWait budget clock random';

export function readSettings(options: RetryOptions): Settings {
  knownFields('retry options', options, fields);
  const { attempts = 3, growth = 2 } = options;
  const clock = clockOf(options.clock);
  const baseDelayMs = parseDuration(options.baseDelay ?? '100ms', 'baseDelay');
  const maxDelayMs = parseDuration(options.maxDelay ?? Math.max(baseDelayMs, 10_000), 'maxDelay');
  if (maxDelayMs < baseDelayMs) throw invalid('maxDelay', `at least baseDelay (${baseDelayMs} ms)`, options.maxDelay);
  return {
    attempts: wholeNumber('attempts', attempts, 1, mostAttempts),
    backoff: {
      baseDelayMs,
      maxDelayMs,
      growth: within('growth', growth, growth >= 1 && growth < Number.POSITIVE_INFINITY, 'a number of 1 or more'),
    },
    isRetryable: functionOf('isRetryable', options.isRetryable, isWorthAnother),
    waitFor: functionOf('waitFor', options.waitFor, () => undefined),
    maxWaitMs: parseDuration(options.maxWait ?? '1m', 'maxWait'),
    budget: options.budget === undefined ? retryBudget({ clock }) : checkBudget(options.budget),
    clock,
    random: randomOf(options.random),
  };
}

function checkBudget(budget: RetryBudget): RetryBudget {
  if (typeof budget?.request === 'function' && typeof budget.tryRetry === 'function') return budget;
  throw invalid('budget', 'a retryBudget()', budget);
}

// Of the errors of Sluice, those of a world that may be better in a moment. All others say that the call must not be made for now
// (circuit-open, throttled, bulkhead-full, queue-full, store-full), or that it was wrong and stays so.
const passing: readonly unknown[] = ['timed-out', 'store-unavailable'] satisfies ErrorCode[];

function isWorthAnother(ended: Ended): boolean {
  if (!('error' in ended)) return false;
  const code = sluiceCodeOf(ended.error);
  return code === undefined || passing.includes(code);
}
