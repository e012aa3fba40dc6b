/**
 * The one arithmetic behind `fixed-window` and the token bucket that refills once per window: a count that falls by
 * `perWindow` at the end of each window, and has room up to `limit`.
 *
 *      used  ▁▃▅▅▅│▁▁▂▂│        start ─► every `window` the count falls
 *
 * A count above the room is a claim on later windows: callers who may wait are served from those.
 */
import type { Receipt } from '../vocabulary/decision.ts';
import { dust, type Numbers } from './algorithm.ts';

export interface WindowCountNumbers extends Numbers {
  /** What each window's end takes off the count. */
  readonly perWindow: number;
  readonly window: number;
  /** The longest a caller may be told to wait. */
  readonly waitMs: number;
  /** Windows begin at multiples of their length since the epoch; otherwise at the first call. */
  readonly aligned: boolean;
  /** What is used at the start. */
  readonly initial: number;
}

// Cells of one key.
const START_MS = 0; // when the window began
const USED = 1;

/** How many windows have ended since the stored one began. None while the clock is behind it. */
function windowsSince(cells: Float64Array, at: number, numbers: WindowCountNumbers, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - cells[at + START_MS]!) / numbers.window));
}

function usedAt(cells: Float64Array, at: number, numbers: WindowCountNumbers, nowMs: number): number {
  return Math.max(0, cells[at + USED]! - windowsSince(cells, at, numbers, nowMs) * numbers.perWindow);
}

function begin(cells: Float64Array, at: number, { aligned, window }: WindowCountNumbers, nowMs: number): void {
  cells[at + START_MS] = aligned ? Math.floor(nowMs / window) * window : nowMs;
}

/** How long until the window that has room for the cost begins; 0 when the current one has, and else never 0. */
function untilRoomMs(
  cells: Float64Array,
  at: number,
  numbers: WindowCountNumbers,
  cost: number,
  nowMs: number,
): number {
  const { limit, perWindow, window } = numbers;
  if (usedAt(cells, at, numbers, nowMs) + cost <= limit + dust) return 0;
  if (cost > limit) return Number.POSITIVE_INFINITY;
  const windows = Math.ceil((cells[at + USED]! + cost - limit - dust) / perWindow);
  // Fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
  return Math.max(Number.MIN_VALUE, cells[at + START_MS]! + windows * window - nowMs);
}

export const windowCount = {
  cells: () => 2,

  fresh(cells: Float64Array, at: number, numbers: WindowCountNumbers, nowMs: number): void {
    begin(cells, at, numbers, nowMs);
    cells[at + USED] = numbers.initial;
  },

  wait(
    cells: Float64Array,
    at: number,
    numbers: WindowCountNumbers,
    cost: number,
    nowMs: number,
    maxDelayMs: number,
  ): number {
    return Math.max(0, Math.ceil(untilRoomMs(cells, at, numbers, cost, nowMs) - Math.min(numbers.waitMs, maxDelayMs)));
  },

  delay: untilRoomMs,

  charge(cells: Float64Array, at: number, numbers: WindowCountNumbers, cost: number, nowMs: number): void {
    const used = usedAt(cells, at, numbers, nowMs);
    const windows = windowsSince(cells, at, numbers, nowMs);
    // A window that begins at the first call begins anew once nothing of the last one is owed.
    if (used === 0 && windows > 0) begin(cells, at, numbers, nowMs);
    else cells[at + START_MS]! += windows * numbers.window;
    cells[at + USED] = used + cost;
  },

  receipt: (cells: Float64Array, at: number): Receipt => [cells[at + START_MS]!, cells[at + USED]!],

  // What has fallen off since the charge is not given back again. And while calls were sent ahead to later windows, only
  // the last of them can step back: taking out an earlier one would not move those after it.
  refund(
    cells: Float64Array,
    at: number,
    numbers: WindowCountNumbers,
    cost: number,
    _nowMs: number,
    receipt?: Receipt,
    refundedSince = 0,
  ): void {
    const used = cells[at + USED]!;
    const [startMs = 0, reached = used] = receipt ?? [cells[at + START_MS]!];
    const windows = Math.round((cells[at + START_MS]! - startMs) / numbers.window);
    const left = reached - windows * numbers.perWindow;
    const isLast = refundedSince === 0 && left === used;
    const back = isLast || used <= numbers.limit ? Math.max(0, left - refundedSince) : 0;
    cells[at + USED] = Math.max(0, used - Math.min(cost, back));
  },

  available: (cells: Float64Array, at: number, numbers: WindowCountNumbers, nowMs: number): number =>
    numbers.limit - usedAt(cells, at, numbers, nowMs),

  asNewInMs: (cells: Float64Array, at: number, { window, perWindow }: WindowCountNumbers, nowMs: number): number =>
    cells[at + START_MS]! - nowMs + Math.ceil(cells[at + USED]! / perWindow) * window,

  // The count is what it was at the change. A window that begins with the calendar is the one of the change; another goes on.
  // Where that is a window of another length, the count must be known to have been there at the change: whoever is asked now under the one and
  // now under the other goes on charging after it, and those charges would fall off with windows that ended before them.
  carry(
    from: Float64Array,
    old: WindowCountNumbers,
    to: Float64Array,
    numbers: WindowCountNumbers,
    changedMs: number,
  ): Float64Array | undefined {
    const windows = windowsSince(from, 0, old, changedMs);
    const goesOn = old.window === numbers.window && (old.aligned || !numbers.aligned);
    if (windows === 0 && !goesOn) return undefined;
    to[USED] = usedAt(from, 0, old, changedMs);
    to[START_MS] = from[START_MS]! + windows * old.window;
    if (numbers.aligned) begin(to, 0, numbers, Math.max(changedMs, to[START_MS]!));
    return to;
  },

  history: (cells: Float64Array, at: number, { window }: WindowCountNumbers, latestMs: number): number[] => [
    Math.min(Math.max(latestMs, cells[at + START_MS]!), cells[at + START_MS]! + window),
    cells[at + USED]!,
  ],
};
