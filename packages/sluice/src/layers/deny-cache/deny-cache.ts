/**
 * Remembers who was refused, so that a flood of refused calls costs no trip to the store.
 *
 *      call ──► refused a moment ago, by the same question? ──► yes: the same answer, its waits counted down
 *                                                         └───► no: the store
 *
 * It must never refuse what the store would allow. So it remembers the answer to exactly one question (names, keys, policies,
 * costs, operations), until the first millisecond in which one of the refusals in it may be over, and forgets it as soon as
 * something that goes through here may have changed a key that refused. What others do to the key elsewhere goes unnoticed
 * for `atMost`.
 *
 * The wait that the store told began when the store answered; here it is counted from when the question was sent, which is
 * earlier: whoever waits here asks the store too early rather than too late.
 */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import type { Check, Store } from '../../stores/store.ts';
import type { Answer, Mode } from '../../vocabulary/answer.ts';
import { type Clock, checkClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy } from '../../vocabulary/policy.ts';
import { ask, oneStore } from '../ask.ts';
import { isQuestion, takes } from '../operations.ts';
import { InFlight } from './in-flight.ts';
import { type Refusal, Refusals } from './refusals.ts';

export interface DenyCacheOptions {
  /** The most keys remembered at once. Default 100,000. */
  readonly maxKeys?: number;
  /** The longest that a refusal is remembered; what other processes do to a key goes unnoticed for as long. Default 1 second. */
  readonly atMost?: Duration;
  /** Default: the store's. */
  readonly clock?: Clock;
}

export interface DenyCacheStats {
  /** Keys remembered, some of them perhaps for longer than they need be. */
  readonly keys: number;
  /** Batches answered without the store. */
  readonly answered: number;
}

/** The layer; wraps one store. */
export interface DenyCacheLayer {
  <M extends Mode>(store: Store<M>): Store<M>;
  stats(): DenyCacheStats;
}

export function denyCache(options: DenyCacheOptions = {}): DenyCacheLayer {
  knownFields('denyCache options', options, 'maxKeys atMost clock');
  const { maxKeys = 100_000, clock } = options;
  if (!Number.isInteger(maxKeys) || maxKeys < 1) throw invalid('maxKeys', 'a whole number above 0', maxKeys);
  const atMostMs = parseDuration(options.atMost ?? '1s', 'atMost');
  if (clock !== undefined) checkClock(clock);
  const refusals = new Refusals(maxKeys);
  const mustBeOnly = oneStore('denyCache');
  let answered = 0;

  function wrap<M extends Mode>(store: Store<M>): Store<M> {
    mustBeOnly(store);
    const tellAnswered = () => {
      answered += 1;
    };
    const wrapped = denying(store, refusals, atMostMs, clock ?? store.clock, tellAnswered);
    const denied: Store<M> = { mode: store.mode, clock: store.clock, apply: wrapped as Store<M>['apply'] };
    if (store.mode === 'sync') return denied;
    return { ...denied, direct: recalling(refusals, clock ?? store.clock, tellAnswered) };
  }

  return Object.assign(wrap, { stats: () => ({ keys: refusals.size, answered }) });
}

function denying(store: Store, refusals: Refusals, atMostMs: number, clock: Clock, tellAnswered: () => void) {
  const inFlight = new InFlight();
  const stalenessMs = clock.stalenessMs ?? 0;

  function forget({ name, key }: Check): void {
    refusals.drop(name, key);
    inFlight.mark(key);
  }

  /** The answer, if the store gave it a moment ago and it must hold still. */
  function recall(checks: readonly Check[]): Decision[] | undefined {
    const known = refusals.find(checks);
    if (known === undefined) return undefined;
    const nowMs = clock.now();
    if (nowMs >= known.sentMs && nowMs <= known.untilMs) return countedDown(known, nowMs);
    refusals.forget(known);
    return undefined;
  }

  function learn(checks: readonly Check[], decisions: Decision[], sentMs: number, sentTurn: number): void {
    const refusing = checks.filter((check, i) => isRefusal(check, decisions[i]!));
    if (refusing.length === 0 || !checks.every((check, i) => isPlain(check, decisions[i]!))) return;
    if (hasPairTwice(checks) || refusing.some(({ key }) => inFlight.isInDoubt(key, sentTurn))) return;
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { allowed, retryAfterMs } of decisions) if (!allowed) shortestMs = Math.min(shortestMs, retryAfterMs);
    // Waits are rounded up to whole milliseconds: the last of them may be over before it is full.
    const untilMs = sentMs + Math.min(atMostMs, shortestMs - 1 - stalenessMs);
    // The caller may use its list again.
    if (untilMs > sentMs) refusals.keep({ checks: [...checks], decisions, sentMs, untilMs }, refusing);
  }

  return function apply(checks: readonly Check[], atMs?: number, requestId?: string): Answer<Decision[]> {
    // On the caller's own time nothing here is true; and a request that is sent again must get the answer it got before.
    const isOwn = atMs === undefined && requestId === undefined;
    const known = isOwn && refusals.size > 0 ? recall(checks) : undefined;
    if (known !== undefined) {
      tellAnswered();
      return store.mode === 'async' ? Promise.resolve(known) : known;
    }
    // When the store does as it is told is not known, only that it is between now and its answer.
    const orders = checks.filter(({ operation }) => !isQuestion(operation));
    for (const { name, key } of orders) {
      refusals.drop(name, key);
      inFlight.beginOrder(key);
    }
    const sentMs = clock.now();
    const sentTurn = inFlight.send();
    const land = () => {
      inFlight.land();
      for (const { key } of orders) inFlight.endOrder(key);
    };
    return ask<Decision[], Decision[]>(
      () => store.apply(checks, atMs, requestId),
      (decisions) => {
        land();
        const isRefused = decisions.some(({ allowed, shadow }) => !allowed && !shadow);
        for (const check of checks) if (mayHaveChanged(check, isRefused)) forget(check);
        if (isRefused && isOwn) learn(checks, decisions, sentMs, sentTurn);
        return decisions;
      },
      (error) => {
        land();
        for (const check of checks) forget(check);
        throw error;
      },
    );
  };
}

