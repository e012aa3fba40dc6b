/** How many requests may be under way at once: a number, or what `sluice/protect` finds by measuring. */
import type { Clock } from 'sluice';
import { adaptiveConcurrency, type Pass } from 'sluice/protect';
import type { AdmissionConfig } from '../../config/gateway-config.ts';

export interface Places {
  /** It changes only by what is said on passes. */
  readonly limit: number;
  /** Asked only while fewer than the limit are taken. What is said on the pass is what is learnt; undefined: nothing is. */
  take(): Pass | undefined;
}

/** @param limit where the measuring begins; undefined: where it always does */
export function placesOf({ name, concurrency }: AdmissionConfig, clock: Clock, limit?: number): Places {
  if (typeof concurrency === 'number') return { limit: concurrency, take: () => undefined };
  const { algorithm, min, max } = concurrency;
  const adaptive = adaptiveConcurrency({
    algorithm,
    limitMin: min,
    limitMax: max,
    ...(limit !== undefined && { limitInitial: Math.max(min, Math.min(max, limit)) }),
    name,
    clock,
  });
  return {
    get limit() {
      return adaptive.limit;
    },
    take: () => adaptive.tryPass(),
  };
}

/** Whether what was measured by the one goes on to hold for the other. */
export function isSameConcurrency(a: AdmissionConfig['concurrency'], b: AdmissionConfig['concurrency']): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.algorithm === b.algorithm && a.min === b.min && a.max === b.max;
}
