/**
 * Many limits on one request, all or nothing: it passes only if every rule that applies passes, and when one refuses,
 * none is charged.
 *
 *      subject ──► which rules apply ──► one batch of checks ──► store ──► decisions ──► allowed, tightest
 */
import { algorithmOf, canDelay, type TimeOptions } from '../algorithms/algorithm.ts';
import { unsharedStore } from '../stores/memory/open-memory.ts';
import { type Check, mustFit, type Operation, type Store } from '../stores/store.ts';
import { type Answer, andThen, answering, isPromise, type Mode, type Reply } from '../vocabulary/answer.ts';
import { type Clock, checkTime } from '../vocabulary/clock.ts';
import type { Decision, StoreFailureMode } from '../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { checkCost, knownFields, oneOf, type Policy } from '../vocabulary/policy.ts';
import { checkSubnet } from './ip-address.ts';
import { type ActiveOverride, type Override, overridesOf } from './overrides.ts';
import { everyone, type KeyOf, keyReader, type Match, matcher, normalKey, type Subject } from './subject.ts';

/** A rule has a policy, or tiers, or both. */
export type Rule = RuleOptions &
  ({ readonly policy: RulePolicy } | { readonly tiers: Readonly<Record<string, Policy>> });

/** The limit, or a function that gives one for the request. */
export type RulePolicy = Policy | ((subject: Subject) => Policy);

export interface RuleOptions {
  /** Names the rule in decisions, and its state in the store: rules of one name in one store share their keys. */
  readonly name: string;
  /** May be left out when there are tiers. */
  readonly policy?: RulePolicy;
  /** Who is limited. Default `'all'`: everyone shares one budget. */
  readonly key?: KeyOf;
  /** Which requests it applies to. Default: all that have the key. */
  readonly match?: Match;
  /** Policies by the subject's `tier`. Another tier, or none, gets `policy`; without one, the first of these. */
  readonly tiers?: Readonly<Record<string, Policy>>;
  /** Evaluated, counted and reported, and never refuses. Default false. */
  readonly shadow?: boolean;
  /** Requests it does not apply to. */
  readonly skip?: Match;
  /**
   * What to do when the store fails: `'closed'` refuses, `'open'` allows, `'local'` decides in this process. It travels with
   * every check, for stores that can fail; memory cannot.
   */
  readonly onStoreFailure?: StoreFailureMode;
}

export interface RulesOptions<M extends Mode = Mode> {
  /** Where the numbers live. Default: a memory store of its own. */
  readonly store?: Store<M>;
  /** Default: the store's. */
  readonly clock?: Clock;
  /** The most keys of the memory store of its own. Default 1,000,000. */
  readonly maxKeys?: number;
  /** Subjects that always pass, and are not charged. */
  readonly allow?: Match | readonly Match[];
  /** Subjects that never pass. The allow-list wins. */
  readonly deny?: Match | readonly Match[];
  /** Bits of an IPv6 address that count in a key of field `ip`: 32 to 128. Default 56. */
  readonly ipv6Subnet?: number;
}

export interface RulesResult {
  readonly allowed: boolean;
  /** The decision that refused (the longest wait of several), else the one with the smallest share left. */
  readonly tightest: Decision | undefined;
  /** One decision for each rule that applied, in the order of the rules. */
  readonly decisions: readonly Decision[];
  /** Set when a list decided and no rule was asked. */
  readonly list?: 'allow' | 'deny';
}

/** How often a rule said what; a shadow rule's refusals are counted like any other's. */
export interface RuleCounts {
  readonly allowed: number;
  readonly refused: number;
}

export interface RulesCall {
  /** Default 1. */
  readonly cost?: number;
  /** The longest delay that is accepted from a shaping algorithm; a longer one is a refusal. Default: any. */
  readonly maxDelayMs?: number;
  /** The caller's own time in milliseconds, for replays. */
  readonly atMs?: number;
  /** A call that is made again with the same id gets the same answer, and is not counted twice. */
  readonly requestId?: string;
}

export interface KeyCall extends RulesCall {
  /** Which of the rule's tiers. Default: the one of a subject without a tier. */
  readonly tier?: string;
}

export interface RulesReserveCall extends RulesCall {
  /** When an unsettled reservation ends, and counts as spent. Default 1 minute. */
  readonly expiresIn?: Duration;
}

