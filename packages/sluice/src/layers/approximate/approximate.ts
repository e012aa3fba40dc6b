/**
 * Decides at once from what is known here, and exchanges with the other instances, every interval, what was used.
 *
 *      check ──► the store here ──► decision             no trip, no promise
 *                     ▲    │ used
 *        others' use, │    ▼
 *        as debt    ◄─┴─ exchange, every interval
 *
 * Between two exchanges nobody knows what the others use, so together they may use more than the limit: by at most what the others
 * admit in the time it takes to hear of it (README). What was too much is debt here, and is paid back. When the exchange is lost,
 * each instance has its static share, and what it used meanwhile is told when the exchange is back.
 */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { answerOnce } from '../../stores/answer-once.ts';
import { noRoom } from '../../stores/memory/namespace.ts';
import type { Check, Store } from '../../stores/store.ts';
import { backgroundClock, type Clock, checkClock, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero, knownFields, type Policy } from '../../vocabulary/policy.ts';
import { oneStore } from '../ask.ts';
import { isQuestion, takes } from '../operations.ts';
import { sharesOf } from '../share.ts';
import type { Exchange, ExchangeReply, PostedMessage } from './exchange.ts';
import { Peers } from './peers.ts';
import { PoliciesInUse } from './policies-in-use.ts';
import { Usage } from './usage.ts';

