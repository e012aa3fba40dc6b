/**
 * The record of a key whose window is so long that it is written to etcd ahead, as `cluster/long-windows.ts` writes it: what was reserved, gathered
 * by sixtieths of the window, and the newest reservation by itself.
 */
import { keysOf } from '../cluster/records.ts';
import type { PlanQuestion } from './plan-question.ts';

export interface LongRecordSize {
  readonly entries: number;
  /** With its key. */
  readonly bytes: number;
}

/** Those of a window, and the one that has just begun. */
const mostSpans = 61;
const slotDigits = 14;
/** Times of a cluster that has run for days, with the fraction that clocks have. */
const someTimeMs = 1_000_000_000.123_456_7;

export interface LongRecordOrder {
  readonly spanMs: number;
  /** Of one key. */
  readonly writesPerSecond: number;
  readonly grantsPerSecond: number;
}

export function longRecordSize({ keyBytes }: PlanQuestion, order: LongRecordOrder): LongRecordSize {
  const seconds = order.spanMs / 1000;
  // So many reservations fall into so many spans by chance: into how many of them?
  const entries = mostSpans * -Math.expm1((-order.writesPerSecond * seconds) / mostSpans) + 1;
  const cost = Math.max(1, Math.round((order.grantsPerSecond * seconds) / entries));
  const [name, key] = ['per-user', 'u'.repeat(keyBytes)];
  const head = { name, key, ownership: '1000000 1000000', spanMs: order.spanMs, chunks: [], forgottenMs: someTimeMs };
  const entry = { id: 'k'.repeat(9), cost, spendByMs: someTimeMs };
  const etcdKey = `${keysOf('default').long}slot/${'0'.repeat(slotDigits)}/key/${name}/${key}`;
  const bytesOf = (value: object) => JSON.stringify(value).length;
  return { entries, bytes: etcdKey.length + bytesOf(head) + entries * (bytesOf(entry) + 1) - 1 };
}
