/**
 * Which receipts of a shard may be redeemed. A standby that takes over has not heard of the last ones that its owner gave out, and its store goes on with
 * the same numbers: whoever came back with one of those would be taken for somebody else, and free what that one holds.
 *
 *      given out by the owner     1 2 3 4 5 6
 *      known to the copy          1 2 3 4
 *      given out by the copy              └───── void ─────┘ n n+1 n+2 ...
 *
 * So each receipt gets one more number, of the shard. It is negative, which no number of a store is: receipts of an earlier version have none.
 */
import type { Check, Decision } from 'sluice';

export interface SavedReceipts {
  readonly latest: number;
  /** From the first to the last number of which nobody knows whether they were given out. */
  readonly voids: readonly (readonly [first: number, last: number])[];
}

// More than any owner can be ahead of its standby by.
const skipped = 2 ** 32;
// Of so many failures receipts are told apart; those from before are void.
const mostVoids = 4;

export class Receipts {
  private latest: number;
  private voids: SavedReceipts['voids'];

  constructor({ latest, voids }: SavedReceipts = { latest: 0, voids: [] }) {
    this.latest = latest;
    this.voids = voids;
  }

  save(): SavedReceipts {
    return { latest: this.latest, voids: this.voids };
  }

  /** Whoever goes on from here may not know of those that were given out last. */
  skip(): void {
    const first = this.latest + 1;
    this.latest += skipped;
    this.voids = [...this.voids, [first, this.latest]];
    const [, second, ...rest] = this.voids;
    if (this.voids.length > mostVoids) this.voids = [[0, second![1]], ...rest];
  }

  /** Numbers what the store gives out. They are its own objects, fresh from this call; a copy numbers the same. */
  number(decisions: readonly { receipt?: Decision['receipt'] }[]): void {
    for (const decision of decisions) {
      if (decision.receipt === undefined) continue;
      this.latest += 1;
      decision.receipt = [-this.latest, ...decision.receipt];
    }
  }

  /** The checks with their receipts as the store gave them out; those that are void say nothing. */
  opened<C extends Check>(checks: readonly C[]): readonly C[] {
    if (checks.every(({ receipt }) => receipt === undefined)) return checks;
    return checks.map((check) => ({ ...check, receipt: check.receipt && this.open(check.receipt) }));
  }

  private open(receipt: NonNullable<Check['receipt']>): Check['receipt'] {
    const [first = 0, ...ofStore] = receipt;
    if (!(first < 0)) return receipt;
    const isVoid = -first > this.latest || this.voids.some(([from, to]) => -first >= from && -first <= to);
    return isVoid ? undefined : ofStore;
  }
}
