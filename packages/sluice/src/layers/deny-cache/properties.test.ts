import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Operation } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { lateStore, type Trip } from '../late-store.test-support.ts';
import { layered } from '../layered.ts';
import { denyCache } from './deny-cache.ts';

// By name: a key keeps its algorithm, and sometimes its limit is changed.
const policies: Readonly<Record<string, readonly Policy[]>> = {
  tokens: [tokenBucket({ limit: 5, window: '1s', burst: 8 }), tokenBucket({ limit: 9, window: '1s', burst: 8 })],
  interval: [tokenBucket({ limit: 4, window: '1s', burst: 6, refill: 'interval', initial: 2 })],
  cells: [gcra({ limit: 7, window: '2s', burst: 3 }), gcra({ limit: 7, window: '2s', burst: 5 })],
  leaky: [leakyBucket({ limit: 5, window: '1s', burst: 4, delay: 2 })],
  window: [fixedWindow({ limit: 5, window: '1s' }), fixedWindow({ limit: 8, window: '1s' })],
  waiting: [fixedWindow({ limit: 3, window: '700ms', align: 'first', wait: '1s' })],
  log: [slidingLog({ limit: 6, window: '1s' }), slidingLog({ limit: 3, window: '1s' })],
  counting: [slidingLog({ limit: 4, window: '1s', countRejected: true })],
  gap: [slidingLog({ limit: 6, window: '1s', minGap: '50ms' })],
  slots: [slidingSlots({ limit: 6, window: '1s', slots: 7 })],
  weighted: [slidingWindow({ limit: 6, window: '1s' })],
  smooth: [smooth({ limit: 5, window: '1s', maxDelay: '2s' })],
};

const operations: readonly Operation[] = [
  ...Array<Operation>(30).fill('check'),
  'peek',
  'peek',
  'take',
  'reserve',
  'settle',
  'penalize',
  'reward',
  'block',
  'reset',
];

