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

export interface DiurnalOptions extends Period {
  /** The rate when it is quietest, and when it is busiest. */
  readonly lowPerSecond: number;
  readonly highPerSecond: number;
  /** How long a day is. Default 24 hours. */
  readonly dayMs?: number;
  /** How far into a day it is busiest. Default: in its middle. */
  readonly peakAtMs?: number;
  readonly seed: number;
}

/** Independent callers whose rate follows the day: a sine between the two rates. */
export function diurnal(options: DiurnalOptions): Traffic {
  const { lowPerSecond, highPerSecond, dayMs = 86_400_000, peakAtMs = dayMs / 2 } = options;
  checkRate(highPerSecond);
  if (!(lowPerSecond >= 0 && lowPerSecond <= highPerSecond))
    throw new RangeError(`lowPerSecond must be from 0 to highPerSecond (${highPerSecond}), got ${lowPerSecond}.`);
  const middle = (highPerSecond + lowPerSecond) / 2;
  const swing = (highPerSecond - lowPerSecond) / 2;
  const rateAt = (atMs: number) => middle + swing * Math.cos((2 * Math.PI * (atMs - peakAtMs)) / dayMs);
  return varying(rateAt, highPerSecond, options);
}

export interface FlashCrowdOptions extends Period {
  /** The rate before the crowd, and what it falls back to. */
  readonly basePerSecond: number;
  readonly peakPerSecond: number;
  /** When the crowd begins to come. */
  readonly atMs: number;
  /** How long the rate climbs, evenly, from the base to the peak. */
  readonly rampMs: number;
  /** How long it stays there. */
  readonly holdMs: number;
  /** After this much longer what is left of the crowd is 1/e of it. */
  readonly decayMs: number;
  readonly seed: number;
}

/**
 * Independent callers, and suddenly many of them.
 *
 *      peak ┤      ┌──────┐
 *           │     ╱        ╲
 *      base ┼────╱           `--._____
 *           └────┼─┼──────┼───────────►
 *               at ramp  hold  decay
 */
export function flashCrowd(options: FlashCrowdOptions): Traffic {
  const { basePerSecond, peakPerSecond, atMs: beginMs, rampMs, holdMs, decayMs } = options;
  checkRate(peakPerSecond);
  if (!(basePerSecond >= 0 && basePerSecond <= peakPerSecond))
    throw new RangeError(`basePerSecond must be from 0 to peakPerSecond (${peakPerSecond}), got ${basePerSecond}.`);
  const crowdAt = (sinceMs: number): number => {
    if (sinceMs < 0) return 0;
    if (sinceMs < rampMs) return sinceMs / rampMs;
    return Math.exp(-Math.max(0, sinceMs - rampMs - holdMs) / decayMs);
  };
  const rateAt = (atMs: number) => basePerSecond + (peakPerSecond - basePerSecond) * crowdAt(atMs - beginMs);
  return varying(rateAt, peakPerSecond, options);
}

export interface AttackOptions extends Period {
  /** From how many keys, in turn: `attacker-1` and so on. Default: from one, the `key`. */
  readonly keys?: number;
}

/** Somebody who hammers at an even rate, whatever is said to him; `'attacker'` where no key is given. */
export function attack(ratePerSecond: number, options: AttackOptions): Traffic {
  const { key = 'attacker', keys = 1 } = options;
  if (!(Number.isInteger(keys) && keys >= 1)) throw new RangeError(`keys must be a whole number above 0, got ${keys}.`);
  const hammering = steady(ratePerSecond, { ...options, key });
  if (keys === 1) return hammering;
  return again(function* () {
    let turn = 0;
    for (const arrival of hammering) {
      yield { ...arrival, key: `${key}-${turn + 1}` };
      turn = (turn + 1) % keys;
    }
  });
}

/** By thinning (Lewis and Shedler 1979): of arrivals at the highest rate, each stays with the share that the rate has of it then. */
function varying(
  rateAt: (atMs: number) => number,
  highestPerSecond: number,
  period: Period & { readonly seed: number },
): Traffic {
  return again(function* () {
    const chance = random(period.seed).fork();
    for (const arrival of poisson(highestPerSecond, period)) {
      if (chance.uniform() * highestPerSecond < rateAt(arrival.atMs)) yield arrival;
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

export interface RepeatedOptions {
  /** From the beginning of one time to that of the next; the traffic must be shorter. */
  readonly everyMs: number;
  /** Nothing arrives from then on. */
  readonly untilMs: number;
}

/** The same arrivals again and again. */
export function repeated(traffic: Traffic, { everyMs, untilMs }: RepeatedOptions): Traffic {
  if (!(everyMs > 0)) throw new RangeError(`everyMs must be a number above 0, got ${everyMs}.`);
  return again(function* () {
    for (let time = 0; ; time += 1) {
      let hasArrived = false;
      for (const arrival of traffic) {
        const atMs = arrival.atMs + time * everyMs;
        if (!(atMs < untilMs)) break;
        hasArrived = true;
        yield { ...arrival, atMs };
      }
      if (!hasArrived) return;
    }
  });
}

export interface MovedOptions {
  /** When the first of them arrives. Default 0. */
  readonly fromMs?: number;
  /** Nothing arrives from then on. Default: all of it does. */
  readonly untilMs?: number;
  /** How many times as fast: above 0. Default 1. */
  readonly speed?: number;
}

/** The same arrivals at another time: what was recorded once, as if it happened now. */
export function moved(traffic: Traffic, options: MovedOptions = {}): Traffic {
  const { fromMs = 0, untilMs = Number.POSITIVE_INFINITY, speed = 1 } = options;
  if (!(speed > 0)) throw new RangeError(`speed must be a number above 0, got ${speed}.`);
  return again(function* () {
    let firstMs: number | undefined;
    for (const arrival of traffic) {
      firstMs ??= arrival.atMs;
      const atMs = fromMs + (arrival.atMs - firstMs) / speed;
      if (!(atMs < untilMs)) return;
      yield { ...arrival, atMs };
    }
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
