/** Asks the limits of a stage about a call: one by a limiter, several by rules, which take from all of them or from none. */
import {
  type Clock,
  type ConcurrencyPolicy,
  type Decision,
  type Limiter,
  limiter,
  type Policy,
  rules,
  type Store,
} from 'sluice';
import { isConcurrency } from '../../policy-kinds.ts';
import { andThen, type Eventual } from '../eventual.ts';
import { everybody, type Limit } from '../scenario.ts';
import { type KeyOperationsOptions, keyOperations, type OperateOnKey } from './key-operations.ts';

export interface Answer {
  /** What refused, else the one with the least left. */
  readonly decision: Decision;
  readonly delayMs: number;
  /** Gives back what was taken for as long as the call is under way; absent where nothing was. */
  readonly release?: ((atMs: number) => Eventual<void>) | undefined;
}

/** A call, at a time of the limits' own clock. */
export interface Question {
  readonly key: string;
  readonly cost: number;
  readonly atMs: number;
}

export interface Deciding {
  ask(question: Question): Eventual<Answer>;
  /** How much is left to a key at that moment; changes nothing. */
  remaining(key: string, atMs: number): Eventual<number>;
  /** Under which key the places are held that a key is given: its own, or that of everybody who shares the limit. */
  holderOf(key: string): string;
  /** Only where there is one limit. */
  readonly operate: OperateOnKey | undefined;
}

export interface DecidingOptions extends Pick<KeyOperationsOptions, 'log' | 'later'> {
  readonly limits: readonly Limit[];
  readonly clock: Clock;
  /** Where the numbers live, and what keeps those of this run apart in it. Default: memory of its own. */
  readonly place: { readonly store: Store; readonly name: string } | undefined;
}

/** A scenario's traffic may have as many keys as it has calls, and none of them may be forgotten to make room. */
const maxKeys = 10_000_000;

export function deciding(options: DecidingOptions): Deciding {
  const { limits, clock, place, log, later } = options;
  if (limits.length > 1) return byRules(options);
  const { policy, per } = limits[0]!;
  const keyOf = per === 'all' ? () => everybody : (key: string) => key;
  const limit = limiter(policy, place ? { clock, ...place } : { clock, maxKeys }) as Limiter<'sync' | 'async'>;
  return {
    ask: isConcurrency(policy) ? byLease(limit, keyOf) : byCheck(limit, keyOf),
    remaining: (key, atMs) => andThen(limit.peek(keyOf(key), { cost: 0, atMs }), ({ remaining }) => remaining),
    holderOf: keyOf,
    operate: keyOperations({ limit, keyOf, log, later }),
  };
}

function byCheck(limit: Limiter<'sync' | 'async'>, keyOf: (key: string) => string): Deciding['ask'] {
  return ({ key, cost, atMs }) =>
    andThen(limit.check(keyOf(key), { cost, atMs }), (decision) => ({ decision, delayMs: decision.delayMs }));
}

function byLease(limit: Limiter<'sync' | 'async'>, keyOf: (key: string) => string): Deciding['ask'] {
  const leases = limit as unknown as ReturnType<typeof limiter<ConcurrencyPolicy, 'sync' | 'async'>>;
  return ({ key, cost, atMs }) =>
    andThen(leases.acquire(keyOf(key), { cost, atMs }), (lease) => {
      const release = (releasedMs: number) => andThen(lease.release({ atMs: releasedMs }), () => {});
      return { decision: lease.decision, delayMs: 0, release: lease.allowed ? release : undefined };
    });
}

/** What a limit is called where there are several: `gcra-2` is the second of them. */
export function nameInList({ algorithm }: Policy, index: number): string {
  return `${algorithm}-${index + 1}`;
}

function byRules({ limits, clock, place }: DecidingOptions): Deciding {
  const list = limits.map(({ policy, per }, i) => ({
    name: [place?.name, nameInList(policy, i)].filter(Boolean).join(' '),
    policy,
    key: per === 'all' ? everybody : 'key',
  }));
  const asked = rules<'sync' | 'async'>(list, place ? { clock, store: place.store } : { clock, maxKeys });
  const leased = limits.filter(({ policy }) => isConcurrency(policy));
  const isShared = leased.every(({ per }) => per === 'all');
  return {
    ask: ({ key, cost, atMs }) =>
      andThen(asked.check({ key }, { cost, atMs }), (result) => {
        const delayMs = result.decisions.reduce((longest, each) => Math.max(longest, each.delayMs), 0);
        const release = (releasedMs: number) => asked.release(result, { atMs: releasedMs });
        return {
          decision: result.tightest!,
          delayMs,
          release: leased.length > 0 && result.allowed ? release : undefined,
        };
      }),
    remaining: (key, atMs) =>
      andThen(asked.peek({ key }, { cost: 0, atMs }), ({ tightest }) => tightest?.remaining ?? 0),
    holderOf: (key) => (isShared ? everybody : key),
    operate: undefined,
  };
}
