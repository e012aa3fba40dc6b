/** The keys of one name under one policy, each with its cells. */
import { type Algorithm, algorithmOf, type Numbers } from '../../algorithms/algorithm.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { Seed } from './key-hash.ts';
import { type Ledger, ledger } from './ledger.ts';
import { type KeyMode, Rows } from './rows.ts';

export interface Table {
  readonly name: string;
  readonly policy: Policy;
  readonly algorithm: Algorithm;
  numbers: Numbers;
  /** How far back rows have to tell everything, for the sake of the longest window of the name. */
  retainMs: number;
  /** When the limiter began: a key never seen has been idle since then. */
  readonly sinceMs: number;
  /** How long a key is kept after it is as good as new; longer while the name also has a policy with a longer window. */
  lingerMs: number;
  rows: Rows;
  /** What is no longer known, for all tables of the name. */
  past: Past;
  /** The latest batch that asked for it. */
  batch: number;
  /** It is no longer one of its name's: nothing may be written to it. */
  isDropped: boolean;
}

/** What a name has forgotten. */
export interface Past {
  readonly keys: KeyMode;
  /** The key of the keys' hash. */
  seed: Seed | undefined;
  /** A key without a row may have been charged before this moment. */
  unknownBeforeMs: number;
  /** Receipts of a forgotten key are void: whoever has its name next is somebody else. */
  readonly receipts: Ledger;
}

/** A past of which everything is known. */
export function blankPast(maxKeys: number, keys: KeyMode, seed?: Seed): Past {
  return { keys, seed, unknownBeforeMs: Number.NEGATIVE_INFINITY, receipts: ledger(maxKeys) };
}

export function tableOf(name: string, policy: Policy, stalenessMs: number, sinceMs: number, past: Past): Table {
  const algorithm = algorithmOf(policy);
  const numbers = algorithm.prepare(policy, stalenessMs, 0);
  const lingerMs = algorithm.lingerMs?.(numbers) ?? 0;
  const rows = rowsOf(name, algorithm, numbers, past);
  return { name, policy, algorithm, numbers, retainMs: 0, sinceMs, lingerMs, rows, past, batch: 0, isDropped: false };
}

function rowsOf(name: string, algorithm: Algorithm, numbers: Numbers, { keys, seed }: Past): Rows {
  return new Rows(name, algorithm.extend ? 0 : algorithm.cells(numbers), keys, seed);
}

/** Makes a table without rows keep more of the past than its own window. */
export function retain(table: Table, stalenessMs: number, retainMs: number): void {
  const { name, algorithm, policy, past } = table;
  table.retainMs = retainMs;
  table.numbers = algorithm.prepare(policy, stalenessMs, retainMs + stalenessMs);
  table.rows = rowsOf(name, algorithm, table.numbers, past);
}

/** How far back a strict policy looks; 0 for the others. */
export function strictWindowMs({ algorithm, policy }: Table): number {
  return algorithm.strict ? (policy.window ?? 0) : 0;
}

/** The cells of a key never seen. */
export function freshRow({ algorithm, numbers, sinceMs }: Table, nowMs: number): Float64Array {
  const row = new Float64Array(algorithm.cells(numbers));
  algorithm.fresh(row, 0, numbers, nowMs, sinceMs);
  return row;
}

/** Charges a row; returns the row to keep, which may be a larger one. */
export function chargeRow({ algorithm, numbers }: Table, row: Float64Array, cost: number, nowMs: number): Float64Array {
  const roomy = algorithm.extend?.(row, numbers, nowMs) ?? row;
  algorithm.charge(roomy, 0, numbers, cost, nowMs);
  return roomy;
}

/** How long until a row may be forgotten without anyone noticing; 0 or less when it may. */
export function forgettableInMs(
  { algorithm, numbers, lingerMs }: Table,
  cells: Float64Array,
  at: number,
  nowMs: number,
): number {
  return algorithm.asNewInMs(cells, at, numbers, nowMs) + lingerMs;
}