/** The short way of one plain check: with no list, and no promise, of what is known here. */
function recalling(refusals: Refusals, clock: Clock, tellAnswered: () => void): NonNullable<Store['direct']> {
  return (name, policy, sinceMs) => {
    function check(key: string, cost: number): Decision | undefined {
      const known = refusals.size === 0 ? undefined : refusals.findOne(name, key, policy, cost, sinceMs);
      if (known === undefined) return undefined;
      const nowMs = clock.now();
      if (nowMs < known.sentMs || nowMs > known.untilMs) return undefined;
      tellAnswered();
      return decisionAfter(known.decisions[0] as Decision, nowMs - known.sentMs);
    }
    return {
      check,
      allow: (key, cost) => check(key, cost)?.allowed,
      checkBytes: () => undefined,
      allowBytes: () => undefined,
    };
  };
}

/** What the store said, as it would say it now. How much is left it would know better: there may be more by now. */
function countedDown({ decisions, sentMs }: Refusal, nowMs: number): Decision[] {
  const elapsedMs = nowMs - sentMs;
  const now: Decision[] = [];
  for (let i = 0; i < decisions.length; i += 1) now.push(decisionAfter(decisions[i]!, elapsedMs));
  return now;
}

// Written out field by field: copying a decision to change a few takes ten times as long as everything else here.
function decisionAfter(told: Decision, elapsedMs: number): Decision {
  const { allowed } = told;
  const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
    allowed,
    limit: told.limit,
    remaining: told.remaining,
    retryAfterMs: allowed ? 0 : Math.max(1, Math.ceil(told.retryAfterMs - elapsedMs)),
    resetAfterMs: Math.max(0, Math.ceil(told.resetAfterMs - elapsedMs)),
    delayMs: told.delayMs,
    rule: told.rule,
    policy: told.policy,
    remembered: true,
  };
  if (told.reason !== undefined) decision.reason = told.reason;
  if (told.granted !== undefined) decision.granted = told.granted;
  if (told.shadow !== undefined) decision.shadow = told.shadow;
  return decision;
}

/** Whether the check itself refused its batch. */
function isRefusal(check: Check, { allowed }: Decision): boolean {
  return !allowed && !check.shadow;
}

/** Whether a check can be in a batch that is remembered: its answer is the limit's own, and holds until its time is over. */
function isPlain({ operation, policy }: Check, { allowed, reason, degraded }: Decision): boolean {
  // A refusal that counts has to be counted.
  if (!isQuestion(operation) || countsRejected(policy) || degraded !== undefined) return false;
  if (allowed) return true;
  // A place is free when somebody gives it back, mostly elsewhere, and not when a time is over.
  return (reason === 'limit' || reason === 'blocked') && algorithmOf(policy).release === undefined;
}

function mayHaveChanged({ operation, policy }: Check, isRefused: boolean): boolean {
  if (!isQuestion(operation)) return true;
  return takes(operation) && (!isRefused || countsRejected(policy));
}

function countsRejected(policy: Policy): boolean {
  return (policy as { readonly countRejected?: boolean }).countRejected === true;
}

/** The same pair twice adds up: what the second was told is not what it would be told alone. */
function hasPairTwice(checks: readonly Check[]): boolean {
  return checks.some(({ name, key }, i) => checks.findIndex((other) => other.name === name && other.key === key) !== i);
}
