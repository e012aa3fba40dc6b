/** The options of an adaptive concurrency limit, which are those of its algorithm and those of all, and what they come down to. */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import { mostWaiting } from '../bulkhead/bulkhead.ts';
import type { GateSettings } from '../bulkhead/gate.ts';
import { clockOf, forEver, functionOf, nameOf, randomOf, wholeNumber, within } from '../option-checks.ts';
import { type Judge, judgeBy, threw } from '../passes.ts';
import type { Ended } from '../protection.ts';
import { aimd } from './aimd.ts';
import { gradient, squareRoot } from './gradient.ts';
import type { LimitAlgorithm, LimitRange } from './limit-algorithm.ts';
import type { SampleWindowSettings } from './sample-window.ts';
import { vegas, vegasFunctions } from './vegas.ts';

interface CommonOptions {
  /** Where the limit starts. Default 20, or the nearest within the range. */
  readonly limitInitial?: number;
  /** It never falls below. Default 1. */
  readonly limitMin?: number;
  /** It never rises above. Default 200; of Vegas 1,000. At most 1,000,000. */
  readonly limitMax?: number;
  /** How many calls may wait for a place, at most 1,000,000. Default 0: nobody waits. */
  readonly queue?: number;
  /** Who has waited for so long is refused. Default: they wait for as long as it takes. */
  readonly queueTimeout?: Duration;
  /** The limit takes a step at most this often. Default 100 ms. */
  readonly windowMin?: Duration;
  /** A window is two round trips, but no longer than this if there are enough calls in it. Default 1 second, or `windowMin` where that is more. */
  readonly windowMax?: Duration;
  /** Fewer calls than this are no sample. Default 10. */
  readonly minCalls?: number;
  /** A window in which at least this share of the calls failed is one of overload: above 0, at most 1. Default: one failure is enough. */
  readonly failureRatio?: number;
  /** Whether a call of `run` failed for overload. Default: when it threw. */
  readonly isFailure?: (ended: Ended) => boolean;
  /** Whether a call of `run` says nothing about the service. Default: none; but a call whose own signal was aborted (unless its time was up), or that another protection did not let through, never does. */
  readonly isIgnored?: (ended: Ended) => boolean;
  /** Named in errors. Default: no name. */
  readonly name?: string;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

/** One more while all is well, a share less when calls fail or are too slow. */
export interface AimdOptions extends CommonOptions {
  readonly algorithm: 'aimd';
  /** What is left of the limit after a window of overload: 0.5 or more, below 1. Default 0.9. */
  readonly backoffRatio?: number;
  /** A window whose calls took longer than this on average is one of overload. Default 5 seconds. */
  readonly timeout?: Duration;
}

interface ProbingOptions extends CommonOptions {
  /** What calls take without load is measured anew after so many windows at most, at half the limit. 0: never. Default 100. */
  readonly probeEvery?: number;
  /** How much of each step is taken: above 0, at most 1. Default 1; of the gradient 0.2. */
  readonly smoothing?: number;
  /** From 0 to below 1, for when it probes. Default `Math.random`. */
  readonly random?: () => number;
}

/** Keeps a few calls waiting in the service, as told by how much longer calls take than the fastest. */
export interface VegasOptions extends ProbingOptions {
  readonly algorithm: 'vegas';
  /** With fewer calls waiting in the service the limit grows. Default: 3 times the digits of the limit but one. */
  readonly alpha?: number;
  /** With more calls waiting in the service the limit shrinks. Default: 6 times the digits of the limit but one. */
  readonly beta?: number;
}

/** Shrinks where calls take longer than in the long run. */
export interface GradientOptions extends ProbingOptions {
  readonly algorithm: 'gradient';
  /** How many times as long as in the long run a call may take: 1 or more. Default 1.5. */
  readonly tolerance?: number;
  /** By how much the limit grows while all is well, before it is smoothed. Default 4. */
  readonly queueSize?: number | 'square-root';
  /** The long run, in windows: 10 or more. Default 600. */
  readonly longWindow?: number;
}

export type AdaptiveConcurrencyOptions = AimdOptions | VegasOptions | GradientOptions;

export interface Settings {
  readonly algorithm: LimitAlgorithm<unknown>;
  readonly gate: Omit<GateSettings, 'limit'>;
  readonly window: SampleWindowSettings;
  readonly judge: Judge;
}

const commonFields =
  'algorithm limitInitial limitMin limitMax queue queueTimeout windowMin windowMax minCalls failureRatio isFailure isIgnored name clock';
const ownFields = {
  aimd: 'backoffRatio timeout',
  vegas: 'probeEvery smoothing random alpha beta',
  gradient: 'probeEvery smoothing random tolerance queueSize longWindow',
};
const mostLimit = 1_000_000;

export function readSettings(options: AdaptiveConcurrencyOptions): Settings {
  const own = Object.hasOwn(ownFields, options?.algorithm) ? ownFields[options.algorithm] : undefined;
  if (own === undefined) throw invalid('algorithm', 'one of "aimd", "vegas", "gradient"', options?.algorithm);
  knownFields(`adaptiveConcurrency options of ${options.algorithm}`, options, `${commonFields} ${own}`);
  const name = nameOf(options.name);
  return {
    algorithm: algorithmOf(options) as LimitAlgorithm<unknown>,
    gate: {
      title: `The adaptive concurrency limit${name && ` "${name}"`}`,
      queue: wholeNumber('queue', options.queue ?? 0, 0, mostWaiting),
      queueTimeoutMs: forEver('queueTimeout', options.queueTimeout),
      clock: clockOf(options.clock),
    },
    window: windowOf(options),
    judge: judgeBy(
      functionOf('isFailure', options.isFailure, threw),
      functionOf('isIgnored', options.isIgnored, () => false),
    ),
  };
}

function windowOf(options: CommonOptions): SampleWindowSettings {
  const windowMsMin = parseDuration(options.windowMin ?? '100ms', 'windowMin');
  const windowMsMax = parseDuration(options.windowMax ?? Math.max(1000, windowMsMin), 'windowMax');
  if (windowMsMax < windowMsMin)
    throw invalid('windowMax', `at least windowMin (${windowMsMin} ms)`, options.windowMax);
  const { failureRatio } = options;
  return {
    windowMsMin,
    windowMsMax,
    minCalls: wholeNumber('minCalls', options.minCalls ?? 10, 1, 2 ** 32),
    failureRatio:
      failureRatio === undefined
        ? 0
        : within('failureRatio', failureRatio, failureRatio > 0 && failureRatio <= 1, 'above 0 and at most 1'),
  };
}

function algorithmOf(options: AdaptiveConcurrencyOptions) {
  switch (options.algorithm) {
    case 'aimd':
      return aimdOf(options);
    case 'vegas':
      return vegasOf(options);
    case 'gradient':
      return gradientOf(options);
  }
}

function aimdOf(options: AimdOptions) {
  const { backoffRatio = 0.9, timeout = '5s' } = options;
  return aimd({
    ...rangeOf(options, 200),
    backoffRatio: within('backoffRatio', backoffRatio, backoffRatio >= 0.5 && backoffRatio < 1, 'from 0.5 to below 1'),
    timeoutMs: parseDuration(timeout, 'timeout'),
  });
}

function vegasOf(options: VegasOptions) {
  const { alpha, beta } = options;
  if (alpha !== undefined) wholeNumber('alpha', alpha, 1, mostLimit);
  if (beta !== undefined) wholeNumber('beta', beta, 1, mostLimit);
  if ((alpha ?? 3) > (beta ?? 6) || (alpha === undefined) !== (beta === undefined))
    throw invalid('alpha', 'given together with beta, and at most as much', alpha);
  return vegas({
    ...rangeOf(options, 1000),
    ...vegasFunctions,
    ...(alpha === undefined ? {} : { alpha: () => alpha }),
    ...(beta === undefined ? {} : { beta: () => beta }),
    ...probingOf(options, 1),
  });
}

function gradientOf(options: GradientOptions) {
  const { tolerance = 1.5, queueSize = 4, longWindow = 600 } = options;
  const fixed = queueSize === 'square-root' ? 0 : wholeNumber('queueSize', queueSize, 1, mostLimit);
  return gradient({
    ...rangeOf(options, 200),
    tolerance: within('tolerance', tolerance, tolerance >= 1 && tolerance <= 1000, 'a number from 1 to 1000'),
    queueSize: queueSize === 'square-root' ? squareRoot : () => fixed,
    longWindow: wholeNumber('longWindow', longWindow, 10, 2 ** 32),
    ...probingOf(options, 0.2),
  });
}

function rangeOf(options: CommonOptions, limitMaxDefault: number): LimitRange {
  const limitMin = wholeNumber('limitMin', options.limitMin ?? 1, 1, mostLimit);
  const limitMax = wholeNumber('limitMax', options.limitMax ?? Math.max(limitMin, limitMaxDefault), 1, mostLimit);
  if (limitMax < limitMin) throw invalid('limitMax', `at least limitMin (${limitMin})`, options.limitMax);
  const nearest = Math.max(limitMin, Math.min(limitMax, 20));
  return {
    limitMin,
    limitMax,
    limitInitial: wholeNumber('limitInitial', options.limitInitial ?? nearest, limitMin, limitMax),
  };
}

function probingOf(options: ProbingOptions, smoothingDefault: number) {
  const { smoothing = smoothingDefault, probeEvery = 100 } = options;
  return {
    smoothing: within('smoothing', smoothing, smoothing > 0 && smoothing <= 1, 'above 0 and at most 1'),
    probeEvery: probeEvery === 0 ? 0 : wholeNumber('probeEvery', probeEvery, 10, 2 ** 32),
    random: randomOf(options.random),
  };
}
