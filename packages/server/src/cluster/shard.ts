/**
 * One shard at its owner: a memory store with a clock of its own, and what is not known of the past.
 *
 * The clock is the node's, moved: state that came from another node is as old here as it was there, whatever the two clocks show. The time
 * that it was on its way is not counted, so it only looks younger than it is, and is forgotten later.
 */
import { type Check, type Clock, type Decision, type MemoryStore, memoryStore, type Policy, type Store } from 'sluice';
import { DoneOnce } from './done-once.ts';
import type { NodeClock } from './environment.ts';
import { Fading } from './fading.ts';
import type { Fences } from './fences.ts';
import { identityOf } from './identity.ts';
import type { Doubt, ShardState } from './messages.ts';
import type { OwnedCheck, OwnedPolicy } from './owned-policy.ts';
import { Receipts } from './receipts.ts';
import { keyOf } from './step-bytes.ts';

type DirectChecks = ReturnType<NonNullable<Store['direct']>>;

// After so many failures in a row it is simpler to know nothing.
const mostLags = 4;
// Nothing that was written down of a key matters for longer than a span after the time in which it may be spent, which is much shorter.
const settledSpans = 2;
// Of what an earlier version handed over, which did not say: longer than any window in use.
const unsaidSpanMs = 31 * 86_400_000;

/**
 * How the store of a shard knows its keys. By fingerprint: that takes a third of the memory, of the processor's cache too, and needs no text of what comes as
 * bytes. There are hundreds of shards, each asked for a few keys now and then: a map of recent strings in each would be cold whenever it is asked.
 */
export const shardKeys = { keys: 'fingerprint', recentKeys: false } as const;

/** A key of a long window of which everything is known. */
interface Settled {
  readonly spanMs: number;
  /** On the shard's own time: from then on nobody could tell. */
  readonly untilMs: number;
}

/** A bucket from which what may be missing was taken. */
interface Charged {
  /** For the doubts up to this one. */
  readonly sinceMs: number;
  /** On the shard's own time: from then on they are over. */
  readonly untilMs: number;
}

export class Shard {
  readonly number: number;
  /** It is being handed over: nothing is decided until that has come to an end, either way. */
  isFrozen = false;
  /** The offer that it was last handed over by, or should have been. */
  offeredAs: string | undefined;
  /** The time by which the store decided last. By no later reading: a copy that does the same again by that could come to another end. */
  decidedMs = Number.NEGATIVE_INFINITY;
  /** What was asked for last is likely asked for next: its name, its policy, and the short way that the store has for them. */
  private lastName: string | undefined;
  private lastPolicy: Policy | undefined;
  private shortWay: DirectChecks | undefined;
  private readonly clock: NodeClock;
  private readonly store: MemoryStore;
  private readonly maxKeys: number;
  private asideMs: number;
  /** On the shard's own time. */
  private doubts: readonly Doubt[];
  private latestDoubtMs: number;
  /** Keys of long windows of which everything is known, whatever else is in doubt. */
  private readonly settled = new Fading<Settled>();
  private readonly charged = new Fading<Charged>();
  private readonly receipts: Receipts;
  private readonly done: DoneOnce;
  /** Of all policies that were asked for here, by us or by those whose state this was. */
  private longestSpanMs = 0;
  /** By name: how far ahead of a standby its keys may ever have been, as far as was told here. */
  private readonly lags: Map<string, number>;
  /** Of those, what the standby has confirmed that it knows; each later one begins with all of them. */
  private toldLags: Map<string, number>;
  /** Of the longest span, the same. */
  private toldSpanMs = 0;

