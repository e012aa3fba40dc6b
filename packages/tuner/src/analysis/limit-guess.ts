/** What can be said of limits without asking the library: what would be enough for whom, and where to begin to look. */
import type { ClientRuns } from './client-runs.ts';
import type { RefuseShare } from './limits.ts';

/**
 * What a counter per window would have to allow, if all costs were 1: that is told by how often each count was reached, without a single question.
 */
export function firstGuess(runs: ClientRuns, windowMs: number, { share, of }: RefuseShare): number {
  if (of === 'clients') return enoughFor(runs, windowMs, [1 - share])[0]!;
  const { starts, atMs, costs, clientList } = runs;
  const reached = new Map<number, number>();
  let total = 0;
  for (let client = 0; client < clientList.count; client += 1) {
    const weight = clientList.callWeightOf(client);
    const end = starts[client + 1]!;
    for (let entry = starts[client]!; entry < end; ) {
      const windowEndMs = (Math.floor(atMs[entry]! / windowMs) + 1) * windowMs;
      let count = 0;
      for (; entry < end && atMs[entry]! < windowEndMs; entry += 1) count += costs[entry]!;
      reached.set(count, (reached.get(count) ?? 0) + weight);
      total += count * weight;
    }
  }
  let windows = 0;
  let refused = 0;
  const counts = Float64Array.from(reached.keys()).sort().reverse();
  for (const [i, count] of counts.entries()) {
    windows += reached.get(count)!;
    const next = counts[i + 1] ?? 0;
    if (refused + windows * (count - next) > share * total) return count - (share * total - refused) / windows;
    refused += windows * (count - next);
  }
  return 1;
}

/** The limits of an exact log that are enough for these parts of the clients, which must ascend. */
export function enoughFor(runs: ClientRuns, windowMs: number, ratios: readonly number[]): number[] {
  const peaks = runs.peaks(windowMs);
  const weightOf = new Map<number, number>();
  let total = 0;
  for (const [client, peak] of peaks.entries()) {
    const limit = Math.ceil(peak - 1e-9);
    const weight = runs.clientList.weightOf(client);
    weightOf.set(limit, (weightOf.get(limit) ?? 0) + weight);
    total += weight;
  }
  const limits = Float64Array.from(weightOf.keys()).sort();
  let reached = 0;
  let next = 0;
  return ratios.map((share) => {
    while (next < limits.length && (next === 0 || reached < share * total * (1 - 1e-9))) {
      reached += weightOf.get(limits[next]!)!;
      next += 1;
    }
    return next === 0 ? 0 : limits[next - 1]!;
  });
}
