/**
 * Receipts that were given out while the store was away. They mean nothing to the store, or worse: something else. So they carry
 * a mark by which they come back here, also after a trip through JSON.
 */
import type { Decision, Receipt } from '../../vocabulary/decision.ts';

export interface Receipts {
  /** The decision with its receipt marked, if it has one. */
  sign(decision: Decision, as: 'local' | 'open'): Decision;
  /** Who gave it out, and what it was before it was marked. */
  read(receipt: Receipt | undefined): ['local' | 'open' | undefined, Receipt];
}

export function receiptsOf(random: () => number = Math.random): Receipts {
  // Stores write times, sums and counts. None of them is a negative fraction, and no other process draws the same.
  const marks = { local: -random() - 1e-9, open: -1 - random() };

  return {
    sign(decision, as) {
      const { receipt } = decision;
      return receipt === undefined ? decision : { ...decision, receipt: [marks[as], ...receipt] };
    },
    read(receipt = []) {
      const [mark, ...rest] = receipt;
      if (mark === marks.local) return ['local', rest];
      return mark === marks.open ? ['open', rest] : [undefined, receipt];
    },
  };
}
