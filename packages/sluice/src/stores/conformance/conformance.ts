/**
 * What every store has to do, as a list of named tests for any test runner:
 *
 *      for (const { name, run } of conformance) test(name, () => run(({ clock }) => myStore({ clock })));
 *
 * A store is made anew for each test, with an empty state. It must decide by the time it is given.
 */

import type { Case } from '../../algorithms/case.ts';
import { cases as concurrencyCases } from '../../algorithms/concurrency/cases.ts';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { cases as fixedWindowCases } from '../../algorithms/fixed-window/cases.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { cases as gcraCases } from '../../algorithms/gcra/cases.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { cases as leakyBucketCases } from '../../algorithms/leaky-bucket/cases.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { cases as slidingLogCases } from '../../algorithms/sliding-log/cases.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { cases as slidingSlotsCases } from '../../algorithms/sliding-slots/cases.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { cases as slidingWindowCases } from '../../algorithms/sliding-window/cases.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { cases as smoothCases } from '../../algorithms/smooth/cases.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { cases as tokenBucketCases } from '../../algorithms/token-bucket/cases.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { memoryStore } from '../memory/memory-store.ts';
import type { Check, Operation, Store } from '../store.ts';
import { same, sameFields } from './expect.ts';

/** Makes an empty store for one test. The clock is the test's; what has to be closed, the maker closes. */
export type MakeStore = (options: { readonly clock: Clock }) => Store | Promise<Store>;

export interface ConformanceTest {
  readonly name: string;
  run(make: MakeStore): Promise<void>;
}

/** A policy of each algorithm, with small numbers so that limits are met often. */
const policies: readonly Policy[] = [
  tokenBucket({ limit: 5, window: '1s', burst: 8 }),
  tokenBucket({ limit: 4, window: '1s', burst: 6, refill: 'interval', initial: 2 }),
  gcra({ limit: 7, window: '2s', burst: 3 }),
  leakyBucket({ limit: 5, window: '1s', burst: 4, delay: 2 }),
  fixedWindow({ limit: 5, window: '1s' }),
  fixedWindow({ limit: 3, window: '700ms', align: 'first', wait: '1s' }),
  slidingLog({ limit: 6, window: '1s' }),
  slidingLog({ limit: 4, window: '1s', countRejected: true }),
  slidingLog({ limit: 6, window: '1s', minGap: '50ms' }),
  slidingSlots({ limit: 6, window: '1s', slots: 7 }),
  slidingWindow({ limit: 6, window: '1s' }),
  smooth({ limit: 5, window: '1s', maxDelay: '2s' }),
  smooth({ limit: 5, window: '1s', warmup: '1s' }),
  concurrency({ limit: 3, lease: '300ms' }),
];

const limitThree = fixedWindow({ limit: 3, window: '1h', align: 'first' });
const limitTwo = slidingLog({ limit: 2, window: '1h' });

/** A store with a clock of its own that the test sets. */
async function begin(make: MakeStore) {
  let nowMs = 1_700_000_000_000;
  const clock: Clock = { now: () => nowMs, sleep: () => Promise.resolve() };
  const store = await make({ clock });
  return {
    store,
    apply: async (...checks: readonly Partial<Check>[]): Promise<Decision[]> =>
      store.apply(
        checks.map((check) => ({ name: 'test', key: 'key', policy: limitThree, cost: 1, ...check })),
        nowMs,
      ),
    advance(ms: number) {
      nowMs += ms;
    },
    at(ms: number) {
      nowMs = ms;
    },
  };
}

function caseTest({ name, policy, rows }: Case): ConformanceTest {
  return {
    name: `${policy.algorithm}: ${name}`,
    async run(make) {
      const { apply, at } = await begin(make);
      at(rows[0]?.[0] ?? 0);
      for (const [i, [atMs, cost, allowed, remaining, retryAfterMs, resetAfterMs, delayMs]] of rows.entries()) {
        at(atMs);
        // The limiter began with the first row: what is idle time before it is the row's own business.
        const [decision] = await apply({ policy, cost, sinceMs: rows[0]?.[0] ?? 0 });
        const expected = {
          allowed,
          remaining,
          retryAfterMs,
          ...(resetAfterMs !== undefined && { resetAfterMs }),
          ...(delayMs !== undefined && { delayMs }),
        };
        sameFields(decision as Decision, expected, `row ${i + 1} at ${atMs}`);
      }
    },
  };
}

