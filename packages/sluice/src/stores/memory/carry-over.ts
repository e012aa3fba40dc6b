/** State under a changed policy. A reload or an override changes the policy, not the identity: what was used stays used. */
import { chargeRow, coveredMs, freshRow, type Table } from './table.ts';

/** More than any limit: until it has left the window, nothing passes, whatever the limit becomes. */
export const everything = 2 ** 50;

/** The row of one table as it is under the policy of another. The row itself stays as it is. */
export function carryOver(from: Table, row: Float64Array, to: Table, changedMs: number, nowMs: number): Float64Array {
  const { algorithm, numbers } = to;
  if (algorithm.carry && from.algorithm.carry === algorithm.carry) {
    return algorithm.carry(row, from.numbers, freshRow(to, nowMs), numbers, changedMs);
  }
  const history = from.algorithm.history?.(row, 0, from.numbers, nowMs) ?? [];
  // History that does not reach back over the whole of a strict window counts as spent where it ends.
  const unknown = coveredMs(from) < coveredMs(to);
  const beginMs = Math.min(history[0] ?? nowMs, unknown ? nowMs - coveredMs(from) : nowMs);
  let moved = freshRow(to, beginMs);
  if (unknown) moved = chargeRow(to, moved, everything, beginMs);
  for (let i = 0; i < history.length; i += 2) moved = chargeRow(to, moved, history[i + 1]!, history[i]!);
  return moved;
}