function pick<T>(random: () => number, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

/** A life over a bare store and one behind a deny cache, step by step. How often the store was not asked. */
function live(seed: number, steps: number): number {
  const random = seededRandom(seed);
  const clock = new TestClock(1_700_000_000_000);
  const bare = memoryStore({ clock });
  const layer = denyCache({ atMost: pick(random, ['100ms', '1s', '1h']), maxKeys: pick(random, [2, 1000]) });
  const store = layered(memoryStore({ clock }), layer);
  const receipts: { readonly check: Check; readonly bare: Receipt; readonly own: Receipt }[] = [];
  const begunMs = clock.now();
  // Few of everything, so that calls meet again.
  const names = Array.from({ length: 2 }, () => pick(random, Object.keys(policies)));
  let recent: Check[][] = [];
  const maxDelaysMs = [undefined, undefined, undefined, 0, 300];

  const question = (): Check => {
    const name = pick(random, names);
    const operation = pick(random, operations);
    return {
      name,
      key: pick(random, ['a', 'b']),
      policy: random() < 0.95 ? policies[name]![0]! : pick(random, policies[name]!),
      cost: pick(random, [0, 1, 1, 1, 1, 1, 2, 0.5, 20]),
      operation: operation === 'take' && name === 'smooth' ? 'check' : operation,
      sinceMs: begunMs,
      ...(random() < 0.1 && { shadow: true }),
      ...(operation === 'block' && { durationMs: 1 + Math.floor(random() * 300) }),
      maxDelayMs: pick(random, maxDelaysMs),
    };
  };

  for (let step = 0; step < steps; step += 1) {
    // Mostly little, so that there are refusals to remember; sometimes a fraction. (Never back: a store that has forgotten a key
    // since then charges it in full when it is asked, and being asked is what is saved here.)
    clock.advance(random() < 0.3 ? random() * 10 : Math.floor(random() ** 6 * 300));
    // Mostly a question that was asked a moment ago.
    let batch =
      random() < 0.7 && recent.length > 0
        ? pick(random, recent)
        : Array.from({ length: pick(random, [1, 1, 1, 2, 3]) }, question);
    if (batch.every(({ operation }) => operation === 'check' || operation === 'peek' || operation === 'take'))
      recent = [...recent.slice(-4), batch];
    let same = batch;
    const [first] = batch;
    if (first!.operation === 'settle') {
      const given = receipts.splice(Math.floor(random() * receipts.length), 1)[0];
      if (!given) continue;
      const settle: Check = { ...given.check, operation: 'settle', actual: pick(random, [0, 1, 3]) };
      batch = [{ ...settle, receipt: given.own }];
      same = [{ ...settle, receipt: given.bare }];
    }
    const expected = bare.apply(same);
    const actual = store.apply(batch);
    for (const [i, decision] of actual.entries()) {
      const problem = difference(decision, expected[i]!);
      if (problem) expect.fail(`seed ${seed}, step ${step} at ${clock.now()}: ${problem}: ${JSON.stringify(batch)}`);
      if (decision.receipt) receipts.push({ check: batch[i]!, own: decision.receipt, bare: expected[i]!.receipt! });
    }
  }
  return layer.stats().answered;
}

/** What a decision says that the bare store does not, if anything. */
function difference(actual: Decision, expected: Decision): string | undefined {
  const { receipt: _, ...own } = actual;
  const { receipt: __, ...bare } = expected;
  if (!actual.remembered)
    return isDeepStrictEqual(own, bare) ? undefined : `${JSON.stringify(own)}, not ${JSON.stringify(bare)}`;
  // Of a batch that was remembered, a check that did not refuse it says what it said then.
  if (actual.allowed || actual.shadow) return undefined;
  if (expected.allowed) return 'refused what the store allows';
  if (actual.granted !== expected.granted) return 'granted';
  // A block may have ended where the limit refuses as well.
  if (actual.reason !== expected.reason && actual.reason !== 'blocked') return 'reason';
  // Waits are rounded up, and so is what is left of them; whole milliseconds are exact.
  for (const field of ['retryAfterMs', 'resetAfterMs'] as const) {
    const more = actual[field] - expected[field];
    if (more !== 0 && more !== 1 && actual[field] !== expected[field]) return `${field} is ${more} ms off`;
  }
  // There may be more left by now, and not less: whoever took of it made the cache forget.
  return actual.remaining <= expected.remaining ? undefined : 'remaining';
}

describe('denyCache', () => {
  it('decides as the bare store does, on every call of random lives', () => {
    let answered = 0;
    for (let seed = 1; seed <= 60; seed += 1) answered += live(seed, 1000);
    // Out of 60,000; else there was nothing to see.
    expect(answered).toBeGreaterThan(5000);
  });

  it('never refuses what the store would allow, however trips overtake each other', async () => {
    let answered = 0;
    for (let seed = 1; seed <= 200; seed += 1) answered += await overtake(seed);
    expect(answered).toBeGreaterThan(1000);
  });
});

/** Calls and orders whose trips are carried out, and answered, in any order. How often the store was not asked. */
async function overtake(seed: number): Promise<number> {
  const random = seededRandom(seed);
  const clock = new TestClock(1_700_000_000_000);
  const late = lateStore(clock);
  const layer = denyCache({ atMost: '1h' });
  const store = layered(late, layer);
  const policy = gcra({ limit: 2, window: '1s' });
  const under: Trip[] = [];
  const free: readonly Operation[] = ['reset', 'reward'];
  for (let step = 0; step < 300; step += 1) {
    clock.advance(Math.floor(random() ** 4 * 100));
    const trip = under[Math.floor(random() * under.length)];
    const dice = random();
    if (dice < 0.15 && trip) {
      trip.decide();
    } else if (dice < 0.5 && trip) {
      under.splice(under.indexOf(trip), 1);
      if (random() < 0.9) trip.arrive();
      else trip.fail(new Error('lost on the way'));
      await Promise.resolve();
      await Promise.resolve();
    } else if (under.length < 6) {
      const operation = random() < 0.9 ? 'check' : pick(random, free);
      const check: Check = { name: 'test', key: pick(random, ['a', 'b']), policy, cost: 1, operation };
      const before = layer.stats().answered;
      // Failures are the store's, and were asked for.
      store.apply([check]).catch(() => {});
      if (layer.stats().answered > before && late.peek(check).allowed)
        expect.fail(`seed ${seed}, step ${step}: refused what the store would allow`);
      under.push(...late.trips.splice(0));
    }
  }
  return layer.stats().answered;
}
