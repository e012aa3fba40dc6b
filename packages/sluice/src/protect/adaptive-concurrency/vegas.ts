/**
 * After TCP Vegas: from how much longer calls take than without load, it is known how many of them are waiting in the service.
 *
 *                          fastest
 *      waiting = limit * (1 - ───────)          a few waiting keep the service busy; more only wait
 *                           now
 *
 *      waiting   0 ─── threshold ─────── alpha ─────── beta ───────►
 *                  + beta        + log10         stay        - log10
 *
 * It backs off before the service has to reject anything. But it takes every other reason to be slow for waiting, too: it is for
 * calls that take about the same time each.
 */
import { bounded, isIdle, type LimitAlgorithm, type LimitRange, type Sample } from './limit-algorithm.ts';
import {
  afterMeasured,
  afterSample,
  firstProbe,
  isMeasured,
  isProbing,
  type ProbeSettings,
  probedLimit,
  type UntilProbe,
} from './probe.ts';

export interface VegasSettings extends LimitRange, ProbeSettings {
  /** With fewer waiting the limit grows. */
  readonly alpha: (limit: number) => number;
  /** With more waiting the limit shrinks. */
  readonly beta: (limit: number) => number;
  /** With no more than this waiting it grows by beta at once. */
  readonly threshold: (limit: number) => number;
  readonly increase: (limit: number) => number;
  readonly decrease: (limit: number) => number;
  /** How much of each step is taken: above 0, at most 1. */
  readonly smoothing: number;
}

export interface VegasState {
  /** With fractions, where steps are smoothed. */
  readonly limit: number;
  /** What a call takes when none has to wait; 0: not known yet. */
  readonly fastestMs: number;
  readonly untilProbe: UntilProbe;
}

/** The whole part of the logarithm to base 10, and at least 1. By comparing, because logarithms round. */
export function wholeLog10(limit: number): number {
  let whole = 0;
  for (let power = 10; power <= limit; power *= 10) whole += 1;
  return Math.max(1, whole);
}

/** The functions of the limit as published. */
export const vegasFunctions = {
  alpha: (limit: number) => 3 * wholeLog10(limit),
  beta: (limit: number) => 6 * wholeLog10(limit),
  threshold: wholeLog10,
  increase: (limit: number) => limit + wholeLog10(limit),
  decrease: (limit: number) => limit - wholeLog10(limit),
};

export function vegas(settings: VegasSettings): LimitAlgorithm<VegasState> {
  const { limitMin, smoothing } = settings;

  function moved(state: VegasState, limit: number): VegasState {
    return { ...state, limit: (1 - smoothing) * state.limit + smoothing * bounded(limit, settings) };
  }

  /** Where the limit should be, with so many waiting. */
  function aim(limit: number, { rttMs }: Sample, fastestMs: number): number {
    const waiting = Math.ceil(limit * (1 - fastestMs / rttMs));
    const whole = Math.floor(limit);
    if (waiting <= settings.threshold(whole)) return limit + settings.beta(whole);
    if (waiting < settings.alpha(whole)) return settings.increase(limit);
    if (waiting > settings.beta(whole)) return settings.decrease(limit);
    return limit;
  }

  return {
    initial: { limit: settings.limitInitial, fastestMs: 0, untilProbe: firstProbe(settings) },
    step(state, sample) {
      const { limit, fastestMs, untilProbe } = state;
      // How long it took is no measure: a rejection is quick, and a time-out as long as the caller's patience.
      if (sample.isDropped) return moved(state, settings.decrease(limit));
      const { rttMs } = sample;
      if (isMeasured(untilProbe)) return { limit, fastestMs: rttMs, untilProbe: afterMeasured(rttMs, fastestMs) };
      const next = { ...state, untilProbe: afterSample(untilProbe, settings) };
      if (isProbing(untilProbe)) return next;
      if (fastestMs === 0 || rttMs < fastestMs) return { ...next, fastestMs: rttMs };
      return isIdle(limit, sample) ? next : moved(next, aim(limit, sample, fastestMs));
    },
    limitOf: ({ limit, untilProbe }) => probedLimit(limit, untilProbe, limitMin),
    baselineMsOf: ({ fastestMs }) => fastestMs || undefined,
  };
}
