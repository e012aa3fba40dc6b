/** Checks of options that several protections have. */
import { type Clock, checkClock, monotonicClock } from '../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { invalid } from '../vocabulary/errors.ts';

export function nameOf(name = ''): string {
  if (typeof name !== 'string') throw invalid('name', 'a string', name);
  return name;
}

export function clockOf(clock: Clock = monotonicClock): Clock {
  checkClock(clock);
  return clock;
}

export function randomOf(random: () => number = Math.random): () => number {
  if (typeof random !== 'function') throw invalid('random', 'a function such as Math.random', random);
  return random;
}

export function functionOf<F>(field: string, given: F | undefined, otherwise: F): F {
  if (given !== undefined && typeof given !== 'function') throw invalid(field, 'a function', given);
  return given ?? otherwise;
}

export function wholeNumber(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(field, `a whole number from ${least} to ${most}`, value);
}

/** A number between two others; which of them it may be itself is said by `mustBe`. */
export function within(field: string, value: number, holds: boolean, mustBe: string): number {
  // A NaN holds nothing, and a text that compares like a number is none.
  if (typeof value === 'number' && holds) return value;
  throw invalid(field, mustBe, value);
}

/** Milliseconds, or for ever where nothing is given. */
export function forEver(field: string, value: Duration | undefined): number {
  return value === undefined ? Number.POSITIVE_INFINITY : parseDuration(value, field);
}
