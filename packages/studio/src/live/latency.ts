/**
 * How long checks took, of a histogram: it knows between which two bounds a duration lies, and nothing more. So an answer is these two bounds,
 * and a guess between them that takes the durations of a bucket to lie evenly.
 *
 *      bounds      1 ms      2.5 ms        5 ms
 *      counts   90      8            2             the 95th of 100 is the 5th of the 8: between 1 and 2.5 ms, about 1.94
 */
export interface Quantile {
  readonly overMs: number;
  /** `Infinity`: longer than the last bound. */
  readonly atMostMs: number;
  /** The last bound where there is no upper one: a guess that is too low. */
  readonly aboutMs: number;
}

/** `counts` has one more than there are bounds. Undefined: there was nothing to measure. */
export function quantile(boundsMs: readonly number[], counts: readonly number[], ratio: number): Quantile | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = ratio * total;
  let before = 0;
  let place = 0;
  while (place < counts.length - 1 && (counts[place] === 0 || before + counts[place]! < rank)) {
    before += counts[place]!;
    place += 1;
  }
  const overMs = place === 0 ? 0 : boundsMs[place - 1]!;
  const atMostMs = boundsMs[place] ?? Number.POSITIVE_INFINITY;
  const share = (rank - before) / counts[place]!;
  return { overMs, atMostMs, aboutMs: atMostMs === Infinity ? overMs : overMs + (atMostMs - overMs) * share };
}
