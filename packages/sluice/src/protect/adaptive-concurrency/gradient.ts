/**
 * The limit follows how long calls take now, against how long they take in the long run.
 *
 *                                   long run
 *      gradient  =  tolerance  *  ────────────    between 1/2 and 1
 *                                     now
 *
 *      limit     ◄  limit * gradient              where calls are slower than is tolerated
 *                   limit + queueSize             where they are not
 *
 * It is for calls whose time varies. Alone it would creep up: calls that are slow for long are what is usual in the end, and no
 * longer slow. So the long run is measured anew now and then, see `probe.ts`; and the limit grows only where calls are not
 * slower than is tolerated, and not by a part where they are by a little.
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

export interface GradientSettings extends LimitRange, ProbeSettings {
  /** How many times as long as in the long run a call may take: 1 or more. */
  readonly tolerance: number;
  /** By how much the limit grows while all is well. */
  readonly queueSize: (limit: number) => number;
  /** How much of each step is taken: above 0, at most 1. */
  readonly smoothing: number;
  /** The long run, in samples. */
  readonly longWindow: number;
}

export interface GradientState {
  /** With fractions, because steps are smoothed. */
  readonly limit: number;
  readonly long: LongRun;
  readonly untilProbe: UntilProbe;
}

/** An average that forgets: the plain one of the first few samples, and from then on each weighs as much as the window says. */
export interface LongRun {
  readonly averageMs: number;
  /** How many of the first few there were. */
  readonly samples: number;
}

const fewSamples = 10;
// A drop is as bad as it gets: as if calls took twice as long as is tolerated.
const gradientMin = 0.5;

export function addToLongRun({ averageMs, samples }: LongRun, rttMs: number, longWindow: number): LongRun {
  if (samples < fewSamples) return { averageMs: (averageMs * samples + rttMs) / (samples + 1), samples: samples + 1 };
  const weight = 2 / (longWindow + 1);
  return { averageMs: averageMs * (1 - weight) + rttMs * weight, samples };
}

/** The square root of the limit, for services with many more places than a few. */
export function squareRoot(limit: number): number {
  return Math.max(1, Math.floor(Math.sqrt(limit)));
}

export function gradient(settings: GradientSettings): LimitAlgorithm<GradientState> {
  const { limitMin, tolerance, smoothing, longWindow } = settings;

  function moved(state: GradientState, limit: number): GradientState {
    return { ...state, limit: bounded((1 - smoothing) * state.limit + smoothing * limit, settings) };
  }

  function aim(limit: number, { rttMs }: Sample, longMs: number): number {
    const slope = Math.max(gradientMin, Math.min(1, (tolerance * longMs) / rttMs));
    return slope < 1 ? limit * slope : limit + settings.queueSize(Math.floor(limit));
  }

  return {
    initial: {
      limit: settings.limitInitial,
      long: { averageMs: 0, samples: 0 },
      untilProbe: firstProbe(settings),
    },
    step(state, sample) {
      const { limit, untilProbe } = state;
      // How long it took is no measure: a rejection is quick, and a time-out as long as the caller's patience.
      if (sample.isDropped) return moved(state, limit * gradientMin);
      const { rttMs } = sample;
      if (isMeasured(untilProbe)) {
        const measured = { averageMs: rttMs, samples: fewSamples };
        return { limit, long: measured, untilProbe: afterMeasured(rttMs, state.long.averageMs) };
      }
      const next = { ...state, untilProbe: afterSample(untilProbe, settings) };
      if (isProbing(untilProbe)) return next;
      const long = addToLongRun(state.long, rttMs, longWindow);
      const { averageMs } = long;
      // After a long time of overload the average would take as long to come down, and tolerate far too much meanwhile.
      const nextLong = averageMs > 2 * rttMs ? { ...long, averageMs: averageMs * 0.95 } : long;
      const learnt = { ...next, long: nextLong };
      return isIdle(limit, sample) ? learnt : moved(learnt, aim(limit, sample, averageMs));
    },
    limitOf: ({ limit, untilProbe }) => probedLimit(limit, untilProbe, limitMin),
    baselineMsOf: ({ long }) => long.averageMs || undefined,
  };
}