export interface RulesReservation<M extends Mode = 'sync'> {
  /** What the rules said; if it was refused, nothing is reserved and settling does nothing. */
  readonly result: RulesResult;
  /** Ends it with the true cost, under every rule that was asked, and gives back places under concurrency rules. False when it had ended before. */
  commit(actual: number, options?: TimeOptions): Reply<M, boolean>;
  /** Gives all of it back. False when it had ended before. */
  cancel(options?: TimeOptions): Reply<M, boolean>;
}

export interface Rules<M extends Mode = 'sync'> {
  check(subject: Subject, options?: RulesCall): Reply<M, RulesResult>;
  /** What `check` would answer; changes nothing. */
  peek(subject: Subject, options?: RulesCall): Reply<M, RulesResult>;
  /** `check` of an estimate; `commit(actual)` or `cancel()` settles it when the true cost is known. Unsettled, it is spent. */
  reserve(subject: Subject, options?: RulesReserveCall): Reply<M, RulesReservation<M>>;
  /** Gives back the places that a check took under concurrency rules; does nothing for a result without any. */
  release(result: RulesResult, options?: TimeOptions): Reply<M, void>;
  /** One rule alone, with its key given instead of read from a subject. Neither the lists nor the rule's match are asked. */
  checkKey(rule: string, key: string, options?: KeyCall): Reply<M, Decision>;
  /** What `checkKey` would answer; changes nothing. */
  peekKey(rule: string, key: string, options?: KeyCall): Reply<M, Decision>;
  /** The key by which a rule limits a subject; undefined where it does not apply to it. */
  keyOf(rule: string, subject: Subject): string | undefined;
  /** Forgets one key of a rule. */
  reset(rule: string, key: string): Reply<M, Decision>;
  /**
   * Another limit for one key of a rule, from the next check on; what was used stays used. With `expiresAtMs`, for one that is brought
   * back, it ends then, and not `expiresIn` from now.
   */
  override(rule: string, key: string, override: Override, expiresAtMs?: number): void;
  /** Ends an override; false when there was none. */
  removeOverride(rule: string, key: string): boolean;
  /** All of them; those of one rule; or, with a key, the one of that key. */
  overrides(rule?: string, key?: string): ActiveOverride[];
  counts(): Record<string, RuleCounts>;
}

/** A rule, read and checked once. */
interface ReadRule {
  readonly rule: Rule;
  readonly applies: (subject: Subject) => boolean;
  readonly keyOf: (subject: Subject) => string | undefined;
  /** A key that was given instead, as the store knows it. */
  readonly stateKey: (key: string) => string;
  readonly policyOf: (subject: Subject) => Policy;
  /** The policies that do not depend on a request. */
  readonly fixedPolicies: readonly Policy[];
  readonly overrides: ReturnType<typeof overridesOf>;
  readonly counts: { allowed: number; refused: number };
}

// No more than any store takes at once.
const mostTold = 100;

