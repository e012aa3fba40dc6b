/**
 * Additive increase, multiplicative decrease: one more as long as all is well, a tenth less when it is not.
 *
 *      limit │    /|  /|  /|
 *            │   / | / | / |       the service rejects, or takes longer than `timeoutMs`
 *            │  /  |/  |/  |/
 *            └──────────────────
 *
 * It needs to be told of overload, and it goes back to where that begins again and again.
 */
import { bounded, isIdle, type LimitAlgorithm, type LimitRange } from './limit-algorithm.ts';

export interface AimdSettings extends LimitRange {
  /** What is left of the limit after a drop. */
  readonly backoffRatio: number;
  /** Slower than this is as bad as dropped. */
  readonly timeoutMs: number;
}

export function aimd(settings: AimdSettings): LimitAlgorithm<number> {
  const { backoffRatio, timeoutMs } = settings;
  return {
    initial: settings.limitInitial,
    step(limit, sample) {
      if (sample.isDropped || sample.rttMs > timeoutMs) return bounded(Math.floor(limit * backoffRatio), settings);
      return bounded(isIdle(limit, sample) ? limit : limit + 1, settings);
    },
    limitOf: (limit) => limit,
    baselineMsOf: () => undefined,
  };
}
