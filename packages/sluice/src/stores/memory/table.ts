/** The keys of one name under one policy, each with its cells. */
import { type Algorithm, algorithmOf, type Numbers } from '../../algorithms/algorithm.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { type Ledger, ledger } from './ledger.ts';
import type { Rows } from './rows.ts';

export interface Table {
  readonly name: string;
  readonly policy: Policy;
  readonly algorithm: Algorithm;
  numbers: Numbers;
  readonly stalenessMs: number;
  /** How far back rows have to tell everything, for the sake of the longest window of the name. */
  retainMs: number;
  /** When the limiter began: a key never seen has been idle since then. */
  readonly sinceMs: number;
  /** How long a key is kept after it is as good as new; longer while the name also has a policy with a longer window. */
  lingerMs: number;
  rows: Rows;
  readonly isStrict: boolean;
  /** The algorithm's way to ask and charge in one; undefined where more has to be minded than that. */
  step: Algorithm['step'];
  /** What is no longer known, for all tables of the name. */
  past: Past;
  /** The latest batch that asked for it. */
  batch: number;
  /** It is no longer one of its name's: nothing may be written to it. */
  isDropped: boolean;
}

/** What a name has forgotten. */
export interface Past {
  /** Makes the rows of a table. */
  readonly rowsOf: RowsOf;
  /** A key without a row may have been charged before this moment. */
  unknownBeforeMs: number;
  /** Receipts of a forgotten key are void: whoever has its name next is somebody else. */
  readonly receipts: Ledger;
}

/** Makes rows of so many cells per key; 0 where each key's cells are an array of its own. */
export type RowsOf = (name: string, cellsPerKey: number) => Rows;

/** A past of which everything is known. */
export function blankPast(maxKeys: number, rowsOf: RowsOf, receiptsFrom = 0): Past {
  return { rowsOf, unknownBeforeMs: Number.NEGATIVE_INFINITY, receipts: ledger(maxKeys, receiptsFrom) };
}

export function tableOf(name: string, policy: Policy, stalenessMs: number, sinceMs: number, past: Past): Table {
  const algorithm = algorithmOf(policy);
  const numbers = algorithm.prepare(policy, stalenessMs, 0);
  const lingerMs = algorithm.lingerMs?.(numbers) ?? 0;
  const rows = blankRows(name, algorithm, numbers, past);
  const table: Table = {
    name,
    policy,
    algorithm,
    numbers,
    stalenessMs,
    retainMs: 0,
    sinceMs,
    lingerMs: 0,
    rows,
    isStrict: algorithm.strict === true,
    step: algorithm.step,
    past,
    batch: 0,
    isDropped: false,
  };
  linger(table, lingerMs);
  return table;
}

/** Keeps keys so much longer than they matter. Whether one has lingered too long has to be minded at each call. */
export function linger(table: Table, lingerMs: number): void {
  table.lingerMs = lingerMs;
  if (lingerMs > 0) table.step = undefined;
}

function blankRows(name: string, algorithm: Algorithm, numbers: Numbers, { rowsOf }: Past): Rows {
  return rowsOf(name, algorithm.extend ? 0 : algorithm.cells(numbers));
}

/** Makes a table without rows keep more of the past than its own window. */
export function retain(table: Table, stalenessMs: number, retainMs: number): void {
  const { name, algorithm, policy, past } = table;
  table.retainMs = retainMs;
  table.numbers = algorithm.prepare(policy, stalenessMs, retainMs + stalenessMs);
  table.rows = blankRows(name, algorithm, table.numbers, past);
}

/** How far back a strict policy looks; 0 for the others. */
export function strictWindowMs({ algorithm, policy }: Table): number {
  return algorithm.strict ? (policy.window ?? 0) : 0;
}

/** When a key that may be forgotten now can have been charged last. */
export function latestChargeMs(table: Table, nowMs: number): number {
  const { isStrict, stalenessMs, lingerMs } = table;
  return nowMs - strictWindowMs(table) - (isStrict ? stalenessMs : 0) - lingerMs;
}

/** The cells of a key never seen. */
export function freshRow(
  { algorithm, numbers, sinceMs }: Pick<Table, 'algorithm' | 'numbers' | 'sinceMs'>,
  nowMs: number,
): Float64Array {
  const row = new Float64Array(algorithm.cells(numbers));
  algorithm.fresh(row, 0, numbers, nowMs, sinceMs);
  return row;
}

/** Charges a row; returns the row to keep, which may be a larger one. */
export function chargeRow(
  { algorithm, numbers }: Pick<Table, 'algorithm' | 'numbers'>,
  row: Float64Array,
  cost: number,
  nowMs: number,
): Float64Array {
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
