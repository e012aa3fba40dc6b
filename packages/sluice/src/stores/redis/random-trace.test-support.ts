/**
 * A random life of a few keys, by a seed: every operation, batches, shadows, repeated pairs, whole and fractional costs,
 * times that mostly advance, sometimes stand still and sometimes step back, policies that change, receipts that are settled
 * late or twice. Two stores that live it should say the same at every step.
 */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { COUNT, entryAt } from '../../algorithms/ring.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type OpenMemory, openMemory } from '../memory/open-memory.ts';
import type { Check, Operation } from '../store.ts';

/** A policy and others that it may be changed to, limit, burst or window, without becoming another algorithm. */
export const variants: Readonly<Record<string, readonly Policy[]>> = {
  gcra: [
    gcra({ limit: 7, window: '2s', burst: 3 }),
    gcra({ limit: 9, window: '2s', burst: 5 }),
    gcra({ limit: 2.5, window: '1s', burst: 4 }),
    gcra({ limit: 5000, window: '1s', burst: 10 }),
  ],
  'token bucket': [
    tokenBucket({ limit: 5, window: '1s', burst: 8 }),
    tokenBucket({ limit: 3, window: '700ms', burst: 4 }),
    tokenBucket({ limit: 5, window: '1s', burst: 8, initial: 3 }),
  ],
  'token bucket that refills at intervals': [
    tokenBucket({ limit: 4, window: '1s', burst: 6, refill: 'interval', initial: 2 }),
    tokenBucket({ limit: 4, window: '1s', burst: 6, refill: 'interval' }),
    tokenBucket({ limit: 2, window: '300ms', burst: 5, refill: 'interval' }),
  ],
  'leaky bucket': [
    leakyBucket({ limit: 5, window: '1s', burst: 4, delay: 2 }),
    leakyBucket({ limit: 5, window: '1s', burst: 4 }),
    leakyBucket({ limit: 8, window: '1s', burst: 3, delay: 'none' }),
  ],
  'fixed window': [
    fixedWindow({ limit: 5, window: '1s' }),
    fixedWindow({ limit: 3, window: '1s' }),
    fixedWindow({ limit: 3, window: '700ms', align: 'first', wait: '1s' }),
    fixedWindow({ limit: 4, window: '700ms', align: 'first' }),
  ],
  'sliding log': [
    slidingLog({ limit: 6, window: '1s' }),
    slidingLog({ limit: 4, window: '1s', countRejected: true }),
    slidingLog({ limit: 6, window: '1s', minGap: '50ms' }),
    slidingLog({ limit: 9, window: '2500ms' }),
  ],
  'sliding slots': [
    slidingSlots({ limit: 6, window: '1s', slots: 7 }),
    slidingSlots({ limit: 4, window: '1s', slots: 7 }),
    slidingSlots({ limit: 8, window: '2s', slots: 60 }),
  ],
  'sliding window': [
    slidingWindow({ limit: 6, window: '1s' }),
    slidingWindow({ limit: 4, window: '1s' }),
    slidingWindow({ limit: 6, window: '300ms' }),
  ],
  smooth: [
    smooth({ limit: 5, window: '1s', maxDelay: '2s' }),
    smooth({ limit: 8, window: '1s' }),
    smooth({ limit: 5, window: '1s', maxBurst: 0, maxDelay: '500ms' }),
    smooth({ limit: 5, window: '1s', warmup: '1s' }),
    smooth({ limit: 7, window: '1s', warmup: '2s', coldFactor: 5, maxDelay: '3s' }),
  ],
  concurrency: [
    concurrency({ limit: 3, lease: '300ms' }),
    concurrency({ limit: 5, lease: '300ms' }),
    concurrency({ limit: 4, lease: '100ms' }),
  ],
};

export const families: Readonly<Record<string, readonly Policy[]>> = {
  ...variants,
  'all of them in turn': Object.values(variants).flat(),
};

// What was charged when, the history of these tells only up to the latest time that anything happened. Memory knows that of all
// its keys, Redis of the one key.
const roughlyTimed = ['fixed-window', 'sliding-slots', 'sliding-window'];

