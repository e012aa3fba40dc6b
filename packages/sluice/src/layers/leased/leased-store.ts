/**
 * Borrows a slice of a key's quota for a short time and spends it with no trip to the store.
 *
 *      check ──► enough in the slice? ──► yes: spent here, no trip
 *                       └ no: borrow what is missing, and some more, in one trip
 *                lease over ──► what was not spent goes back
 *
 * Strict stays strict: a borrowed unit counts in the store as used until the latest moment it could be spent (`lending.ts`), and
 * whether that moment has passed is asked in the same turn that spends, on a clock that runs on while the process stands still
 * (`lease-clock.ts`).
 */
import type { Check, DirectChecks, Operation, Store } from '../../stores/store.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { checkCost, type Policy } from '../../vocabulary/policy.ts';
import { LeaseClock, type Stamp } from './lease-clock.ts';
import type { Lending } from './lending.ts';
import type { LeasedSettings } from './settings.ts';
import type { Refusal, Slice } from './slice.ts';
import { Slices } from './slices.ts';

export interface LeasedStats {
  /** Calls decided with no trip. */
  readonly decidedHere: number;
  /** Of those, the refused. */
  readonly refusedHere: number;
  /** Trips to borrow. */
  readonly borrows: number;
  /** Units that went back. */
  readonly returned: number;
  /** Units that could not be given back because the store failed: they count as spent. */
  readonly lost: number;
  /** Keys with a slice, or with a memory of one. */
  readonly keys: number;
}

/** What the layer makes of a store. */
export interface LeasedStore extends Store<'async'> {
  /** What its slice has enough for is answered at once. */
  direct(name: string, policy: Policy): DirectChecks;
  stats(): LeasedStats;
  /** Gives everything back. From then on every call goes through to the store. */
  close(): Promise<void>;
}

/** A plain check of a key that can be decided from a slice. */
interface Plan {
  readonly check: Check;
  readonly slice: Slice;
  /** When it came, among all. */
  readonly arrival: number;
  /** What the store did instead of answering, if it was asked for this check. */
  degraded: Decision['degraded'];
}

// One may come late because the process stood still meanwhile; and while one check of a batch is asked for, what is kept of
// another may end. More than that is a store that is slower than a lease.
const mostTries = 3;

// What holds for every call that comes after it, so that what was lent before must not be spent then.
const orders: ReadonlySet<Operation | undefined> = new Set(['reset', 'block', 'penalize', 'reward'] as const);

