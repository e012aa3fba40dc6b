/**
 * Every call with its time: exact. At most `limit` in every `(t - window, t]`; an event exactly `window` old no longer counts.
 *
 *      time     1.0   1.3   1.3   2.0                used in the window = sum at the newest - sum before the oldest inside
 *      cost      1     2     1     1
 *      entry  (1.0,1)   (1.3,4)   (2.0,5)            kept as running sums, so that both ends are found by halving
 *
 * Calls of one moment share an entry; they are still counted one by one. The ring has room for at least `limit` entries, which
 * is enough for whole costs. Fractional costs (and `penalize`, and counted rejections) can need more: neighbours then merge
 * to the later time, which can only refuse more.
 */
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, oneOf, type Policy, policyOf, type RateOptions, rateOf } from '../../vocabulary/policy.ts';
import { type Algorithm, dust, everything, type Numbers } from '../algorithm.ts';
import { append, BASE, COUNT, clearRing, dropOldest, entryAt, isFull, isRing, resized, ringCells } from '../ring.ts';

export interface SlidingLogOptions extends RateOptions {
  /** Count refused calls too: a hammering caller stays refused until it pauses. Default false. */
  readonly countRejected?: boolean;
  /** Also refuse two events closer than this. At most `window`. */
  readonly minGap?: Duration;
}

export interface SlidingLogPolicy extends Policy {
  readonly algorithm: 'sliding-log';
  readonly window: number;
  readonly countRejected?: boolean;
  readonly minGap?: number;
}

interface LogNumbers extends Numbers {
  readonly window: number;
  readonly coveredMs: number;
  readonly minGapMs: number;
  /** The most entries a key may hold. */
  readonly entries: number;
}

// An entry: when, and the sum of all costs up to and including it. The ring's base is the sum before the oldest entry.
const WIDTH = 2;
const SUM = 1;

const firstCapacity = 4;
const fewestEntries = 128;

// A debt larger than this is as good as this: the key is refused until it has left. Sums with larger ones would round.
const largestCost = 2 ** 32;
const largestBase = 2 ** 32;

function timeOf(cells: Float64Array, at: number, i: number): number {
  return cells[entryAt(cells, at, WIDTH, i)]!;
}

/** The sum of the costs of the first `i` entries, above the base. */
function sumBefore(cells: Float64Array, at: number, i: number): number {
  return i === 0 ? cells[at + BASE]! : cells[entryAt(cells, at, WIDTH, i - 1) + SUM]!;
}

/** The first entry, from `low` on, for which the test holds; the test must hold for all after it. */
function firstEntry(cells: Float64Array, at: number, low: number, holds: (entry: number) => boolean): number {
  let high = cells[at + COUNT]!;
  let from = low;
  while (from < high) {
    const middle = (from + high) >>> 1;
    if (holds(entryAt(cells, at, WIDTH, middle))) high = middle;
    else from = middle + 1;
  }
  return from;
}

/** The latest time seen: a clock that stepped back counts as this. */
function seenAtMs(cells: Float64Array, at: number, nowMs: number): number {
  const count = cells[at + COUNT]!;
  return count === 0 ? nowMs : Math.max(nowMs, timeOf(cells, at, count - 1));
}

/** The oldest entry younger than so long. */
function oldestWithin(cells: Float64Array, at: number, ageMs: number, seenMs: number): number {
  const count = cells[at + COUNT]!;
  // Mostly nothing has left, or everything has.
  if (count === 0 || seenMs - timeOf(cells, at, 0) < ageMs) return 0;
  if (seenMs - timeOf(cells, at, count - 1) >= ageMs) return count;
  return firstEntry(cells, at, 1, (entry) => seenMs - cells[entry]! < ageMs);
}

function usedAt(cells: Float64Array, at: number, numbers: LogNumbers, nowMs: number): number {
  const inside = oldestWithin(cells, at, numbers.window, seenAtMs(cells, at, nowMs));
  return sumBefore(cells, at, cells[at + COUNT]!) - sumBefore(cells, at, inside);
}

