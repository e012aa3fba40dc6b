/**
 * The sliding window cut into slots, counted conservatively: a slot counts until it has wholly left the window.
 *
 *           ├──────── window ────────┤
 *      │ 2 │ 0 │ 5 │ 1 │ 0 │ 3 │ 1 ··│        slots + 1 counters are alive: the oldest is only partly inside,
 *        ▲                         now        and it counts in full
 *
 * Strict: what this admits, an exact log of the same policy admits too. It may go on refusing for up to `window / slots`
 * longer than the log would. Memory is `slots + 4` numbers per key, whatever the limit.
 */
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy, policyOf, type RateOptions, rateOf } from '../../vocabulary/policy.ts';
import { type Algorithm, dust, type Numbers } from '../algorithm.ts';

export interface SlidingSlotsOptions extends RateOptions {
  /** How many parts the window is cut into: 1 to 10,000, and no more than 60 per millisecond. Default 60. */
  readonly slots?: number;
}

export interface SlidingSlotsPolicy extends Policy {
  readonly algorithm: 'sliding-slots';
  readonly window: number;
  readonly slots: number;
}

interface SlotNumbers extends Numbers {
  readonly window: number;
  readonly slots: number;
  /** How many slots back are kept: those of the window, or more for the sake of a longer one. */
  readonly kept: number;
  readonly coveredMs: number;
}

// Cells of one key.
const NEWEST = 0; // the number of the newest slot, counted from the epoch
const TOTAL = 1; // the sum of all counters, as of the newest slot
const COUNTERS = 2; // slot s is counter s modulo the number of counters

// More than this many slots are not kept for the sake of a longer window; what is beyond counts as unknown.
const mostKept = 10_000;

/** One more than can be alive: where a slot begins and where the window ends may round apart. */
function countersOf(numbers: SlotNumbers): number {
  return numbers.kept + 2;
}

function startsAtMs(numbers: SlotNumbers, slot: number): number {
  return (slot * numbers.window) / numbers.slots;
}

/** The slot a moment is in. The quotient may round across a boundary; the slot's own start decides. */
function slotAt(numbers: SlotNumbers, nowMs: number): number {
  let slot = Math.floor((nowMs * numbers.slots) / numbers.window);
  if (startsAtMs(numbers, slot) > nowMs) slot -= 1;
  if (startsAtMs(numbers, slot + 1) <= nowMs) slot += 1;
  return slot;
}

function counterOf(at: number, numbers: SlotNumbers, slot: number): number {
  const counters = countersOf(numbers);
  return at + COUNTERS + (((slot % counters) + counters) % counters);
}

/** When a slot has wholly left the window. */
function leavesAtMs(numbers: SlotNumbers, slot: number): number {
  return startsAtMs(numbers, slot + 1) + numbers.window;
}

/** The newest slot at `nowMs`: a clock stepping back stays in the newest slot seen. */
function newestAt(cells: Float64Array, at: number, numbers: SlotNumbers, nowMs: number): number {
  return Math.max(slotAt(numbers, nowMs), cells[at + NEWEST]!);
}

/** What counts at `nowMs`: the total, less the slots that have left since it was taken. */
function usedAt(cells: Float64Array, at: number, numbers: SlotNumbers, nowMs: number): number {
  const stored = cells[at + NEWEST]!;
  const newest = newestAt(cells, at, numbers, nowMs);
  if (newest === stored) return cells[at + TOTAL]!;
  const oldest = slotAt(numbers, nowMs - numbers.window);
  // Summed anew rather than subtracted: with fractional costs a difference could fall short of the truth.
  let used = 0;
  for (let slot = stored; slot >= oldest; slot -= 1) used += cells[counterOf(at, numbers, slot)]!;
  return used;
}

/** Moves the newest slot on, emptying the counters it takes over. */
function advance(cells: Float64Array, at: number, numbers: SlotNumbers, nowMs: number): number {
  const newest = newestAt(cells, at, numbers, nowMs);
  const stored = cells[at + NEWEST]!;
  if (newest === stored) return newest;
  cells[at + TOTAL] = usedAt(cells, at, numbers, nowMs);
  for (let slot = Math.max(stored + 1, newest - countersOf(numbers) + 1); slot <= newest; slot += 1) {
    cells[counterOf(at, numbers, slot)] = 0;
  }
  cells[at + NEWEST] = newest;
  return newest;
}