export function leasedStore(store: Store, settings: LeasedSettings): LeasedStore {
  const { leaseMs, marginMs, minSlice, maxSlice, maxShare, maxWaiting } = settings;
  const leaseClock = new LeaseClock(settings.clock, settings.wallNow);
  const slices = new Slices(store, settings, leaseClock);
  const lendings = new WeakMap<Policy, { readonly lending: Lending | undefined }>();
  const stats = { decidedHere: 0, refusedHere: 0, borrows: 0 };
  let arrivals = 0;
  let waiting = 0;

  function lendingFor(policy: Policy): Lending | undefined {
    const known = lendings.get(policy);
    if (known) return known.lending;
    const lending = settings.lendingOf(policy, leaseMs);
    lendings.set(policy, { lending });
    return lending;
  }

  // --- Which calls can be decided here.

  /** The plans of a batch that consists of nothing but plain checks of different keys; undefined where it does not. */
  function plansOf(checks: readonly Check[]): Plan[] | undefined {
    if (checks.length === 0 || !checks.every(isPlain)) return undefined;
    const plans: Plan[] = [];
    for (const check of checks) {
      const slice = slices.open(check, lendingFor(check.policy)!);
      // The same key twice in one batch adds up; the store does that.
      if (!slice || plans.some((plan) => plan.slice === slice)) return undefined;
      plans.push({ check, slice, arrival: arrivals, degraded: undefined });
    }
    return plans;
  }

  function isPlain({ operation = 'check', shadow, cost, policy }: Check): boolean {
    return operation === 'check' && !shadow && checkCost(cost) > 0 && lendingFor(policy) !== undefined;
  }

  // --- Deciding.

  function apply(checks: readonly Check[], atMs?: number, requestId?: string): Promise<Decision[]> {
    try {
      // On the caller's own time, and for a batch that may be sent again, only the store can answer.
      if (slices.isClosed || atMs !== undefined || requestId !== undefined) return through(checks, atMs, requestId);
      arrivals += 1;
      const plans = plansOf(checks);
      if (!plans) return through(checks);
      const isFree = plans.every(({ slice }) => slice.lineEnd === undefined);
      const decisions = isFree ? decideHere(plans) : undefined;
      return decisions ? Promise.resolve(counted(decisions)) : standInLine(plans);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The short way of one plain check that its slice has enough for; undefined where there is more to it. */
  function spendHere(name: string, key: string, policy: Policy, cost: number): Decision | undefined {
    const slice = slices.isClosed ? undefined : slices.find(name, key);
    if (slice === undefined || slice.policy !== policy || slice.lineEnd !== undefined) return undefined;
    // What is no cost is not between these either, and is told so on the long way.
    if (!(cost > 0 && cost <= slice.lending.most)) return undefined;
    const now = leaseClock.stamp();
    const left = slice.left(now) - cost;
    if (left < 0) return undefined;
    slice.spend(cost, now);
    stats.decidedHere += 1;
    return answer(name, policy, slice, undefined, now, left);
  }

  /** Checks of one policy under one name that need not wait. */
  function direct(name: string, policy: Policy): DirectChecks {
    return {
      check: (key, cost) => spendHere(name, key, policy, cost),
      allow: (key, cost) => spendHere(name, key, policy, cost)?.allowed,
      checkBytes: () => undefined,
      allowBytes: () => undefined,
    };
  }

  function counted(decisions: Decision[]): Decision[] {
    stats.decidedHere += 1;
    if (decisions.some(({ allowed }) => !allowed)) stats.refusedHere += 1;
    return decisions;
  }

  /** Decides from what is known here, at this moment; undefined when the store has to be asked. */
  function decideHere(plans: readonly Plan[]): Decision[] | undefined {
    const now = leaseClock.stamp();
    let missesAny = false;
    let isRefused = false;
    let isKnown = true;
    for (const { slice, check } of plans) {
      const missing = slice.missing(check.cost, now);
      if (missing === 0) continue;
      missesAny = true;
      if (slice.isRefused(missing, now)) isRefused = true;
      else if (slice.latest === undefined) isKnown = false;
    }
    if (missesAny && !(isRefused && isKnown)) return undefined;
    if (missesAny) {
      return plans.map((plan) =>
        answerTo(plan, plan.slice.isRefused(plan.slice.missing(plan.check.cost, now), now), now),
      );
    }
    for (const { slice, check } of plans) slice.spend(check.cost, now);
    return plans.map((plan) => answerTo(plan, false, now));
  }

  /** `remaining` is what is held here and what the store had when it was last asked, at most one lease ago. */
  function answer(
    name: string,
    policy: Policy,
    slice: Slice,
    refused: Refusal | undefined,
    now: Stamp,
    left: number,
  ): Decision {
    const { latest, asked } = slice;
    const passedMs = asked ? LeaseClock.passedMs(asked, now) : 0;
    const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
      allowed: refused === undefined,
      limit: latest?.limit ?? slice.lending.most,
      remaining: Math.floor(left + (latest?.remaining ?? 0)),
      retryAfterMs: 0,
      resetAfterMs: Math.max(0, Math.ceil((latest?.resetAfterMs ?? 0) - passedMs)),
      delayMs: 0,
      rule: name,
      policy,
    };
    if (refused) {
      const { retryAfterMs, reason = 'limit' } = refused.decision;
      decision.retryAfterMs = Math.max(1, Math.ceil(retryAfterMs - LeaseClock.passedMs(refused.sent, now)));
      decision.reason = reason;
      decision.remembered = true;
    }
    return decision;
  }

  function answerTo({ check, slice, degraded }: Plan, isRefused: boolean, now: Stamp): Decision {
    const { name, policy } = check;
    const decision = answer(name, policy, slice, isRefused ? slice.refusal : undefined, now, slice.left(now));
    return degraded ? { ...decision, degraded } : decision;
  }

  /**
   * One line per key, first come first served. A batch joins the lines of all its keys in one go, so that any two batches meet
   * in the same order everywhere, and none waits for one that waits for it.
   */
  function standInLine(plans: readonly Plan[]): Promise<Decision[]> {
    if (waiting >= maxWaiting) return Promise.resolve(plans.map(turnedAway));
    waiting += 1;
    const ahead = plans.flatMap(({ slice }) => slice.lineEnd ?? []);
    for (const { slice, check } of plans) slice.queued += check.cost;
    // With nobody ahead the question is sent in this very turn.
    const turn = ahead.length === 0 ? takeTurn(plans) : Promise.all(ahead).then(() => takeTurn(plans));
    const lineEnd = slices.track(turn.then(leave, leave));
    for (const { slice } of plans) slice.lineEnd = lineEnd;
    return turn;

    function leave(): void {
      for (const { slice } of plans) if (slice.lineEnd === lineEnd) slice.lineEnd = undefined;
    }
  }

  function turnedAway(plan: Plan): Decision {
    const refused = answerTo(plan, false, leaseClock.stamp());
    return { ...refused, allowed: false, retryAfterMs: Math.ceil(leaseMs), reason: 'too-many-waiters' };
  }

  async function takeTurn(plans: readonly Plan[]): Promise<Decision[]> {
    waiting -= 1;
    for (const { slice, check } of plans) slice.queued -= check.cost;
    for (let tries = 0; ; tries += 1) {
      const decisions = decideHere(plans);
      for (const { slice } of plans) slice.keep();
      if (decisions) return tries === 0 ? counted(decisions) : decisions;
      const failed = plans.find(({ slice, arrival }) => arrival <= slice.failedUpTo);
      if (failed) throw failed.slice.error;
      if (tries === mostTries) break;
      const refusal = await borrow(plans);
      if (refusal) return refusal;
    }
    throw tooLate();
  }

  function tooLate(): SluiceError {
    return new SluiceError(
      'store-unavailable',
      `The store took longer to answer than what it grants may be used (${leaseMs - marginMs} ms). Give leased() a longer lease.`,
    );
  }

  // --- Borrowing.

  /** Asks for what is missing, and for some more that may be refused without harm; the decisions if the batch is refused. */
  async function borrow(plans: readonly Plan[]): Promise<Decision[] | undefined> {
    const sent = leaseClock.stamp();
    const needed = plans
      .map((plan) => ({
        plan,
        missing: plan.slice.missing(plan.check.cost, sent),
        asked: { sent, orders: plan.slice.orders },
      }))
      .filter(({ missing }) => missing > 0);
    const extras = needed.flatMap(({ plan, missing, asked }) => {
      const extra = extraOf(plan.slice, missing, sent);
      return extra > 0 ? [{ plan, extra, asked }] : [];
    });
    const toLend = ({ check, slice }: Plan, cost: number): Check => ({
      ...check,
      policy: slice.lending.policy,
      operation: 'reserve',
      cost,
    });
    stats.borrows += 1;
    let replies: Decision[];
    try {
      replies = await store.apply([
        ...needed.map(({ plan, missing }) => toLend(plan, missing)),
        // A shadow check is charged if there is room for it, and refuses nobody if there is not.
        ...extras.map(({ plan, extra }) => ({ ...toLend(plan, extra), shadow: true })),
      ]);
    } catch (error) {
      // Whoever is in line now must not ask a failing store one after the other.
      for (const { plan } of needed) {
        plan.slice.failedUpTo = arrivals;
        plan.slice.error = error;
      }
      throw error;
    }
    const isGranted = needed.every((_, i) => replies[i]!.allowed);
    for (const [i, { plan, missing, asked }] of needed.entries()) {
      const reply = replies[i]!;
      const { slice } = plan;
      slice.latest = reply;
      slice.asked = sent;
      plan.degraded = reply.degraded;
      // What others have on loan comes back within a lease, whatever the store said; and one that did not answer may answer next.
      const lastsMs = Math.min(reply.retryAfterMs, leaseMs);
      const isNews = !reply.allowed && !reply.degraded && asked.orders === slice.orders;
      slice.refusal = isNews ? { sent, missing, decision: reply, lastsMs } : undefined;
      // What a call itself needs is used at once, as it would be with no lease.
      if (isGranted) slices.lend(slice, missing, reply, asked, leaseMs - marginMs);
    }
    for (const [i, { plan, extra, asked }] of extras.entries()) {
      const reply = replies[needed.length + i]!;
      const { slice } = plan;
      if (isGranted && reply.allowed) {
        slice.latest = reply;
        slices.lend(slice, extra, reply, asked);
      } else if (isGranted) slice.shrink(minSlice);
    }
    if (isGranted) return undefined;
    const now = leaseClock.stamp();
    return plans.map((plan) => {
      const i = needed.findIndex((one) => one.plan === plan);
      const own =
        i < 0 ? answerTo(plan, false, now) : { ...replies[i]!, rule: plan.check.name, policy: plan.check.policy };
      return { ...own, remaining: i < 0 ? own.remaining : Math.floor(own.remaining + plan.slice.left(now)) };
    });
  }

  /** How much more than is missing. */
  function extraOf(slice: Slice, missing: number, now: Stamp): number {
    if (slices.isClosed) return 0;
    // Asked again before the last slice's lease was over: it was too small.
    const isSoon = slice.lent !== undefined && LeaseClock.passedMs(slice.lent, now) < leaseMs - marginMs;
    if (isSoon) slice.size *= 2;
    const most = Math.max(minSlice, Math.min(maxSlice, Math.floor(maxShare * slice.lending.most)));
    slice.size = Math.min(slice.size, most);
    const extra = Math.min(most, Math.max(slice.size, missing + slice.queued)) - missing;
    return Math.min(extra, slice.lending.most - missing);
  }

  // --- Everything else.

  /** To the store as it is, under the policies it lends by. What is not a plain check finds the slices of its keys given back. */
  async function through(checks: readonly Check[], atMs?: number, requestId?: string): Promise<Decision[]> {
    const dropped = checks.flatMap((check) => dropSlice(check) ?? []);
    if (dropped.length > 0) await Promise.all(dropped);
    const lent = checks.map((check) => ({ ...check, policy: lendingFor(check.policy)?.policy ?? check.policy }));
    const sent = leaseClock.stamp();
    let decisions: Decision[];
    try {
      decisions = await store.apply(lent, atMs, requestId);
    } finally {
      for (const check of checks) if (orders.has(check.operation)) recall(check);
    }
    // What the store counts as used for one lease longer must not be used after that. On the caller's own time nothing is.
    const isLate = atMs === undefined && LeaseClock.passedMs(sent, leaseClock.stamp()) >= leaseMs - marginMs;
    if (isLate && checks.some((check, i) => decisions[i]!.allowed && isUse(check))) throw tooLate();
    return decisions.map((decision, i) => ({ ...decision, policy: checks[i]!.policy }));
  }

  /** Whether a grant is something to use, and soon. */
  function isUse({ operation = 'check', policy, cost }: Check): boolean {
    return cost > 0 && ['check', 'take', 'reserve'].includes(operation) && lendingFor(policy) !== undefined;
  }

  /**
   * After an order nothing is kept that the store may have lent before it: what arrived meanwhile goes back, and what is still under
   * way serves only the call that asked for it. Nobody waits for that: a store that hangs would hold up the order too.
   */
  function recall({ name, key }: Check): void {
    const slice = slices.find(name, key);
    if (!slice) return;
    slice.orders += 1;
    slice.refusal = undefined;
    void slices.giveBack(slice);
  }

  function dropSlice(check: Check): Promise<void> | undefined {
    const { operation = 'check' } = check;
    const slice = operation === 'check' ? undefined : slices.find(check.name, check.key);
    if (!slice) return undefined;
    slice.refusal = undefined;
    if (operation !== 'reset') return slices.giveBack(slice);
    // It forgets what was charged: there is nothing to give back.
    slice.takeOut();
    return undefined;
  }

  return {
    mode: 'async',
    clock: store.clock,
    apply,
    direct,
    stats: () => ({ ...stats, returned: slices.returned, lost: slices.lost, keys: slices.size }),
    close: () => slices.close(),
  };
}