export function rules<M extends Mode = 'sync'>(list: readonly Rule[], options: RulesOptions<M> = {}): Rules<M> {
  if (!Array.isArray(list))
    throw invalid('rules', 'a list of rules', list, 'For plain data use rules(parseRules(data)).');
  knownFields('rules options', options, 'store clock maxKeys allow deny ipv6Subnet');
  const { store: shared, clock, maxKeys, ipv6Subnet = 56 } = options;
  if (shared && maxKeys !== undefined)
    throw invalid('maxKeys', 'left out beside a store', maxKeys, 'Give it to the store.');
  mustFit(shared, clock);
  checkSubnet(ipv6Subnet);
  const store: Store = shared ?? unsharedStore({ clock, maxKeys });
  const ownClock = clock ?? store.clock;
  const sinceMs = ownClock.now();
  const read = list.map((rule) => readRule(rule, ipv6Subnet, ownClock));
  const names = read.map(({ rule }) => rule.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new SluiceError('invalid-option', `Two rules are named "${twice}". Names must differ.`);
  const isAllowed = listed('allow', options.allow);
  const isDenied = listed('deny', options.deny);

  // The store is told of every policy now: what it never forgot it need not fear to have forgotten. Together, because one that is
  // not connected yet would fail once for each, and whoever counts its failures would no longer ask it when it is.
  const peeks = read.flatMap(({ rule, fixedPolicies }) =>
    fixedPolicies.map((policy): Check => ({ name: rule.name, key: '', policy, cost: 0, operation: 'peek', sinceMs })),
  );
  for (let told = 0; told < peeks.length; told += mostTold) {
    const some = peeks.slice(told, told + mostTold);
    const reply: Answer<unknown> = store.apply(some, store.mode === 'sync' ? sinceMs : undefined);
    // A store that cannot answer yet says so to those who ask for something.
    if (isPromise(reply)) Promise.resolve(reply).catch(() => undefined);
  }

  /** The caller's own time, else that of the rules' clock; without one the store knows the time. */
  function timeOf(atMs: number | undefined): number | undefined {
    if (atMs !== undefined) return checkTime(atMs);
    return clock && shared ? clock.now() : undefined;
  }

  function ruleOf(name: string): ReadRule {
    const found = read.find(({ rule }) => rule.name === name);
    if (found === undefined) throw invalid('rule', `one of ${names.join(', ')}`, name);
    return found;
  }

  function checkOf(
    one: ReadRule,
    key: string,
    subject: Subject,
    cost: number,
    { atMs, maxDelayMs }: { readonly atMs?: number; readonly maxDelayMs?: number },
    operation: 'check' | 'peek' | 'reserve',
  ): Check {
    const { name, shadow, onStoreFailure } = one.rule;
    const policy = one.overrides.apply(key, one.policyOf(subject));
    // On the caller's own time the clock's word on when the policy changed means nothing.
    const changedMs = atMs === undefined ? Math.max(sinceMs, one.overrides.changedMs(key)) : undefined;
    // What is taken as a lease has to be found again to be released.
    const leased: Operation = operation !== 'peek' && algorithmOf(policy).release ? 'acquire' : operation;
    // A policy that never delays is asked by the short way.
    const longestMs = maxDelayMs !== undefined && canDelay(policy) ? maxDelayMs : undefined;
    return {
      name,
      key,
      policy,
      cost,
      operation: leased,
      sinceMs,
      changedMs,
      shadow,
      onStoreFailure,
      maxDelayMs: longestMs,
    };
  }

  function evaluateKey(rule: string, key: string, call: KeyCall, operation: 'check' | 'peek'): Answer<Decision> {
    const one = ruleOf(rule);
    mustBeObject(call);
    const subject = call.tier === undefined ? {} : { tier: call.tier };
    const check = checkOf(one, one.stateKey(key), subject, checkCost(call.cost ?? 1), call, operation);
    return andThen(store.apply([check], timeOf(call.atMs), call.requestId), ([decision]) => {
      const { allowed } = decision as Decision;
      if (operation === 'check') one.counts[allowed ? 'allowed' : 'refused'] += 1;
      return decision as Decision;
    });
  }

  function evaluate(subject: Subject, call: RulesCall, operation: 'check' | 'peek' | 'reserve'): Answer<RulesResult> {
    if (typeof subject !== 'object' || subject === null) throw invalid('subject', 'an object of fields', subject);
    mustBeObject(call);
    const cost = checkCost(call.cost ?? 1);
    const atMs = timeOf(call.atMs);
    if (isAllowed(subject)) return { allowed: true, tightest: undefined, decisions: [], list: 'allow' };
    if (isDenied(subject)) return { allowed: false, tightest: undefined, decisions: [], list: 'deny' };
    const asked: ReadRule[] = [];
    const checks: Check[] = [];
    for (const one of read) {
      const key = keyIn(subject, one);
      if (key === undefined) continue;
      asked.push(one);
      checks.push(checkOf(one, key, subject, cost, call, operation));
    }
    if (checks.length === 0) return { allowed: true, tightest: undefined, decisions: [] };
    return andThen(store.apply(checks, atMs, call.requestId), (decisions) => {
      const result = summary(decisions);
      if (operation !== 'peek') {
        asked.forEach(({ counts }, at) => {
          counts[decisions[at]?.allowed ? 'allowed' : 'refused'] += 1;
        });
        if (decisions.some(({ receipt }) => receipt !== undefined)) held.set(result, { checks, call });
      }
      return result;
    });
  }

  // The checks behind a result that can be given back.
  const held = new WeakMap<RulesResult, { readonly checks: readonly Check[]; readonly call: RulesCall }>();

  /** Gives back the places, and of the reservations what `actual` leaves of them; once. `openMs`: for how long it might still be settled. */
  function settle(result: RulesResult, actual: number | undefined, call: TimeOptions, openMs = 0): Answer<void> {
    const { checks, call: taken } = held.get(result) ?? { checks: [], call: {} };
    // A request that was made again has two results for one reservation: whichever is settled first settles it.
    const requestId = taken.requestId === undefined ? undefined : `${taken.requestId} settled`;
    const settled = checks.flatMap((check, i): Check[] => {
      const receipt = result.decisions[i]?.receipt;
      if (receipt === undefined) return [];
      const ending = { ...check, receipt, shadow: false };
      if (check.operation === 'acquire') return [{ ...ending, operation: 'release' }];
      // The other result has to find that this one was settled, also where nothing changes by it.
      if (actual === undefined || (actual === check.cost && requestId === undefined)) return [];
      return [{ ...ending, operation: 'settle', actual, ...(requestId !== undefined && { durationMs: openMs }) }];
    });
    // What was taken on the caller's own time is given back at that time, unless told another.
    const reply = settled.length === 0 ? undefined : store.apply(settled, timeOf(call.atMs ?? taken.atMs), requestId);
    // If that throws, nothing is settled.
    held.delete(result);
    return andThen(reply, () => undefined);
  }

  function reserve(subject: Subject, call: RulesReserveCall = {}): Answer<RulesReservation<Mode>> {
    knownFields('reserve options', call, 'cost maxDelayMs atMs requestId expiresIn');
    const { expiresIn = '1m', ...asked } = call;
    const cost = checkCost(asked.cost ?? 1);
    const now = (time: TimeOptions) => time.atMs ?? ownClock.now();
    const endsMs = now(asked) + parseDuration(expiresIn, 'expiresIn');
    return andThen(evaluate(subject, asked, 'reserve'), (result) => {
      let isSettled = !result.allowed;
      function commit(actual: number, time: TimeOptions = asked): Answer<boolean> {
        checkCost(actual);
        if (isSettled) return false;
        const openMs = endsMs - now(time);
        const inTime = openMs > 0;
        // Too late, nothing goes back; but what was used beyond it is still owed.
        const reply = settle(result, inTime ? actual : Math.max(cost, actual), time, Math.max(0, openMs));
        isSettled = true;
        return andThen(reply, () => inTime);
      }
      const endings = answering(store.mode, { commit, cancel: (time?: TimeOptions) => commit(0, time) });
      return { result, ...endings } as RulesReservation<Mode>;
    });
  }

  return {
    ...answering(store.mode, {
      check: (subject: Subject, call?: RulesCall) => evaluate(subject, call ?? {}, 'check'),
      peek: (subject: Subject, call?: RulesCall) => evaluate(subject, call ?? {}, 'peek'),
      checkKey: (rule: string, key: string, call?: KeyCall) => evaluateKey(rule, key, call ?? {}, 'check'),
      peekKey: (rule: string, key: string, call?: KeyCall) => evaluateKey(rule, key, call ?? {}, 'peek'),
      reserve,
      release: (result: RulesResult, call: TimeOptions = {}) => settle(result, undefined, call),
      reset(rule: string, key: string): Answer<Decision> {
        const found = ruleOf(rule);
        const [policy] = found.fixedPolicies;
        if (policy === undefined) {
          throw new SluiceError(
            'unsupported-operation',
            `Rule "${rule}" has no fixed policy to reset a key by. Reset it in the store.`,
          );
        }
        const state = found.stateKey(key);
        const check: Check = {
          name: rule,
          key: state,
          policy: found.overrides.apply(state, policy),
          cost: 0,
          operation: 'reset',
        };
        return andThen(store.apply([check], timeOf(undefined)), ([decision]) => decision as Decision);
      },
    }),
    keyOf: (rule: string, subject: Subject) => keyIn(subject, ruleOf(rule)),
    override(rule: string, key: string, override: Override, expiresAtMs?: number): void {
      const { overrides, stateKey, fixedPolicies } = ruleOf(rule);
      overrides.set(stateKey(key), String(key), override, fixedPolicies, expiresAtMs);
    },
    removeOverride(rule: string, key: string): boolean {
      const { overrides, stateKey } = ruleOf(rule);
      return overrides.remove(stateKey(key));
    },
    overrides: (rule?: string, key?: string) =>
      (rule === undefined ? read : [ruleOf(rule)]).flatMap(({ overrides, stateKey }) =>
        overrides.list(key === undefined ? undefined : [stateKey(key)]),
      ),
    counts: () => Object.fromEntries(read.map(({ rule, counts }) => [rule.name, { ...counts }])),
  } as unknown as Rules<M>;
}

function readRule(rule: Rule, ipv6Subnet: number, clock: Clock): ReadRule {
  if (typeof rule !== 'object' || rule === null) throw invalid('a rule', 'an object', rule);
  const { name, policy, key = everyone, match, tiers = {}, skip } = rule;
  if (typeof name !== 'string' || name === '') throw invalid('name', 'a text that names the rule', name);
  try {
    if ('algorithm' in rule)
      throw invalid('policy', 'built by a factory', rule, 'For plain data use rules(parseRules(data)).');
    knownFields('a rule', rule, 'name policy key match tiers shadow skip onStoreFailure');
    if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers))
      throw invalid('tiers', 'an object of policies by tier', tiers);
    const tierPolicies = Object.values(tiers);
    const fallback = policy ?? tierPolicies[0];
    if (fallback === undefined) throw invalid('policy', 'given, unless there are tiers', policy);
    const fixedPolicies =
      policy === undefined || typeof policy === 'function' ? tierPolicies : [policy, ...tierPolicies];
    for (const one of fixedPolicies) algorithmOf(one);
    oneOf('onStoreFailure', rule.onStoreFailure, ['closed', 'open', 'local']);
    oneOf('shadow', rule.shadow, [true, false]);
    const matches = match === undefined ? () => true : matcher(match);
    const skips = skip === undefined ? () => false : matcher(skip, 'skip');
    return {
      rule,
      applies: (subject) => matches(subject) && !skips(subject),
      keyOf: keyReader(key, ipv6Subnet),
      stateKey(given) {
        if (typeof given !== 'string' && typeof given !== 'number') throw invalid('key', 'a string', given);
        if (key === everyone && given !== everyone) {
          throw invalid('key', `"${everyone}": everyone shares the one budget of rule "${name}"`, given);
        }
        return normalKey(key, String(given), ipv6Subnet);
      },
      policyOf(subject) {
        const tier = subject.tier;
        if (typeof tier === 'string' && Object.hasOwn(tiers, tier)) return tiers[tier] as Policy;
        return typeof fallback === 'function' ? fallback(subject) : fallback;
      },
      fixedPolicies,
      overrides: overridesOf(name, clock),
      counts: { allowed: 0, refused: 0 },
    };
  } catch (error) {
    // Which of many rules is wrong is the first thing to know.
    if (error instanceof SluiceError)
      throw new SluiceError(error.code, `Rule "${name}": ${error.message}`, { cause: error });
    throw error;
  }
}

