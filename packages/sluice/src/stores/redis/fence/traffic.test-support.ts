/**
 * Traffic on a limiter while faults happen to its server, and the verdict on it.
 *
 * Every key has more callers than its limit has room for, so a limiter that forgets what it granted is seen at once. Callers
 * do not wait for an answer before they ask again: a server that stands still finds fresh questions when it wakes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { expect } from 'vitest';
import { limiter } from '../../../limit/limiter.ts';
import { audit } from '../../../testing/auditor/auditor.ts';
import type { GrantBetween } from '../../../testing/auditor/grant.ts';
import type { Decision } from '../../../vocabulary/decision.ts';
import type { Policy } from '../../../vocabulary/policy.ts';
import type { Store } from '../../store.ts';

export interface TrafficOptions {
  readonly keys: readonly string[];
  readonly policy: Policy;
  /** How long a key's caller pauses between two questions. Default 25 ms. */
  readonly everyMs?: number;
  /** The most unanswered questions per key. Default 100. */
  readonly mostUnanswered?: number;
}

export interface Traffic {
  /** What was granted, in the order of the answers, by the one monotonic clock of this process. */
  readonly grants: readonly GrantBetween[];
  /** How often which error was met, by its text with the numbers left out. */
  readonly errors: ReadonlyMap<string, number>;
  /** How often was refused for which reason. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Waits until every key was granted so much again, from now on. Refusing for ever would fail here. */
  untilEachIsGranted(times: number, timeoutMs?: number): Promise<void>;
  /** Ends the traffic, and waits for the answers that are still on their way, but not for ever. */
  stop(): Promise<void>;
  /** Fails when some key certainly had more than its policy promises. */
  mustHold(): void;
  /** Fails when none had: the fault did no harm, and the check proves nothing. */
  mustBreak(): void;
}

const drainMs = 3000;

export function traffic(check: (key: string) => Promise<Decision>, options: TrafficOptions): Traffic {
  const { keys, policy, everyMs = 25, mostUnanswered = 100 } = options;
  const grants: GrantBetween[] = [];
  const errors = new Map<string, number>();
  const refusals = new Map<string, number>();
  const unanswered = new Map<string, number>();
  let isStopped = false;

  async function ask(key: string): Promise<void> {
    unanswered.set(key, (unanswered.get(key) ?? 0) + 1);
    const sentMs = performance.now();
    try {
      const { allowed, reason = '' } = await check(key);
      const receivedMs = performance.now();
      if (allowed) grants.push({ key, sentMs, receivedMs });
      else count(refusals, reason);
    } catch (error) {
      count(errors, String(error).replace(/\d+/g, 'n'));
    } finally {
      unanswered.set(key, (unanswered.get(key) ?? 0) - 1);
    }
  }

  async function hammer(key: string, index: number): Promise<void> {
    // Keys begin one after another: a log that is always full grants in bursts, and no fault may fall between all of them.
    await sleep((index / keys.length) * (policy.window ?? 0));
    while (!isStopped) {
      if ((unanswered.get(key) ?? 0) < mostUnanswered) void ask(key);
      await sleep(everyMs);
    }
  }

  const hammering = Promise.all(keys.map(hammer));
  const report = () => audit(grants, policy, { verdict: 'certain' });

  return {
    grants,
    errors,
    refusals,
    async untilEachIsGranted(times, timeoutMs = 40_000) {
      const fromMs = performance.now();
      const isGranted = () => {
        const counts = new Map<string, number>();
        for (const { key, sentMs } of grants) if (sentMs >= fromMs) count(counts, key);
        return keys.every((key) => (counts.get(key) ?? 0) >= times);
      };
      await waitUntil(`each of ${keys.length} keys is granted ${times} times more`, isGranted, {
        timeoutMs,
        everyMs: 50,
      }).catch((cause: unknown) => {
        throw new Error(`${String(cause)} ${show(refusals)} ${show(errors)}`, { cause });
      });
    },
    async stop() {
      isStopped = true;
      await hammering;
      const endMs = performance.now() + drainMs;
      while (performance.now() < endMs && [...unanswered.values()].some((left) => left > 0)) await sleep(20);
    },
    mustHold() {
      const verdict = report();
      expect(verdict.ok, `${verdict.describe()}\n${show(refusals)} ${show(errors)}`).toBe(true);
      expect(grants.length).toBeGreaterThan(0);
    },
    mustBreak() {
      const verdict = report();
      expect(verdict.ok, `${verdict.describe()}\n${show(refusals)} ${show(errors)}`).toBe(false);
    },
  };
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

function show(counts: ReadonlyMap<string, number>): string {
  return JSON.stringify(Object.fromEntries(counts));
}

/** Runs with traffic, which ends whatever happens. */
export async function underTraffic<T extends readonly Traffic[]>(
  started: T,
  run: (traffic: T) => Promise<void>,
): Promise<void> {
  try {
    await run(started);
  } finally {
    await Promise.all(started.map((each) => each.stop()));
  }
}

/** Waits until a store behind a fence grants: all keys that are asked for before that are granted at the same moment. */
export async function quarantineOver(store: Store<'async'>, policy: Policy): Promise<void> {
  const limits = limiter(policy, { store, name: freshName() });
  await waitUntil('the quarantine is over', async () => (await limits.peek('anybody')).allowed, { everyMs: 50 });
}

let names = 0;

/** A name that no limiter of any test has had: each test begins with keys of its own. */
export function freshName(): string {
  names += 1;
  return `limits-${names}-${crypto.randomUUID()}`;
}