function isRoughlyTimed(policy: Policy): boolean {
  return roughlyTimed.includes(policy.algorithm) || algorithmOf(policy).twin === 'token-bucket-interval';
}

export interface TraceOptions {
  readonly seed: number;
  readonly policies: readonly Policy[];
  readonly steps: number;
  /** What the names of the trace begin with. */
  readonly name: string;
}

/** Some batches at one time, each with what memory said to it. */
export interface Step {
  readonly number: number;
  readonly atMs: number;
  readonly batches: readonly (readonly Check[])[];
  readonly expected: readonly (readonly Decision[])[];
}

/** Applies batches at a time and returns the decisions on each. */
export type ApplyStep = (batches: readonly (readonly Check[])[], atMs: number) => Promise<Decision[][]>;

interface Issued {
  readonly cost: number;
  readonly policy: Policy;
  readonly reference: Receipt;
  readonly own: Receipt;
}

interface Made {
  readonly check: Check;
  readonly issued: Issued | undefined;
}

const operations: readonly Operation[] = [
  ...Array<Operation>(12).fill('check'),
  ...['peek', 'peek', 'take', 'take', 'reserve', 'reserve', 'reserve', 'settle', 'settle', 'settle'],
  ...['penalize', 'reward', 'reward', 'block', 'reset'],
] as Operation[];

const leaseOperations: readonly Operation[] = [
  ...Array<Operation>(6).fill('acquire'),
  ...['check', 'peek', 'release', 'release', 'release', 'renew', 'renew', 'block', 'reset'],
] as Operation[];

const originMs = 1_700_000_000_000;

