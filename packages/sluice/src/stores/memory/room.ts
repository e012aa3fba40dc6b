/**
 * How many keys there may be, over all names, and who is forgotten to make room for a newcomer.
 *
 * Each newcomer makes it look at a few keys, unless there are only few, and forget those that have been as good as new for a
 * while: no timer, no pause. When it is full of living keys, a strict policy refuses the newcomer rather than forget a limited
 * key; the others forget the one that is closest to being as good as new, among those looked at.
 */
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero } from '../../vocabulary/policy.ts';
import { anyNumber } from './ledger.ts';
import type { Moment } from './moment.ts';
import { forgettableInMs, latestChargeMs, type Table } from './table.ts';

export interface Room {
  readonly maxKeys: number;
  readonly stats: MemoryStoreStats;
  tables: readonly Table[];
  /** The latest time at which a key was forgotten. */
  forgotUpToMs: number;
  /** Where the numbers of receipts begin, under every name. */
  receiptsFrom: number;
  /** Whether there is room for so many newcomers, after forgetting what can be forgotten. */
  make(newcomers: number, strict: boolean | undefined, moment: Moment): boolean;
  keep(table: Table, key: string, row: Float64Array): void;
  forget(table: Table, key: string): void;
  /** The key whose row was found last is forgotten; it is known that it was not charged after `chargedMs`. */
  dropped(table: Table, chargedMs: number, nowMs: number): void;
}

export interface MemoryStoreStats {
  /** Keys held now. */
  keys: number;
  /** Keys forgotten, to make room, while they still mattered. Never those of a strict policy. */
  evictedLiveKeys: number;
  /** Calls refused because the store was full. */
  refusedNewcomers: number;
}

// How many keys a newcomer makes it look at, and how many at most when it is full.
const looksPerNewcomer = 2;
const looksWhenFull = 32;
// Whoever is far below the limit is as good as new at each call. To be forgotten and added again each time would cost four times the
// call, so nobody is while there are only few, and of many only those who have been as good as new for a while.
const fewKeys = 1024;
const idleMs = 1000;
// Tables with fewer keys than this are what policies leave behind that change with each request.
const keysPerTable = 8;
const measuredEvery = 1024;

export function roomFor(maxKeys = 1_000_000): Room {
  if (!Number.isInteger(maxKeys)) throw invalid('maxKeys', 'a whole number above 0', maxKeys);
  aboveZero('maxKeys', maxKeys);
  const stats: MemoryStoreStats = { keys: 0, evictedLiveKeys: 0, refusedNewcomers: 0 };
  let turn = 0;

  const room: Room = {
    maxKeys,
    stats,
    tables: [],
    forgotUpToMs: Number.NEGATIVE_INFINITY,
    receiptsFrom: anyNumber(),
    keep(table, key, row) {
      const before = table.rows.size;
      table.rows.set(key, row);
      stats.keys += table.rows.size - before;
    },
    forget(table, key) {
      if (table.rows.delete(key)) stats.keys -= 1;
    },
    dropped,
    make(newcomers, strict, moment) {
      const most = maxKeys - newcomers;
      if (stats.keys <= most) {
        // On a caller's own time each key may have its own timeline, so only a full store forgets by it.
        if (moment.isClock && !areFew()) look(looksPerNewcomer, most, moment);
        return true;
      }
      const evictable: Evictable[] = [];
      look(looksWhenFull, most, moment, evictable);
      // Again where most keys are: in a small table all that were looked at may matter more than most of those elsewhere.
      const resumed = turn;
      turn = largest();
      look(looksWhenFull + newcomers, most, moment, evictable);
      turn = resumed;
      // All that are needed, or none: a batch that does not fit must not cost others their state.
      const needed = stats.keys - most;
      if (needed > 0 && !strict && evictable.length >= needed) {
        for (const { table, key } of evictable.slice(0, needed)) {
          if (table.rows.findNamed(key) < 0) continue;
          dropped(table, moment.nowMs, moment.nowMs);
          table.rows.remove();
          stats.evictedLiveKeys += 1;
        }
      }
      return stats.keys <= most;
    },
  };

  function areFew(): boolean {
    return stats.keys < fewKeys && stats.keys >= keysPerTable * (room.tables.length - 1);
  }

  // Finding it out each time would take longer than the rest.
  let largestTable = 0;
  let untilMeasured = 0;

  /** The place of the table with the most keys, as it was a while ago. */
  function largest(): number {
    if (untilMeasured === 0 || largestTable >= room.tables.length) {
      untilMeasured = measuredEvery;
      room.tables.forEach(({ rows }, i) => {
        if (rows.size > (room.tables[largestTable]?.rows.size ?? 0)) largestTable = i;
      });
    }
    untilMeasured -= 1;
    return largestTable;
  }

  /** Looks at so many keys and forgets those that can be forgotten; in a full store only as many as are needed. */
  function look(many: number, most: number, { nowMs }: Moment, evictable?: Evictable[]): void {
    let looks = many;
    // An empty table, or the end of one, costs no look: else many tables would hide the keys.
    let ends = room.tables.length + 1;
    while (looks > 0 && ends > 0 && !(evictable && stats.keys <= most)) {
      const table = room.tables[turn % room.tables.length]!;
      const { rows } = table;
      const at = rows.next();
      if (at < 0) {
        turn += 1;
        ends -= 1;
        continue;
      }
      looks -= 1;
      const inMs = forgettableInMs(table, rows.cells, at, nowMs);
      if (inMs <= (evictable ? 0 : -idleMs)) {
        dropped(table, latestChargeMs(table, nowMs), nowMs);
        rows.removeNext();
      } else if (evictable && !table.algorithm.strict) insertEvictable(evictable, table, inMs, stats.keys - most);
    }
  }

  function dropped({ past, rows }: Table, chargedMs: number, nowMs: number): void {
    stats.keys -= 1;
    past.unknownBeforeMs = Math.max(past.unknownBeforeMs, chargedMs);
    if (!past.receipts.isEmpty()) past.receipts.revoke(rows.name());
    room.forgotUpToMs = Math.max(room.forgotUpToMs, nowMs);
  }

  return room;
}

interface Evictable {
  readonly table: Table;
  readonly key: string;
  readonly inMs: number;
}

/** Adds the row that its table found last, if it is among the `needed` that are the closest to being as good as new. */
function insertEvictable(evictable: Evictable[], table: Table, inMs: number, needed: number): void {
  const place = evictable.findIndex((other) => inMs < other.inMs);
  if (place < 0 && evictable.length >= needed) return;
  const key = table.rows.name();
  // The hand may have come round.
  if (evictable.some((other) => other.table === table && other.key === key)) return;
  evictable.splice(place < 0 ? evictable.length : place, 0, { table, key, inMs });
  evictable.length = Math.min(evictable.length, needed);
}
