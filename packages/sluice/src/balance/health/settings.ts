/** The options of `healthChecked`, and what they come down to. */
import { circuitBreaker } from '../../protect/circuit-breaker/circuit-breaker.ts';
import type { CircuitBreakerOptions } from '../../protect/circuit-breaker/settings.ts';
import { clockOf, functionOf, randomOf, wholeNumber, within } from '../../protect/option-checks.ts';
import { backgroundClock, type Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, zeroOrMore } from '../../vocabulary/policy.ts';
import type { Member } from '../balancer.ts';

/** Asks a member whether it is well. True is the only good answer; it must end when the signal is aborted. */
export type HealthProbe<M extends Member = Member> = (member: M, signal: AbortSignal) => boolean | Promise<boolean>;

export interface ActiveCheckOptions<M extends Member = Member> {
  readonly probe: HealthProbe<M>;
  /** From the beginning of one check of a member to the next. Default 10 seconds. */
  readonly interval?: Duration;
  /** The share of the interval that is left to chance, so that not all are checked at once: 0 to 1. Default 0.2. */
  readonly jitter?: number;
  /** A check that has not ended after this has failed. Default 2 seconds. */
  readonly timeout?: Duration;
  /** So many failed checks in a row take a member out. Default 3. */
  readonly unhealthyAfter?: number;
  /** So many passed checks in a row bring it back. Default 2. */
  readonly healthyAfter?: number;
  /** A member gets nothing before its first check has passed. Default false. */
  readonly isFirstAwaited?: boolean;
  /** How many checks may be under way, of all members: 1 to 10,000. Default 100. */
  readonly atOnce?: number;
}

export interface OutlierOptions {
  /** So many failed calls in a row take a member out. Default 5, or never with `failureRatio`. */
  readonly consecutiveFailures?: number;
  /** Takes a member out when the share of its calls that failed is larger by this than that of all others: above 0, at most 1. Default: it does not matter. */
  readonly failureRatio?: number;
  /** The ratio is over the calls of the last so long. Default 30 seconds. */
  readonly window?: Duration;
  /** With fewer calls in the window, its own or the others', the ratio says nothing. Default 20. */
  readonly minCalls?: number;
  /** How long it is out the first time; twice as long the second, three times the third. Each such time in heals one. Default 30 seconds. */
  readonly ejectFor?: Duration;
  /** However often it was out, it is out no longer than this. Default 5 minutes, or `ejectFor` where that is more. */
  readonly ejectForMax?: Duration;
  /** At most this share of the members that nothing else holds is out at once, rounded down, and never the last: 0 to 1. Default 0.5. */
  readonly ejectedShareMax?: number;
}

export interface SlowStartOptions {
  /** How long it takes from the floor to the whole. */
  readonly over: Duration;
  /** What a member begins with: above 0, at most 1. Default 0.1. */
  readonly floor?: number;
  /** Also for members that are added; those that were there from the beginning start with all. Default false. */
  readonly forNewcomers?: boolean;
}

/** A breaker for each member; outcomes come from `done`. */
export type MemberBreakerOptions = Omit<CircuitBreakerOptions, 'name' | 'isFailure' | 'isIgnored' | 'clock' | 'random'>;

