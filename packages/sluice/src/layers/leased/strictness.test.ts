/** Judged where units are used, whatever the demand, the wire and the pauses; and the parts that make it so are needed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { audit } from '../../testing/auditor/auditor.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { atReceipt, type LifeOptions, live } from './borrowers.test-support.ts';
import { type Lending, lendingOf } from './lending.ts';

const rate = { limit: 20, window: 100 };
const usedWithin: Policy[] = [
  slidingLog(rate),
  slidingSlots({ ...rate, slots: 10 }),
  gcra({ ...rate, burst: 20 }),
  tokenBucket({ ...rate, burst: 20, initial: 7 }),
  leakyBucket({ ...rate, burst: 20, delay: 'none' }),
];
const usedUntilBoundary: Policy[] = [fixedWindow(rate), fixedWindow({ ...rate, align: 'first' }), slidingWindow(rate)];

const anyLease = fc.record({
  seed: fc.nat(),
  lease: fc.record({
    lease: fc.integer({ min: 5, max: 60 }),
    maxShare: fc.constantFrom(0.1, 0.5, 1),
    minSlice: fc.constantFrom(1, 3),
    maxKeys: fc.constantFrom(1, 2, 100),
  }),
  borrowers: fc.integer({ min: 1, max: 4 }),
  mostDelayMs: fc.constantFrom(0, 3, 20),
  keys: fc.constantFrom(1, 3),
  hoards: fc.boolean(),
});

describe('many borrowers', () => {
  it.each(usedWithin)('never use more than %o promises, judged at use', async (policy) => {
    await fc.assert(
      fc.asyncProperty(anyLease, async (options) => {
        const { uses } = await live({ policy, ...options, steps: 120 });
        const report = audit(atReceipt(uses), policy);
        expect(report.ok, report.describe()).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  // What a call itself borrowed is used when the reply is there, lease or no lease; so these are judged by their intervals.
  it.each(usedUntilBoundary)('certainly never use more than %o promises', async (policy) => {
    await fc.assert(
      fc.asyncProperty(anyLease, async (options) => {
        const { uses } = await live({ policy, ...options, steps: 120 });
        const report = audit(uses, policy);
        expect(report.ok, report.describe()).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('use most of what there is, with far fewer trips than calls', async () => {
    const policy = slidingLog({ limit: 200, window: 500 });
    const { uses, demand, trips } = await live({
      policy,
      seed: 1,
      lease: { lease: 50 },
      steps: 1000,
      keys: 1,
      pauses: false,
      mostDelayMs: 2,
    });
    const { underAdmittedRatio, worst } = audit(atReceipt(uses), policy, { demand });
    expect(worst?.used).toBeLessThanOrEqual(200);
    expect(underAdmittedRatio).toBeLessThan(0.2);
    expect(trips).toBeLessThan(demand.length / 2);
  });
});

describe('the auditor notices when a part is missing:', () => {
  const unsafe = (policy: Policy): Lending => ({
    policy,
    most: policy.burst ?? policy.limit,
    keepsMs: () => Number.POSITIVE_INFINITY,
  });

  /** How many of so many lives kept the promise. */
  async function kept(policy: Policy, without: NonNullable<LifeOptions['without']>, lives = 12): Promise<number> {
    let count = 0;
    for (let seed = 1; seed <= lives; seed += 1) {
      const lease = { lease: 60, margin: 1, minSlice: 6, maxShare: 0.5 };
      const borrowers = 5;
      const { uses } = await live({
        policy,
        seed,
        lease,
        without,
        borrowers,
        mostDelayMs: 2,
        steps: 300,
        keys: 1,
        hoards: true,
        pauses: seed % 2 === 0,
      });
      if (audit(uses, policy).ok) count += 1;
    }
    return count;
  }

  it.each([...usedWithin, ...usedUntilBoundary])('with all parts %o is kept', async (policy) => {
    expect(await kept(policy, {})).toBe(12);
  });

  // Where windows begin with the first call, the promise that can be checked is too loose to show it.
  it.each([...usedWithin, ...usedUntilBoundary.filter((policy) => !('align' in policy))])(
    '%o without the widening',
    async (policy) => {
      expect(await kept(policy, { lendingOf: unsafe })).toBeLessThan(12);
    },
  );

  it.each([...usedWithin, ...usedUntilBoundary])('%o without the deadline', async (policy) => {
    const endless = (of: Policy, leaseMs: number): Lending | undefined => {
      const lending = lendingOf(of, leaseMs);
      return lending && { ...lending, keepsMs: () => Number.POSITIVE_INFINITY };
    };
    expect(await kept(policy, { marginMs: -1e9, leaseMs: 1e9, lendingOf: (of) => endless(of, 60) })).toBeLessThan(12);
  });
});