function prune(cells: Float64Array, at: number, numbers: LogNumbers, seenMs: number): void {
  const gone = oldestWithin(cells, at, numbers.coveredMs, seenMs);
  cells[at + BASE] = sumBefore(cells, at, gone);
  dropOldest(cells, at, gone);
  // Sums start again when they could, and when they must, so that they stay small and exact.
  const base = cells[at + BASE]!;
  if (cells[at + COUNT] !== 0 && base < largestBase) return;
  for (let i = 0; i < cells[at + COUNT]!; i += 1) cells[entryAt(cells, at, WIDTH, i) + SUM]! -= base;
  cells[at + BASE] = 0;
}

/** What was taken at the moment of entry `i`. */
function costOf(cells: Float64Array, at: number, i: number): number {
  return sumBefore(cells, at, i + 1) - sumBefore(cells, at, i);
}

/**
 * Takes `amount` out of entry `i`: every sum from there on shrinks. An entry with nothing left makes room: a ring full of those would have to merge what
 * is still held. Only the newest stays until the next takes its place; it knows how late it is.
 */
function takeOut(cells: Float64Array, at: number, i: number, amount: number): void {
  const newest = cells[at + COUNT]! - 1;
  for (let later = i; later <= newest; later += 1) cells[entryAt(cells, at, WIDTH, later) + SUM]! -= amount;
  if (i === newest || costOf(cells, at, i) !== 0) return;
  for (let later = i; later < newest; later += 1) {
    const next = entryAt(cells, at, WIDTH, later + 1);
    cells.copyWithin(entryAt(cells, at, WIDTH, later), next, next + WIDTH);
  }
  cells[at + COUNT] = newest;
}

/** Joins entries so close together that all that is kept would be half as many as the ring holds. */
function mergeNeighbours(cells: Float64Array, numbers: LogNumbers): void {
  const closeMs = (2 * numbers.coveredMs) / numbers.entries;
  const count = cells[COUNT]!;
  let kept = 0;
  for (let i = 0; i < count; ) {
    const startMs = timeOf(cells, 0, i);
    let last = i;
    while (last + 1 < count && timeOf(cells, 0, last + 1) - startMs < closeMs) last += 1;
    const from = entryAt(cells, 0, WIDTH, last);
    cells.copyWithin(entryAt(cells, 0, WIDTH, kept), from, from + WIDTH);
    kept += 1;
    i = last + 1;
  }
  cells[COUNT] = kept;
}

function charge(cells: Float64Array, at: number, numbers: LogNumbers, cost: number, nowMs: number): void {
  const seenMs = seenAtMs(cells, at, nowMs);
  prune(cells, at, numbers, seenMs);
  const count = cells[at + COUNT]!;
  const sum = sumBefore(cells, at, count) + Math.min(cost, numbers.limit + largestCost);
  const isNewest = count > 0 && (timeOf(cells, at, count - 1) === seenMs || costOf(cells, at, count - 1) === 0);
  const entry = isNewest ? entryAt(cells, at, WIDTH, count - 1) : append(cells, at, WIDTH);
  cells[entry] = seenMs;
  cells[entry + SUM] = sum;
}

function extend(cells: Float64Array, numbers: LogNumbers, nowMs: number): Float64Array {
  if (!isFull(cells, 0)) return cells;
  prune(cells, 0, numbers, seenAtMs(cells, 0, nowMs));
  const capacity = cells[COUNT]!;
  if (!isFull(cells, 0)) return cells;
  if (capacity < numbers.entries) return resized(cells, WIDTH, Math.min(2 * capacity, numbers.entries));
  mergeNeighbours(cells, numbers);
  return cells;
}