  private constructor(
    number: number,
    clock: NodeClock,
    maxKeys: number,
    asideMs: number,
    doubts: readonly Doubt[],
    { lags = [], receipts, done, snapshot }: Partial<ShardState> = {},
  ) {
    this.number = number;
    this.clock = clock;
    this.maxKeys = maxKeys;
    this.asideMs = asideMs;
    this.doubts = doubts;
    this.latestDoubtMs = latestOf(doubts);
    this.lags = new Map(lags);
    this.toldLags = new Map(lags);
    this.receipts = new Receipts(receipts);
    this.done = new DoneOnce(done);
    // Nodes of earlier versions hand over the texts of keys, and such a shard keeps them.
    const hasTexts = snapshot !== undefined && snapshot.seed === undefined;
    const keys = hasTexts ? 'exact' : shardKeys.keys;
    this.store = memoryStore({ ...shardKeys, keys, maxKeys, clock: storeClock });
  }

  /** Of whose past nothing is known. */
  static unknown(number: number, clock: NodeClock, maxKeys: number, fences: Fences): Shard {
    const doubts: Doubt[] = fences.quarantine ? [{ sinceMs: clock.nowMs(), about: 'all' }] : [];
    return new Shard(number, clock, maxKeys, 0, doubts);
  }

  /** As another node had it, with the difference of its time to ours. */
  static of(state: ShardState, clock: NodeClock, maxKeys: number, asideMs: number): Shard {
    const { settled, settledSpansMs, charged = [], longestSpanMs = unsaidSpanMs } = state;
    const shard = new Shard(state.shard, clock, maxKeys, asideMs, state.doubts, state);
    for (const [i, id] of settled.entries()) shard.settleFor(id, settledSpansMs?.[i] ?? unsaidSpanMs);
    for (const [id, sinceMs, untilMs] of charged) shard.charged.set(id, { sinceMs, untilMs }, state.nowMs);
    shard.longestSpanMs = longestSpanMs;
    shard.toldSpanMs = longestSpanMs;
    shard.store.restore(state.snapshot);
    return shard;
  }

  nowMs(): number {
    return this.clock.nowMs() + this.asideMs;
  }

  /** A copy hears what time it is at its owner. */
  moveClock(asideMs: number): void {
    this.asideMs = asideMs;
  }

  /** What the store decides in this tick, it decides by this time. */
  private decideAt(ms: number): MemoryStore {
    this.decidedMs = ms;
    storeClock.nowMs = ms;
    return this.store;
  }

  get keys(): number {
    return this.store.stats().keys;
  }

  /** Whether there is room for all newcomers among them, if they are allowed: whoever looks at them is not told. */
  hasRoomFor(checks: readonly OwnedCheck[]): boolean {
    if (this.keys + checks.length <= this.maxKeys) return true;
    const nowMs = this.nowMs();
    return this.decideAt(nowMs).hasRoomFor(this.undone(checks, nowMs));
  }

  state(): ShardState {
    const { number, doubts, store, longestSpanMs } = this;
    const nowMs = this.nowMs();
    this.settled.forget(nowMs);
    this.charged.forget(nowMs);
    const settled = this.settled.entries();
    return {
      shard: number,
      nowMs,
      doubts,
      settled: settled.map(([id]) => id),
      settledSpansMs: settled.map(([, { spanMs }]) => spanMs),
      lags: [...this.lags],
      charged: this.charged.entries().map(([id, { sinceMs, untilMs }]) => [id, sinceMs, untilMs] as const),
      longestSpanMs,
      receipts: this.receipts.save(),
      done: this.done.save(nowMs),
      snapshot: store.snapshot(),
    };
  }

  /** A standby becomes the owner: what the old one granted last may not be here. */
  promote(fences: Fences): void {
    if (fences.lagCountsAsUsed) this.doubtLag();
    this.receipts.skip();
    // Its own standby, once it has one, begins with all that is here.
    this.toldLags = new Map(this.lags);
    this.toldSpanMs = this.longestSpanMs;
    // The old owner went on settling them.
    for (const [id, { spanMs }] of this.settled.entries()) this.settleFor(id, spanMs);
  }

