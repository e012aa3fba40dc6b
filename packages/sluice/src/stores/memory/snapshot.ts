/** A memory store's contents as plain data: it survives JSON, a file, and a change of policies in between. */
import { parsePolicy } from '../../algorithms/parse-policy.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { chargeAnew } from './carry-over.ts';
import type { Seed } from './key-hash.ts';
import type { SavedLedger } from './ledger.ts';
import type { Namespace } from './namespace.ts';
import type { Room } from './room.ts';
import type { KeyMode } from './rows.ts';
import { blankPast, type RowsOf, retain, type Table, tableOf } from './table.ts';

export interface SnapshotTable {
  readonly policy: { readonly algorithm: string };
  readonly sinceMs: number;
  readonly retainMs: number;
  /** Each key with its cells. */
  readonly entries: readonly (readonly [key: string, ...cells: number[]])[];
}

export interface SnapshotName {
  readonly name: string;
  /** Absent where nothing was forgotten. */
  readonly unknownBeforeMs?: number;
  readonly blocked: readonly (readonly [key: string, untilMs: number])[];
  /** Which receipts still hold; absent where there are none. */
  readonly receipts?: SavedLedger;
  readonly tables: readonly SnapshotTable[];
}

export interface Snapshot {
  readonly version: 1;
  /** Of a store that keeps fingerprints of its keys: the key of their hash. Whoever has it can prepare keys that collide. */
  readonly seed?: readonly [number, number];
  /** When a key was forgotten last; absent where none was. */
  readonly forgotUpToMs?: number;
  /** Where the numbers of receipts begin, under names that are not here yet. */
  readonly receiptsFrom?: number;
  /** Of the store's clock. Absent in snapshots from before it was kept: then it is taken for that of the store they are restored into. */
  readonly stalenessMs?: number;
  readonly names: readonly SnapshotName[];
}

/** What a snapshot is taken of. */
export interface Contents {
  readonly names: ReadonlyMap<string, Namespace>;
  readonly room: Room;
  readonly keys: KeyMode;
  readonly seed: Seed;
  /** Makes rows whose keys' hash has this key. */
  rowsWith(seed: Seed): RowsOf;
  readonly stalenessMs: number;
  nowMs(): number;
  namespace(name: string): Namespace;
  drop(name: string): void;
  reseed(seed: Seed): void;
}

export function takeSnapshot({ names, room, keys, seed, stalenessMs }: Contents): Snapshot {
  return {
    version: 1,
    ...(keys === 'fingerprint' && { seed }),
    ...(Number.isFinite(room.forgotUpToMs) && { forgotUpToMs: room.forgotUpToMs }),
    receiptsFrom: room.receiptsFrom,
    stalenessMs,
    names: Array.from(names, ([name, { tables, blocked, past }]) => ({
      name,
      // JSON has no -Infinity.
      ...(Number.isFinite(past.unknownBeforeMs) && { unknownBeforeMs: past.unknownBeforeMs }),
      blocked: [...blocked],
      ...(!past.receipts.isEmpty() && { receipts: past.receipts.save() }),
      tables: Array.from(tables.values(), ({ policy, sinceMs, retainMs, rows }) => ({
        policy: { ...policy },
        sinceMs,
        retainMs,
        entries: Array.from(rows.entries(), ([key, row]) => [key, ...row] as const),
      })),
    })),
  };
}

function isLedger({ latest, entries }: SavedLedger): boolean {
  const isEntry = ([key, ...numbers]: SavedLedger['entries'][number]) =>
    typeof key === 'string' && numbers.length === 2 && numbers.every(Number.isFinite);
  return Number.isSafeInteger(latest) && entries.every(isEntry);
}

function fits({ algorithm, numbers }: Table, cells: readonly number[]): boolean {
  return algorithm.fits ? algorithm.fits(cells) : cells.length === algorithm.cells(numbers);
}

/** The rows of one table in another, of a clock that is more or less precise: what a strict policy keeps depends on that; but leases are leases. */
function underClock(from: Table, to: Table, nowMs: number, lateMs: number): Table {
  const moment = { nowMs, latestMs: nowMs, isClock: true, batch: 0 };
  const isMade = to.isStrict && !to.algorithm.release;
  for (const [name, row] of from.rows.entries())
    to.rows.setNamed(name, isMade ? chargeAnew(from, row, to, moment, lateMs) : row);
  return to;
}

