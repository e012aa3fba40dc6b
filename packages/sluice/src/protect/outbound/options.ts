/** The options of everything that makes HTTP calls, and what they come down to. */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import type { AdaptiveThrottleOptions } from '../adaptive-throttle/settings.ts';
import type { Bulkhead, BulkheadOptions } from '../bulkhead/bulkhead.ts';
import type { CircuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import type { CircuitBreakerOptions } from '../circuit-breaker/settings.ts';
import { clockOf, functionOf, randomOf, wholeNumber } from '../option-checks.ts';
import { type Pacer, type PacerOptions, pacer } from '../pacer/pacer.ts';
import type { NumberForm } from '../rate-limit-headers/waits.ts';
import type { RetryBudgetOptions } from '../retry/budget.ts';
import type { RetryOptions } from '../retry/settings.ts';
import { usualRetryStatuses } from './answers.ts';

/** What all of them get from the outside in the same way. */
type Common = 'clock' | 'random' | 'name';

/** A `bulkhead()` or an `adaptiveConcurrency()`. */
export type GivenGate = Pick<Bulkhead, 'waitForPass'>;

/** Each is on unless it is `false`. Every origin has its own. */
export interface OutboundOptions {
  /** What is safe to repeat is made again when it failed: see `retry()`. */
  readonly retry?: false | OutboundRetryOptions;
  /** Repeats also what is not safe to repeat (POST, PATCH without an `Idempotency-Key`). Default false. */
  readonly retryUnsafe?: boolean;
  /** Slows down by what the server's headers say: see `pacer()`. One that is given may be shared with others. */
  readonly pacer?: false | Omit<PacerOptions, Common | 'maxKeys'> | Pacer;
  /**
   * So many calls under way at once, until their heads have come: see `bulkhead()`. Default 100, and 1,000 that wait. Or a function that
   * gives each origin one, or none: a `bulkhead()`, or an `adaptiveConcurrency()`, to which a 429, a 503 and no answer are overload.
   */
  readonly bulkhead?: false | Partial<Omit<BulkheadOptions, Common>> | ((origin: string) => GivenGate | undefined);
  /** Rejects calls here when the server rejects most of them: see `adaptiveThrottle()`. */
  readonly adaptiveThrottle?: false | Omit<AdaptiveThrottleOptions, Common | 'isRejection' | 'isIgnored'>;
  /**
   * Stops calling what keeps failing: see `circuitBreaker()`. Or a function that gives each origin one, or none, such as a `sharedCircuit()`. What
   * failed is decided here: a 5xx, and no answer.
   */
  readonly circuitBreaker?:
    | false
    | Omit<CircuitBreakerOptions, Common | 'isFailure' | 'isIgnored'>
    | ((origin: string) => CircuitBreaker | undefined);
  /** How long each attempt has until the head of its answer has come. Default 30 seconds. */
  readonly timeout?: false | Duration;
  /** How long all attempts have together, with the waits between them. Default: no limit. */
  readonly totalTimeout?: false | Duration;
  /** What has its state together. Default: the origin, `https://api.example.com`. */
  readonly originOf?: (url: URL) => string;
  /** The state of how many origins is kept; those that are well and idle make room first. Default 1,000. */
  readonly maxOrigins?: number;
  /** Default: monotonic. */
  readonly clock?: Clock;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

export interface OutboundRetryOptions extends Omit<RetryOptions, Common | 'isRetryable' | 'waitFor' | 'budget'> {
  /** Which answers are worth another attempt. Default 408, 425, 429, 500, 502, 503, 504. */
  readonly statuses?: readonly number[];
  /** How many retries there may be: see `retryBudget()`. Every origin has its own. */
  readonly budget?: Omit<RetryBudgetOptions, Common>;
}

export const outboundFields =
  'retry retryUnsafe pacer bulkhead adaptiveThrottle circuitBreaker timeout totalTimeout originOf maxOrigins clock random';

export interface OutboundSettings {
  /** Without `false`, as the protections take them; undefined: none. */
  readonly retry: (Omit<OutboundRetryOptions, 'statuses'> & { readonly statuses: readonly number[] }) | undefined;
  readonly retryUnsafe: boolean;
  readonly pacer: Pacer | undefined;
  /** It was not given, so nobody else hears what it tells. */
  readonly isOwnPacer: boolean;
  /** How the pacer was told to read the numbers of a reset. */
  readonly reset: NumberForm | undefined;
  readonly bulkhead: Omit<BulkheadOptions, Common> | ((origin: string) => GivenGate | undefined) | undefined;
  readonly adaptiveThrottle: Omit<AdaptiveThrottleOptions, Common> | undefined;
  readonly circuitBreaker:
    | Omit<CircuitBreakerOptions, Common>
    | ((origin: string) => CircuitBreaker | undefined)
    | undefined;
  readonly timeoutMs: number | undefined;
  readonly totalTimeoutMs: number | undefined;
  readonly originOf: (url: URL) => string;
  readonly maxOrigins: number;
  readonly clock: Clock;
  readonly random: () => number;
}

const mostOrigins = 1_000_000;

export function readOutboundOptions(options: OutboundOptions): OutboundSettings {
  const clock = clockOf(options.clock);
  const random = randomOf(options.random);
  const { retryUnsafe = false, timeout = '30s', totalTimeout = false } = options;
  if (typeof retryUnsafe !== 'boolean') throw invalid('retryUnsafe', 'true or false', retryUnsafe);
  const maxOrigins = wholeNumber('maxOrigins', options.maxOrigins ?? 1000, 1, mostOrigins);
  const retry = partOf('retry', options.retry);
  const bulkhead = partOrGiven('bulkhead', options.bulkhead);
  const pace = partOf('pacer', options.pacer);
  return {
    retry: retry && { ...retry, statuses: statusesOf(retry.statuses) },
    retryUnsafe,
    pacer: pace && (isPacer(pace) ? pace : pacer({ ...pace, maxKeys: maxOrigins, clock, random })),
    isOwnPacer: pace !== undefined && !isPacer(pace),
    reset: pace && !isPacer(pace) ? pace.reset : undefined,
    bulkhead: typeof bulkhead === 'object' ? { limit: 100, queue: 1000, ...bulkhead } : bulkhead,
    adaptiveThrottle: partOf('adaptiveThrottle', options.adaptiveThrottle),
    circuitBreaker: partOrGiven('circuitBreaker', options.circuitBreaker),
    timeoutMs: timeout === false ? undefined : parseDuration(timeout, 'timeout'),
    totalTimeoutMs: totalTimeout === false ? undefined : parseDuration(totalTimeout, 'totalTimeout'),
    originOf: functionOf('originOf', options.originOf, ({ origin }: URL) => origin),
    maxOrigins,
    clock,
    random,
  };
}

type PartName = 'retry' | 'pacer' | 'bulkhead' | 'adaptiveThrottle' | 'circuitBreaker';

// What is decided here, and would be overridden without a word.
const decidedHere: Readonly<Record<PartName, readonly string[]>> = {
  retry: ['isRetryable', 'waitFor'],
  pacer: ['maxKeys'],
  bulkhead: [],
  adaptiveThrottle: ['isRejection', 'isIgnored'],
  circuitBreaker: ['isFailure', 'isIgnored'],
};

/** What was said of one protection: nothing is on, `false` is off. */
function partOf<T extends object>(field: PartName, part: T | false | undefined): T | undefined {
  if (part === false) return undefined;
  if (part === undefined) return {} as T;
  if (typeof part !== 'object' || part === null || Array.isArray(part))
    throw invalid(field, 'false, or an object of options', part);
  if (field === 'pacer' && isPacer(part)) return part;
  if ('run' in part)
    throw new SluiceError('invalid-option', `${field} is made for each origin. Give a function: (origin) => ...`);
  for (const name of [...decidedHere[field], 'name', 'clock', 'random']) {
    if (name in part) throw new SluiceError('invalid-option', `${field}.${name} cannot be given: it is decided here.`);
  }
  return part;
}

function partOrGiven<T extends object, F>(
  field: PartName,
  part: T | false | undefined | ((origin: string) => F),
): T | ((origin: string) => F) | undefined {
  return typeof part === 'function' ? (part as (origin: string) => F) : partOf(field, part as T | false | undefined);
}

function isPacer(value: object): value is Pacer {
  return 'ready' in value && typeof value.ready === 'function';
}

export function statusesOf(statuses: readonly number[] = usualRetryStatuses): readonly number[] {
  if (Array.isArray(statuses) && statuses.every((status) => Number.isInteger(status))) return statuses;
  throw invalid('statuses', 'a list of HTTP statuses', statuses);
}