const cases: readonly Case[] = [
  ...tokenBucketCases,
  ...gcraCases,
  ...leakyBucketCases,
  ...fixedWindowCases,
  ...slidingLogCases,
  ...slidingSlotsCases,
  ...slidingWindowCases,
  ...smoothCases,
  ...concurrencyCases,
];

const batches: readonly ConformanceTest[] = [
  {
    name: 'a batch passes only if every check passes, and a refused batch charges none',
    async run(make) {
      const { apply } = await begin(make);
      const both = [{ key: 'a' }, { key: 'b', policy: limitTwo, name: 'two' }];
      for (let i = 0; i < 2; i += 1)
        for (const decision of await apply(...both)) same(decision.allowed, true, 'first two');
      const [three, two] = await apply(...both);
      sameFields(three as Decision, { allowed: true, remaining: 1, retryAfterMs: 0 }, 'the one with room');
      sameFields(two as Decision, { allowed: false, remaining: 0, reason: 'limit' }, 'the one that refuses');
      const [after] = await apply({ key: 'a', operation: 'peek', cost: 0 });
      same(after?.remaining, 1, 'left after the refusal');
    },
  },
  {
    name: 'the same pair twice in one batch adds up',
    async run(make) {
      const { apply } = await begin(make);
      const [first, second] = await apply({ cost: 2 }, { cost: 2 });
      same(first?.allowed, true, 'the first alone');
      same(second?.allowed, false, 'with the second');
      const [, both] = await apply({ cost: 1 }, { cost: 2 });
      sameFields(both as Decision, { allowed: true, remaining: 0 }, 'exactly the limit');
    },
  },
  {
    name: 'what is refused is answered as refused, though the refusal is counted or the policy has changed',
    async run(make) {
      const { apply } = await begin(make);
      const answers = async (...checks: readonly Partial<Check>[]) =>
        (await apply(...checks)).map(({ allowed }) => allowed).join();
      const counting = { key: 'counting', policy: slidingLog({ limit: 6, window: '1s', countRejected: true }) };
      same(await answers({ ...counting, cost: 4 }, { ...counting, cost: 3 }), 'true,false', 'together 7 of 6');
      const changed = { key: 'changed', policy: slidingSlots({ limit: 6, window: '1s', slots: 7 }) };
      await apply({ key: 'changed', policy: slidingLog({ limit: 6, window: '1s' }), cost: 2 });
      same(await answers({ ...changed, cost: 2 }, { ...changed, cost: 3 }), 'true,false', '2 and together 5 of 6');
      const later = (window: number) => fixedWindow({ limit: 3, window, align: 'first', wait: '1h' });
      await apply({ key: 'later', policy: later(3_600_000), cost: 3 });
      for (const windowMs of [7_200_000, 3_600_000]) {
        const now = { key: 'later', policy: later(windowMs), maxDelayMs: 0 };
        same(await answers(now), 'false', `3 and 1 of 3 in ${windowMs} ms, without waiting`);
      }
    },
  },
  {
    name: 'state belongs to name and key, not to the policy',
    async run(make) {
      const { apply } = await begin(make);
      await apply({ cost: 2 });
      const [larger] = await apply({ policy: fixedWindow({ limit: 5, window: '1h', align: 'first' }) });
      sameFields(larger as Decision, { allowed: true, remaining: 2 }, 'under a raised limit');
      const [other] = await apply({ name: 'other' });
      same(other?.remaining, 2, 'under another name');
    },
  },
  {
    name: 'a shadow check is evaluated and reported, and refuses nothing',
    async run(make) {
      const { apply } = await begin(make);
      await apply({ key: 'shadowed', cost: 3 });
      const [shadow, real] = await apply({ key: 'shadowed', shadow: true }, { key: 'real' });
      sameFields(shadow as Decision, { allowed: false, shadow: true }, 'the shadow');
      sameFields(real as Decision, { allowed: true, remaining: 2 }, 'the real one');
    },
  },
  {
    name: 'a shadow check is not charged when another refuses',
    async run(make) {
      const { apply } = await begin(make);
      await apply({ key: 'real', cost: 3 });
      await apply({ key: 'shadowed', shadow: true }, { key: 'real' });
      const [left] = await apply({ key: 'shadowed', operation: 'peek', cost: 0 });
      same(left?.remaining, 3, 'left of the shadow');
    },
  },
  {
    name: 'a rejected call counts only where its own policy refused it and counts rejections',
    async run(make) {
      const { apply } = await begin(make);
      const counting = {
        key: 'c',
        name: 'counting',
        policy: slidingLog({ limit: 2, window: '1h', countRejected: true }),
      };
      await apply({ key: 'full', cost: 3 });
      await apply(counting, { key: 'full' });
      const [left] = await apply({ ...counting, operation: 'peek', cost: 0 });
      same(left?.remaining, 2, 'after a refusal by another');
    },
  },
];