function mustBeObject(call: RulesCall): void {
  if (typeof call !== 'object') throw invalid('options', 'an object such as { cost: 2 }', call);
}

/** The key of a subject under a rule that applies to it. A function may say null, or give a number. */
function keyIn(subject: Subject, { applies, keyOf }: ReadRule): string | undefined {
  const key: unknown = applies(subject) ? keyOf(subject) : undefined;
  if (typeof key === 'object' && key !== null)
    throw invalid('key', 'text or a number', key, 'An object is the same text for all.');
  return key === undefined || key === null ? undefined : String(key);
}

function listed(name: string, matches: Match | readonly Match[] = []): (subject: Subject) => boolean {
  const tests = (Array.isArray(matches) ? matches : [matches]).map((match: Match) => matcher(match, name));
  return (subject) => tests.some((test) => test(subject));
}

function summary(decisions: readonly Decision[]): RulesResult {
  const tightest = tightestOf(decisions);
  // A refusal is tighter than any grant.
  return { allowed: tightest?.allowed ?? true, tightest, decisions };
}

/** The decision that refused (the longest wait of several), else the one with the smallest share left. Shadow rules have no say. */
export function tightestOf(decisions: readonly Decision[]): Decision | undefined {
  let tightest: Decision | undefined;
  for (const decision of decisions) {
    if (!decision.shadow && (tightest === undefined || isTighter(decision, tightest))) tightest = decision;
  }
  return tightest;
}

/** Refusals before grants; the longer wait of two refusals, the smaller share left of two grants. */
function isTighter(a: Decision, b: Decision): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  return a.allowed ? a.remaining / a.limit < b.remaining / b.limit : a.retryAfterMs > b.retryAfterMs;
}
