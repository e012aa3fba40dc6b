/**
 * A local limiter in front of a store, which refuses the obvious without a trip.
 *
 *      call ──► local limit ──► refused: nothing is taken anywhere
 *                         └───► taken ──► the store ──► allowed
 *                                                 └───► refused: what was taken here is given back
 *
 * All or nothing across both. The store has the last word; the local limit keeps a flood away from it. So it is chosen
 * larger than this process's share of the real one, or shorter: 1,000 per second in front of 10,000 per hour.
 */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { requestText } from '../../stores/answer-once.ts';
import { unsharedStore } from '../../stores/memory/open-memory.ts';
import { type Check, mustFit, type Operation, type Store } from '../../stores/store.ts';
import type { Answer, Mode } from '../../vocabulary/answer.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy } from '../../vocabulary/policy.ts';
import { ask, oneStore } from '../ask.ts';
import { notAsked } from '../not-asked.ts';
import { isQuestion } from '../operations.ts';
import { isWrongUse } from '../wrong-use.ts';
import { RecentIds } from './recent-ids.ts';

export interface PreLimitOptions {
  /** The local limit of each key, under every name that `policies` does not have. */
  readonly policy?: Policy;
  /** Local limits by name. */
  readonly policies?: Readonly<Record<string, Policy>>;
  /** Where the local numbers live: a store that answers at once. Default: memory of its own, for 100,000 keys. */
  readonly store?: Store<'sync'>;
  /** Of the memory of its own. Default: the store's. */
  readonly clock?: Clock;
}

export interface PreLimitStats {
  /** Batches refused without a trip. */
  readonly refused: number;
  /** Batches whose local share was given back because the store refused them. */
  readonly givenBack: number;
}

/** The layer; wraps one store. */
export interface PreLimitLayer {
  <M extends Mode>(store: Store<M>): Store<M>;
  stats(): PreLimitStats;
}

const maxKeys = 100_000;

export function preLimit(options: PreLimitOptions): PreLimitLayer {
  knownFields('preLimit options', options, 'policy policies store clock');
  const { policy, policies = {}, store: given, clock } = options;
  if (typeof policies !== 'object' || policies === null || Array.isArray(policies))
    throw invalid('policies', 'an object of policies by name', policies);
  if (policy === undefined && Object.keys(policies).length === 0)
    throw invalid('policy', 'given, unless there are policies by name', policy);
  for (const each of [...(policy === undefined ? [] : [policy]), ...Object.values(policies)]) mustGiveBack(each);
  mustFit(given, clock);
  if (given && given.mode !== 'sync') throw invalid('store', 'one that answers at once', given.mode);
  const policyOf = (name: string) => (Object.hasOwn(policies, name) ? policies[name] : policy);
  const mustBeOnly = oneStore('preLimit');
  const stats = { refused: 0, givenBack: 0 };

  function wrap<M extends Mode>(store: Store<M>): Store<M> {
    mustBeOnly(store);
    const local = given ?? unsharedStore({ clock: clock ?? store.clock, maxKeys });
    const apply = limiting(store, local, policyOf, stats);
    return { mode: store.mode, clock: store.clock, apply: apply as Store<M>['apply'] };
  }

  return Object.assign(wrap, { stats: () => ({ ...stats }) });
}

/** Refuses a policy whose algorithm cannot do what is needed here. */
function mustGiveBack(policy: Policy): void {
  const { name, without = [] } = algorithmOf(policy);
  if (without.some((operation) => operation === 'reserve' || operation === 'take'))
    throw invalid('policy', 'of an algorithm that can take a part and give it back', name, 'Use gcra(), for example.');
}

/** A check of the local limit, and the place in the batch of the check that it stands in front of. */
interface LocalCheck {
  readonly at: number;
  readonly check: Check;
}

type LocalStats = { -readonly [Field in keyof PreLimitStats]: PreLimitStats[Field] };