const algorithm: Algorithm<SlidingLogPolicy, LogNumbers> = {
  name: 'sliding-log',
  factory: slidingLog,
  keepsChargesApart: true,
  strict: true,
  prepare: ({ limit, window, minGap = 0, countRejected = false }, stalenessMs, retainMs) => ({
    limit,
    window: window + stalenessMs,
    coveredMs: Math.max(window + stalenessMs, retainMs),
    minGapMs: minGap === 0 ? 0 : minGap + stalenessMs,
    countRejected,
    entries: Math.max(Math.ceil(limit), fewestEntries),
  }),
  cells: () => ringCells(firstCapacity, WIDTH),
  fresh: (cells, at) => clearRing(cells, at, firstCapacity),

  wait(cells, at, numbers, cost, nowMs) {
    if (cost > numbers.limit) return Number.POSITIVE_INFINITY;
    const count = cells[at + COUNT]!;
    if (count === 0) return 0;
    const newestMs = timeOf(cells, at, count - 1);
    const seenMs = Math.max(nowMs, newestMs);
    const inside = oldestWithin(cells, at, numbers.window, seenMs);
    const room = numbers.limit - cost + dust;
    const sum = sumBefore(cells, at, count);
    const isTooClose = numbers.minGapMs > seenMs - newestMs;
    const fits = sum - sumBefore(cells, at, inside) <= room;
    if (fits && !isTooClose) return 0;
    const gapMs = isTooClose ? newestMs + numbers.minGapMs - nowMs : 0;
    // The first entry after whose leaving the rest fits.
    const leaves = firstEntry(cells, at, inside, (entry) => sum - cells[entry + SUM]! <= room);
    const roomMs = fits ? 0 : timeOf(cells, at, leaves) + numbers.window - nowMs;
    // At least 1: fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
    const waitMs = Math.max(1, Math.ceil(Math.max(gapMs, roomMs)));
    const thenMs = nowMs + waitMs;
    const isEarly =
      (isTooClose && thenMs - newestMs < numbers.minGapMs) ||
      (!fits && thenMs - timeOf(cells, at, leaves) < numbers.window);
    return isEarly ? waitMs + 1 : waitMs;
  },

  charge,

  reject(cells, numbers, cost, nowMs) {
    const roomy = extend(cells, numbers, nowMs);
    charge(roomy, 0, numbers, Math.min(cost, numbers.limit), nowMs);
    return roomy;
  },

  // The time of the entry that was charged.
  receipt: (cells, at) => [timeOf(cells, at, cells[at + COUNT]! - 1)],

  // An entry that has left, or was merged into another, gives nothing back: what is there now may be somebody else's.
  refund(cells, at, _numbers, cost, _nowMs, receipt) {
    const count = cells[at + COUNT]!;
    const [chargedMs = Number.POSITIVE_INFINITY] = receipt ?? [];
    let i = receipt ? firstEntry(cells, at, 0, (entry) => cells[entry]! >= chargedMs) : count - 1;
    if (receipt && (i === count || timeOf(cells, at, i) !== chargedMs)) return;
    const last = receipt ? i : 0;
    for (let left = cost; i >= last && left > 0; i -= 1) {
      const back = Math.min(left, costOf(cells, at, i));
      takeOut(cells, at, i, back);
      left -= back;
    }
  },

  available(cells, at, numbers, nowMs) {
    const count = cells[at + COUNT]!;
    const sinceNewestMs = count === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - timeOf(cells, at, count - 1));
    return sinceNewestMs < numbers.minGapMs ? 0 : numbers.limit - usedAt(cells, at, numbers, nowMs);
  },

  asNewInMs(cells, at, numbers, nowMs) {
    const count = cells[at + COUNT]!;
    return count === 0 ? Number.NEGATIVE_INFINITY : timeOf(cells, at, count - 1) - nowMs + numbers.window;
  },

  history(cells, at, { limit }) {
    const events: number[] = [];
    for (let i = 0; i < cells[at + COUNT]!; i += 1) {
      const cost = costOf(cells, at, i);
      events.push(timeOf(cells, at, i), cost < limit + largestCost ? cost : everything);
    }
    return events;
  },

  fits: (cells) => isRing(cells, WIDTH),
  extend,
};

/** Exact and strict; memory grows with the limit. */
export function slidingLog(options: SlidingLogOptions): SlidingLogPolicy {
  knownFields('slidingLog', options, 'limit window countRejected minGap');
  const { limit, window } = rateOf(options);
  const countRejected = oneOf('countRejected', options.countRejected, [true, false]);
  const minGap = options.minGap === undefined ? undefined : parseDuration(options.minGap, 'minGap');
  if (minGap !== undefined && minGap > window) throw invalid('minGap', `at most the window (${window} ms)`, minGap);
  return policyOf<SlidingLogPolicy>(algorithm, {
    algorithm: 'sliding-log',
    limit,
    window,
    countRejected,
    minGap,
  } as SlidingLogPolicy);
}
