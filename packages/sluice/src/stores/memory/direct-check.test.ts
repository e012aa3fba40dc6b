/** The short way answers what the long way answers, decision for decision, and leaves the same state behind. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { type Limiter, limiter } from '../../limit/limiter.ts';
import type { Reservation } from '../../limit/reservation.ts';
import { type Rules, type RulesResult, rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { DirectChecks, Store } from '../store.ts';
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory-store.ts';
import { privateStore } from './private-store.ts';
import type { Snapshot } from './snapshot.ts';

// The hash of keys has the same seed in every run, so that a failing run fails again.
vi.hoisted(() => vi.spyOn(crypto, 'getRandomValues').mockImplementation((bytes) => bytes));

const startMs = 1_700_000_000_000;
const never = Number.POSITIVE_INFINITY;

interface Rate {
  readonly limit: number;
  readonly window: number;
}

/** Each algorithm in each way it can differ, from a rate. */
const families: Readonly<Record<string, (rate: Rate) => Policy>> = {
  gcra,
  'gcra with a burst': (rate) => gcra({ ...rate, burst: 2 }),
  'token-bucket': tokenBucket,
  'token-bucket that starts half full': (rate) => tokenBucket({ ...rate, initial: rate.limit / 2 }),
  'token-bucket by interval': (rate) => tokenBucket({ ...rate, refill: 'interval' }),
  'token-bucket by interval that starts with one': (rate) => tokenBucket({ ...rate, refill: 'interval', initial: 1 }),
  'leaky-bucket': (rate) => leakyBucket({ ...rate, burst: 3 }),
  'leaky-bucket without delay': (rate) => leakyBucket({ ...rate, burst: 3, delay: 'none' }),
  'leaky-bucket with some delay': (rate) => leakyBucket({ ...rate, burst: 3, delay: 1 }),
  'fixed-window': fixedWindow,
  'fixed-window from the first call': (rate) => fixedWindow({ ...rate, align: 'first' }),
  'fixed-window with a wait': (rate) => fixedWindow({ ...rate, wait: 2 * rate.window }),
  'sliding-log': slidingLog,
  'sliding-log that counts rejections': (rate) => slidingLog({ ...rate, countRejected: true }),
  'sliding-log with a gap': (rate) => slidingLog({ ...rate, minGap: rate.window / 3 }),
  'sliding-slots': (rate) => slidingSlots({ ...rate, slots: 4 }),
  'sliding-window': slidingWindow,
  smooth,
  'smooth with a longest delay': (rate) => smooth({ ...rate, maxDelay: rate.window }),
  'smooth with a warm-up': (rate) => smooth({ ...rate, warmup: rate.window, maxDelay: 100 }),
  concurrency: ({ limit, window }) => concurrency({ limit, lease: window }),
};

const decline = () => undefined;

/** The store with the short way closed: a delay that anyone accepts is no plain check any more. */
function longWay(store: Store<'sync'>): Store<'sync'> {
  const isPlain = (operation: string | undefined) => operation === undefined || operation === 'check';
  return {
    ...store,
    direct(...bound) {
      // The limiter is known to the store all the same, from the same moment on.
      store.direct?.(...bound);
      return { check: decline, allow: decline, checkBytes: decline, allowBytes: decline };
    },
    apply: (checks, atMs) =>
      store.apply(
        checks.map((check) => (isPlain(check.operation) ? { ...check, maxDelayMs: never } : check)),
        atMs,
      ),
  };
}

/** What is held, in an order that does not depend on who came first; a table that nobody is in says nothing. */
function contents({ names }: Snapshot): unknown {
  const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return names
    .map(({ name, unknownBeforeMs, blocked, tables }) => ({
      name,
      unknownBeforeMs,
      blocked: [...blocked].sort(byText),
      tables: tables
        .filter(({ entries }) => entries.length > 0)
        .map((table) => ({ ...table, entries: [...table.entries].sort(byText) }))
        .sort(byText),
    }))
    .sort(byText);
}

const keys = ['', 'alice', 'bob', 'k\u00e9y', '\u65e5\u672c', '\u{1f4a7}', 'x'.repeat(70), '\u0000'];
const encoder = new TextEncoder();
const keyBytes = keys.map((key) => encoder.encode(`<<${key}>`));