/** Lives the trace in memory and in the store; throws at the first step at which they differ. */
export async function live(
  { seed, policies: family, steps, name }: TraceOptions,
  apply: ApplyStep,
  batchesPerStep = 1,
): Promise<void> {
  const random = seededRandom(seed);
  const below = (most: number) => Math.floor(random() * most);
  const any = <T>(list: readonly T[]): T => list[below(list.length)] as T;

  const memory = openMemory({ now: () => originMs, sleep: async () => undefined }, undefined, 'exact');
  const isFractional = random() < 0.4;
  // Tenths and hundredths round when they are added up. What a key was given back memory adds up over resets, Redis anew after
  // each, so such costs are not reserved; eighths and sixty-fourths are.
  const isDecimal = isFractional && random() < 0.5;
  // Nor do they become leases, which memory adds up and takes off again; Redis adds up those that are left.
  const policies = isDecimal && family.some(isNoLease) ? family.filter(isNoLease) : family;
  const isDense = random() < 0.2;
  const tellsChange = random() < 0.5;
  const sinceMs = originMs - below(2) * 5000;
  const names = [`${name}-a`, `${name}-b`];
  const keys = ['k1', 'k2', 'k3'];
  const current = new Map(names.map((each) => [each, { policy: any(policies), changedMs: sinceMs }]));
  const receipts = new Map<string, Issued[]>();
  const endedMs = new Map<string, number>();
  let nowMs = originMs;
  let latestMs = originMs;

  // Memory makes room for the longest window of a name from when it knows it, for all keys that are new then; Redis for all
  // that this client asks for from then on. Here both know it from the start.
  const longest = policies.reduce((a, b) => ((b.window ?? 0) > (a.window ?? 0) && algorithmOf(b).strict ? b : a));
  for (const each of names) {
    const peek: Check = { name: each, key: 'nobody', policy: longest, cost: 1, operation: 'peek', sinceMs };
    memory.apply([peek], nowMs);
    await apply([[peek]], nowMs);
  }

  function tick(): void {
    const chance = random();
    if (chance < 0.08) nowMs -= below(400);
    else if (chance > 0.3) nowMs += isDense ? below(4) : Math.floor(random() ** 4 * 900);
    if (isFractional && random() < 0.5) nowMs += below(8) / 8;
    if (random() < 0.003) nowMs += 90_000_000;
  }

  function costOf(operation: Operation, policy: Policy): number {
    if (operation === 'block' || operation === 'reset') return 0;
    if (random() < 0.005 && operation !== 'check') return policy.algorithm === 'concurrency' ? 7 : 2 ** 40;
    if (policy.algorithm === 'concurrency') return below(3);
    if (isFractional && random() < 0.5) {
      if (isDecimal) return isDense ? below(20) / 100 : below(35) / 10;
      return isDense ? below(12) / 64 : below(28) / 8;
    }
    return isDense ? Math.min(1, below(4)) : below(4);
  }

  function makeCheck(isFirst: boolean): Made {
    const nameOfIt = any(names);
    const { policy, changedMs } = current.get(nameOfIt)!;
    const isLease = policy.algorithm === 'concurrency';
    let operation = any(isLease ? leaseOperations : operations);
    if (operation === 'take' && policy.algorithm === 'smooth') operation = 'check';
    if (operation === 'reserve' && isDecimal) operation = 'check';
    // Rare enough not to drown the rest.
    if ((operation === 'block' || operation === 'reset') && random() < 0.7) operation = isLease ? 'acquire' : 'check';
    const key = any(keys);
    const settles = operation === 'settle' || operation === 'release' || operation === 'renew';
    const list = receipts.get(`${nameOfIt} ${key}`) ?? [];
    // Mostly one of the latest, sometimes any, settled before or not.
    const chosen = settles ? any(random() < 0.7 ? list.slice(-3) : list) : undefined;
    const issued = chosen;
    const cost = issued && !isLease && random() < 0.9 ? issued.cost : costOf(operation, policy);
    const isPlain = operation === 'check' && random() < 0.5;
    const check: Check = {
      name: nameOfIt,
      key,
      policy,
      cost,
      sinceMs,
      ...(!isPlain && { operation }),
      ...(tellsChange && { changedMs }),
      ...(operation === 'block' && { durationMs: 1 + below(isFractional ? 2400 : 300) / (isFractional ? 8 : 1) }),
      ...(operation === 'settle' && { actual: random() < 0.5 ? 0 : costOf(operation, policy) }),
      ...(!isPlain && random() < 0.2 && { maxDelayMs: below(400) }),
      ...(!isFirst && random() < 0.25 && { shadow: true }),
    };
    return { check, issued };
  }

  for (let number = 0; number < steps; number += 1) {
    tick();
    for (const each of names) if (random() < 0.02) current.set(each, { policy: any(policies), changedMs: nowMs });
    const made = Array.from({ length: 1 + below(batchesPerStep) }, () => {
      const checks = Array.from({ length: random() < 0.7 ? 1 : 2 + below(3) }, (_, i) => makeCheck(i === 0));
      // A batch of the same check at several keys, and now and then the same pair twice.
      return checks;
    });
    const all = made.flat();
    const isTooEarly = ({ check }: Made) =>
      isCarriedRoughly(memory, check) || nowMs < (endedMs.get(`${check.name} ${check.key}`) ?? nowMs);
    if (nowMs < latestMs && all.some(isTooEarly)) nowMs = latestMs;
    latestMs = Math.max(latestMs, nowMs);
    const atMs = nowMs;
    for (const { check } of all) {
      const pair = `${check.name} ${check.key}`;
      endedMs.set(pair, Math.max(endedMs.get(pair) ?? 0, latestEndMs(memory, check, atMs)));
    }
    for (const { check } of all) {
      if (!isRememberedByOne(memory, check, atMs)) continue;
      // Under a policy that forgets all of the key: leases would leave their numbering.
      const policy = policies.find((each) => !algorithmOf(each).clear) as Policy;
      const reset: Check = { name: check.name, key: check.key, policy, cost: 0, operation: 'reset', sinceMs };
      memory.apply([reset], atMs);
      await apply([[reset]], atMs);
    }
    const expected = made.map((batch) =>
      memory.apply(
        batch.map(({ check, issued }) => (issued ? { ...check, receipt: issued.reference } : check)),
        atMs,
      ),
    );
    const batches = made.map((batch) =>
      batch.map(({ check, issued }) => (issued ? { ...check, receipt: issued.own } : check)),
    );
    const actual = await apply(batches, atMs);
    for (const [i, batch] of batches.entries()) {
      for (const [j, check] of batch.entries()) {
        const [reference, own] = [expected[i]?.[j] as Decision, actual[i]?.[j] as Decision];
        const difference = differenceOf(reference, own);
        if (difference) {
          throw new Error(
            `seed ${seed}, step ${number} at ${atMs}, batch ${i + 1}, check ${j + 1}: ${difference}\n` +
              `  batch:  ${JSON.stringify(batch)}\n  memory: ${show(reference)}\n  redis:  ${show(own)}`,
          );
        }
        if (!reference.receipt || !own.receipt) continue;
        const list = receipts.get(`${check.name} ${check.key}`) ?? [];
        receipts.set(`${check.name} ${check.key}`, list);
        list.push({ cost: check.cost, policy: check.policy, reference: reference.receipt, own: own.receipt });
      }
    }
  }
}

