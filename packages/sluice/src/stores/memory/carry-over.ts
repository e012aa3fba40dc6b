/** State under a changed policy. A reload or an override changes the policy, not the identity: what was used stays used. */
import { everything } from '../../algorithms/algorithm.ts';
import type { Moment } from './moment.ts';
import { chargeRow, freshRow, type Table } from './table.ts';

/** The row of one table under the policy of another, where the algorithm can tell. The row itself stays as it is. */
export function carryOver(
  from: Table,
  row: Float64Array,
  to: Table,
  changedMs: number,
  nowMs: number,
): Float64Array | undefined {
  const { algorithm, numbers } = to;
  if (from.algorithm.carry !== algorithm.carry) return undefined;
  return algorithm.carry?.(row, from.numbers, freshRow(to, nowMs), numbers, changedMs);
}

/**
 * The same by what was charged when, as far as that is known. It depends on the time it is done at.
 *
 * @param lateMs by how much the row's times may be too early, beyond what the new table allows for
 */
export function chargeAnew(
  from: Table,
  row: Float64Array,
  to: Table,
  { nowMs, latestMs }: Moment,
  lateMs = 0,
): Float64Array {
  const { algorithm, numbers } = to;
  const history = from.algorithm.history?.(row, 0, from.numbers, latestMs) ?? [];
  for (let i = 0; i < history.length; i += 2) history[i]! += lateMs;
  const lastMs = history.at(-2) ?? nowMs;
  // A time that is not known exactly may be later than now, and would make older charges leave too soon: they are moved along.
  const aheadMs = Math.max(0, lastMs - nowMs);
  const movedMs = (timeMs: number) => Math.min(timeMs + aheadMs, lastMs);
  // The row tells all since so long before its latest charge. What the new one should tell beyond that counts as spent.
  const { coveredMs = 0 } = from.numbers;
  const isUnknown = coveredMs < (numbers.coveredMs ?? 0);
  const knownSinceMs = movedMs(lastMs - coveredMs);
  const beginMs = Math.min(movedMs(history[0] ?? nowMs), isUnknown ? knownSinceMs : nowMs);
  // Not fresh: what a new key is short of at the start, this one has had.
  let moved: Float64Array = new Float64Array(algorithm.cells(numbers));
  algorithm.fresh(moved, 0, { ...numbers, initial: 0 } as typeof numbers, beginMs, to.sinceMs);
  if (isUnknown) moved = chargeRow(to, moved, everything, knownSinceMs);
  for (let i = 0; i < history.length; i += 2)
    moved = chargeRow(to, moved, known(history[i + 1]!), movedMs(history[i]!));
  return moved;

  // What was not known counts as everything until it leaves the window; where there is no window, it would never be paid.
  function known(cost: number): number {
    return cost >= everything && numbers.coveredMs === undefined ? numbers.limit : cost;
  }
}
