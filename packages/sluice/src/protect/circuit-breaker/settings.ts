/** The options of a circuit breaker, and what they come down to. */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, zeroOrMore } from '../../vocabulary/policy.ts';
import { clockOf, functionOf, nameOf, randomOf, wholeNumber, within } from '../option-checks.ts';
import { type Judge, judgeBy, threw } from '../passes.ts';
import type { Ended } from '../protection.ts';

export interface CircuitBreakerOptions {
  /** Named in errors. Default: no name. */
  readonly name?: string;
  /** Opens after so many failures in a row; a success starts the count anew. Default 5, or never with `failureRatio`. */
  readonly consecutiveFailures?: number;
  /** Opens when at least this share of the calls in the window failed: above 0, at most 1. Default: the share does not matter. */
  readonly failureRatio?: number;
  /** The ratio is over the calls of the last so long. Default 10 seconds; with `windowCalls`, any time. */
  readonly window?: Duration;
  /** The ratio is over the last so many calls; with `window`, over those of them that are not older. At most 100,000. */
  readonly windowCalls?: number;
  /** With fewer calls in the window the ratio says nothing. Default 10, or `windowCalls` where that is less. */
  readonly minCalls?: number;
  /** A call that took longer than this counts as a failure, whatever it returned. Default: calls may take any time. */
  readonly slowAfter?: Duration;
  /** How long it stays open before it lets probes through. Default 30 seconds. */
  readonly openFor?: Duration;
  /** Each time its probes fail, it stays open so many times longer: 1 or more. Default 1. */
  readonly openGrowth?: number;
  /** However often its probes failed, it stays open no longer. Default 5 minutes, or `openFor` where that is more. */
  readonly openForMax?: Duration;
  /** The share of the time open that is left to chance, so that many clients do not probe at once: 0 to 1. Default 0. */
  readonly jitter?: number;
  /** How many calls half-open lets through to decide on. At most 10,000. Default 1. */
  readonly probes?: number;
  /** A probe that has not ended after this counts as failed: one that hangs must not keep the circuit half-open. Default `openFor`. */
  readonly probeTimeout?: Duration;
  /** Whether a call of `run` failed. Default: when it threw. */
  readonly isFailure?: (ended: Ended) => boolean;
  /**
   * Whether a call of `run` says nothing about the service. Default: one that a protection further in did not make (`circuit-open`, `throttled`,
   * `bulkhead-full`). A call whose own signal was aborted never does, unless its time was up.
   */
  readonly isIgnored?: (ended: Ended) => boolean;
  /** Default: monotonic. */
  readonly clock?: Clock;
  /** From 0 to below 1, for the jitter. Default `Math.random`. */
  readonly random?: () => number;
}

export interface Settings {
  readonly name: string;
  readonly consecutiveFailures: number;
  /** Undefined when the share does not matter. */
  readonly failureRatio: number | undefined;
  readonly windowMs: number;
  readonly windowCalls: number | undefined;
  readonly minCalls: number;
  readonly slowAfterMs: number;
  readonly openForMs: number;
  readonly openGrowth: number;
  readonly openForMsMax: number;
  readonly jitter: number;
  readonly probes: number;
  readonly probeTimeoutMs: number;
  readonly judge: Judge;
  readonly clock: Clock;
  readonly random: () => number;
}

const never = Number.POSITIVE_INFINITY;
const mostWindowCalls = 100_000;
const mostProbes = 10_000;

const fields =
  'name consecutiveFailures failureRatio window windowCalls minCalls slowAfter openFor openGrowth openForMax jitter probes probeTimeout isFailure isIgnored clock random';

export function readSettings(options: CircuitBreakerOptions): Settings {
  knownFields('circuitBreaker options', options, fields);
  const { failureRatio, windowCalls, openGrowth = 1, jitter = 0, probes = 1 } = options;
  if (failureRatio === undefined) withoutRatio(options);
  else within('failureRatio', failureRatio, failureRatio > 0 && failureRatio <= 1, 'above 0 and at most 1');
  const openForMs = parseDuration(options.openFor ?? '30s', 'openFor');
  const openForMsMax = parseDuration(options.openForMax ?? Math.max(openForMs, 300_000), 'openForMax');
  if (openForMsMax < openForMs) throw invalid('openForMax', `at least openFor (${openForMs} ms)`, options.openForMax);
  return {
    name: nameOf(options.name),
    consecutiveFailures: consecutiveFailuresOf(options),
    failureRatio,
    windowMs: windowOf(options),
    windowCalls: windowCalls === undefined ? undefined : wholeNumber('windowCalls', windowCalls, 1, mostWindowCalls),
    minCalls: minCallsOf(options),
    slowAfterMs: options.slowAfter === undefined ? never : parseDuration(options.slowAfter, 'slowAfter'),
    openForMs,
    openGrowth: within('openGrowth', openGrowth, openGrowth >= 1 && openGrowth < never, 'a number of 1 or more'),
    openForMsMax,
    jitter: zeroOrMore('jitter', jitter, 1),
    probes: wholeNumber('probes', probes, 1, mostProbes),
    probeTimeoutMs: parseDuration(options.probeTimeout ?? openForMs, 'probeTimeout'),
    judge: judgeBy(
      functionOf('isFailure', options.isFailure, threw),
      functionOf('isIgnored', options.isIgnored, () => false),
    ),
    clock: clockOf(options.clock),
    random: randomOf(options.random),
  };
}

/** What belongs to the ratio is a mistake where there is none. */
function withoutRatio(options: CircuitBreakerOptions): void {
  for (const field of ['window', 'windowCalls', 'minCalls'] as const) {
    if (options[field] !== undefined)
      throw invalid(field, 'given together with failureRatio', options[field], 'Failures in a row need no window.');
  }
}

function consecutiveFailuresOf({ consecutiveFailures, failureRatio }: CircuitBreakerOptions): number {
  if (consecutiveFailures !== undefined) return wholeNumber('consecutiveFailures', consecutiveFailures, 1, 2 ** 32);
  return failureRatio === undefined ? 5 : never;
}

function windowOf({ window, windowCalls }: CircuitBreakerOptions): number {
  if (window !== undefined) return parseDuration(window, 'window');
  return windowCalls === undefined ? 10_000 : never;
}

function minCallsOf({ minCalls, windowCalls = never }: CircuitBreakerOptions): number {
  if (minCalls === undefined) return Math.min(10, windowCalls);
  wholeNumber('minCalls', minCalls, 1, 2 ** 32);
  if (minCalls > windowCalls)
    throw invalid('minCalls', `at most windowCalls (${windowCalls})`, minCalls, 'It would never open.');
  return minCalls;
}
