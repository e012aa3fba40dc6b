/**
 * Who arrives when: lazy, in the order of time, and the same however often they are gone through.
 *
 *      merge(
 *        steady(10, { untilMs: 60_000, key: 'alice' }),
 *        onOff(poisson(50, { untilMs: 60_000, key: 'bob', seed: 1 }), { onMs: 1_000, offMs: 9_000 }),
 *        burst(100, { atMs: 30_000, key: 'carol' }),
 *      )
 */
import { Heap } from './heap.ts';
import { random, type ZipfOptions } from './random.ts';

export interface Arrival {
  readonly atMs: number;
  readonly key: string;
  readonly cost: number;
}

/** Arrivals in the order of their times. Going through it again gives the same ones. */
export type Traffic = Iterable<Arrival>;

export interface Caller {
  /** Who calls. Default `'all'`. */
  readonly key?: string;
  /** What each call costs. Default 1. */
  readonly cost?: number;
}

export interface Period extends Caller {
  /** When it begins. Default 0. */
  readonly fromMs?: number;
  /** When it ends; an arrival exactly then is not part of it. */
  readonly untilMs: number;
}

/** Evenly spaced, the first at the beginning. */
export function steady(ratePerSecond: number, period: Period): Traffic {
  const { key = 'all', cost = 1, fromMs = 0, untilMs } = period;
  checkRate(ratePerSecond);
  return again(function* () {
    for (let i = 0; ; i += 1) {
      // Multiplied anew each time: the errors of a running sum would add up.
      const atMs = fromMs + (i * 1000) / ratePerSecond;
      if (!(atMs < untilMs)) return;
      yield { atMs, key, cost };
    }
  });
}

/** Independent callers: the time to the next arrival is exponential, whatever happened before. */
export function poisson(ratePerSecond: number, period: Period & { readonly seed: number }): Traffic {
  const { key = 'all', cost = 1, fromMs = 0, untilMs, seed } = period;
  checkRate(ratePerSecond);
  return again(function* () {
    const { exponential } = random(seed);
    const meanMs = 1000 / ratePerSecond;
    for (let atMs = fromMs + exponential(meanMs); atMs < untilMs; atMs += exponential(meanMs)) {
      yield { atMs, key, cost };
    }
  });
}

export interface BurstOptions extends Caller {
  /** When the first arrives. */
  readonly atMs: number;
  /** How long after each the next one arrives. Default 0: all at once. */
  readonly spacingMs?: number;
}

export function burst(count: number, options: BurstOptions): Traffic {
  const { key = 'all', cost = 1, atMs, spacingMs = 0 } = options;
  return again(function* () {
    for (let i = 0; i < count; i += 1) yield { atMs: atMs + i * spacingMs, key, cost };
  });
}

export interface OnOffOptions {
  /** How long traffic passes. */
  readonly onMs: number;
  /** How long it is silent then. */
  readonly offMs: number;
  /** When the first "on" begins. Default 0. */
  readonly fromMs?: number;
}

/** The same arrivals, but only those that fall into an "on". */
export function onOff(traffic: Traffic, options: OnOffOptions): Traffic {
  const { onMs, offMs, fromMs = 0 } = options;
  return again(function* () {
    for (const arrival of traffic) {
      const sinceMs = arrival.atMs - fromMs;
      if (sinceMs >= 0 && sinceMs % (onMs + offMs) < onMs) yield arrival;
    }
  });
}

/** The same arrivals from many clients, `client-1` the busiest of them. */
export function zipfKeys(traffic: Traffic, options: ZipfOptions & { readonly seed: number }): Traffic {
  return again(function* () {
    const nextRank = random(options.seed).zipf(options);
    for (const arrival of traffic) yield { ...arrival, key: `client-${nextRank()}` };
  });
}

/** All of them in the order of time; of two at the same time, the one of the earlier argument goes first. */
export function merge(...traffics: readonly Traffic[]): Traffic {
  interface Head {
    readonly arrival: Arrival;
    readonly order: number;
    readonly rest: Iterator<Arrival>;
  }
  return again(function* () {
    const heads = new Heap<Head>((a, b) =>
      a.arrival.atMs === b.arrival.atMs ? a.order < b.order : a.arrival.atMs < b.arrival.atMs,
    );
    const advance = (rest: Iterator<Arrival>, order: number): void => {
      const { done, value } = rest.next();
      if (!done) heads.push({ arrival: value, order, rest });
    };
    traffics.forEach((traffic, order) => {
      advance(traffic[Symbol.iterator](), order);
    });
    for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
      yield head.arrival;
      advance(head.rest, head.order);
    }
  });
}

/** A generator can be gone through only once; this one starts again each time. */
function again(arrivals: () => Iterator<Arrival>): Traffic {
  return { [Symbol.iterator]: arrivals };
}

/** An endless rate would never get past its first moment. */
function checkRate(ratePerSecond: number): void {
  if (ratePerSecond > 0 && ratePerSecond < Number.POSITIVE_INFINITY) return;
  throw new RangeError(`ratePerSecond must be a finite number above 0, got ${ratePerSecond}.`);
}
