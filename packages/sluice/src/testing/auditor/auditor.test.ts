import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type AuditReport, audit, auditor } from './auditor.ts';
import type { Grant } from './grant.ts';
import { naiveFill } from './naive.test-support.ts';

const startMs = 1_700_000_000_000;

/** `at:cost` or `sent-received:cost`, of one key. */
function history(text: string): Grant[] {
  return text.split(' ').map((word) => {
    const [time = '', cost = '1'] = word.split(':');
    const [from, to] = time.split('-').map(Number);
    return to === undefined
      ? { key: 'key', atMs: from!, cost: Number(cost) }
      : { key: 'key', sentMs: from!, receivedMs: to, cost: Number(cost) };
  });
}

describe('each promise, by rows', () => {
  const log = slidingLog({ limit: 2, window: 100 });
  const bucket = gcra({ limit: 1, window: 100, burst: 2 });
  const counter = fixedWindow({ limit: 2, window: 100 });
  const estimate = slidingWindow({ limit: 4, window: 100 });
  const rows: [policy: Policy, grants: string, worst: [used: number, limit: number], reason: string][] = [
    [log, '0 50 100', [2, 2], 'a use exactly one window old no longer counts'],
    [log, '0 50 99', [3, 2], 'one millisecond too soon'],
    [log, '0:2 99:1', [3, 2], 'costs count'],
    [log, '99 0 50', [3, 2], 'in any order'],
    [slidingSlots({ limit: 2, window: 100, slots: 4 }), '0 50 99', [3, 2], 'slots promise what the log does'],
    [slidingLog({ limit: 9, window: 100, minGap: 10 }), '0 10 19', [2, 1], 'two calls closer than the gap'],
    [slidingLog({ limit: 9, window: 100, minGap: 10 }), '0:5 10 20', [1, 1], 'one call is one call, whatever it costs'],
    [bucket, '0 0 100 200', [2, 2], 'burst, then the rate'],
    [bucket, '0 0 99', [3, 2.99], 'one millisecond before the third'],
    [bucket, '0 0 1000 1000 1050 1100 1140', [5, 3.4], 'the stretch that begins with the second burst'],
    [leakyBucket({ limit: 1, window: 100, burst: 1, delay: 'none' }), '0 0 50', [3, 2.5], 'one served and one waiting'],
    [counter, '98 99 100 101', [2, 2], 'twice the limit across a boundary is what it promises'],
    [counter, '100 150 199', [3, 2], 'three in one window'],
    [fixedWindow({ limit: 2, window: 100, align: 'first' }), '98 99 100 101', [4, 4], 'two windows touch'],
    [
      fixedWindow({ limit: 2, window: 100, align: 'first' }),
      '98 99 100 101 102',
      [5, 4],
      'and more than two windows hold',
    ],
    [estimate, '90:4 150:2', [4, 4], 'half of the last window, and this one'],
    [estimate, '90:4 149:2', [4.04, 4], 'one millisecond too soon'],
    [estimate, '90:4 99:1', [5, 4], 'five in one window'],
    [
      tokenBucket({ limit: 2, window: 100, burst: 3, refill: 'interval' }),
      '0:3 1:2',
      [5, 5],
      'one refill between the two',
    ],
    [tokenBucket({ limit: 2, window: 100, burst: 3, refill: 'interval' }), '0:3 1:3', [6, 5], 'and not more'],
    [smooth({ limit: 1, window: 100, maxBurst: 2 }), '0:2 0:5', [7, 7], 'a call goes first, and the next one pays'],
    [smooth({ limit: 1, window: 100, maxBurst: 2 }), '0:2 0:5 0:1', [8, 7], 'and the next one did not wait'],
    [
      fixedWindow({ limit: 2, window: 100, wait: 200 }),
      '100:2 100:1',
      [2, 2],
      'part of the two was paid by the last window',
    ],
    [fixedWindow({ limit: 2, window: 100, wait: 200 }), '100 150 199', [3, 2], 'but single calls have no parts'],
  ];
  it.each(rows)('%o: %s comes to %o: %s', (policy, grants, [used, limit]) => {
    const report = audit(history(grants), policy);
    expect(report.worst?.used).toBeCloseTo(used, 9);
    expect(report.worst?.limit).toBeCloseTo(limit, 9);
    expect(report.ok).toBe(used <= limit);
  });

  it('counts places from their start to their end', () => {
    const policy = concurrency({ limit: 2 });
    const held = (atMs: number, endMs: number, cost = 1): Grant => ({ key: 'key', atMs, endMs, cost });
    expect(audit([held(0, 10), held(5, 15), held(10, 20)], policy).ok).toBe(true);
    expect(audit([held(0, 11), held(5, 15), held(10, 20)], policy)).toMatchObject({
      ok: false,
      violations: [{ key: 'key', fromMs: 10, toMs: 10, used: 3, limit: 2 }],
    });
    expect(audit([held(0, 10, 2), held(9, 10)], policy).ok).toBe(false);
    // Between sending and receiving it is not certain that the place was held.
    const unsure: Grant[] = [held(0, 10, 2), { key: 'key', sentMs: 9, receivedMs: 10, endMs: 20 }];
    expect(audit(unsure, policy).ok).toBe(true);
    expect(audit(unsure, policy, { verdict: 'possible' }).ok).toBe(false);
  });
});

