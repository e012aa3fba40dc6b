/** Names that come with requests: one that nobody uses any more need not stay. */
import type { Namespace } from './namespace.ts';
import type { Room } from './room.ts';
import type { Contents } from './snapshot.ts';
import { forgettableInMs, latestChargeMs, type Table } from './table.ts';

/** @returns whether the name is not there any more */
export function forgetSpent(name: string, { names, room, nowMs, drop }: Contents): boolean {
  const known = names.get(name);
  if (known === undefined) return true;
  if (!emptySpent(known, room, nowMs())) return false;
  drop(name);
  return true;
}

/** Empties a name if nothing of it matters any more: no key, no block, no receipt, and no past that a newcomer would be held against. */
function emptySpent({ tables, blocked, past }: Namespace, room: Room, nowMs: number): boolean {
  for (const untilMs of blocked.values()) if (untilMs > nowMs) return false;
  if (!past.receipts.isEmpty()) return false;
  for (const table of tables.values()) if (!sweep(table, room, nowMs)) return false;
  for (const { numbers } of tables.values()) if (past.unknownBeforeMs + (numbers.coveredMs ?? 0) > nowMs) return false;
  // A clock that steps back behind the end of a block is told by it: newcomers then start with everything spent.
  if (blocked.size > 0) room.forgotUpToMs = Math.max(room.forgotUpToMs, nowMs);
  // Whoever is bound to one must not write to it any more.
  for (const table of tables.values()) table.isDropped = true;
  room.tables = room.tables.filter(({ isDropped }) => !isDropped);
  return true;
}

/** Forgets keys up to the first that still matters, so that none is looked at twice; says whether there was none. */
function sweep(table: Table, room: Room, nowMs: number): boolean {
  const { rows } = table;
  while (rows.size > 0) {
    const at = rows.next();
    if (at < 0) continue;
    if (forgettableInMs(table, rows.cells, at, nowMs) > 0) return false;
    room.dropped(table, latestChargeMs(table, nowMs), nowMs);
    rows.removeNext();
  }
  return true;
}
