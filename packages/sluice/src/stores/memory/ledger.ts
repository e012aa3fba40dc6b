/**
 * Which receipts still hold. Giving back late is where limiters mint: the key was reset meanwhile, its state was carried
 * over to another policy, or an earlier refund has moved what this one is about. A receipt therefore carries a number,
 * and how much its key had been given back by then.
 *
 * Only keys with reservations have an entry. The oldest are forgotten, and their receipts with them: what they hold is spent.
 *
 * Those of a store begin anywhere, so that receipts of one that is gone mean nothing to the one that began in its place. One that goes on from its
 * snapshot goes on with its numbers, also under names that come later: what is done to both gets the same receipts.
 */
import type { Receipt } from '../../vocabulary/decision.ts';

export interface Ledger {
  /** Numbers a receipt. */
  issue(key: string, receipt: Receipt): Receipt;
  /** The receipt as it was before it was numbered, and what its key was given back since; undefined when it is void. */
  redeem(key: string, receipt: Receipt | undefined): [receipt: Receipt, refundedSince: number] | undefined;
  refunded(key: string, cost: number): void;
  /** From now on the key's earlier receipts are void. */
  revoke(key: string): void;
  /** Whether no key has receipts. */
  isEmpty(): boolean;
  /** All that is kept, for a snapshot; and puts that in place of what there is. */
  save(): SavedLedger;
  restore(saved: SavedLedger): void;
  /** What is kept of a key's receipts. */
  entry(key: string): LedgerEntry | undefined;
  /** Takes that over from elsewhere, or drops it; the next receipt gets a number above `latest`. */
  load(key: string, entry: LedgerEntry | undefined, latest: number): void;
}

export interface LedgerEntry {
  validFrom: number;
  refunded: number;
}

export interface SavedLedger {
  /** The number of the latest receipt. */
  readonly latest: number;
  readonly entries: readonly (readonly [key: string, validFrom: number, refunded: number])[];
}

// Of whole numbers, the largest are 2^53: enough are left for all receipts that there will ever be.
const firstNumbers = 2 ** 50;

/** Where the numbers of a new store begin. */
export function anyNumber(): number {
  return Math.floor(Math.random() * firstNumbers);
}

export function ledger(maxKeys: number, latestNumber: number): Ledger {
  const entries = new Map<string, LedgerEntry>();
  let latest = latestNumber;

  return {
    issue(key, receipt) {
      latest += 1;
      const entry = entries.get(key) ?? { validFrom: latest, refunded: 0 };
      // The youngest goes last, so that the first is the one to forget.
      entries.delete(key);
      entries.set(key, entry);
      if (entries.size > maxKeys) entries.delete(entries.keys().next().value as string);
      return [latest, entry.refunded, ...receipt];
    },
    redeem(key, receipt) {
      const [number = 0, refunded = 0, ...rest] = receipt ?? [];
      const entry = entries.get(key);
      const isOurs = entry !== undefined && number >= entry.validFrom && number <= latest;
      return isOurs ? [rest, entry.refunded - refunded] : undefined;
    },
    refunded(key, cost) {
      const entry = entries.get(key);
      if (entry) entry.refunded += cost;
    },
    revoke(key) {
      const entry = entries.get(key);
      if (entry) entry.validFrom = latest + 1;
    },
    isEmpty: () => entries.size === 0,
    save: () => ({
      latest,
      entries: Array.from(entries, ([key, { validFrom, refunded }]) => [key, validFrom, refunded] as const),
    }),
    restore(saved) {
      latest = saved.latest;
      entries.clear();
      for (const [key, validFrom, refunded] of saved.entries) entries.set(key, { validFrom, refunded });
    },
    entry: (key) => entries.get(key),
    load(key, entry, numbered) {
      latest = numbered;
      if (entry) entries.set(key, entry);
      else entries.delete(key);
    },
  };
}