describe('intervals', () => {
  const log = slidingLog({ limit: 2, window: 100 });
  const bucket = gcra({ limit: 1, window: 100, burst: 2 });
  const counter = fixedWindow({ limit: 2, window: 100 });
  const estimate = slidingWindow({ limit: 4, window: 100 });
  const rows: [policy: Policy, grants: string, certain: boolean, possible: boolean, reason: string][] = [
    [log, '0-10 20-30 90-99', true, true, 'all three lie within 99 ms'],
    [log, '0-10 20-30 90-100', false, true, 'the first may be at 0 and the last at 100'],
    [log, '0-10 20-30 109-120', false, true, 'within one window only if the first was late'],
    [log, '0-10 20-30 110-120', false, false, 'too far apart wherever they lie'],
    [log, '0-500 0-500 0-500', false, true, 'longer than a window proves nothing'],
    [bucket, '0-10 0-10 80-99', true, true, 'too many even from first to last'],
    [bucket, '0-10 0-10 80-100', false, true, 'exactly enough time, at most'],
    [bucket, '0-10 0-10 111-120', false, false, 'enough time, at least'],
    [
      gcra({ limit: 1, window: 1, burst: 1 }),
      '0-0 0.5-0.5:0.5',
      false,
      false,
      'half of it has drained in half a millisecond',
    ],
    [counter, '110-120 110-120 190-199', true, true, 'in one window'],
    [counter, '110-120 110-120 190-200', false, true, 'the last may be in the next'],
    [counter, '100-120 110-120 200-201', false, false, 'it is in the next'],
    [
      smooth({ limit: 1, window: 1, warmup: 40 }),
      '0-2 138-138:0.1 138-138:0.1',
      false,
      false,
      'one call more, as large as any so far, however uncertain its moment',
    ],
    [estimate, '90-99:4 140-149:2', true, true, 'less than half has passed at the latest'],
    [estimate, '90-99:4 140-150:2', false, true, 'half may have passed'],
    [estimate, '90-100:4 140-149:2', true, true, 'in whichever window the four were'],
    [estimate, '90-99:4 150-199:2', false, false, 'half has passed at the earliest'],
  ];

  it.each(rows)('%o: %s is certain %s, possible %s: %s', (policy, grants, certain, possible) => {
    expect(audit(history(grants), policy).ok).toBe(!certain);
    expect(audit(history(grants), policy, { verdict: 'possible' }).ok).toBe(!possible);
  });
});