export interface ApproximateOptions {
  /** Where usage is exchanged, such as `redisExchange({ client })`. */
  readonly exchange: Exchange;
  /** How long between two exchanges. Default 100 ms. */
  readonly interval?: Duration;
  /** How many instances there are at least. Default: as many as are heard. */
  readonly instances?: number;
  /** After how many intervals without an exchange it is lost, and each instance has its static share. Default 3. */
  readonly lostAfter?: number;
  /** The most keys with counts to be told. When there is no room for one more, it is refused: its count would be lost. Default 100,000. */
  readonly maxKeys?: number;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export interface ApproximateStats {
  /** Instances, this one included, as far as is known. */
  readonly instances: number;
  /** Whether the exchange is lost, and decisions are made by the static share. */
  readonly isLost: boolean;
  readonly exchanges: number;
  readonly failures: number;
  /** What went wrong last; undefined when nothing did since the latest exchange. */
  readonly lastError: unknown;
  /** Units told to others, and units heard from others and counted here. */
  readonly told: number;
  readonly heard: number;
  /** Units heard from others that could not be counted here: of names never used here, or because the store is full. */
  readonly uncounted: number;
}

/** The layer; wraps one store that answers at once. */
export interface ApproximateLayer {
  (store: Store): Store<'sync'>;
  stats(): ApproximateStats;
  /** Tells what was not told yet, and stops. */
  close(): Promise<void>;
}

/** Nobody has called for so many intervals: from then on the exchange keeps no process from ending. */
const idleAfter = 10;
/**
 * It goes on all the same, for a window and no less than this. To whoever calls only now and then, an exchange that sleeps between two calls would be a
 * lost one at every call, and all there is would be the share.
 */
const shortestListeningMs = 60_000;
const closeTries = 3;
const shortestTimeoutMs = 1000;

export function approximate(options: ApproximateOptions): ApproximateLayer {
  knownFields('approximate options', options, 'exchange interval instances lostAfter maxKeys clock');
  const { exchange, lostAfter = 3, maxKeys = 100_000, clock = monotonicClock, instances: atLeast = 1 } = options;
  if (typeof exchange?.exchange !== 'function') throw invalid('exchange', 'an object with exchange()', exchange);
  const intervalMs = parseDuration(options.interval ?? '100ms', 'interval');
  if (!Number.isInteger(atLeast) || atLeast < 1) throw invalid('instances', 'a whole number above 0', atLeast);
  aboveZero('lostAfter', lostAfter);
  if (!Number.isInteger(maxKeys) || maxKeys < 1) throw invalid('maxKeys', 'a whole number above 0', maxKeys);
  checkClock(clock);
  const lostMs = lostAfter * intervalMs;
  const instance = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  const usage = new Usage(instance, maxKeys);
  // Longer than an exchange keeps messages: what is remembered no longer must not come again.
  const peers = new Peers(instance, lostMs + idleAfter * intervalMs, 24 * 3_600_000);
  const mustBeOnly = oneStore('approximate');
  const closing = new AbortController();
  const background = clock === monotonicClock ? backgroundClock : clock;
  // By what was asked: what is in force instead may be another when a request is sent again.
  const decideOnce = answerOnce(() => clock.now(), decide);

  const counts = { exchanges: 0, failures: 0, told: 0, heard: 0, uncounted: 0 };
  let lastError: unknown;
  let store: Store<'sync'> | undefined;
  let cursor: string | undefined;
  let heardMs = Number.NEGATIVE_INFINITY;
  /** Until when counts that will never be known may matter. */
  let gapUntilMs = Number.NEGATIVE_INFINITY;
  let knownInstances = atLeast;
  let calledMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  /** Ends a pause that does not keep the process alive. */
  let dozing: AbortController | undefined;
  const policies = new PoliciesInUse(maxKeys);
  let shareFor = sharesOf(atLeast);
  let longestWindowMs = 0;

  function wrap(given: Store): Store<'sync'> {
    mustBeOnly(given);
    if (given.mode !== 'sync')
      throw invalid('store', 'one that answers at once, such as memoryStore()', `a store of mode ${given.mode}`);
    store = given as Store<'sync'>;
    return { mode: 'sync', clock: given.clock, apply };
  }

  function isLost(nowMs: number): boolean {
    return !(nowMs - heardMs <= lostMs) || nowMs < gapUntilMs;
  }

  // --- Deciding.

  function apply(checks: readonly Check[], atMs?: number, requestId?: string): Decision[] {
    const decisions = decideOnce(checks, atMs, requestId);
    // After the call: what it used goes out with the first message.
    dozing?.abort();
    if (!running && !closing.signal.aborted) running = run();
    return decisions;
  }

  function decide(checks: readonly Check[], atMs?: number): Decision[] {
    calledMs = clock.now();
    const lost = isLost(calledMs);
    for (const check of checks) {
      const { name, policy } = check;
      policies.asked(idOf(check), name, policy);
      longestWindowMs = Math.max(longestWindowMs, policy.window ?? 0);
    }
    // Places cannot be counted after the fact, so of these each instance always has its share.
    const inForce = checks.map(({ policy }) => (lost || !isCountable(policy) ? shareFor(policy) : policy));
    const isHopeless = checks.map(
      (check, i) => isQuestion(check.operation) && !check.shadow && inForce[i] === undefined,
    );
    const hasRoom = checks.map((check) => usage.hasRoomFor(idOf(check)));
    const isHomeless = checks.map(({ operation, shadow }, i) => takes(operation) && !shadow && !hasRoom[i]);
    if (isHopeless.includes(true) || isHomeless.includes(true)) return refuse(checks, isHopeless, isHomeless);
    const penalty = checks.find(({ operation, shadow }, i) => operation === 'penalize' && !shadow && !hasRoom[i]);
    if (penalty) throw noRoom(penalty.key);
    const decisions = store!.apply(
      checks.map((check, i) => ({ ...check, policy: inForce[i] ?? check.policy })),
      atMs,
    );
    const isGo = decisions.every(({ allowed }, i) => allowed || checks[i]!.shadow || !isQuestion(checks[i]!.operation));
    if (isGo) {
      // A shadow rule refuses nobody, also where there is no room for what it counts.
      for (const [i, check] of checks.entries()) if (!check.shadow || hasRoom[i]) book(check, decisions[i]!);
    }
    return decisions.map((decision, i) => described(decision, checks[i]!, lost));
  }

  /** What a call of a batch that passed took, or what is now known of it. A reward is nobody's use, and stays here. */
  function book(check: Check, { allowed, granted, receipt }: Decision): void {
    const { operation, cost, actual = 0, policy } = check;
    if (!isCountable(policy)) return;
    if (operation === 'settle') usage.settle(idOf(check), cost, actual, check.receipt);
    else if (operation === 'penalize') usage.add(idOf(check), cost);
    else if (takes(operation) && allowed) usage.add(idOf(check), granted ?? cost, receipt);
  }

  /** Less than one unit is nobody's share; and what cannot be told must not be used. */
  function refuse(
    checks: readonly Check[],
    isHopeless: readonly boolean[],
    isHomeless: readonly boolean[],
  ): Decision[] {
    const peeks = checks.map((check): Check => ({ ...check, operation: 'peek', cost: 0 }));
    return store!.apply(peeks).map((decision, i) => {
      const refusal = { allowed: false, remaining: 0, retryAfterMs: Math.ceil(intervalMs) };
      if (isHopeless[i]) return described({ ...decision, ...refusal, reason: 'store-failure' }, checks[i]!, true);
      if (isHomeless[i]) return described({ ...decision, ...refusal, reason: 'store-full' }, checks[i]!, false);
      return described(decision, checks[i]!, false);
    });
  }

  function described(decision: Decision, { policy }: Check, lost: boolean): Decision {
    return lost
      ? { ...decision, policy, degraded: 'local' }
      : decision.policy === policy
        ? decision
        : { ...decision, policy };
  }

  // --- Exchanging.

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await exchangeOnce();
      if (isIdle() && clock.now() - calledMs > Math.max(longestWindowMs, shortestListeningMs)) break;
      if (isIdle()) await doze();
      // Woken by close().
      else await clock.sleep(intervalMs, closing.signal).catch(() => undefined);
    }
    running = undefined;
  }

  /** Nothing is left to tell, and nobody has called for a while. */
  function isIdle(): boolean {
    return usage.isTold && clock.now() - calledMs > idleAfter * intervalMs;
  }

  /** An interval, or until somebody calls or closes. */
  async function doze(): Promise<void> {
    if (closing.signal.aborted) return;
    dozing = new AbortController();
    await background.sleep(intervalMs, dozing.signal).catch(() => undefined);
    dozing = undefined;
  }

  async function exchangeOnce(): Promise<void> {
    const message = usage.message();
    try {
      const reply = await inTime(exchange.exchange(message, cursor));
      usage.posted();
      for (const cost of message.used.values()) counts.told += cost;
      counts.exchanges += 1;
      lastError = undefined;
      hear(reply);
    } catch (error) {
      // Whether it was posted is not known: it stays the message under way.
      counts.failures += 1;
      lastError = error;
    }
  }

  /** A reply that does not come must not keep the next question from being asked. */
  async function inTime(reply: Promise<ExchangeReply>): Promise<ExchangeReply> {
    const over = new AbortController();
    const mostMs = Math.max(lostMs, shortestTimeoutMs);
    const timeout = (isIdle() ? background : clock).sleep(mostMs, over.signal).then(
      () => {
        throw new Error(`the exchange did not answer within ${mostMs} ms`);
      },
      () => reply,
    );
    try {
      return await Promise.race([reply, timeout]);
    } finally {
      over.abort(new Error('answered'));
    }
  }

  function hear({ messages, cursor: next, hasGap }: ExchangeReply): void {
    cursor = next;
    heardMs = clock.now();
    if (hasGap) gapUntilMs = heardMs + longestWindowMs;
    for (const message of messages) if (peers.isNews(message, heardMs)) count(message);
    const instances = Math.max(atLeast, peers.count(heardMs));
    if (instances !== knownInstances) shareFor = sharesOf(instances);
    knownInstances = instances;
  }

  /** What another used is taken here too, fits or not, as of when it was told. */
  function count({ used, ageMs }: PostedMessage): void {
    const atMs = store!.clock.now() - ageMs;
    for (const [id, cost] of used) {
      const { name, key } = named(id);
      const policy = policies.of(id, name);
      if (policy && isCountable(policy) && charge({ name, key, policy, cost, operation: 'penalize' }, atMs))
        counts.heard += cost;
      else counts.uncounted += cost;
    }
  }

  /** False when there is no room for one more key. */
  function charge(check: Check, atMs: number): boolean {
    try {
      store!.apply([check], atMs);
      return true;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'store-full') return false;
      throw error;
    }
  }

  return Object.assign(wrap, {
    stats: () => ({ ...counts, lastError, instances: knownInstances, isLost: isLost(clock.now()) }),
    async close() {
      closing.abort(new Error('closed'));
      dozing?.abort();
      await running;
      for (let tries = 0; tries < closeTries && !usage.isTold; tries += 1) await exchangeOnce();
    },
  });
}

/** Whether others can be told afterwards what was used: not of places, which are given back. */
function isCountable(policy: Policy): boolean {
  return algorithmOf(policy).release === undefined;
}

/** Name and key as one text, from which both can be read again. */
function idOf({ name, key }: Check): string {
  return `${name.length}:${name}${key}`;
}

function named(id: string): { readonly name: string; readonly key: string } {
  const start = id.indexOf(':') + 1;
  const end = start + Number(id.slice(0, start - 1));
  return { name: id.slice(start, end), key: id.slice(end) };
}
