/** What holds for every algorithm whatever the traffic. A failing seed goes into `examples` of its property and stays. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limiter } from '../limit/limiter.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Decision } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { fixedWindow } from './fixed-window/fixed-window.ts';
import { gcra } from './gcra/gcra.ts';
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts';
import { slidingLog } from './sliding-log/sliding-log.ts';
import { slidingSlots } from './sliding-slots/sliding-slots.ts';
import { slidingWindow } from './sliding-window/sliding-window.ts';
import { smooth } from './smooth/smooth.ts';
import { tokenBucket } from './token-bucket/token-bucket.ts';

interface Arrival {
  readonly gapMs: number;
  readonly cost: number;
}

interface Grant {
  readonly atMs: number;
  readonly cost: number;
}

const startMs = 1_700_000_000_000;

const gap = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 400 }) },
  { weight: 1, arbitrary: fc.integer({ min: 400, max: 10_000 }) },
);
const wholeCost = fc.integer({ min: 0, max: 4 });
const anyCost = fc.oneof(wholeCost, fc.constantFrom(0.1, 0.25, 0.5, 1.5, 1 / 3));
const traffic = (cost = wholeCost as fc.Arbitrary<number>) =>
  fc.array(fc.record({ gapMs: gap, cost }), { minLength: 1, maxLength: 120 });

const rate = fc.record({ limit: fc.integer({ min: 1, max: 12 }), window: fc.integer({ min: 1, max: 3000 }) });
const strictPolicies = fc.oneof(
  rate.map(slidingLog),
  fc.tuple(rate, fc.integer({ min: 1, max: 20 })).map(([of, slots]) => slidingSlots({ ...of, slots })),
);
const bucketOptions = fc.tuple(rate, fc.integer({ min: 1, max: 20 })).map(([of, burst]) => ({ ...of, burst }));

/** Every algorithm that refuses by time. */
const timedPolicies: fc.Arbitrary<Policy> = fc.oneof(
  bucketOptions.map(gcra),
  fc
    .tuple(bucketOptions, fc.constantFrom('continuous' as const, 'interval' as const))
    .map(([of, refill]) => tokenBucket({ ...of, refill })),
  fc
    .tuple(bucketOptions, fc.constantFrom('all' as const, 'none' as const, 1))
    .map(([of, delay]) => leakyBucket({ ...of, delay })),
  fc
    .tuple(rate, fc.constantFrom('epoch' as const, 'first' as const))
    .map(([of, align]) => fixedWindow({ ...of, align })),
  fc.tuple(rate, fc.integer({ min: 1, max: 2000 })).map(([of, wait]) => fixedWindow({ ...of, wait })),
  strictPolicies,
  rate.map((of) => slidingLog({ ...of, minGap: of.window })),
  rate.map(slidingWindow),
  fc.tuple(rate, fc.integer({ min: 0, max: 2000 })).map(([of, maxDelay]) => smooth({ ...of, maxDelay })),
  fc.tuple(rate, fc.integer({ min: 1, max: 2000 })).map(([of, warmup]) => smooth({ ...of, warmup, maxDelay: 100 })),
);

/** Runs the arrivals over one key and returns what was granted. */
function grants(policy: Policy, arrivals: readonly Arrival[], beginMs = startMs): Grant[] {
  const limit = limiter(policy);
  const granted: Grant[] = [];
  let atMs = beginMs;
  for (const { gapMs, cost } of arrivals) {
    atMs += gapMs;
    if (limit.check('key', { cost, atMs }).allowed) granted.push({ atMs, cost });
  }
  return granted;
}

/** The most granted in any window that ends with a grant: (t - window, t]. Compared naively, on purpose. */
function worstWindow(granted: readonly Grant[], windowMs: number): number {
  let worst = 0;
  for (const { atMs: end } of granted) {
    const inside = granted.filter(({ atMs }) => atMs <= end && atMs > end - windowMs);
    worst = Math.max(
      worst,
      inside.reduce((sum, { cost }) => sum + cost, 0),
    );
  }
  return worst;
}

// Sums of fractions are sums of rounded numbers; whole costs compare exactly.
const rounding = 1e-9;

