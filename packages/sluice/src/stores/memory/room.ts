/**
 * How many keys there may be, over all names, and who is forgotten to make room for a newcomer.
 *
 * Each newcomer makes it look at a few keys and forget those that are as good as new: no timer, no pause. When it is full
 * of living keys, a strict policy refuses the newcomer rather than forget a limited key; the others forget the one that is
 * closest to being as good as new, among those looked at.
 */
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero } from '../../vocabulary/policy.ts';
import type { Moment } from './moment.ts';
import { forgettableInMs, strictWindowMs, type Table } from './table.ts';

export interface Room {
  readonly maxKeys: number;
  readonly stats: MemoryStoreStats;
  tables: readonly Table[];
  /** The latest time at which a key was forgotten. */
  forgotUpToMs: number;
  /** Whether there is room for so many newcomers, after forgetting what can be forgotten. */
  make(newcomers: number, strict: boolean | undefined, moment: Moment): boolean;
  keep(table: Table, key: string, row: Float64Array): void;
  forget(table: Table, key: string): void;
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
const looksWhenFull = 64;

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
    keep(table, key, row) {
      if (!table.rows.has(key)) stats.keys += 1;
      table.rows.set(key, row);
    },
    forget(table, key) {
      if (table.rows.delete(key)) stats.keys -= 1;
    },
    make(newcomers, strict, { nowMs, isClock }) {
      const most = maxKeys - newcomers;
      const full = stats.keys > most;
      const evictable: { readonly table: Table; readonly key: string; readonly inMs: number }[] = [];
      // On a caller's own time each key may have its own timeline, so only a full store forgets by it.
      let looks = full ? looksWhenFull + newcomers : isClock ? looksPerNewcomer : 0;
      // An empty table, or the end of one, costs no look: else many tables would hide the keys.
      let ends = room.tables.length + 1;
      while (looks > 0 && ends > 0 && !(full && stats.keys <= most)) {
        const table = room.tables[turn % room.tables.length]!;
        const { done, value } = table.hand.next();
        if (done) {
          table.hand = table.rows.entries();
          turn += 1;
          ends -= 1;
          continue;
        }
        looks -= 1;
        const [key, row] = value;
        const inMs = forgettableInMs(table, row, nowMs);
        if (inMs <= 0) drop(table, key, nowMs - strictWindowMs(table) - table.lingerMs, nowMs);
        else if (!table.algorithm.strict) evictable.push({ table, key, inMs });
      }
      // All that are needed, or none: a batch that does not fit must not cost others their state.
      const needed = stats.keys - most;
      if (needed > 0 && !strict && evictable.length >= needed) {
        for (const { table, key } of evictable.sort((a, b) => a.inMs - b.inMs).slice(0, needed)) {
          drop(table, key, nowMs, nowMs);
          stats.evictedLiveKeys += 1;
        }
      }
      return stats.keys <= most;
    },
  };

  /** Forgets a key of which it is known that it was not charged after `chargedMs`. */
  function drop(table: Table, key: string, chargedMs: number, nowMs: number): void {
    room.forget(table, key);
    table.past.unknownBeforeMs = Math.max(table.past.unknownBeforeMs, chargedMs);
    table.past.receipts.revoke(key);
    room.forgotUpToMs = Math.max(room.forgotUpToMs, nowMs);
  }

  return room;
}