/** Puts a snapshot's contents into an empty store; all of it, or none. */
export function restoreSnapshot(contents: Contents, snapshot: Snapshot): void {
  const { room, namespace, stalenessMs, keys: mode } = contents;
  const nowMs = contents.nowMs();
  const { stats, maxKeys } = room;
  const hasBlocks = [...contents.names.values()].some(({ blocked }) => blocked.size > 0);
  if (stats.keys > 0 || hasBlocks)
    throw new SluiceError('invalid-snapshot', 'restore() needs a store that holds no keys yet.');
  const tables: Table[] = [];
  let keys = 0;
  // A stale clock's times are too early by up to its staleness; a precise one does not make up for that.
  let lateMs = 0;
  try {
    if (snapshot.version !== 1) throw new Error(`its version is ${snapshot.version}, not 1`);
    const { seed, forgotUpToMs = 0, receiptsFrom = 0, stalenessMs: savedStalenessMs = stalenessMs } = snapshot;
    if (!Number.isSafeInteger(receiptsFrom)) throw new Error('receiptsFrom is no whole number');
    if (!Number.isFinite(forgotUpToMs)) throw new Error('forgotUpToMs is no time');
    if (!(savedStalenessMs >= 0 && savedStalenessMs < Number.POSITIVE_INFINITY))
      throw new Error('stalenessMs is no time');
    lateMs = Math.max(0, savedStalenessMs - stalenessMs);
    if ((seed !== undefined) !== (mode === 'fingerprint'))
      throw new Error(
        `it was taken of a store with ${seed ? '' : 'no '}fingerprints for keys, this one has ${mode} keys`,
      );
    if (seed && !(seed.length === 2 && seed.every((half) => half === (half | 0)))) throw new Error('its seed is none');
    for (const { name, blocked, unknownBeforeMs = 0, receipts, tables: saved } of snapshot.names) {
      if (typeof name !== 'string' || !Number.isFinite(unknownBeforeMs))
        throw new Error(`"${name}" is not a name with its past`);
      for (const [key, untilMs] of blocked) {
        if (typeof key !== 'string' || !Number.isFinite(untilMs)) throw new Error(`the block of key "${key}" is none`);
      }
      if (receipts && !isLedger(receipts)) throw new Error(`the receipts of "${name}" are none`);
      for (const { policy, sinceMs, retainMs, entries } of saved) {
        if (!Number.isFinite(sinceMs) || !(retainMs >= 0)) throw new Error('sinceMs and retainMs are no times');
        const blank = (ofClockMs: number) => {
          const past = blankPast(1, contents.rowsWith(seed ?? contents.seed));
          const made = tableOf(name, parsePolicy(policy), ofClockMs, sinceMs, past);
          retain(made, ofClockMs, retainMs);
          return made;
        };
        const table = blank(savedStalenessMs);
        for (const [key, ...cells] of entries) {
          if (typeof key !== 'string' || !cells.every(Number.isFinite))
            throw new Error(`the cells of key "${key}" are not numbers`);
          if (!fits(table, cells)) throw new Error(`key "${key}" has ${cells.length} cells, which its policy does not`);
          if (seed && !/^(?!0{8})[\da-f]{16}$/.test(key)) throw new Error(`"${key}" is no fingerprint`);
          table.rows.setNamed(key, Float64Array.from(cells));
        }
        keys += table.rows.size;
        tables.push(savedStalenessMs === stalenessMs ? table : underClock(table, blank(stalenessMs), nowMs, lateMs));
      }
    }
  } catch (cause) {
    throw new SluiceError('invalid-snapshot', `This is not a snapshot: ${(cause as Error).message}`, { cause });
  }
  if (keys > maxKeys) {
    throw new SluiceError('store-full', `The snapshot holds ${keys} keys, maxKeys is ${maxKeys}. Raise maxKeys.`);
  }
  if (snapshot.seed) contents.reseed(snapshot.seed);
  room.receiptsFrom = snapshot.receiptsFrom ?? room.receiptsFrom;
  for (const { past } of contents.names.values()) past.receipts.restore({ latest: room.receiptsFrom, entries: [] });
  for (const table of tables) namespace(table.name).adopt(table);
  for (const { name, blocked, unknownBeforeMs, receipts } of snapshot.names) {
    const space = namespace(name);
    if (receipts) space.past.receipts.restore(receipts);
    for (const [key, untilMs] of blocked) space.blocked.set(key, untilMs + lateMs);
    if (unknownBeforeMs !== undefined) space.past.unknownBeforeMs = unknownBeforeMs + lateMs;
  }
  room.forgotUpToMs = Math.max(room.forgotUpToMs, snapshot.forgotUpToMs ?? Number.NEGATIVE_INFINITY);
  stats.keys = keys;
}