const operations: readonly ConformanceTest[] = [
  {
    name: 'peek answers what check would and changes nothing',
    async run(make) {
      const { apply } = await begin(make);
      const [peeked] = await apply({ operation: 'peek', cost: 2 });
      const [checked] = await apply({ cost: 2 });
      sameFields(checked as Decision, peeked as Decision, 'check after peek');
    },
  },
  {
    name: 'penalize takes more than there is, and reward gives back',
    async run(make) {
      const { apply } = await begin(make);
      await apply({ operation: 'penalize', cost: 5 });
      const [inDebt] = await apply({ operation: 'reward', cost: 1 });
      same(inDebt?.remaining, 0, 'still in debt');
      const [out] = await apply({ operation: 'reward', cost: 3 });
      same(out?.remaining, 2, 'out of debt');
    },
  },
  {
    name: 'block refuses everything, cost 0 too, until it is over; reset ends it',
    async run(make) {
      const { apply, advance } = await begin(make);
      await apply({ operation: 'block', durationMs: 1000, cost: 0 });
      const [blocked] = await apply({ cost: 0 });
      sameFields(
        blocked as Decision,
        { allowed: false, retryAfterMs: 1000, reason: 'blocked', remaining: 0 },
        'blocked',
      );
      advance(1000);
      same((await apply({ cost: 1 }))[0]?.allowed, true, 'when it is over');
      await apply({ operation: 'block', durationMs: 1000, cost: 0 });
      await apply({ operation: 'reset', cost: 0 });
      sameFields((await apply({ cost: 1 }))[0] as Decision, { allowed: true, remaining: 2 }, 'after a reset');
    },
  },
  {
    name: 'take grants what there is',
    async run(make) {
      const { apply } = await begin(make);
      same((await apply({ operation: 'take', cost: 2 }))[0]?.granted, 2, 'all of it');
      same((await apply({ operation: 'take', cost: 2 }))[0]?.granted, 1, 'the rest');
      sameFields(
        (await apply({ operation: 'take', cost: 2 }))[0] as Decision,
        { allowed: false, granted: 0 },
        'nothing',
      );
    },
  },
  {
    name: 'a reservation is settled with what was really used, more or less',
    async run(make) {
      const { apply } = await begin(make);
      const [less] = await apply({ operation: 'reserve', cost: 2 });
      const [settled] = await apply({ operation: 'settle', cost: 2, actual: 1, receipt: less?.receipt as Receipt });
      same(settled?.remaining, 2, 'after giving back');
      const [more] = await apply({ operation: 'reserve', cost: 1 });
      await apply({ operation: 'settle', cost: 1, actual: 4, receipt: more?.receipt as Receipt });
      same((await apply({ cost: 1 }))[0]?.allowed, false, 'in debt');
    },
  },
  {
    name: 'what a reward gave back is not given back again with a reservation, and other reservations are left as they are',
    async run(make) {
      const { apply } = await begin(make);
      for (const policy of policies) {
        // Leases and waits have no rewards; what a key lacks at its start may be given back like what it used.
        if (['concurrency', 'smooth'].includes(policy.algorithm) || 'initial' in policy) continue;
        const name = JSON.stringify(policy);
        const on = (key: string) => ({ name, key, policy });
        const left = async (key: string) => (await apply({ ...on(key), operation: 'peek', cost: 0 }))[0]?.remaining;
        const [held] = await apply({ ...on('rewarded'), operation: 'reserve', cost: 2 });
        await apply({ ...on('rewarded'), operation: 'reward', cost: 2 });
        const [used] = await apply({ ...on('rewarded'), operation: 'take', cost: 1000 });
        await apply({ ...on('rewarded'), operation: 'settle', cost: 2, actual: 0, receipt: held?.receipt as Receipt });
        same(await left('rewarded'), 0, `${name}: ${used?.granted} were taken, and left`);
        // Where calls are queued only the last can step back, and a gap lets no second one in.
        if (!policy.algorithm.startsWith('sliding') || 'minGap' in policy) continue;
        const [first] = await apply({ ...on('settled'), operation: 'reserve', cost: 1 });
        const [second] = await apply({ ...on('settled'), operation: 'reserve', cost: 1 });
        const whole = (await left('settled')) as number;
        for (const receipt of [first?.receipt, second?.receipt] as Receipt[]) {
          await apply({ ...on('settled'), operation: 'settle', cost: 1, actual: 0, receipt });
        }
        same(await left('settled'), whole + 2, `${name}: two were cancelled, and left`);
      }
    },
  },
  {
    name: 'a lease is released once, renewed while it lives, and ends by itself',
    async run(make) {
      const { apply, advance } = await begin(make);
      const policy = concurrency({ limit: 1, lease: '1s' });
      const [first] = await apply({ policy, operation: 'acquire' });
      same((await apply({ policy, operation: 'acquire' }))[0]?.allowed, false, 'a second');
      advance(900);
      const [renewed] = await apply({ policy, operation: 'renew', receipt: first?.receipt as Receipt });
      same(renewed?.allowed, true, 'renewed');
      advance(900);
      same((await apply({ policy, operation: 'acquire' }))[0]?.allowed, false, 'while renewed');
      const release = { policy, operation: 'release' as Operation, receipt: renewed?.receipt as Receipt };
      same((await apply(release))[0]?.allowed, true, 'released');
      same((await apply(release))[0]?.allowed, false, 'released again');
      await apply({ policy, operation: 'acquire' });
      advance(1000);
      same((await apply({ policy, operation: 'acquire' }))[0]?.allowed, true, 'after the end of a lease');
    },
  },
];