const algorithm: Algorithm<SlidingSlotsPolicy, SlotNumbers> = {
  name: 'sliding-slots',
  factory: slidingSlots,
  keepsChargesApart: true,
  strict: true,
  prepare({ limit, window, slots }, stalenessMs, retainMs) {
    const longMs = window + stalenessMs;
    const kept = Math.max(slots, Math.min(mostKept, Math.ceil((retainMs * slots) / longMs)));
    return {
      limit,
      window: longMs,
      slots,
      kept,
      coveredMs: Math.max(longMs, Math.min((kept * longMs) / slots, retainMs)),
    };
  },
  cells: (numbers) => countersOf(numbers) + COUNTERS,

  fresh(cells, at, numbers, nowMs) {
    cells.fill(0, at, at + countersOf(numbers) + COUNTERS);
    cells[at + NEWEST] = slotAt(numbers, nowMs);
  },

  wait(cells, at, numbers, cost, nowMs) {
    const room = numbers.limit - cost + dust;
    if (usedAt(cells, at, numbers, nowMs) <= room) return 0;
    if (cost > numbers.limit) return Number.POSITIVE_INFINITY;
    // From the newest backwards, the first slot whose sum exceeds the room is the one that has to leave.
    let slot = cells[at + NEWEST]!;
    const oldest = slot - numbers.slots - 1;
    for (let used = cells[counterOf(at, numbers, slot)]!; used <= room && slot > oldest; ) {
      slot -= 1;
      used += cells[counterOf(at, numbers, slot)]!;
    }
    // At least 1: fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
    return Math.max(1, Math.ceil(leavesAtMs(numbers, slot) - nowMs));
  },

  charge(cells, at, numbers, cost, nowMs) {
    const newest = advance(cells, at, numbers, nowMs);
    cells[counterOf(at, numbers, newest)]! += cost;
    cells[at + TOTAL]! += cost;
  },

  // The slot that was charged.
  receipt: (cells, at) => [cells[at + NEWEST]!],

  refund(cells, at, numbers, cost, _nowMs, [charged = Number.POSITIVE_INFINITY] = []) {
    const newest = cells[at + NEWEST]!;
    // One slot more may still be counted; it is not worth finding out for a refund.
    const oldest = newest - numbers.slots;
    let left = Math.min(cost, cells[at + TOTAL]!);
    const last = charged === Number.POSITIVE_INFINITY ? oldest : Math.max(charged, oldest);
    for (let slot = Math.min(charged, newest); slot >= last && left > 0; slot -= 1) {
      const counter = counterOf(at, numbers, slot);
      const back = Math.min(left, cells[counter]!);
      cells[counter]! -= back;
      cells[at + TOTAL]! -= back;
      left -= back;
    }
  },

  available: (cells, at, numbers, nowMs) => numbers.limit - usedAt(cells, at, numbers, nowMs),

  asNewInMs(cells, at, numbers, nowMs) {
    let slot = cells[at + NEWEST]!;
    const oldest = slot - numbers.slots - 1;
    while (slot >= oldest && cells[counterOf(at, numbers, slot)] === 0) slot -= 1;
    return leavesAtMs(numbers, slot) - nowMs;
  },

  // The same slots are the same under another limit; history would move them on by one at every change.
  carry: (from, old, _to, numbers) =>
    old.window === numbers.window && old.slots === numbers.slots && old.kept === numbers.kept
      ? from.slice()
      : undefined,

  history(cells, at, numbers, latestMs) {
    const events: number[] = [];
    const newest = cells[at + NEWEST]!;
    for (let slot = newest - numbers.kept - 1; slot <= newest; slot += 1) {
      const cost = cells[counterOf(at, numbers, slot)]!;
      // The newest says how far back the others tell, be it empty.
      const latestInSlotMs = Math.max(latestMs, startsAtMs(numbers, slot));
      if (cost > 0 || slot === newest) events.push(Math.min(latestInSlotMs, startsAtMs(numbers, slot + 1)), cost);
    }
    return events;
  },
};

// The default number of slots in a window of one millisecond: finer ones could not be told apart by their numbers.
const slotsPerMs = 60;

export function slidingSlots(options: SlidingSlotsOptions): SlidingSlotsPolicy {
  knownFields('slidingSlots', options, 'limit window slots');
  const { slots = 60 } = options;
  const rate = rateOf(options);
  const most = Math.floor(Math.min(10_000, rate.window * slotsPerMs));
  if (most < 1) throw invalid('window', `at least ${1 / slotsPerMs} ms`, rate.window);
  if (!Number.isInteger(slots) || slots < 1 || slots > most) {
    throw invalid('slots', `a whole number from 1 to ${most}`, slots);
  }
  return policyOf<SlidingSlotsPolicy>(algorithm, { algorithm: 'sliding-slots', ...rate, slots });
}