export interface HealthCheckedOptions<M extends Member = Member> {
  /** Asks members whether they are well. Default: nobody is asked. */
  readonly checks?: ActiveCheckOptions<M>;
  /** Watches how calls end, beside those of the others. Default: not. */
  readonly outliers?: OutlierOptions;
  /** A circuit breaker for each member. Default: none. */
  readonly breaker?: MemberBreakerOptions;
  /** A member that comes back gets a little at first. Default: all at once. */
  readonly slowStart?: SlowStartOptions;
  /** With less than this share of the members healthy, all are used: 0 to 1. Those held by hand count neither way. Default 0: never. */
  readonly panicBelow?: number;
  /** Default: monotonic, and what sleeps by it does not keep the process alive. */
  readonly clock?: Clock;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

export interface CheckSettings<M extends Member> {
  readonly probe: HealthProbe<M>;
  readonly intervalMs: number;
  readonly jitter: number;
  readonly timeoutMs: number;
  readonly unhealthyAfter: number;
  readonly healthyAfter: number;
  readonly isFirstAwaited: boolean;
  readonly atOnce: number;
}

export interface OutlierSettings {
  readonly consecutiveFailures: number;
  readonly failureRatio: number | undefined;
  readonly windowMs: number;
  readonly minCalls: number;
  readonly ejectForMs: number;
  readonly ejectForMsMax: number;
  readonly ejectedShareMax: number;
}

export interface SlowStartSettings {
  readonly overMs: number;
  readonly floor: number;
  readonly forNewcomers: boolean;
}

export interface HealthSettings<M extends Member> {
  readonly checks: CheckSettings<M> | undefined;
  readonly outliers: OutlierSettings | undefined;
  readonly breaker: CircuitBreakerOptions | undefined;
  readonly slowStart: SlowStartSettings | undefined;
  readonly panicBelow: number;
  readonly clock: Clock;
  readonly random: () => number;
}

const mostInARow = 1_000_000;

export function readSettings<M extends Member>(options: HealthCheckedOptions<M>): HealthSettings<M> {
  knownFields('healthChecked options', options, 'checks outliers breaker slowStart panicBelow clock random');
  const { checks, outliers, breaker, slowStart } = options;
  const clock = clockOf(options.clock ?? backgroundClock);
  const random = randomOf(options.random);
  return {
    // Not by truth: whoever writes false or null where options belong is told so, and not taken to have left them out.
    checks: checks === undefined ? checks : readChecks(checks),
    outliers: outliers === undefined ? outliers : readOutliers(outliers),
    breaker: breaker === undefined ? breaker : readBreaker(breaker, clock, random),
    slowStart: slowStart === undefined ? slowStart : readSlowStart(slowStart),
    panicBelow: zeroOrMore('panicBelow', options.panicBelow ?? 0, 1),
    clock,
    random,
  };
}

function readChecks<M extends Member>(options: ActiveCheckOptions<M>): CheckSettings<M> {
  const fields = 'probe interval jitter timeout unhealthyAfter healthyAfter isFirstAwaited atOnce';
  knownFields('checks', options, fields);
  const { probe, unhealthyAfter = 3, healthyAfter = 2, isFirstAwaited = false, atOnce = 100 } = options;
  if (probe === undefined) throw invalid('probe', 'a function', probe);
  return {
    probe: functionOf('probe', probe, probe),
    intervalMs: parseDuration(options.interval ?? '10s', 'interval'),
    jitter: zeroOrMore('jitter', options.jitter ?? 0.2, 1),
    timeoutMs: parseDuration(options.timeout ?? '2s', 'timeout'),
    unhealthyAfter: wholeNumber('unhealthyAfter', unhealthyAfter, 1, mostInARow),
    healthyAfter: wholeNumber('healthyAfter', healthyAfter, 1, mostInARow),
    isFirstAwaited: isTrue('isFirstAwaited', isFirstAwaited),
    atOnce: wholeNumber('atOnce', atOnce, 1, 10_000),
  };
}

function readOutliers(options: OutlierOptions): OutlierSettings {
  const fields = 'consecutiveFailures failureRatio window minCalls ejectFor ejectForMax ejectedShareMax';
  knownFields('outliers', options, fields);
  const { consecutiveFailures, failureRatio, minCalls = 20 } = options;
  if (failureRatio === undefined) withoutRatio(options);
  else within('failureRatio', failureRatio, failureRatio > 0 && failureRatio <= 1, 'above 0 and at most 1');
  const ejectForMs = parseDuration(options.ejectFor ?? '30s', 'ejectFor');
  const ejectForMsMax = parseDuration(options.ejectForMax ?? Math.max(ejectForMs, 300_000), 'ejectForMax');
  if (ejectForMsMax < ejectForMs)
    throw invalid('ejectForMax', `at least ejectFor (${ejectForMs} ms)`, options.ejectForMax);
  return {
    consecutiveFailures:
      consecutiveFailures === undefined && failureRatio !== undefined
        ? Number.POSITIVE_INFINITY
        : wholeNumber('consecutiveFailures', consecutiveFailures ?? 5, 1, mostInARow),
    failureRatio,
    windowMs: parseDuration(options.window ?? '30s', 'window'),
    minCalls: wholeNumber('minCalls', minCalls, 1, mostInARow),
    ejectForMs,
    ejectForMsMax,
    ejectedShareMax: zeroOrMore('ejectedShareMax', options.ejectedShareMax ?? 0.5, 1),
  };
}

/** What belongs to the ratio is a mistake where there is none. */
function withoutRatio(options: OutlierOptions): void {
  for (const field of ['window', 'minCalls'] as const) {
    if (options[field] !== undefined)
      throw invalid(field, 'given together with failureRatio', options[field], 'Failures in a row need no window.');
  }
}

function readBreaker(breaker: MemberBreakerOptions, clock: Clock, random: () => number): CircuitBreakerOptions {
  // Its copy would be an object, whatever it is.
  if (Object(breaker) !== breaker) throw invalid('breaker', 'an object', breaker);
  const options = { ...breaker, clock, random };
  // Made once to see that it can be: a mistake must not wait for the first member.
  circuitBreaker(options);
  return options;
}

function readSlowStart(options: SlowStartOptions): SlowStartSettings {
  knownFields('slowStart', options, 'over floor forNewcomers');
  const { floor = 0.1, forNewcomers = false } = options;
  return {
    overMs: parseDuration(options.over, 'over'),
    floor: within('floor', floor, floor > 0 && floor <= 1, 'above 0 and at most 1'),
    forNewcomers: isTrue('forNewcomers', forNewcomers),
  };
}

function isTrue(field: string, value: boolean): boolean {
  if (typeof value !== 'boolean') throw invalid(field, 'true or false', value);
  return value;
}