interface Step {
  readonly gapMs: number;
  readonly what: string;
  readonly key: number;
  readonly cost: number;
  readonly which: number;
}

const rate = fc.record({ limit: fc.integer({ min: 1, max: 12 }), window: fc.integer({ min: 1, max: 2000 }) });
const gapMs = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 2000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 100_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -3000, max: -1 }) },
);
const cost = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(1, 1, 2, 3) },
  { weight: 3, arbitrary: fc.constantFrom(0, 0.5, 1 / 3, 7, 1e9) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, -1, never) },
);
const what = fc.oneof(
  { weight: 15, arbitrary: fc.constantFrom('check', 'allow', 'checkBytes', 'allowBytes') },
  { weight: 3, arbitrary: fc.constantFrom('peek', 'penalize', 'reward', 'take', 'reset', 'block', 'update') },
  { weight: 1, arbitrary: fc.constantFrom('reserve', 'reserve to be refunded', 'commit', 'cancel') },
);
// Few keys come often, so that their limits are met, and others now and then.
const whichKey = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 3) },
  { weight: 1, arbitrary: fc.nat({ max: keys.length - 1 }) },
);
const steps = fc.array(fc.record({ gapMs, what, key: whichKey, cost, which: fc.nat({ max: 1 }) }), {
  maxLength: 60,
  size: 'max',
});
const family = fc.constantFrom(...Object.keys(families));

/** One step of a limiter's life, and what came of it. */
function live(
  limit: Limiter,
  { what, key: at, cost }: Step,
  policies: readonly Policy[],
  held: Reservation[],
): unknown {
  const key = keys[at]!;
  const bytes = keyBytes[at]!;
  switch (what) {
    case 'check':
      return limit.check(key, cost);
    case 'allow':
      return limit.allow(key, cost);
    case 'checkBytes':
      return limit.checkBytes(bytes, 2, bytes.length - 1, cost);
    case 'allowBytes':
      return limit.allowBytes(bytes, 2, bytes.length - 1, cost);
    case 'peek':
      return limit.peek(key, cost);
    case 'penalize':
      return limit.penalize(key, cost);
    case 'reward':
      return limit.reward(key, cost);
    case 'take':
      return limit.take(key, cost);
    case 'reset':
      return limit.reset(key);
    case 'block':
      return limit.block(key, 300);
    case 'update':
      return limit.update(policies[at % policies.length]!);
    case 'reserve':
    case 'reserve to be refunded': {
      const reservation = limit.reserve(key, cost, {
        expiresIn: 500,
        onExpire: what === 'reserve' ? 'spend' : 'refund',
      });
      held.push(reservation);
      return reservation.decision;
    }
    default: {
      const reservation = held[at % Math.max(1, held.length)];
      return what === 'commit' ? reservation?.commit(cost) : reservation?.cancel();
    }
  }
}

