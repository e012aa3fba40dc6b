import { describe, expect, it } from 'vitest';
import { anyNumber, ledger } from './ledger.ts';

describe('the ledger', () => {
  it('redeems what it issued, with what was given back since', () => {
    const receipts = ledger(10, 0);
    const first = receipts.issue('key', [1, 2]);
    receipts.refunded('key', 5);
    const second = receipts.issue('key', [3]);
    expect(receipts.redeem('key', first)).toEqual([[1, 2], 5]);
    expect(receipts.redeem('key', second)).toEqual([[3], 0]);
    expect(receipts.redeem('other', first)).toBeUndefined();
    expect(receipts.redeem('key', undefined)).toBeUndefined();
  });

  it('voids what was issued before a revocation, and only that', () => {
    const receipts = ledger(10, 0);
    const before = receipts.issue('key', []);
    const other = receipts.issue('other', []);
    receipts.revoke('key');
    const after = receipts.issue('key', []);
    expect(receipts.redeem('key', before)).toBeUndefined();
    expect(receipts.redeem('key', after)).toEqual([[], 0]);
    expect(receipts.redeem('other', other)).toEqual([[], 0]);
  });

  it('forgets the oldest keys, and never takes their receipts for later ones', () => {
    const receipts = ledger(2, 0);
    const first = receipts.issue('a', []);
    receipts.issue('b', []);
    receipts.issue('c', []);
    expect(receipts.redeem('a', first)).toBeUndefined();
    const again = receipts.issue('a', []);
    expect(receipts.redeem('a', first)).toBeUndefined();
    expect(receipts.redeem('a', again)).toEqual([[], 0]);
  });

  it('takes no receipt for its own that another issued, before it or after', () => {
    const [old, young] = [ledger(10, anyNumber()), ledger(10, anyNumber())];
    const theirs = Array.from({ length: 100 }, () => old.issue('key', []));
    for (let i = 0; i < 100; i += 1) young.issue('key', []);
    expect(theirs.filter((receipt) => young.redeem('key', receipt) !== undefined)).toEqual([]);
  });

  it('goes on where another was saved', () => {
    const old = ledger(10, 0);
    const [kept, revoked] = [old.issue('key', [7]), old.issue('reset', [])];
    old.revoke('reset');
    old.refunded('key', 3);
    const young = ledger(10, 0);
    young.issue('forgotten', []);
    young.restore(JSON.parse(JSON.stringify(old.save())));
    expect(young.redeem('key', kept)).toEqual([[7], 3]);
    expect(young.redeem('reset', revoked)).toBeUndefined();
    expect(young.issue('key', [8])).toEqual(old.issue('key', [8]));
  });
});
