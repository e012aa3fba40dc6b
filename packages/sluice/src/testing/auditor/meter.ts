/**
 * A meter holds one key's uses against one clause, in one pass. What is known of a use is an interval that its true moment
 * lies in, and both verdicts come from one walk, told apart by which end of the interval goes in front:
 *
 *      certain     in the order in which the intervals END; what counts together BEGAN late enough
 *      possible    in the order in which they BEGIN; what counts together ENDED late enough
 *
 * For a window w: at an interval that ends at b, all that ended by then and began after b - w lie within one window wherever
 * their moments are. And at one that begins at b, all that began by then and end after b - w may lie within one window.
 * `arriveMs` is the end in front, `leaveMs` the other. When every moment is known, the two are the same.
 */
export interface Meter {
  /** A use. In the order of `arriveMs`. */
  take(arriveMs: number, leaveMs: number, cost: number): void;

  // What the latest use came to, at its fullest.
  used: number;
  /** What the clause allows for the time from `fromMs` to `toMs`. */
  most: number;
  fromMs: number;
  toMs: number;
  /** 1 is full; more than 1 is more than was promised. */
  fill: number;
  /** From when on nothing that was taken so far matters to what comes. */
  quietMs: number;
}

// Sums of fractional costs round. Whole costs are never that close to a limit.
export const tolerance = 1e-6;

/** How full, where what is a rounding error above full is full. */
export function fillOf(used: number, most: number): number {
  if (used > most && used <= most + tolerance) return 1;
  return most > 0 ? used / most : used > 0 ? Number.POSITIVE_INFINITY : 0;
}