/**
 * Whether one store still knows of a key that the other has forgotten. Memory keeps the keys of a name, of any algorithm, for
 * as long as its longest strict window; Redis keeps of a key what the key itself needs, and on callers' own time no key ends
 * before it is asked for. Whether a key that is as good as new is remembered shows when its policy changes, when time steps
 * back, or where a key never seen starts with less.
 */
function isRememberedByOne({ contents }: OpenMemory, { name, key }: Check, nowMs: number): boolean {
  for (const table of contents.names.get(name)?.tables.values() ?? []) {
    const row = table.rows.get(key);
    if (!row) continue;
    const { algorithm, numbers, lingerMs } = table;
    const ownMs = algorithm.lingerMs?.(numbers) ?? 0;
    const asNewInMs = algorithm.asNewInMs(row, 0, numbers, nowMs);
    const isGoneFromMemory = lingerMs > 0 && asNewInMs + lingerMs <= 0;
    const isGoneFromRedis = ownMs > 0 && asNewInMs + ownMs <= 0;
    if (isGoneFromMemory !== isGoneFromRedis) return true;
  }
  return false;
}

/**
 * When the latest of a key's leases ended that have. Time does not step back behind that: memory has forgotten a lease that
 * has ended when it needs its place, Redis when the next one is given.
 */
function latestEndMs({ contents }: OpenMemory, { name, key }: Check, nowMs: number): number {
  let latestMs = 0;
  for (const { policy, rows } of contents.names.get(name)?.tables.values() ?? []) {
    const row = isNoLease(policy) ? undefined : rows.get(key);
    for (let i = 0; i < (row?.[COUNT] ?? 0); i += 1) {
      const endsMs = row![entryAt(row!, 0, 3, i) + 1]!;
      if (endsMs <= nowMs) latestMs = Math.max(latestMs, endsMs);
    }
  }
  return latestMs;
}

function isNoLease(policy: Policy): boolean {
  return policy.algorithm !== 'concurrency';
}

/** Whether a key's state will be reckoned under the check's policy from a history that is not exact. */
function isCarriedRoughly({ contents }: OpenMemory, { name, key, policy }: Check): boolean {
  for (const table of contents.names.get(name)?.tables.values() ?? []) {
    if (table.policy !== policy && isRoughlyTimed(table.policy) && table.rows.find(key) >= 0) return true;
  }
  return false;
}

/** The first field in which two decisions differ. Receipts are each store's own; that there is one is not. */
function differenceOf(reference: Decision, own: Decision): string | undefined {
  const fields = new Set([...Object.keys(reference), ...Object.keys(own ?? {})]) as Set<keyof Decision>;
  for (const field of fields) {
    const [a, b] = [reference[field], own?.[field]];
    if (field === 'receipt' ? (a === undefined) !== (b === undefined) : !Object.is(a, b)) return `${field} differs`;
  }
  return undefined;
}

function show(decision: Decision): string {
  return JSON.stringify({ ...decision, policy: undefined, receipt: decision?.receipt?.join(',') });
}
