import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { StepReader } from '../../cluster/steps.ts';
import { isMeasuredFor, measureStores, type StoreOrder } from './store-figures.ts';

const order: StoreOrder = {
  policy: { algorithm: 'sliding-log', limit: 100, window: 60_000 },
  keyBytes: 20,
  keysPerStore: 500,
  checksPerKey: 5,
  graceMs: 10,
  mostChecks: 10_000,
};

/** Not collected in tests: what is compared here differs by far more than garbage. */
const collect = () => {};
const measured = (change: Partial<StoreOrder>) => measureStores({ ...order, ...change }, collect);

describe('stores as a node keeps them', () => {
  it('are as many as there are checks for, of the size that was asked for', () => {
    const { stores, keysPerStore, policy } = measured({});
    expect(keysPerStore).toBe(500);
    expect(stores).toBeGreaterThan(1);
    expect(policy).toEqual(order.policy);
  });

  it('have fewer keys where filling them would take too long', () => {
    const { stores, keysPerStore } = measured({ keysPerStore: 1_000_000 });
    expect(stores).toBe(1);
    expect(keysPerStore).toBeLessThan(3000);
  });

  it('hold in a snapshot what was asked: more for a key that was asked about more often', () => {
    const few = measured({ checksPerKey: 2 });
    const many = measured({ checksPerKey: 60 });
    expect(many.snapshotBytesPerKey).toBeGreaterThan(3 * few.snapshotBytesPerKey);
  });

  it('tell their copies more bytes of a longer key', () => {
    expect(measured({ keyBytes: 120 }).stepBytes - measured({}).stepBytes).toBeCloseTo(100, 6);
  });

  it.each([
    ['sliding-log', 1],
    ['gcra', 2],
  ])('have their copies do every step again, with %s of %d', (algorithm, limit) => {
    const repeat = vi.spyOn(StepReader.prototype, 'repeat');
    onTestFinished(() => repeat.mockRestore());
    measured({ policy: { ...order.policy, algorithm, limit }, mostChecks: 1000 });
    expect(repeat.mock.results.filter(({ value }) => value !== true)).toHaveLength(0);
  });

  it('are measured for every algorithm that a plan can be made for', () => {
    for (const algorithm of [
      'gcra',
      'token-bucket',
      'leaky-bucket',
      'fixed-window',
      'sliding-slots',
      'sliding-window',
      'smooth',
    ]) {
      const figures = measured({ policy: { ...order.policy, algorithm }, mostChecks: 1000 });
      for (const value of [figures.bytesPerKey, figures.snapshotBytesPerKey, figures.stepBytes]) {
        expect(value).toBeGreaterThan(0);
        expect(Number.isFinite(value)).toBe(true);
      }
    }
  });
});

describe('what was measured', () => {
  const figures = measured({});

  it('is taken for what is like it', () => {
    expect(isMeasuredFor(order, figures)).toBe(true);
    expect(isMeasuredFor({ ...order, checksPerKey: 6, keysPerStore: 900 }, figures)).toBe(true);
    const fewer = { ...order, keysPerStore: 1_000_000 };
    expect(isMeasuredFor(fewer, measured(fewer))).toBe(true);
  });

  it.each<[string, Partial<StoreOrder>]>([
    ['another algorithm', { policy: { ...order.policy, algorithm: 'gcra' } }],
    ['another limit', { policy: { ...order.policy, limit: 50 } }],
    ['more checks of a key', { checksPerKey: 10 }],
    ['few keys in a store, which are mostly the store', { keysPerStore: 1 }],
  ])('is not taken for %s', (_, change) => {
    expect(isMeasuredFor({ ...order, ...change }, figures)).toBe(false);
  });
});