  /**
   * A policy as its standby knows of it: a name may have had a larger limit, whose lag was larger, and whoever takes over has to leave room for that. So
   * until the standby is known to have heard of a lag (`toldLag`), keys are no further ahead of it than by the one it has heard of. And not at all, until
   * it has heard of a span as long: it forgets its doubts by that.
   */
  asTold(name: string, owned: OwnedPolicy): OwnedPolicy {
    const told = this.toldSpanMs >= owned.spanMs ? (this.toldLags.get(name) ?? 0) : 0;
    if (told >= owned.lag) return owned;
    this.noteLag(name, owned);
    return { ...owned, lag: told };
  }

  /** The standby has confirmed something that was carried out by this policy. */
  toldLag(name: string, { lag, spanMs }: OwnedPolicy): void {
    this.toldLags.set(name, Math.max(lag, this.toldLags.get(name) ?? 0));
    this.toldSpanMs = Math.max(spanMs, this.toldSpanMs);
  }

  private noteLag(name: string, { lag }: OwnedPolicy): void {
    if (lag > (this.lags.get(name) ?? 0)) this.lags.set(name, lag);
  }

  /** How much of a key may be missing after each failure: not by the policy of whoever asks now alone, but by any that it was granted under. */
  private lagOf({ name, owned }: OwnedCheck): number {
    return Math.max(owned.lag, this.lags.get(name) ?? 0);
  }

  private doubtLag(): void {
    const sinceMs = this.nowMs();
    // What is out of every window that was ever asked for matters no more.
    const before = this.doubts.filter(
      ({ sinceMs: doubtMs, about }) => about === 'all' || doubtMs + this.longestSpanMs > sinceMs,
    );
    const isMany = before.filter(({ about }) => about === 'lag').length >= mostLags;
    // Knowing nothing is worse than any earlier doubt.
    this.doubts = isMany ? [{ sinceMs, about: 'all' }] : [...before, { sinceMs, about: 'lag' }];
    // What was known of a key was known before it began: of what was granted since, only the records in etcd tell.
    if (isMany) this.settled.clear();
    this.latestDoubtMs = sinceMs;
  }

  /** Nothing is in doubt for windows up to this long. */
  isCertainFor(spanMs: number, nowMs = this.nowMs()): boolean {
    return nowMs >= this.latestDoubtMs + spanMs;
  }

  isSettled(check: Pick<OwnedCheck, 'name' | 'key'>): boolean {
    return this.settled.get(identityOf(check)) !== undefined;
  }

  settle(check: Pick<OwnedCheck, 'name' | 'key'> & { readonly owned: Pick<OwnedPolicy, 'spanMs'> }): void {
    this.settleFor(identityOf(check), check.owned.spanMs);
  }

  /** A name may have several policies: the longest window that it was settled for counts. */
  private settleFor(id: string, ofSpanMs: number): void {
    const spanMs = Math.max(ofSpanMs, this.settled.get(id)?.spanMs ?? 0);
    const nowMs = this.nowMs();
    // Whoever was not asked for since, for longer than the window, has no past that could be in doubt.
    this.settled.set(id, { spanMs, untilMs: nowMs + settledSpans * spanMs }, nowMs);
  }

  /** Counts what somebody else may have granted, at the latest so long before now (negative) or now. */
  charge(check: OwnedCheck, cost: number, beforeMs: number): void {
    const { name, key, policy } = check;
    this.store.apply([{ name, key, policy, cost, operation: 'penalize' }], this.nowMs() + Math.min(0, beforeMs));
  }

  /** All of the checks or none, as they stand in the store. They have the applied policies. */
  apply(checks: readonly OwnedCheck[]): Decision[] {
    const nowMs = this.nowMs();
    this.decideAt(nowMs);
    for (let i = 0; i < checks.length; i += 1) {
      if (this.isCertainFor(checks[i]!.owned.spanMs, nowMs)) continue;
      const refusal = this.refuseInDoubt(checks, nowMs);
      if (refusal) return refusal;
      const missing = checks.map((check) => this.missingOf(check, nowMs));
      return this.carryOut(checks, nowMs).map((decision, place) =>
        // What may be missing does not remain to be used.
        missing[place] === 0 ? decision : { ...decision, remaining: Math.max(0, decision.remaining - missing[place]!) },
      );
    }
    return this.carryOut(checks, nowMs);
  }

