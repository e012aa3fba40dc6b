/** Asks the limits of a stage about a call: one by a limiter, several by rules, which take from all of them or from none. */
import { type ConcurrencyPolicy, type Decision, limiter, type Policy, rules } from 'sluice';
import { isConcurrency } from '../../policy-kinds.ts';
import type { Call } from '../calls.ts';
import type { Limit } from '../scenario.ts';
import type { World } from '../world.ts';

export interface Answer {
  /** What refused, else the one with the least left. */
  readonly decision: Decision;
  readonly delayMs: number;
  /** Gives back what was taken for as long as the call is under way; absent where nothing was. */
  readonly release?: ((atMs: number) => void) | undefined;
}

export interface Deciding {
  ask(call: Call): Answer;
  /** How much is left to a key at that moment; changes nothing. */
  remaining(key: string, atMs: number): number;
}

const everybody = 'all';

/** A scenario's traffic may have as many keys as it has calls, and none of them may be forgotten to make room. */
const maxKeys = 10_000_000;

export function deciding(limits: readonly Limit[], world: World): Deciding {
  const [first] = limits;
  if (limits.length > 1) return byRules(limits, world);
  const { policy, per } = first!;
  const keyOf = per === 'all' ? () => everybody : (key: string) => key;
  return isConcurrency(policy) ? byLease(policy, keyOf, world) : byLimiter(policy, keyOf, world);
}

function byLimiter(policy: Policy, keyOf: (key: string) => string, { clock }: World): Deciding {
  const limit = limiter(policy, { clock, maxKeys });
  return {
    ask({ key, cost, atMs }) {
      const decision = limit.check(keyOf(key), { cost, atMs });
      return { decision, delayMs: decision.delayMs };
    },
    remaining: (key, atMs) => limit.peek(keyOf(key), { cost: 0, atMs }).remaining,
  };
}

function byLease(policy: ConcurrencyPolicy, keyOf: (key: string) => string, { clock }: World): Deciding {
  const limit = limiter(policy, { clock, maxKeys });
  return {
    ask({ key, cost, atMs }) {
      const lease = limit.acquire(keyOf(key), { cost, atMs });
      const release = (releasedMs: number): void => void lease.release({ atMs: releasedMs });
      return { decision: lease.decision, delayMs: 0, release: lease.allowed ? release : undefined };
    },
    remaining: (key, atMs) => limit.peek(keyOf(key), { cost: 0, atMs }).remaining,
  };
}

/** What a limit is called where there are several: `gcra-2` is the second of them. */
export function nameInList({ algorithm }: Policy, index: number): string {
  return `${algorithm}-${index + 1}`;
}

function byRules(limits: readonly Limit[], { clock }: World): Deciding {
  const list = limits.map(({ policy, per }, i) => ({
    name: nameInList(policy, i),
    policy,
    key: per === 'all' ? everybody : 'key',
  }));
  const asked = rules(list, { clock, maxKeys });
  const isLeased = limits.some(({ policy }) => isConcurrency(policy));
  return {
    ask({ key, cost, atMs }) {
      const result = asked.check({ key }, { cost, atMs });
      const delayMs = result.decisions.reduce((longest, each) => Math.max(longest, each.delayMs), 0);
      const release = (releasedMs: number): void => void asked.release(result, { atMs: releasedMs });
      return { decision: result.tightest!, delayMs, release: isLeased && result.allowed ? release : undefined };
    },
    remaining: (key, atMs) => asked.peek({ key }, { cost: 0, atMs }).tightest?.remaining ?? 0,
  };
}