function limiting(
  store: Store,
  local: Store<'sync'>,
  policyOf: (name: string) => Policy | undefined,
  stats: LocalStats,
) {
  const sent = new RecentIds();
  // The local receipt behind a receipt of the store, while somebody holds that one.
  const receipts = new WeakMap<Receipt, Receipt>();

  function localChecks(checks: readonly Check[]): LocalCheck[] {
    return checks.flatMap((check, at): LocalCheck[] => {
      const { name, key, cost, operation, sinceMs, shadow } = check;
      const policy = policyOf(name);
      if (policy === undefined || shadow || !isQuestion(operation)) return [];
      // It says yes or no; a delay is for the store to give.
      return [{ at, check: { name, key, policy, cost, operation: localOperation(operation), sinceMs, maxDelayMs: 0 } }];
    });
  }

  function refusal(checks: readonly Check[], asked: readonly LocalCheck[], told: readonly Decision[]): Decision[] {
    stats.refused += 1;
    const decisions = checks.map(notAsked);
    for (const [i, { at }] of asked.entries()) decisions[at] = told[i]!;
    return decisions;
  }

  /** Gives back what was taken here and not used. `used` has what a `take` was granted, by place; without it nothing was used. */
  function giveBack(asked: readonly LocalCheck[], told: readonly Decision[], used?: number[], atMs?: number): void {
    for (const [i, { at, check }] of asked.entries()) {
      const { receipt, granted = 0 } = told[i]!;
      const unused = granted - (used?.[at] ?? 0);
      if (unused > 0) void local.apply([{ ...check, operation: 'reward', cost: unused }], atMs);
      if (receipt && !used) void local.apply([{ ...check, operation: 'settle', actual: 0, receipt }], atMs);
    }
  }

  /** What frees a key in the store frees it here too. */
  function follow({ name, key, operation, cost, actual, receipt }: Check, atMs: number | undefined): void {
    const policy = policyOf(name);
    if (policy === undefined) return;
    const own: Check = { name, key, policy, cost, operation };
    if (operation === 'reset' || operation === 'reward') void local.apply([own], atMs);
    const known = receipt && receipts.get(receipt);
    // More than was reserved is for the store to charge: here there may be no room for a debt.
    if (operation === 'settle' && known)
      void local.apply([{ ...own, actual: Math.min(actual ?? 0, cost), receipt: known }], atMs);
  }

  return function apply(checks: readonly Check[], atMs?: number, requestId?: string): Answer<Decision[]> {
    // A request that is sent again has been counted here, and is the same only if it takes no more than it did.
    const request = requestId === undefined ? undefined : requestText(requestId, checks);
    const before = sent.find(request);
    let asked = before ? [] : localChecks(checks);
    let told: Decision[] = [];
    if (asked.length > 0) {
      told = local.apply(
        asked.map(({ check }) => check),
        atMs,
      );
      const refusing = told.filter(({ allowed }) => !allowed);
      if (refusing.some(({ reason }) => reason !== 'store-full')) {
        const refused = refusal(checks, asked, told);
        return store.mode === 'async' ? Promise.resolve(refused) : refused;
      }
      // That there is no room here says nothing about the call.
      if (refusing.length > 0) [asked, told] = [[], []];
    }
    const sending = before ?? asWeHave(checks, asked, told);
    sent.add(request, sending);

    function answered(decisions: Decision[]): Decision[] {
      const isRefused = checks.some(
        ({ operation, shadow }, i) => !decisions[i]!.allowed && !shadow && isQuestion(operation),
      );
      if (isRefused && asked.length > 0) stats.givenBack += 1;
      giveBack(asked, told, isRefused ? undefined : decisions.map(({ granted = 0 }) => granted), atMs);
      if (isRefused) return decisions;
      for (const check of checks) if (!isQuestion(check.operation)) follow(check, atMs);
      const own = [...decisions];
      for (const [i, { at }] of asked.entries()) {
        const { receipt, remaining } = decisions[at]!;
        const { receipt: localReceipt, remaining: left } = told[i]!;
        if (receipt && localReceipt) receipts.set(receipt, localReceipt);
        // What would pass has to pass both.
        if (left < remaining) own[at] = { ...decisions[at]!, remaining: left };
      }
      return own;
    }

    return ask(
      () => store.apply(sending, atMs, requestId),
      answered,
      (error) => {
        // A call that could not be made took nothing. Of one that failed that is not known, and it stays taken.
        if (isWrongUse(error)) giveBack(asked, told, undefined, atMs);
        throw error;
      },
    );
  };
}

function localOperation(operation: Operation | undefined): Operation {
  return operation === 'peek' || operation === 'take' ? operation : 'reserve';
}

/** The batch with no more to take than there is here. */
function asWeHave(checks: readonly Check[], asked: readonly LocalCheck[], told: readonly Decision[]): readonly Check[] {
  if (!asked.some(({ check }) => check.operation === 'take')) return checks;
  const own = [...checks];
  for (const [i, { at, check }] of asked.entries())
    if (check.operation === 'take') own[at] = { ...checks[at]!, cost: told[i]!.granted ?? 0 };
  return own;
}