  /** The same for the owner, and for the copy that does it again. */
  private carryOut(checks: readonly OwnedCheck[], nowMs: number): Decision[] {
    for (const { owned } of checks) this.longestSpanMs = Math.max(this.longestSpanMs, owned.spanMs);
    const asked = this.undone(checks, nowMs);
    const decisions = this.decideAt(nowMs).apply(this.receipts.opened(asked));
    this.receipts.number(decisions);
    this.chargeMissing(asked, decisions, nowMs);
    if (asked === checks) return decisions;
    if (!isRefused(asked, decisions)) for (const check of asked) this.done.add(check, nowMs);
    return decisions.map((decision, i) => (asked[i] === checks[i] ? decision : asCarriedOut(decision, checks[i]!)));
  }

  /** What was done by the same request before is only looked at. The very checks where there is no such thing among them. */
  private undone(checks: readonly OwnedCheck[], nowMs: number): readonly OwnedCheck[] {
    if (checks.every(({ once }) => once === undefined)) return checks;
    return checks.map((check) => (this.done.has(check, nowMs) ? lookOf(check) : check));
  }

  /** How much of a key may be missing, by all failures whose grants may still count. */
  private missingOf(check: OwnedCheck, nowMs: number): number {
    const { spanMs } = check.owned;
    if (this.isCertainFor(spanMs, nowMs)) return 0;
    const chargedMs = this.charged.get(identityOf(check))?.sinceMs ?? Number.NEGATIVE_INFINITY;
    const lags = this.doubts.filter(
      ({ sinceMs, about }) => about === 'lag' && sinceMs > chargedMs && sinceMs + spanMs > nowMs,
    );
    return lags.length * this.lagOf(check);
  }

  /**
   * What is missing of a window leaves it in time. What is missing of a bucket is missing until that was full: by then somebody may have used what comes in
   * for longer than any span. So it is taken along when a bucket is first used.
   */
  private chargeMissing(checks: readonly OwnedCheck[], decisions: readonly Decision[], nowMs: number): void {
    if (this.isCertainFor(this.longestSpanMs, nowMs) || isRefused(checks, decisions)) return;
    for (const [i, check] of checks.entries()) {
      const { name, key, policy, cost, owned, operation } = check;
      const isTaken = isTaking(check)
        ? operation !== 'peek' && cost > 0 && decisions[i]!.allowed
        : overrunOf(check) > 0;
      const missing = owned.isBucket && (isTaken || operation === 'reset') ? this.missingOf(check, nowMs) : 0;
      if (missing === 0) continue;
      const { latestDoubtMs: sinceMs } = this;
      this.charged.set(identityOf(check), { sinceMs, untilMs: sinceMs + owned.spanMs }, nowMs);
      // Of what was reset nothing is missing.
      if (isTaken) this.store.apply([{ name, key, policy, cost: missing, operation: 'penalize' }]);
    }
  }

  /** What the owner did, done again for the copy. False when it came to another end here: then this is no copy any more. */
  repeat(checks: readonly OwnedCheck[], atMs: number): boolean {
    for (const { name, owned } of checks) this.noteLag(name, owned);
    // By the clock and not by a time that is given: else the store would forget nobody, because the next time might be an earlier one.
    return this.carryOut(checks, atMs).every(({ allowed }, i) => allowed || !isTaking(checks[i]!));
  }

  /** The same of one plain check. Its key is the UTF-8 bytes from `start` up to `end`. */
  repeatPlain(
    name: string,
    bytes: Uint8Array,
    start: number,
    end: number,
    cost: number,
    owned: OwnedPolicy,
    atMs: number,
  ): boolean {
    const isAllowed = this.shortWayAt(name, owned.applied, atMs)?.allowBytes(bytes, start, end, cost);
    if (isAllowed !== undefined) return isAllowed;
    const key = keyOf(bytes, start, end);
    return this.repeat([{ name, key, policy: owned.applied, cost, owned }], atMs);
  }

