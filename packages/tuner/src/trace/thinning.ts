/**
 * Which clients stay when not all fit.
 *
 *      calls    ┤▇
 *               ┤▇ ▆
 *      heavyFrom┼──────────────────────   above: all stay, each stands for itself
 *               ┤▇ ▇ ▇ ▆ ▅ ▄ ▄ ▃ ▃ ▂ ▂    below: one in `oneIn` stays whole, by a hash of its name, and stands for so many
 *
 * Those below are kept or not by their names alone, so their calls are all there or all missing, and what is counted over those kept, each as often
 * as its weight, is right on average (Horvitz and Thompson's estimator). Who comes above while the log is being thinned was missing until then; how
 * often it called is known, and what was counted of its calls is scaled to that.
 */
import { type ClientTable, mixed } from './client-table.ts';

export interface Thinning {
  /** A power of 2; 1: all are kept. */
  readonly oneIn: number;
  readonly heavyFrom: number;
}

export const unthinned: Thinning = { oneIn: 1, heavyFrom: Number.POSITIVE_INFINITY };

/** What there is room for. */
export interface Budget {
  readonly clients: number;
  readonly entries: number;
  readonly nameBytes: number;
}

export interface ThinningPlan extends Thinning {
  readonly clients: number;
  readonly entries: number;
}

// Who calls less often than this is not called busy, however little the others call.
const leastHeavyCalls = 16;
// A log of which two thirds are the calls of so few needs a coarser tick, not fewer clients.
const fewestHeavy = 16;
const mostHalvings = 31;

/** Of how many halvings of the sample a client is still part. Other bits than those by which it is found in the table. */
export function halvingsOf(hash: number): number {
  return Math.clz32(mixed(hash ^ 0x5bd1e995));
}

/** How few have to stay for a log to fit; undefined where leaving out clients that call little is not enough. */
export function planThinning(
  table: ClientTable,
  entriesOf: Uint32Array,
  from: Thinning,
  budget: Budget,
  busiest: number,
): ThinningPlan | undefined {
  const heavyFrom = heavyFromOf(table, entriesOf, from, budget, busiest);
  const kept = Array.from({ length: mostHalvings + 1 }, () => ({ clients: 0, entries: 0, nameBytes: 0 }));
  for (let client = 0; client < table.count; client += 1) {
    const isHeavy = table.knownCallsOf(client) >= heavyFrom;
    const at = kept[isHeavy ? mostHalvings : Math.min(halvingsOf(table.hashes[client]!), mostHalvings)]!;
    at.clients += 1;
    at.entries += entriesOf[client]!;
    at.nameBytes += table.nameBytesOf(client);
  }
  // Who is part of a sample after so many halvings is part of all before.
  for (let halvings = mostHalvings; halvings > 0; halvings -= 1) {
    const [more, less] = [kept[halvings - 1]!, kept[halvings]!];
    more.clients += less.clients;
    more.entries += less.entries;
    more.nameBytes += less.nameBytes;
  }
  for (let halvings = Math.log2(from.oneIn); halvings <= mostHalvings; halvings += 1) {
    const { clients, entries, nameBytes } = kept[halvings]!;
    if (clients <= budget.clients && entries <= budget.entries && nameBytes <= budget.nameBytes) {
      return { oneIn: 2 ** halvings, heavyFrom, clients, entries };
    }
  }
  return undefined;
}

// The busiest get at most a third of the room, so that the others are not told from a handful.
function heavyFromOf(
  table: ClientTable,
  entriesOf: Uint32Array,
  from: Thinning,
  budget: Budget,
  busiest: number,
): number {
  const calls = table.knownCallsFrom(0);
  const ascending = calls.slice().sort();
  const already = Number.isFinite(from.heavyFrom) ? from.heavyFrom : leastHeavyCalls;
  for (let most = Math.min(busiest, table.count - 1); ; most = Math.floor(most / 2)) {
    // One more than the first that is too many has, so that as many as are equal go together.
    const heavyFrom = Math.max(already, ascending[table.count - 1 - most]! + 1);
    let entries = 0;
    for (let client = 0; client < table.count; client += 1)
      if (calls[client]! >= heavyFrom) entries += entriesOf[client]!;
    if (3 * entries <= budget.entries || most <= fewestHeavy) return heavyFrom;
  }
}