/** An answer or an error, to be compared: without the numbers of receipts, which each store begins where it likes. */
function outcome(act: () => unknown): unknown {
  try {
    return { answer: withoutNumbers(act()) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function withoutNumbers(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  if (Array.isArray(answer)) return answer.map(withoutNumbers);
  const parts = Object.entries(answer).map(([name, value]) => [
    name,
    name === 'receipt' ? (value as readonly number[]).slice(1) : withoutNumbers(value),
  ]);
  return Object.fromEntries(parts);
}

interface BatchStep {
  readonly what: string;
  readonly cost: number;
  readonly subject: { readonly user: string; readonly team: string; readonly tier: string };
}

/** The same for rules, whose checks are batches. */
function batches(limits: Rules): (step: BatchStep) => unknown {
  const results: RulesResult[] = [];
  return ({ what, cost, subject }) =>
    outcome(() => {
      switch (what) {
        case 'check':
          results.push(limits.check(subject, { cost }));
          return results.at(-1);
        case 'peek':
          return limits.peek(subject, { cost });
        case 'check at a time':
          return limits.check(subject, { cost, atMs: startMs + 1000 });
        case 'reset':
          return limits.reset('rule-2', subject.user);
        case 'override':
          return limits.override('rule-1', subject.team, { limit: 9 });
        case 'removeOverride':
          return limits.removeOverride('rule-1', subject.team);
        default:
          return results.length > 0 && limits.release(results.pop()!);
      }
    });
}

const limit = fc.record({ family, rates: fc.array(rate, { minLength: 2, maxLength: 3 }) });
const maxKeys = fc.constantFrom(1, 2, 4, 100);
const stalenessMs = fc.constantFrom(0, 0, 0, 50);
const mode = fc.constantFrom('exact' as const, 'fingerprint' as const);

const policiesOf = ({ family, rates }: { family: string; rates: Rate[] }) => rates.map(families[family]!);

/** Limiters that go the way of their store, and what comes of each step. */
function limiters(store: Store<'sync'>, policies: readonly (readonly Policy[])[]) {
  const lives = policies.map((own, i) => {
    const limit: Limiter = limiter(own[0]!, { store, name: `limit-${i}` });
    const held: Reservation[] = [];
    return (step: Step) => live(limit, step, own, held);
  });
  return (step: Step) => outcome(() => lives[step.which % lives.length]!(step));
}

const batch = {
  limits: fc.tuple(limit, limit, limit),
  shadows: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  stalenessMs,
  mode,
};

const batchSteps = (...others: string[]) =>
  fc.array(
    fc.record({
      gapMs,
      cost,
      subject: fc.record({
        user: whichKey.map((key) => keys[key]!),
        team: fc.constantFrom('red', 'blue'),
        tier: fc.constantFrom('usual', 'other'),
      }),
      what: fc.oneof(
        { weight: 20, arbitrary: fc.constant('check') },
        { weight: 5, arbitrary: fc.constantFrom(...others) },
      ),
    }),
    { maxLength: 60, size: 'max' },
  );

const ruleOf = (i: number, policy: Policy, shadow: boolean) => ({
  name: `rule-${i}`,
  key: ['all', 'team', 'user'][i]!,
  policy,
  shadow,
});

function twoStores(options: MemoryStoreOptions): [short: MemoryStore, long: MemoryStore] {
  return [memoryStore(options), memoryStore(options)];
}

describe('the short way', () => {
  it('answers what the long way answers, whatever happened to the key', () => {
    const scenario = { limits: fc.tuple(limit, limit), maxKeys, stalenessMs, mode, steps };
    fc.assert(
      fc.property(fc.record(scenario), ({ limits, maxKeys, stalenessMs, mode, steps }) => {
        const clock = Object.assign(new TestClock(startMs), { stalenessMs });
        const [short, long] = twoStores({ clock, maxKeys, keys: mode });
        const policies = limits.map(policiesOf);
        const shortly = limiters(short, policies);
        const longly = limiters(longWay(long), policies);
        for (const step of steps) {
          clock.advance(step.gapMs);
          expect(shortly(step)).toEqual(longly(step));
        }
        expect(contents(short.snapshot())).toEqual(contents(long.snapshot()));
        expect(short.stats()).toEqual(long.stats());
      }),
      { numRuns: 150 },
    );
  });

  it('tells what remains and when a key is as new, as the decision would have', () => {
    const calls = fc.array(
      fc.record({ gapMs, key: whichKey, cost: fc.integer({ min: 0, max: 5 }), isBytes: fc.boolean() }),
      {
        maxLength: 30,
        size: 'max',
      },
    );
    fc.assert(
      fc.property(fc.record({ limit, maxKeys, mode, calls }), ({ limit, maxKeys, mode, calls }) => {
        const clock = new TestClock(startMs);
        const [telling, deciding] = twoStores({ clock, maxKeys, keys: mode });
        const [policy] = policiesOf(limit) as [Policy];
        const direct = telling.direct!('one', policy, startMs) as Required<DirectChecks>;
        const decided = deciding.direct!('one', policy, startMs);
        for (const { gapMs, key, cost, isBytes } of calls) {
          clock.advance(gapMs);
          const name = keys[key]!;
          const bytes = new TextEncoder().encode(name);
          const decision = decided.check(name, cost);
          const isAllowed = isBytes ? direct.allowBytes(bytes, 0, bytes.length, cost) : direct.allow(name, cost);
          expect(isAllowed).toBe(decision?.allowed);
          if (decision === undefined) continue;
          const { remaining, resetAfterMs } = decision;
          expect([direct.remaining(), direct.resetAfterMs()]).toEqual([remaining, resetAfterMs]);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('answers the same in a store of its own', () => {
    fc.assert(
      fc.property(fc.record({ limit, maxKeys, stalenessMs, steps }), ({ limit, maxKeys, stalenessMs, steps }) => {
        const clock = Object.assign(new TestClock(startMs), { stalenessMs });
        const policies = [policiesOf(limit)];
        const shortly = limiters(privateStore('limit-0', clock, maxKeys), policies);
        const longly = limiters(longWay(privateStore('limit-0', clock, maxKeys)), policies);
        for (const step of steps) {
          clock.advance(step.gapMs);
          expect(shortly(step)).toEqual(longly(step));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('answers the same to a batch: all of it, or none', () => {
    fc.assert(
      fc.property(
        fc.record({ ...batch, maxKeys, steps: batchSteps('peek', 'check at a time', 'reset', 'release') }),
        ({ limits, shadows, maxKeys, stalenessMs, mode, steps }) => {
          const clock = Object.assign(new TestClock(startMs), { stalenessMs });
          const [short, long] = twoStores({ clock, maxKeys, keys: mode });
          const list = limits.map((limit, i) => ruleOf(i, policiesOf(limit)[0]!, shadows[i]!));
          const shortly = batches(rules(list, { store: short }));
          const longly = batches(rules(list, { store: longWay(long) }));
          for (const step of steps) {
            clock.advance(step.gapMs);
            expect(shortly(step)).toEqual(longly(step));
          }
          expect(contents(short.snapshot())).toEqual(contents(long.snapshot()));
          expect(short.stats()).toEqual(long.stats());
        },
      ),
      { numRuns: 150 },
    );
  });

  it('answers the same to checks that share a name in one batch', () => {
    const check = fc.record({ name: fc.constantFrom('one', 'two'), key: whichKey, cost, shadow: fc.boolean() });
    const batches = fc.array(fc.record({ gapMs, checks: fc.array(check, { maxLength: 4 }) }), {
      maxLength: 30,
      size: 'max',
    });
    fc.assert(
      fc.property(
        fc.record({ limits: fc.tuple(limit, limit), maxKeys, mode, batches }),
        ({ limits, maxKeys, mode, batches }) => {
          const clock = new TestClock(startMs);
          const [short, long] = twoStores({ clock, maxKeys, keys: mode });
          const [one, two] = limits.map((limit) => policiesOf(limit)[0]!);
          for (const { gapMs, checks } of batches) {
            clock.advance(gapMs);
            const batch = checks.map((check) => ({
              ...check,
              key: keys[check.key]!,
              policy: check.name === 'one' ? one! : two!,
            }));
            expect(outcome(() => short.apply(batch))).toEqual(outcome(() => longWay(long).apply(batch)));
          }
          expect(contents(short.snapshot())).toEqual(contents(long.snapshot()));
          expect(short.stats()).toEqual(long.stats());
        },
      ),
      { numRuns: 150 },
    );
  });

  it('answers the same to a batch where keys move from one policy to another', () => {
    fc.assert(
      fc.property(
        fc.record({ ...batch, steps: batchSteps('peek', 'reset', 'override', 'removeOverride') }),
        ({ limits, shadows, stalenessMs, mode, steps }) => {
          const clock = Object.assign(new TestClock(startMs), { stalenessMs });
          const [short, long] = twoStores({ clock, keys: mode });
          const list = limits.map((limit, i) => {
            const [policy, other] = policiesOf(limit) as [Policy, Policy];
            return { ...ruleOf(i, policy, shadows[i]!), tiers: { other } };
          });
          const shortly = batches(rules(list, { store: short }));
          const longly = batches(rules(list, { store: longWay(long) }));
          for (const step of steps) {
            clock.advance(step.gapMs);
            expect(shortly(step)).toEqual(longly(step));
          }
          // Idle keys are forgotten as the stores look around, which need not be at the same time: nobody can tell.
          for (const user of keys) {
            const step = { what: 'peek', cost: 0, subject: { user, team: 'red', tier: 'usual' } };
            expect(shortly(step)).toEqual(longly(step));
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