const traceSteps = 3000;

/** The operations that go by a receipt. */
const settles: readonly Operation[] = ['settle', 'release', 'renew'];

/** Without the receipt, whose numbers are each store's own business. */
function plain({ receipt: _, ...decision }: Decision): Omit<Decision, 'receipt'> {
  return decision;
}

/** A long random life of each algorithm, decision for decision as memory has it. */
const traces: readonly ConformanceTest[] = policies.map((policy, seed) => ({
  name: `${policy.algorithm}: a random life gives the same decisions as in memory (${JSON.stringify(policy)})`,
  async run(make) {
    const { store } = await begin(make);
    const reference = memoryStore();
    const random = seededRandom(seed + 1);
    const isLease = policy.algorithm === 'concurrency';
    const choices: Operation[] = isLease
      ? ['acquire', 'acquire', 'peek', 'release', 'renew', 'reset']
      : [
          'check',
          'check',
          'check',
          'check',
          'peek',
          'take',
          'reserve',
          'settle',
          'penalize',
          'reward',
          'block',
          'reset',
        ];
    // Each store has receipts of its own for the same charge.
    const receipts = new Map<string, { readonly reference: Receipt; readonly own: Receipt }[]>();
    let nowMs = 1_700_000_000_000;
    for (let step = 0; step < traceSteps; step += 1) {
      nowMs += Math.floor(random() ** 3 * 500);
      const operation = choices[Math.floor(random() * choices.length)] as Operation;
      if (operation === 'take' && policy.algorithm === 'smooth') continue;
      // Rare enough not to drown the rest.
      if ((operation === 'block' || operation === 'reset') && random() < 0.8) continue;
      const cost = operation === 'block' || operation === 'reset' ? 0 : Math.floor(random() * 3);
      const key = `key-${Math.floor(random() * 3)}`;
      const issued = receipts.get(key) ?? [];
      receipts.set(key, issued);
      const check: Check = {
        name: 'trace',
        key,
        policy,
        cost,
        operation,
        sinceMs: 1_700_000_000_000,
        ...(operation === 'block' && { durationMs: 1 + Math.floor(random() * 300) }),
        ...(operation === 'settle' && { actual: Math.floor(random() * 3) }),
      };
      const receipt = settles.includes(operation) ? issued[Math.floor(random() * issued.length)] : undefined;
      const [expected] = reference.apply([{ ...check, ...(receipt && { receipt: receipt.reference }) }], nowMs);
      const [actual] = await store.apply([{ ...check, ...(receipt && { receipt: receipt.own }) }], nowMs);
      sameFields(actual as Decision, plain(expected as Decision), `step ${step}, ${operation} of ${cost} at ${nowMs}`);
      if (expected?.receipt && actual?.receipt) issued.push({ reference: expected.receipt, own: actual.receipt });
    }
  },
}));

export const conformance: readonly ConformanceTest[] = [...cases.map(caseTest), ...batches, ...operations, ...traces];