  /**
   * A plain check of one key, at a time of the node's clock: the very one by which its right to decide was looked at. Undefined: it has to go the
   * long way (`apply`), and nothing has happened.
   */
  check({ name, key, cost }: Check, { applied, spanMs }: OwnedPolicy, nodeMs: number): Decision | undefined {
    const atMs = nodeMs + this.asideMs;
    return this.isCertainFor(spanMs, atMs) ? this.shortWayAt(name, applied, atMs)?.check(key, cost) : undefined;
  }

  /** What the store decides by, without the long way's detours. */
  private shortWayAt(name: string, policy: Policy, atMs: number): DirectChecks | undefined {
    if (this.lastName !== name || this.lastPolicy !== policy) {
      // The long way comes first: it is then that the store makes a table for the policy.
      this.lastName = name;
      this.lastPolicy = policy;
      this.shortWay = undefined;
      return undefined;
    }
    const store = this.decideAt(atMs);
    this.shortWay ??= store.direct!(name, policy);
    return this.shortWay;
  }

  /** Whether a check would take anything; `take` is content with less than it asks for. */
  couldTake(check: OwnedCheck): boolean {
    return this.peek([check.operation === 'take' ? { ...check, cost: Math.min(check.cost, 1) } : check])[0]!.allowed;
  }

  /** Whether nothing that was ever taken of a key can be told any more, as far as is known here. */
  isAsNew(check: OwnedCheck): boolean {
    return this.peek([{ ...check, cost: 0, operation: 'check' }])[0]!.resetAfterMs === 0;
  }

  /** What would be said: nothing is taken, given back or otherwise done. Only what takes something is asked for; the rest is never refused. */
  peek(checks: readonly OwnedCheck[]): Decision[] {
    const asked = checks.map(
      (check): OwnedCheck => (isTaking(check) ? { ...check, operation: 'peek' } : lookOf(check)),
    );
    return this.apply(asked).map((decision, i) =>
      isTaking(checks[i]!) ? decision : asCarriedOut(decision, checks[i]!),
    );
  }

  /** The refusal of a batch that might be too much with what is not known. */
  private refuseInDoubt(checks: readonly OwnedCheck[], nowMs: number): Decision[] | undefined {
    let isRefused = false;
    const waits = checks.map((check) => {
      const waitMs = this.doubtMs(check, checks, nowMs);
      if (waitMs > 0 && !check.shadow) isRefused = true;
      return waitMs;
    });
    if (!isRefused) return undefined;
    const peeked = this.store.apply(checks.map((check) => ({ ...check, cost: 0, operation: 'peek' }) as const));
    return peeked.map((decision, i) => {
      const waitMs = Math.ceil(waits[i]!);
      if (waitMs === 0) return decision;
      const known = this.knownRefusal(checks[i]!, checks);
      const isLonger = known !== undefined && known.retryAfterMs > waitMs;
      const retryAfterMs = isLonger ? known.retryAfterMs : waitMs;
      const resetAfterMs = Math.max(decision.resetAfterMs, waitMs);
      const reason = isLonger ? known.reason! : 'quarantine';
      return { ...decision, allowed: false, remaining: 0, retryAfterMs, resetAfterMs, reason };
    });
  }

  /** What forbids a call even if nothing is missing: a block, or what is known to be used. It may last for longer than any doubt. */
  private knownRefusal(check: OwnedCheck, batch: readonly OwnedCheck[]): Decision | undefined {
    const cost = check.operation === 'take' ? Math.min(check.cost, 1) : costInBatch(check, batch);
    const [decision] = this.store.apply([{ ...check, shadow: undefined, cost, operation: 'peek' }]);
    return decision!.allowed ? undefined : decision;
  }

