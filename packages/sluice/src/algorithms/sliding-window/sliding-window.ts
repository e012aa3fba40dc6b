/**
 * Two counters, weighted: what the previous window held counts by the share of it that the sliding window still covers.
 *
 *      previous        current
 *      │■■■■■■■■··│■■■·······│
 *           └──── window ────┘        used = previous * (1 - progress) + current
 *
 * An estimate: it takes the previous window's calls as evenly spread. Three numbers per key; not strict.
 */
import { countedRateOf, knownFields, type Policy, policyOf, type RateOptions } from '../../vocabulary/policy.ts';
import type { Algorithm, Numbers } from '../algorithm.ts';

export interface SlidingWindowPolicy extends Policy {
  readonly algorithm: 'sliding-window';
  readonly window: number;
}

interface WindowNumbers extends Numbers {
  readonly window: number;
}

// Cells of one key.
const START_MS = 0; // when the current window began, aligned to the epoch
const CURRENT = 1;
const PREVIOUS = 2;

function windowsSince(cells: Float64Array, at: number, numbers: WindowNumbers, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - cells[at + START_MS]!) / numbers.window));
}

function currentAt(cells: Float64Array, at: number, windows: number): number {
  return windows === 0 ? cells[at + CURRENT]! : 0;
}

function previousAt(cells: Float64Array, at: number, windows: number): number {
  return windows === 0 ? cells[at + PREVIOUS]! : windows === 1 ? cells[at + CURRENT]! : 0;
}

/** The estimate times the window: whole milliseconds and whole costs then never round. */
function usedTimesWindow(cells: Float64Array, at: number, numbers: WindowNumbers, nowMs: number): number {
  const windows = windowsSince(cells, at, numbers, nowMs);
  // A clock behind the window's start has made no progress in it.
  const leftMs = numbers.window * (windows + 1) - Math.max(0, nowMs - cells[at + START_MS]!);
  return previousAt(cells, at, windows) * leftMs + currentAt(cells, at, windows) * numbers.window;
}

/** The moment the estimate falls to `room`: in the stored window while its own count fits, else in the next one. */
function fallsToAtMs(cells: Float64Array, at: number, numbers: WindowNumbers, room: number): number {
  const endMs = cells[at + START_MS]! + numbers.window;
  const current = cells[at + CURRENT]!;
  if (current <= room) return endMs - ((room - current) / cells[at + PREVIOUS]!) * numbers.window;
  return endMs + (1 - room / current) * numbers.window;
}

const algorithm: Algorithm<SlidingWindowPolicy, WindowNumbers> = {
  name: 'sliding-window',
  factory: slidingWindow,
  keepsChargesApart: true,
  prepare: ({ limit, window }) => ({ limit, window }),
  cells: () => 3,

  fresh(cells, at, numbers, nowMs) {
    cells[at + START_MS] = Math.floor(nowMs / numbers.window) * numbers.window;
    cells[at + CURRENT] = 0;
    cells[at + PREVIOUS] = 0;
  },

  wait(cells, at, numbers, cost, nowMs) {
    const room = numbers.limit - cost;
    if (usedTimesWindow(cells, at, numbers, nowMs) <= room * numbers.window) return 0;
    if (cost > numbers.limit) return Number.POSITIVE_INFINITY;
    // The exact moment is a fraction; the first whole millisecond that passes is at it or next to it.
    let waitMs = Math.max(1, Math.ceil(fallsToAtMs(cells, at, numbers, room) - nowMs) - 1);
    while (usedTimesWindow(cells, at, numbers, nowMs + waitMs) > room * numbers.window) waitMs += 1;
    return waitMs;
  },

  charge(cells, at, numbers, cost, nowMs) {
    const windows = windowsSince(cells, at, numbers, nowMs);
    const current = currentAt(cells, at, windows);
    cells[at + PREVIOUS] = previousAt(cells, at, windows);
    cells[at + CURRENT] = current + cost;
    cells[at + START_MS]! += windows * numbers.window;
  },

  // The start of the window that was charged.
  receipt: (cells, at) => [cells[at + START_MS]!],

  refund(cells, at, numbers, cost, _nowMs, [chargedMs = Number.POSITIVE_INFINITY] = []) {
    const startMs = cells[at + START_MS]!;
    if (chargedMs >= startMs) cells[at + CURRENT] = Math.max(0, cells[at + CURRENT]! - cost);
    else if (chargedMs >= startMs - numbers.window) cells[at + PREVIOUS] = Math.max(0, cells[at + PREVIOUS]! - cost);
  },

  available: (cells, at, numbers, nowMs) =>
    (numbers.limit * numbers.window - usedTimesWindow(cells, at, numbers, nowMs)) / numbers.window,

  asNewInMs(cells, at, numbers, nowMs) {
    const windows = cells[at + CURRENT]! > 0 ? 2 : cells[at + PREVIOUS]! > 0 ? 1 : 0;
    return cells[at + START_MS]! - nowMs + windows * numbers.window;
  },

  carry: (from, old, _to, numbers) => (old.window === numbers.window ? from.slice() : undefined),

  history(cells, at, numbers, latestMs) {
    const startMs = cells[at + START_MS]!;
    const latestCurrentMs = Math.min(Math.max(latestMs, startMs), startMs + numbers.window);
    return [startMs - 1, cells[at + PREVIOUS]!, latestCurrentMs, cells[at + CURRENT]!];
  },
};

export function slidingWindow(options: RateOptions): SlidingWindowPolicy {
  knownFields('slidingWindow', options, 'limit window');
  return policyOf<SlidingWindowPolicy>(algorithm, { algorithm: 'sliding-window', ...countedRateOf(options) });
}