const rate = fc.record({ limit: fc.integer({ min: 1, max: 8 }), window: fc.integer({ min: 1, max: 60 }) });
const bucketRate = fc.tuple(rate, fc.integer({ min: 1, max: 10 })).map(([of, burst]) => ({ ...of, burst }));

/** Every algorithm that decides by time. */
const timedPolicies: fc.Arbitrary<Policy> = fc.oneof(
  rate.map(slidingLog),
  rate.map((of) => slidingLog({ ...of, minGap: of.window / 2 })),
  rate.map((of) => slidingSlots({ ...of, slots: 7 })),
  rate.map(slidingWindow),
  bucketRate.map(gcra),
  bucketRate.map(tokenBucket),
  bucketRate.map((of) => tokenBucket({ ...of, refill: 'interval' })),
  bucketRate.map((of) => leakyBucket({ ...of, delay: 2 })),
  rate.map(fixedWindow),
  rate.map((of) => fixedWindow({ ...of, align: 'first' })),
  rate.map((of) => fixedWindow({ ...of, wait: 50 })),
  rate.map((of) => fixedWindow({ ...of, wait: 50, align: 'first' })),
  rate.map((of) => smooth({ ...of, maxDelay: 50 })),
  rate.map((of) => smooth({ ...of, maxDelay: 50, maxBurst: 3 })),
  rate.map((of) => smooth({ ...of, maxDelay: 50, warmup: 40 })),
);
const cost = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom(0.1, 0.5, 1 / 3));

