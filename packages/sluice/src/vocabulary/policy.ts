import { type Duration, parseDuration } from './duration.ts';
import { invalid, SluiceError } from './errors.ts';

/** Where a policy carries its algorithm. `Symbol.for`, so that two copies of the package understand each other. */
export const ALGORITHM: unique symbol = Symbol.for('sluice.algorithm') as never;

/**
 * A policy is plain, frozen data: the same object in code, YAML, HTTP, Redis and the browser. The factory that built it
 * also attached its algorithm under a symbol, which JSON and spreading drop; `parsePolicy` brings it back.
 */
export interface Policy {
  readonly algorithm: string;
  /** How much may pass per `window`. */
  readonly limit: number;
  /** Milliseconds. Absent where time plays no part (`concurrency`). */
  readonly window?: number;
  readonly burst?: number;
  readonly [ALGORITHM]: object;
}

/** What every rate has: so much per so long. */
export interface RateOptions {
  /** How much may pass per `window`: a number above 0. */
  readonly limit: number;
  /** Milliseconds, or text such as `'1m'`. */
  readonly window: Duration;
}

/** Freezes the data into a policy and attaches its algorithm where neither JSON nor `Object.keys` sees it. */
export function policyOf<P extends Policy>(algorithm: object, data: Omit<P, typeof ALGORITHM>): P {
  const known = Object.entries(data).filter(([, value]) => value !== undefined);
  return Object.freeze(
    Object.defineProperty(Object.fromEntries(known), ALGORITHM, { value: algorithm }),
  ) as unknown as P;
}

// Each policy is turned into text once.
const texts = new WeakMap<Policy, string>();

/** A policy as text; equal policies have equal texts. */
export function policyJson(policy: Policy): string {
  const text = texts.get(policy) ?? JSON.stringify(policy);
  texts.set(policy, text);
  return text;
}

/** Whether two policies say the same: a caller may build its own anew for every call. */
export function isSamePolicy(a: Policy, b: Policy): boolean {
  return a === b || policyJson(a) === policyJson(b);
}

/** Refuses what is not an object of exactly the known fields: a misspelt option must not be silently ignored. */
export function knownFields(owner: string, options: object, fields: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(`what ${owner} is given`, `an object of ${fields.split(' ').join(', ')}`, options);
  const known = fields.split(' ');
  for (const field of Object.keys(options)) {
    if (!known.includes(field)) {
      throw new SluiceError('invalid-option', `${owner} has no field "${field}". It takes ${known.join(', ')}.`);
    }
  }
}

// Up to here whole numbers and their sums are exact.
const largest = 2 ** 50;

export function aboveZero(field: string, value: number | undefined, wayOut?: string): number {
  if (Number.isFinite(value) && (value as number) > largest) throw invalid(field, `at most ${largest}`, value);
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value;
  throw invalid(field, 'a number above 0', value, wayOut);
}

export function zeroOrMore(field: string, value: number | undefined, max = Number.MAX_VALUE): number {
  if (typeof value === 'number' && value >= 0 && value <= max) return value;
  throw invalid(field, `a number from 0${max === Number.MAX_VALUE ? '' : ` to ${max}`}`, value);
}

export function oneOf<T>(field: string, value: T | undefined, choices: readonly T[]): T | undefined {
  if (value === undefined || choices.includes(value)) return value;
  throw invalid(field, `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`, value);
}

/** A duration that may also be left out, or none at all. */
export function optionalDuration(field: string, value: Duration | undefined): number | undefined {
  return value === undefined || value === 0 ? value : parseDuration(value, field);
}

/** `limit` and `window` of a rate, checked. What one unit takes must be a time that can be told. */
export function rateOf(options: RateOptions): { limit: number; window: number } {
  const limit = aboveZero('limit', options.limit, 'To refuse everything use block().');
  const window = parseDuration(options.window, 'window');
  aboveZero('window / limit', window / limit);
  return { limit, window };
}

// A nanosecond.
const shortestWindowMs = 1e-6;

/** The same where windows are numbered from the epoch on, or counted while nobody asks: far shorter ones have no number, and their keys would be full for ever. */
export function countedRateOf(options: RateOptions): { limit: number; window: number } {
  const rate = rateOf(options);
  if (rate.window < shortestWindowMs) throw invalid('window', `at least ${shortestWindowMs} ms`, rate.window);
  return rate;
}

/** A call's cost, checked. NaN would pass every comparison that guards a limit. */
export function checkCost(cost: number): number {
  // No limit is as large as the largest; a debt of more would round, or become Infinity.
  if (typeof cost === 'number' && cost >= 0 && cost < Number.POSITIVE_INFINITY) return Math.min(cost, largest);
  throw invalid('cost', 'a finite number of 0 or more', cost);
}