  /** How long until nothing that is not known can forbid it any more; 0: nothing does now. */
  private doubtMs(check: OwnedCheck, batch: readonly OwnedCheck[], nowMs: number): number {
    if (!isTaking(check) || check.cost === 0) return 0;
    const { owned } = check;
    let waitMs = 0;
    let lagWaitMs = 0;
    for (const { sinceMs, about } of this.doubts) {
      const leftMs = sinceMs + owned.spanMs - nowMs;
      if (leftMs <= 0) continue;
      if (about === 'all') waitMs = owned.isDurable && this.isSettled(check) ? waitMs : Math.max(waitMs, leftMs);
      else {
        lagWaitMs = Math.max(lagWaitMs, leftMs);
        // The last of what may be missing may have been granted a moment before.
        waitMs = Math.max(waitMs, sinceMs + owned.gapMs - nowMs);
      }
    }
    const missing = this.missingOf(check, nowMs);
    if (missing === 0 || waitMs > 0) return waitMs;
    // Room for what may be missing has to be left: a call passes if that and the call itself would.
    const [both] = this.store.apply([
      { ...check, shadow: undefined, cost: costInBatch(check, batch) + missing, operation: 'peek' },
    ]);
    if (both!.allowed) return 0;
    return Math.min(lagWaitMs, Number.isFinite(both!.retryAfterMs) ? both!.retryAfterMs : lagWaitMs);
  }
}

/** In place of what is never refused. As a shadow: a block refuses nobody who only gives something back. */
function lookOf(check: OwnedCheck): OwnedCheck {
  return { ...check, cost: 0, operation: 'peek', shadow: true };
}

/** What is said to who asked for it. */
function asCarriedOut({ reason: _, shadow: __, ...decision }: Decision, { shadow }: OwnedCheck): Decision {
  return { ...decision, allowed: true, retryAfterMs: 0, ...(shadow && { shadow: true }) };
}

function latestOf(doubts: readonly Doubt[]): number {
  return doubts.reduce((latestMs, { sinceMs }) => Math.max(latestMs, sinceMs), Number.NEGATIVE_INFINITY);
}

const takers: readonly Check['operation'][] = [undefined, 'check', 'reserve', 'acquire', 'take', 'peek'];

/** Whether it takes something, or asks whether it could. */
export function isTaking({ operation }: Check): boolean {
  return takers.includes(operation);
}

/** A refused batch has taken nothing. */
export function isRefused(checks: readonly Check[], decisions: readonly Decision[]): boolean {
  return checks.some((check, i) => isTaking(check) && !check.shadow && !decisions[i]!.allowed);
}

/** What a batch takes of the check's key: the same key twice adds up. */
export function costInBatch({ name, key, cost }: OwnedCheck, batch: readonly OwnedCheck[]): number {
  if (batch.length === 1) return cost;
  let sum = 0;
  for (const other of batch) if (other.name === name && other.key === key && isTaking(other)) sum += other.cost;
  return sum;
}

/** What an operation takes, room or not, beyond what was taken before it. */
export function overrunOf({ operation, cost, actual = 0 }: Check): number {
  return operation === 'penalize' ? cost : operation === 'settle' ? Math.max(0, actual - cost) : 0;
}

/** The same as `costInBatch`, with what is taken room or not. */
export function takenInBatch(check: OwnedCheck, batch: readonly OwnedCheck[]): number {
  let sum = 0;
  for (const other of batch)
    if (other.name === check.name && other.key === check.key)
      sum += isTaking(other) && other.operation !== 'peek' ? other.cost : overrunOf(other);
  return sum;
}

/**
 * What all stores here take for their clock: it shows what whoever asks one of them has just set it to. One for all, because a store answers before
 * anybody else can ask, and because what each has of its own is cold when its turn comes.
 */
const storeClock: Clock & { nowMs: number } = {
  nowMs: Number.NaN,
  now: () => storeClock.nowMs,
  async sleep() {
    // Whoever waits for a shard waits by its node's clock: the store never sleeps.
    throw new Error('A shard has no clock to sleep by.');
  },
};
