/**
 * How long a check waits for those before it. A node is one thread, so it is one server with a queue (G/G/1):
 *
 *      mean wait        W = load / (1 - load) * S * (ca + cs) / 2                   Kingman 1961; with ca = 1 it is Pollaczek and Khinchine's, exact
 *      tail             P(wait > t) = load * exp(-t * load / W)                     heavy traffic: the wait of those who wait is exponential
 *
 * S is the time that serving takes, ca and cs are squared coefficients of variation of the times between arrivals and of serving. Pauses of
 * the process (its collector, its neighbours) are part of serving as far as whoever waits can tell, so cs is not derived but found: it is
 * what makes the tail agree with a percentile that was measured.
 */
export interface Queue {
  readonly serviceMs: number;
  readonly arrivalVariability: number;
  readonly serviceVariability: number;
}

/** What share of checks waits no longer than the percentile that plans are made for. */
export const plannedShare = 0.99;

function meanOfThoseWhoWaitMs(queue: Queue, load: number): number {
  const { serviceMs, arrivalVariability, serviceVariability } = queue;
  return (serviceMs * (arrivalVariability + serviceVariability)) / 2 / (1 - load);
}

export function meanWaitMs(queue: Queue, load: number): number {
  return load >= 1 ? Number.POSITIVE_INFINITY : load * meanOfThoseWhoWaitMs(queue, load);
}

/** What the share of all, 0 to 1, does not wait longer than. */
export function waitMs(queue: Queue, load: number, share = plannedShare): number {
  if (load >= 1) return Number.POSITIVE_INFINITY;
  // Most do not wait at all.
  if (load <= 1 - share) return 0;
  return meanOfThoseWhoWaitMs(queue, load) * Math.log(load / (1 - share));
}

export interface MeasuredWait {
  readonly serviceMs: number;
  readonly arrivalVariability: number;
  readonly load: number;
  /** Of the planned share. */
  readonly waitMs: number;
}

/** The variability of serving that explains a wait; 0 where arrivals alone explain more. */
export function serviceVariabilityOf(measured: MeasuredWait): number {
  const { serviceMs, arrivalVariability, load, waitMs: observedMs } = measured;
  if (load >= 1) return Number.POSITIVE_INFINITY;
  if (load <= 1 - plannedShare) return 0;
  const both = (2 * observedMs * (1 - load)) / (serviceMs * Math.log(load / (1 - plannedShare)));
  return Math.max(0, both - arrivalVariability);
}