describe('strict algorithms', () => {
  it('never grant more than the limit in any window', () => {
    fc.assert(
      fc.property(strictPolicies, traffic(anyCost), (policy, arrivals) => {
        expect(worstWindow(grants(policy, arrivals), policy.window)).toBeLessThanOrEqual(policy.limit + rounding);
      }),
      { numRuns: 500 },
    );
  });

  it('never grant more than the limit with counted rejections, gaps, or a caller whose time runs back', () => {
    const variants = fc
      .tuple(rate, fc.boolean(), fc.boolean())
      .map(([of, countRejected, gaps]) =>
        slidingLog({ ...of, countRejected, ...(gaps && { minGap: Math.max(1, of.window / 3) }) }),
      );
    const jumpy = fc.array(fc.record({ gapMs: fc.integer({ min: -2000, max: 2000 }), cost: wholeCost }), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(fc.oneof(variants, strictPolicies), jumpy, (policy, arrivals) => {
        const limit = limiter(policy as Policy);
        const granted: Grant[] = [];
        let atMs = startMs;
        let latestMs = Number.NEGATIVE_INFINITY;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          const { allowed } = limit.check('key', { cost, atMs });
          // A time that ran back counts as the latest seen.
          if (allowed && cost > 0) {
            latestMs = Math.max(latestMs, atMs);
            granted.push({ atMs: latestMs, cost });
          }
        }
        expect(worstWindow(granted, policy.window)).toBeLessThanOrEqual(policy.limit);
      }),
    );
  });

  it('never count less than what reservations really used', () => {
    const settling = fc.array(
      fc.record({
        gapMs: gap,
        cost: fc.integer({ min: 1, max: 4 }),
        afterMs: fc.integer({ min: 0, max: 4000 }),
        share: fc.integer({ min: 0, max: 4 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(strictPolicies, settling, (policy, steps) => {
        const limit = limiter(policy);
        const used: Grant[] = [];
        const open: { endMs: number; settle: (atMs: number) => void }[] = [];
        let atMs = startMs;
        for (const { gapMs, cost, afterMs, share } of steps) {
          atMs += gapMs;
          for (const due of open.filter(({ endMs }) => endMs <= atMs)) due.settle(due.endMs);
          open.splice(0, open.length, ...open.filter(({ endMs }) => endMs > atMs));
          const takenMs = atMs;
          const reservation = limit.reserve('key', cost, { atMs, expiresIn: '1h' });
          if (!reservation.allowed) continue;
          const actual = Math.min(cost, share);
          used.push({ atMs: takenMs, cost: actual });
          open.push({ endMs: atMs + afterMs, settle: (at) => reservation.commit(actual, { atMs: at }) });
        }
        expect(worstWindow(used, policy.window)).toBeLessThanOrEqual(policy.limit);
      }),
    );
  });

  it('never grant more than the limit in force, however the policy changes and whoever is forgotten', () => {
    const policies = fc.array(
      fc.oneof(
        fc.record({ limit: fc.integer({ min: 1, max: 5 }), window: fc.integer({ min: 10, max: 500 }) }).map(slidingLog),
        fc
          .record({ limit: fc.integer({ min: 1, max: 5 }), window: fc.integer({ min: 10, max: 500 }) })
          .map(slidingSlots),
        fc.record({ limit: fc.integer({ min: 1, max: 5 }), window: fc.integer({ min: 10, max: 500 }) }).map(gcra),
      ),
      { minLength: 1, maxLength: 4 },
    );
    const steps = fc.array(
      fc.record({
        gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 })),
        which: fc.nat({ max: 3 }),
        cost: fc.integer({ min: 1, max: 3 }),
        strangers: fc.nat({ max: 4 }),
        operation: fc.constantFrom('check' as const, 'check' as const, 'peek' as const, 'take' as const),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(policies, steps, fc.constantFrom(4, 1000), (of, life, maxKeys) => {
        let nowMs = startMs;
        const store = memoryStore({ maxKeys, clock: { now: () => nowMs, sleep: () => Promise.resolve() } });
        const granted: Grant[] = [];
        for (const [i, { gapMs, which, cost, strangers, operation }] of life.entries()) {
          nowMs += gapMs;
          const policy = of[which % of.length] as Policy;
          for (let stranger = 0; stranger < strangers; stranger += 1) {
            store.apply([{ name: 'rule', key: `stranger-${i}-${stranger}`, policy, cost: 1 }]);
          }
          const [decision] = store.apply([{ name: 'rule', key: 'key', policy, cost, operation }]);
          if (!decision?.allowed || operation === 'peek') continue;
          granted.push({ atMs: nowMs, cost: decision.granted ?? cost });
          if (policy.algorithm === 'gcra') continue;
          const inWindow = granted.filter(({ atMs }) => atMs > nowMs - (policy.window ?? 0));
          expect(inWindow.reduce((sum, { cost: used }) => sum + used, 0)).toBeLessThanOrEqual(policy.limit);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('what the slots granted, an exact log of the same policy grants again', () => {
    const options = fc.tuple(rate, fc.integer({ min: 1, max: 30 })).map(([of, slots]) => ({ of, slots }));
    fc.assert(
      fc.property(options, traffic(), ({ of, slots }, arrivals) => {
        const granted = grants(slidingSlots({ ...of, slots }), arrivals);
        const log = limiter(slidingLog(of));
        for (const { atMs, cost } of granted) expect(log.allow('key', { atMs, cost })).toBe(true);
      }),
    );
  });

  it('the slots refuse at most one slot longer than the log', () => {
    const options = fc.tuple(rate, fc.integer({ min: 1, max: 30 }));
    fc.assert(
      fc.property(options, fc.integer({ min: 0, max: 5000 }), ([of, slots], offsetMs) => {
        const atMs = startMs + offsetMs;
        const full = limiter(slidingSlots({ ...of, slots }));
        full.check('key', { cost: of.limit, atMs });
        const { retryAfterMs } = full.check('key', { atMs });
        expect(retryAfterMs).toBeGreaterThanOrEqual(of.window);
        expect(retryAfterMs).toBeLessThanOrEqual(Math.ceil(of.window + of.window / slots));
      }),
    );
  });
});

describe('buckets', () => {
  const day = 86_400_000;
  const extremes = fc.constantFrom(
    { limit: 10_000_000, window: 1000, burst: 10_000_000 },
    { limit: 10_000_000, window: 1000, burst: 1 },
    { limit: 9_999_991, window: 1000, burst: 7 },
    { limit: 1, window: 30 * day, burst: 1 },
    { limit: 3, window: 30 * day, burst: 2 },
    { limit: 10_000_000, window: 30 * day, burst: 100 },
    { limit: 1, window: 1, burst: 1 },
  );
  const longGap = fc.oneof(gap, fc.integer({ min: 0, max: 40 * day }));

  it('grant at most burst + rate * t over any time t, also at the extremes', () => {
    const arrivals = fc.array(
      fc.record({ gapMs: longGap, cost: fc.oneof(wholeCost, fc.integer({ min: 1, max: 20_000 })) }),
      { minLength: 1, maxLength: 100 },
    );
    fc.assert(
      fc.property(fc.oneof(bucketOptions, extremes), arrivals, fc.boolean(), (options, calls, asTokens) => {
        const granted = grants(asTokens ? tokenBucket(options) : gcra(options), calls);
        const { limit, window, burst } = options;
        // In whole numbers: cost * window <= burst * window + limit * t.
        for (let from = 0; from < granted.length; from += 1) {
          let sum = 0n;
          for (const { atMs, cost } of granted.slice(from)) {
            sum += BigInt(cost) * BigInt(window);
            const most = BigInt(burst) * BigInt(window) + BigInt(limit) * BigInt(atMs - granted[from]!.atMs);
            expect(sum <= most).toBe(true);
          }
        }
      }),
    );
  });

  it('gcra answers as the token bucket does, decision for decision, clocks that step back included', () => {
    const calls = fc.array(
      fc.record({
        atMs: fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.double({ min: 0, max: 5000, noNaN: true })),
        cost: anyCost,
      }),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(fc.oneof(bucketOptions, extremes), calls, (options, steps) => {
        const cell = limiter(gcra(options), { name: 'same' });
        const tokens = limiter(tokenBucket(options), { name: 'same' });
        for (const { atMs, cost } of steps) {
          const { policy: _g, ...a } = cell.check('key', { atMs: startMs + atMs, cost });
          const { policy: _t, ...b } = tokens.check('key', { atMs: startMs + atMs, cost });
          expect(a).toEqual(b);
        }
      }),
    );
  });

  it('fill exactly: 10 million per second grants 10 million at once, and not one more', () => {
    const limit = limiter(gcra({ limit: 10_000_000, window: '1s' }));
    let granted = 0;
    for (let call = 0; call < 1000; call += 1)
      if (limit.allow('key', { cost: 10_000, atMs: startMs })) granted += 10_000;
    expect(granted).toBe(10_000_000);
    expect(limit.check('key', { atMs: startMs })).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1 });
    expect(limit.check('key', { atMs: startMs + 1, cost: 10_000 }).allowed).toBe(true);
    expect(limit.check('key', { atMs: startMs + 1 }).allowed).toBe(false);
  });

  it('never mint by cancelled reservations', () => {
    const steps = fc.array(
      fc.record({
        gapMs: fc.integer({ min: 0, max: 1500 }),
        cost: fc.integer({ min: 1, max: 5 }),
        cancel: fc.boolean(),
        afterMs: fc.integer({ min: 0, max: 3000 }),
      }),
      { maxLength: 50 },
    );
    fc.assert(
      fc.property(bucketOptions, fc.boolean(), steps, (options, asTokens, calls) => {
        const limit = limiter(asTokens ? tokenBucket(options) : gcra(options));
        const used: Grant[] = [];
        const open: { endMs: number; cancel: (atMs: number) => void }[] = [];
        let atMs = startMs;
        for (const { gapMs, cost, cancel, afterMs } of calls) {
          atMs += gapMs;
          for (const due of open.filter(({ endMs }) => endMs <= atMs)) due.cancel(due.endMs);
          open.splice(0, open.length, ...open.filter(({ endMs }) => endMs > atMs));
          const reservation = limit.reserve('key', cost, { atMs, expiresIn: '1h' });
          if (!reservation.allowed) continue;
          if (cancel) open.push({ endMs: atMs + afterMs, cancel: (at) => reservation.cancel({ atMs: at }) });
          else used.push({ atMs, cost });
        }
        for (let from = 0; from < used.length; from += 1) {
          let sum = 0;
          for (const grant of used.slice(from)) {
            sum += grant.cost * options.window;
            expect(sum).toBeLessThanOrEqual(
              options.burst * options.window + options.limit * (grant.atMs - used[from]!.atMs) + rounding,
            );
          }
        }
      }),
    );
  });
});

describe('every algorithm', () => {
  it('refuses until retryAfterMs and allows exactly at it', () => {
    fc.assert(
      fc.property(timedPolicies, traffic(), (policy, arrivals) => {
        const limit = limiter(policy);
        let atMs = startMs;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          const { allowed, retryAfterMs } = limit.check('key', { cost, atMs });
          if (allowed) {
            expect(retryAfterMs).toBe(0);
            continue;
          }
          if (retryAfterMs === Number.POSITIVE_INFINITY) {
            expect(limit.peek('key', { cost, atMs: atMs + 1e12 }).allowed).toBe(false);
            continue;
          }
          expect(limit.peek('key', { cost, atMs: atMs + retryAfterMs - 1 }).allowed).toBe(false);
          expect(limit.peek('key', { cost, atMs: atMs + retryAfterMs }).allowed).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('lets pass what `remaining` says, and not one more, without a delay', () => {
    fc.assert(
      fc.property(timedPolicies, traffic(), (policy, arrivals) => {
        const limit = limiter(policy);
        let atMs = startMs;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          const { remaining } = limit.check('key', { cost, atMs });
          if (remaining === 0 || policy.algorithm === 'smooth') continue;
          const all = limit.peek('key', { cost: remaining, atMs });
          expect(all.allowed).toBe(true);
          const more = limit.peek('key', { cost: remaining + 1, atMs });
          expect(more.allowed && more.delayMs === 0 && policy.algorithm !== 'leaky-bucket').toBe(false);
        }
      }),
    );
  });

  it('takes cost n as n times cost 1', () => {
    const additive = fc.oneof(
      bucketOptions.map(gcra),
      bucketOptions.map(tokenBucket),
      rate.map(fixedWindow),
      rate.map(slidingLog),
      rate.map(slidingSlots),
      rate.map(slidingWindow),
    );
    fc.assert(
      fc.property(additive, traffic(fc.integer({ min: 1, max: 4 })), (policy, arrivals) => {
        const once = limiter(policy as Policy);
        const oneByOne = limiter(policy as Policy);
        let atMs = startMs;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          const decision = once.check('key', { cost, atMs });
          if (!decision.allowed) continue;
          let last: Decision | undefined;
          for (let unit = 0; unit < cost; unit += 1) last = oneByOne.check('key', { atMs });
          expect(last).toEqual(decision);
        }
      }),
    );
  });

  it('is not changed by peeking', () => {
    fc.assert(
      fc.property(timedPolicies, traffic(anyCost), fc.integer({ min: 0, max: 5000 }), (policy, arrivals, aheadMs) => {
        const peeked = limiter(policy);
        const plain = limiter(policy);
        let atMs = startMs;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          peeked.peek('key', { cost: 2, atMs: atMs + aheadMs });
          const promise = peeked.peek('key', { cost, atMs });
          const decision = peeked.check('key', { cost, atMs });
          expect(decision).toEqual(promise);
          expect(decision).toEqual(plain.check('key', { cost, atMs }));
        }
      }),
    );
  });

  it('is as good as new after resetAfterMs of silence', () => {
    // A smooth limiter that starts without stored permits is better off after silence than new.
    const forgetful = timedPolicies.filter(({ algorithm }) => algorithm !== 'smooth');
    fc.assert(
      fc.property(forgetful, traffic(), (policy, arrivals) => {
        const limit = limiter(policy);
        let atMs = startMs;
        let resetAfterMs = 0;
        for (const { gapMs, cost } of arrivals) {
          atMs += gapMs;
          ({ resetAfterMs } = limit.check('key', { cost, atMs }));
        }
        const later = limit.peek('key', { atMs: atMs + resetAfterMs });
        const fresh = limiter(policy).peek('key', { atMs: atMs + resetAfterMs });
        // A window counted from the first call may begin anew or go on; either way nothing of it is used.
        if (policy.algorithm === 'fixed-window' || policy.algorithm === 'token-bucket') {
          expect(later.remaining).toBe(fresh.remaining);
        } else {
          expect(later).toEqual(fresh);
        }
      }),
    );
  });

  it('keeps every decision through a snapshot and its restoration', () => {
    fc.assert(
      fc.property(timedPolicies, traffic(anyCost), traffic(anyCost), (policy, before, after) => {
        const store = memoryStore();
        const limit = limiter(policy, { store, name: 'kept' });
        let atMs = startMs;
        for (const { gapMs, cost } of before) {
          atMs += gapMs;
          limit.check('key', { cost, atMs });
        }
        limit.block('blocked', 500, { atMs });
        const restored = memoryStore();
        restored.restore(JSON.parse(JSON.stringify(store.snapshot())));
        const again = limiter(policy, { store: restored, name: 'kept' });
        for (const { gapMs, cost } of after) {
          atMs += gapMs;
          expect(again.check('key', { cost, atMs })).toEqual(limit.check('key', { cost, atMs }));
          expect(again.peek('blocked', { cost, atMs })).toEqual(limit.peek('blocked', { cost, atMs }));
        }
      }),
    );
  });

  it('is not changed by a batch that was refused', () => {
    const batch = fc.array(timedPolicies, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(batch, traffic(), fc.nat(), (policies, arrivals, pick) => {
        const touched = memoryStore();
        const untouched = memoryStore();
        const checks = (cost: number) => policies.map((policy, i) => ({ name: `rule-${i}`, key: 'key', policy, cost }));
        let atMs = startMs;
        for (const [i, { gapMs, cost }] of arrivals.entries()) {
          atMs += gapMs;
          if ((i + pick) % 2 === 0) {
            // Refused by one that is always full.
            const full = { name: 'full', key: 'key', policy: slidingLog({ limit: 1, window: '1h' }), cost: 2 };
            const refused = touched.apply([...checks(cost), full], atMs);
            expect(refused.at(-1)?.allowed).toBe(false);
          }
          expect(touched.apply(checks(cost), atMs)).toEqual(untouched.apply(checks(cost), atMs));
        }
      }),
    );
  });

  it('never throws and never frees quota when the clock leaps or steps back', () => {
    const leaps = fc.array(
      fc.constantFrom(0, 1, 500, -1, -500, 604_800_000, -604_800_000, 50 * 86_400_000, 2 ** 31, -(2 ** 31)),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(timedPolicies, leaps, (policy, steps) => {
        const limit = limiter(policy);
        let atMs = startMs;
        for (const leapMs of steps) {
          atMs += leapMs;
          const before = limit.peek('key', { cost: 0, atMs });
          const decision = limit.check('key', { atMs });
          const back = limit.peek('key', { cost: 0, atMs: atMs - 10_000 });
          expect(decision.remaining).toBeLessThanOrEqual(before.remaining);
          // Asked at an earlier time, there is never more to have than at the later one.
          expect(back.remaining).toBeLessThanOrEqual(decision.remaining);
          expect(decision.retryAfterMs).toBeGreaterThanOrEqual(0);
          expect(decision.resetAfterMs).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
