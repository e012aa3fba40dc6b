/**
 * The one arithmetic behind `gcra`, `token-bucket` and `leaky-bucket`: a debt that drains at a constant rate.
 *
 *      debt
 *       capacity ┤      ╱│╲                 a call of cost c adds c * unit,
 *                │    ╱│ │  ╲               and passes when that stays within the capacity;
 *                │  ╱│ │ │    ╲             every millisecond takes `drain` away
 *              0 ┼─┴─┴─┴─┴──────╲────► time
 *
 * A token bucket calls `capacity - debt` its tokens; GCRA calls `seen + debt / drain` its theoretical arrival time.
 *
 * The debt is counted in parts of a unit chosen so that everything is whole: with limit L per window W, one unit of cost
 * is W parts and one millisecond drains L parts, both divided by their greatest common divisor. Whole milliseconds and
 * whole costs therefore never round, at 1 per 30 days and at 10 million per second alike. (Held as an arrival time in
 * epoch milliseconds, an emission interval of 1e-4 ms would vanish.)
 */

import type { Receipt } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import type { Numbers } from './algorithm.ts';

export interface BucketNumbers extends Numbers {
  /** Parts in one unit of cost. */
  readonly unit: number;
  /** Parts that drain per millisecond. */
  readonly drain: number;
  /** Parts that fit. */
  readonly capacity: number;
}

// Cells of one key.
const DEBT = 0;
const SEEN_MS = 1; // the latest time that charged the key; the debt is as of then
const BUCKET_CELLS = 2;

/** The numbers of a bucket that holds `size` units. Throws when they would round. */
export function bucketNumbers(limit: number, window: number, size: number): BucketNumbers {
  const divisor =
    Number.isSafeInteger(limit) && Number.isSafeInteger(window) ? greatestCommonDivisor(limit, window) : 1;
  const unit = window / divisor;
  const drain = limit / divisor;
  const capacity = size * unit;
  if (capacity > Number.MAX_SAFE_INTEGER || capacity / drain > Number.MAX_SAFE_INTEGER) {
    throw invalid(
      'limit, window and burst',
      'exact together',
      [limit, window, size],
      'Use a smaller burst or rounder numbers.',
    );
  }
  return { limit: size, unit, drain, capacity };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** `nowMs`, or the latest time seen if that is later. */
export function seenAtMs(cells: Float64Array, at: number, nowMs: number): number {
  return Math.max(nowMs, cells[at + SEEN_MS]!);
}

/** The debt at `nowMs`, or at the latest time seen if that is later: a clock stepping back drains nothing. */
export function debtAt(cells: Float64Array, at: number, numbers: BucketNumbers, nowMs: number): number {
  const elapsedMs = nowMs - cells[at + SEEN_MS]!;
  const debt = cells[at + DEBT]!;
  return elapsedMs > 0 ? Math.max(0, debt - elapsedMs * numbers.drain) : debt;
}

/** The functions of an algorithm that are the same for every bucket; each bucket adds its policy and how it is seen. */
export const bucket = {
  cells: () => BUCKET_CELLS,

  fresh(cells: Float64Array, at: number, _numbers: BucketNumbers, nowMs: number): void {
    cells[at + DEBT] = 0;
    cells[at + SEEN_MS] = nowMs;
  },

  wait(cells: Float64Array, at: number, numbers: BucketNumbers, cost: number, nowMs: number): number {
    const room = numbers.capacity - cost * numbers.unit;
    const over = debtAt(cells, at, numbers, nowMs) - room;
    if (over <= 0) return 0;
    if (room < 0) return Number.POSITIVE_INFINITY;
    const startMs = seenAtMs(cells, at, nowMs);
    const waitMs = Math.ceil(startMs - nowMs + over / numbers.drain);
    // With fractions of a millisecond the division may round down to the last moment of refusal.
    return debtAt(cells, at, numbers, nowMs + waitMs) <= room ? waitMs : waitMs + 1;
  },

  charge(cells: Float64Array, at: number, numbers: BucketNumbers, cost: number, nowMs: number): void {
    cells[at + DEBT] = debtAt(cells, at, numbers, nowMs) + cost * numbers.unit;
    cells[at + SEEN_MS] = seenAtMs(cells, at, nowMs);
  },

  step(cells: Float64Array, at: number, numbers: BucketNumbers, cost: number, nowMs: number): number {
    const elapsedMs = nowMs - cells[at + SEEN_MS]!;
    let debt = cells[at + DEBT]!;
    if (elapsedMs > 0) debt = Math.max(0, debt - elapsedMs * numbers.drain);
    const parts = cost * numbers.unit;
    if (debt - (numbers.capacity - parts) > 0) return bucket.wait(cells, at, numbers, cost, nowMs);
    cells[at + DEBT] = debt + parts;
    if (elapsedMs > 0) cells[at + SEEN_MS] = nowMs;
    return 0;
  },

  receipt: (cells: Float64Array, at: number): Receipt => [cells[at + DEBT]!, cells[at + SEEN_MS]!],

  // What has drained since the charge was spent on time that passes for everyone; giving that back too would let others
  // burst twice. What others gave back since lets this charge drain the sooner.
  refund(
    cells: Float64Array,
    at: number,
    numbers: BucketNumbers,
    cost: number,
    nowMs: number,
    receipt?: Receipt,
    refundedSince = 0,
  ): void {
    const seenMs = seenAtMs(cells, at, nowMs);
    const parts = cost * numbers.unit;
    const left = receipt
      ? debtAt(Float64Array.from(receipt), 0, numbers, seenMs) - refundedSince * numbers.unit
      : parts;
    const debt = debtAt(cells, at, numbers, nowMs);
    cells[at + DEBT] = Math.max(0, debt - Math.min(parts, Math.max(0, left)));
    cells[at + SEEN_MS] = seenMs;
  },

  available(cells: Float64Array, at: number, numbers: BucketNumbers, nowMs: number): number {
    return (numbers.capacity - debtAt(cells, at, numbers, nowMs)) / numbers.unit;
  },

  asNewInMs(cells: Float64Array, at: number, numbers: BucketNumbers, nowMs: number): number {
    return cells[at + SEEN_MS]! - nowMs + cells[at + DEBT]! / numbers.drain;
  },

  history(cells: Float64Array, at: number, numbers: BucketNumbers): number[] {
    return [cells[at + SEEN_MS]!, cells[at + DEBT]! / numbers.unit];
  },

  // Until the change the debt drained at the old rate.
  carry(
    from: Float64Array,
    old: BucketNumbers,
    to: Float64Array,
    numbers: BucketNumbers,
    changedMs: number,
  ): Float64Array {
    to[DEBT] = (debtAt(from, 0, old, changedMs) / old.unit) * numbers.unit;
    to[SEEN_MS] = seenAtMs(from, 0, changedMs);
    return to;
  },
};
