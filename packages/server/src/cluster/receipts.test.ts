import type { Check } from 'sluice';
import { describe, expect, it } from 'vitest';
import { Receipts } from './receipts.ts';

/** As a store gives it out. */
const ofStore = [7, 0, 3];

function given(receipts: Receipts): readonly number[] {
  const decision: { receipt: readonly number[] } = { receipt: ofStore };
  receipts.number([{}, decision]);
  return decision.receipt;
}

function opened(receipts: Receipts, receipt: readonly number[] | undefined): Check['receipt'] {
  return receipts.opened([{ receipt } as unknown as Check])[0]!.receipt;
}

describe('receipts of a shard', () => {
  it('are opened as the store gave them out', () => {
    const receipts = new Receipts();
    const [first, second] = [given(receipts), given(receipts)];
    expect(first).not.toEqual(second);
    expect([first, second].map((receipt) => opened(receipts, receipt))).toEqual([ofStore, ofStore]);
    expect(opened(receipts, undefined)).toBeUndefined();
  });

  it('are numbered alike by a copy', () => {
    const owner = new Receipts();
    given(owner);
    const copy = new Receipts(JSON.parse(JSON.stringify(owner.save())));
    expect(given(copy)).toEqual(given(owner));
  });

  it('that a copy has not heard of are void once it has taken over, and those that it gives out are none of them', () => {
    const owner = new Receipts();
    const known = given(owner);
    const copy = new Receipts(owner.save());
    const lost = [given(owner), given(owner)];
    copy.skip();
    const fresh = [given(copy), given(copy)];
    expect(opened(copy, known)).toEqual(ofStore);
    expect(lost.map((receipt) => opened(copy, receipt))).toEqual([undefined, undefined]);
    expect(fresh.map((receipt) => opened(copy, receipt))).toEqual([ofStore, ofStore]);
  });

  it('are void after many failures, and what is kept of these does not grow', () => {
    const receipts = new Receipts();
    const all = Array.from({ length: 10 }, () => {
      const receipt = given(receipts);
      receipts.skip();
      return receipt;
    });
    expect(all.map((receipt) => opened(receipts, receipt) !== undefined)).toEqual([
      ...Array.from({ length: 7 }, () => false),
      ...Array.from({ length: 3 }, () => true),
    ]);
    expect(receipts.save().voids).toHaveLength(4);
    expect(opened(receipts, given(receipts))).toEqual(ofStore);
  });

  it('of an earlier version, without a number of the shard, are left to the store', () => {
    const receipts = new Receipts();
    receipts.skip();
    expect(opened(receipts, ofStore)).toEqual(ofStore);
  });
});