describe('against the slow way', () => {
  const neverLends = timedPolicies.filter((policy) => policy.algorithm !== 'smooth' && !('wait' in policy));
  const uses = fc.array(
    fc.record({
      sentMs: fc.integer({ min: 0, max: 200 }),
      lastsMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30 })),
      cost,
    }),
    { minLength: 1, maxLength: 25 },
  );

  it.each(['certain', 'possible'] as const)('a %s verdict is the same', (verdict) => {
    fc.assert(
      fc.property(neverLends, uses, (policy, list) => {
        const grants = list.map(
          ({ sentMs, lastsMs, cost: of }): Grant => ({ key: 'key', sentMs, receivedMs: sentMs + lastsMs, cost: of }),
        );
        // Uses more uncertain than a window and a burst are left out of what is certain about a rate.
        const { window = 0, burst = policy.limit, limit } = policy;
        fc.pre(list.every(({ lastsMs }) => lastsMs <= window + (burst * window) / limit));
        const { worst, ok } = audit(grants, policy, { verdict });
        const fill = naiveFill(grants, policy, verdict);
        expect(ok).toBe(fill <= 1);
        // The record names the whole stretch, of which a rate allows more than its burst.
        if (policy.algorithm !== 'gcra' && policy.algorithm !== 'token-bucket' && policy.algorithm !== 'leaky-bucket') {
          const span = worst ? worst.used / worst.limit : 0;
          if (!('align' in policy)) expect(span).toBeCloseTo(fill, 5);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('a place held is counted the same', () => {
    fc.assert(
      fc.property(uses, fc.constantFrom('certain' as const, 'possible' as const), (list, verdict) => {
        const grants = list.map(
          ({ sentMs, lastsMs, cost: of }, i): Grant => ({
            key: 'key',
            sentMs,
            receivedMs: sentMs + lastsMs,
            endMs: sentMs + lastsMs + (i % 5) * 7,
            cost: Math.ceil(of),
          }),
        );
        const policy = concurrency({ limit: 3 });
        // A place that was given back when it was received was certainly never held.
        const held = verdict === 'certain' ? grants.filter((_, i) => i % 5 > 0) : grants;
        expect(audit(grants, policy, { verdict }).ok).toBe(naiveFill(held, policy, verdict) <= 1);
      }),
      { numRuns: 500 },
    );
  });

  it('what is certain is possible, and with known moments the two are one', () => {
    fc.assert(
      fc.property(timedPolicies, uses, (policy, list) => {
        const between = list.map(
          ({ sentMs, lastsMs, cost: of }): Grant => ({ key: 'key', sentMs, receivedMs: sentMs + lastsMs, cost: of }),
        );
        if (audit(between, policy, { verdict: 'possible' }).ok) expect(audit(between, policy).ok).toBe(true);
        const at = list.map(({ sentMs, cost: of }): Grant => ({ key: 'key', atMs: sentMs, cost: of }));
        const [certain, possible] = [audit(at, policy), audit(at, policy, { verdict: 'possible' })];
        expect(possible.ok).toBe(certain.ok);
        // Which call was the largest so far depends on the order of those at one moment.
        if (policy.algorithm === 'smooth' || 'wait' in policy) return;
        const excess = ({ worst }: AuditReport) => (worst ? worst.used - worst.limit : 0);
        expect(excess(possible)).toBeCloseTo(excess(certain), 6);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('what the memory store grants', () => {
  interface Step {
    readonly gapMs: number;
    readonly cost: number;
    readonly operation: 'check' | 'check' | 'take' | 'cancelled';
    readonly key: string;
  }
  const life: fc.Arbitrary<Step[]> = fc.array(
    fc.record({
      gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 200 })),
      cost,
      operation: fc.constantFrom('check' as const, 'check' as const, 'take' as const, 'cancelled' as const),
      key: fc.constantFrom('a', 'b'),
    }),
    { minLength: 1, maxLength: 150 },
  );

  /** A life over one store, as a history of its uses. */
  function live(policy: Policy, steps: readonly Step[]): Grant[] {
    const store = memoryStore();
    const grants: Grant[] = [];
    // Close to the epoch, where adding a delay does not round.
    let atMs = 1_000_000;
    for (const { gapMs, cost: of, operation, key } of steps) {
      atMs += gapMs;
      const canTake = operation === 'take' && policy.algorithm !== 'smooth';
      const applied = operation === 'cancelled' ? 'reserve' : canTake ? 'take' : 'check';
      const check = { name: 'rule', key, policy, cost: of };
      const [decision] = store.apply([{ ...check, operation: applied }], atMs);
      if (!decision?.allowed) continue;
      if (operation === 'cancelled') {
        store.apply([{ ...check, operation: 'settle', actual: 0, receipt: decision.receipt! }], atMs);
      } else {
        grants.push({ key, atMs: atMs + decision.delayMs, cost: decision.granted ?? of });
      }
    }
    return grants;
  }

  it('keeps the promise of every algorithm, in random lives', () => {
    fc.assert(
      fc.property(timedPolicies, life, (policy, steps) => {
        const report = audit(live(policy, steps), policy);
        expect(report.ok, report.describe()).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it('keeps the promise of concurrency, in random lives', () => {
    const policy = concurrency({ limit: 3, lease: 40 });
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = seededRandom(seed);
      const store = memoryStore();
      const held: { atMs: number; endMs: number; receipt: readonly number[] }[] = [];
      let atMs = startMs;
      for (let step = 0; step < 200; step += 1) {
        atMs += Math.floor(random() * 10);
        const check = { name: 'rule', key: 'key', policy, cost: 1 };
        const youngest = held.at(-1);
        if (youngest && random() < 0.4) {
          store.apply([{ ...check, operation: 'release', receipt: youngest.receipt }], atMs);
          youngest.endMs = Math.min(youngest.endMs, atMs);
        } else {
          const [decision] = store.apply([{ ...check, operation: 'acquire' }], atMs);
          if (decision?.allowed) held.push({ atMs, endMs: atMs + policy.lease, receipt: decision.receipt! });
        }
      }
      const grants = held.map(({ atMs: from, endMs }): Grant => ({ key: 'key', atMs: from, endMs }));
      expect(audit(grants, policy)).toMatchObject({ ok: true, worst: { used: 3 } });
    }
  });

  const policies: Policy[] = [
    slidingLog({ limit: 10, window: 100 }),
    slidingSlots({ limit: 10, window: 100 }),
    slidingWindow({ limit: 10, window: 100 }),
    gcra({ limit: 10, window: 100, burst: 5 }),
    tokenBucket({ limit: 10, window: 100 }),
    tokenBucket({ limit: 10, window: 100, refill: 'interval' }),
    leakyBucket({ limit: 10, window: 100, burst: 4 }),
    fixedWindow({ limit: 10, window: 100 }),
    fixedWindow({ limit: 10, window: 100, align: 'first' }),
    fixedWindow({ limit: 10, window: 100, wait: 100 }),
    smooth({ limit: 10, window: 100, maxDelay: 20, maxBurst: 2 }),
    smooth({ limit: 10, window: 100, maxDelay: 20, warmup: 100 }),
  ];

  it.each(policies)('is not kept by a store that grants %o twice', (policy) => {
    const steps = Array.from(
      { length: 1000 },
      (_, i): Step => ({ gapMs: i % 2, cost: 1, operation: 'check', key: 'a' }),
    );
    const once = live(policy, steps);
    expect(audit(once, policy).ok).toBe(true);
    const twice = audit([...once, ...once], policy);
    expect(twice.ok, twice.describe()).toBe(false);
    expect(twice.violations[0]!.used).toBeGreaterThan(twice.violations[0]!.limit);
    expect(audit([...once, ...once], policy, { verdict: 'possible' }).ok).toBe(false);
  });

  it.each(policies)('of %o and one more at its fullest is too much', (policy) => {
    const steps = Array.from(
      { length: 300 },
      (_, i): Step => ({ gapMs: i % 2, cost: 1, operation: 'check', key: 'a' }),
    );
    const grants = live(policy, steps);
    const { worst } = audit(grants, policy);
    // Where windows begin with the first call the promise cannot be held to the last unit: the history does not show it.
    const isLoose = worst!.used < worst!.limit;
    const more: Grant[] = Array.from({ length: isLoose ? 11 : 2 }, () => ({
      key: 'a',
      atMs: worst!.toMs - (policy.algorithm === 'fixed-window' ? 1 : 0),
    }));
    expect(audit([...grants, ...more], policy).ok).toBe(false);
  });
});

describe('what it reports', () => {
  const policy = slidingLog({ limit: 2, window: 100 });

  it('one violation per stretch, at its worst, and the fullest of all', () => {
    const { violations, violationCount, worst } = audit(history('0 10 20 30 500 1000 1000 1000'), policy);
    expect(violations).toEqual([
      { key: 'key', fromMs: 0, toMs: 30, used: 4, limit: 2 },
      { key: 'key', fromMs: 1000, toMs: 1000, used: 3, limit: 2 },
    ]);
    expect(violationCount).toBe(2);
    expect(worst).toEqual(violations[0]);
  });

  it('keys apart', () => {
    const grants = ['a', 'b', 'c'].map((key): Grant => ({ key, atMs: 0, cost: 2 }));
    expect(audit(grants, policy)).toMatchObject({ ok: true, keys: 3, grants: 3, used: 6, violations: [] });
  });

  it('lists only so many violations, and counts all', () => {
    const grants = Array.from({ length: 50 }, (_, i): Grant => ({ key: `key-${i}`, atMs: i, cost: 3 }));
    expect(audit(grants, policy, { maxViolations: 5 })).toMatchObject({ violationCount: 50, ok: false });
    expect(audit(grants, policy, { maxViolations: 5 }).violations).toHaveLength(5);
    expect(audit(grants, policy, { maxViolations: 0 }).ok).toBe(false);
  });

  it('how much was refused without need, when it is told the demand', () => {
    const demand = Array.from({ length: 10 }, (_, i): Grant => ({ key: 'key', atMs: i * 50 }));
    expect(audit(demand, policy, { demand })).toMatchObject({ grantable: 10, underAdmittedRatio: 0, ok: true });
    expect(audit(demand.slice(0, 4), policy, { demand }).underAdmittedRatio).toBeCloseTo(0.6);
    expect(audit([], policy, { demand: [] }).underAdmittedRatio).toBe(0);
    expect(audit([], policy).underAdmittedRatio).toBeUndefined();
  });

  it('as text that says what was promised and what was had', () => {
    const demand = history('0 10 20 30');
    expect(audit(history('0 10 20'), policy, { demand }).describe()).toBe(
      [
        'BROKEN once, certainly: 3 grants (cost 3) of 1 key',
        'sliding-log promises at most 2 in every window of 100 ms',
        '  key "key" had 3 of 2 from 0 to 20 (20 ms)',
        'fullest: key "key" had 3 of 2 from 0 to 20 (20 ms)',
        'refused without need: 0 %',
      ].join('\n'),
    );
    expect(audit(history('0 10'), policy).describe()).toBe(
      [
        'kept: 2 grants (cost 2) of 1 key',
        'sliding-log promises at most 2 in every window of 100 ms',
        'fullest: key "key" had 2 of 2 from 0 to 10 (10 ms)',
      ].join('\n'),
    );
    const many = Array.from({ length: 9 }, (_, i): Grant => ({ key: `key-${i}`, atMs: 0, cost: 3 }));
    expect(audit(many, policy, { verdict: 'possible' }).describe()).toMatch(/BROKEN 9 times, possibly.*and 4 more/s);
    const promises = [
      gcra({ limit: 1, window: 100, burst: 2 }),
      slidingWindow({ limit: 4, window: 100 }),
      fixedWindow({ limit: 2, window: 100, wait: 10 }),
      slidingLog({ limit: 2, window: 100, minGap: 5 }),
      concurrency({ limit: 3 }),
      smooth({ limit: 1, window: 100 }),
    ].map((of) => audit([], of).describe().split(' promises ')[1]);
    expect(promises).toEqual([
      'at most 2 + 1 per 100 ms over any time',
      'at most 4, by the weighted estimate of two windows of 100 ms',
      'at most 2 in every window aligned to the epoch of 100 ms, less than one call more',
      'at most 2 in every window of 100 ms; at most 1 call in every window of 5 ms',
      'at most 3 at the same time',
      'at most 10 + 1 per 100 ms over any time, and one call more',
    ]);
  });

  it('refuses a history that is none', () => {
    expect(() => audit([{ key: 'key', atMs: Number.NaN }], policy)).toThrow('atMs must be');
    expect(() => audit([{ key: 'key', sentMs: 2, receivedMs: 1 }], policy)).toThrow(
      'receivedMs must be no earlier than sentMs (2), got 1.',
    );
    expect(() => audit([{ key: 'key', atMs: 0, cost: -1 }], policy)).toThrow('cost must be');
    expect(() => audit([{ key: 'key', atMs: 0 }], concurrency({ limit: 1 }))).toThrow('endMs must be given');
    expect(() => audit([], concurrency({ limit: 1 }), { demand: [] })).toThrow('demand must be left out');
    expect(() => audit([], policy, { verdict: 'maybe' as never })).toThrow(
      'verdict must be one of "certain", "possible"',
    );
    expect(() => audit([], policy, { strict: true } as never)).toThrow('audit options has no field "strict"');
    expect(() => audit([], { algorithm: 'magic', limit: 1 } as never)).toThrow('policy must be of an algorithm');
  });
});

describe('told as it goes', () => {
  const policy = slidingLog({ limit: 2, window: 100 });

  it('finds what the whole history shows, whatever came late within its time', () => {
    const steps = fc.array(
      fc.record({
        gapMs: fc.integer({ min: 0, max: 30 }),
        lastsMs: fc.integer({ min: 0, max: 40 }),
        cost: fc.nat(3),
      }),
      { minLength: 1, maxLength: 60 },
    );
    const verdicts = fc.constantFrom('certain' as const, 'possible' as const);
    fc.assert(
      fc.property(timedPolicies, steps, verdicts, fc.integer({ min: 1, max: 30 }), (of, list, verdict, maxHeldBack) => {
        let sentMs = startMs;
        const grants = list.map(({ gapMs, lastsMs, cost: each }): Grant => {
          sentMs += gapMs;
          return { key: 'key', sentMs, receivedMs: sentMs + lastsMs, cost: each };
        });
        const whole = audit(grants, of, { verdict });
        const patient = auditor(of, { verdict, lateness: '1h' });
        const hasty = auditor(of, { verdict, lateness: 1, maxHeldBack });
        for (const grant of [...grants].sort((a, b) => a.receivedMs! - b.receivedMs!)) {
          patient.grant(grant);
          hasty.grant(grant);
        }
        const { describe: _, ...expected } = whole;
        expect(patient.report()).toMatchObject(expected);
        // Told in the order of its verdict, nothing is late however little is held back; and what is late accuses nobody.
        if (verdict === 'certain') expect(hasty.report()).toMatchObject(expected);
      }),
      {
        numRuns: 500,
        // Grants of one moment, told in another order than they were sent: once that made two violations of one.
        examples: [
          [
            gcra({ limit: 1, window: 1, burst: 1 }),
            [
              { gapMs: 0, lastsMs: 0, cost: 2 },
              { gapMs: 2, lastsMs: 1, cost: 2 },
              { gapMs: 0, lastsMs: 0, cost: 1 },
              { gapMs: 0, lastsMs: 0, cost: 0 },
            ],
            'possible',
            1,
          ],
        ],
      },
    );
  });

  it('accuses nobody because a grant was told late, and says how many were', () => {
    const late = auditor(policy, { lateness: 10, maxHeldBack: 1 });
    for (const atMs of [0, 1000, 5, 6]) late.grant({ key: 'key', atMs });
    expect(late.report()).toMatchObject({ late: 2, grants: 4 });
    expect(late.report().describe()).toContain('told too late to be judged in order: 2');
    expect(late.report().ok).toBe(true);
  });

  it('goes on after a report', () => {
    const soak = auditor(policy);
    soak.grant({ key: 'key', atMs: 0, cost: 2 });
    expect(soak.report()).toMatchObject({ ok: true, grants: 1 });
    soak.grant({ key: 'key', atMs: 99 });
    soak.demand({ key: 'key', atMs: 0, cost: 2 });
    soak.demand({ key: 'key', atMs: 99 });
    expect(soak.report()).toMatchObject({ ok: false, grants: 2, grantable: 2 });
  });

  it('forgets the keys that no longer matter, and refuses to forget others', () => {
    const soak = auditor(policy, { maxKeys: 10, maxHeldBack: 1, lateness: 1 });
    for (let i = 0; i < 1000; i += 1) soak.grant({ key: `key-${i}`, atMs: i * 50, cost: i === 500 ? 3 : 1 });
    expect(soak.report()).toMatchObject({ keys: 1000, violationCount: 1, violations: [{ key: 'key-500', used: 3 }] });
    const crowded = auditor(policy, { maxKeys: 10, maxHeldBack: 1, lateness: 1 });
    expect(() => {
      for (let i = 0; i < 20; i += 1) crowded.grant({ key: `key-${i}`, atMs: i });
    }).toThrow('The auditor holds 10 keys that matter. Raise maxKeys.');
  });

  it('keeps counting exactly over a long time', () => {
    const fast = gcra({ limit: 9_999_991, window: 1000, burst: 10 });
    const soak = auditor(fast, { maxHeldBack: 1, lateness: 1 });
    const dayMs = 86_400_000;
    for (let day = 0; day < 400; day += 1) soak.grant({ key: 'key', atMs: startMs + day * dayMs, cost: 10 });
    expect(soak.report()).toMatchObject({ ok: true, worst: { used: 10 } });
    soak.grant({ key: 'key', atMs: startMs + 399 * dayMs, cost: 1 });
    expect(soak.report().ok).toBe(false);
  });
});
