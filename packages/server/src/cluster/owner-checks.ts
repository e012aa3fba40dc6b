/**
 * Checks, wherever their keys are counted.
 *
 *      apply ──► whose keys? ──► ours: is the right still ours? ──► shards ──► (standby) ──► decisions
 *                     └────────► others': ask them
 */
import { type Check, type Decision, SluiceError } from 'sluice';
import { applyAcrossSlots } from 'sluice/client';
import { andThen } from '../service/answer.ts';
import type { Answer } from '../service/service.ts';
import { isDoneOnce, onceOf } from './done-once.ts';
import { type NodeClock, pause } from './environment.ts';
import { identityOf } from './identity.ts';
import type { PeerMessage, PeerReply } from './messages.ts';
import type { NodeParts } from './node-parts.ts';
import type { OwnedCheck, OwnedPolicy } from './owned-policy.ts';
import type { KnownNode } from './records.ts';
import { RememberedAnswers } from './remembered-answers.ts';
import { costInBatch, isRefused, isTaking, overrunOf, type Shard, takenInBatch } from './shard.ts';
import { ownerOf } from './slot-table.ts';
import { decisionOfWire, wireOfCheck, wireOfDecision } from './wire-check.ts';

// How soon somebody is asked again for what is being handed over.
const againMs = 5;
// How soon etcd is asked again on behalf of those who need not wait for it.
const owedAgainMs = 1000;
const mostTries = 3;

/** A check of a long window, by its place in the batch, that something has to be written down for. */
interface Missing {
  readonly shard: Shard;
  readonly check: OwnedCheck;
  readonly place: number;
}

/** What goes on though it could not be written down, by its place in the batch: there was no room, or no answer. */
type Unwritten = ReadonlyMap<number, 'store-full' | 'store-failure'>;

/** What was taken and is not written down yet. */
interface Owed {
  readonly shard: Shard;
  readonly check: OwnedCheck;
  /** By the node's clock: nothing of it counts any longer. */
  readonly untilMs: number;
}

export class OwnerChecks {
  readonly counts = { forwarded: 0, quarantineRefusals: 0 };
  private readonly parts: NodeParts;
  private readonly answers: RememberedAnswers;
  private readonly owed = new Map<string, Owed>();
  private isPaying = false;
  /** Until then, whoever need not wait for etcd does not: it did not answer the last time. */
  private silentUntilMs = Number.NEGATIVE_INFINITY;
  // Of `parts`, those that every check needs.
  private readonly shards: NodeParts['shards'];
  private readonly policies: NodeParts['policies'];
  private readonly standbys: NodeParts['standbys'];
  private readonly membership: NodeParts['membership'];
  private readonly clock: NodeClock;

  constructor(parts: NodeParts) {
    this.parts = parts;
    this.shards = parts.shards;
    this.policies = parts.policies;
    this.standbys = parts.standbys;
    this.membership = parts.membership;
    this.clock = parts.environment.clock;
    this.answers = new RememberedAnswers(parts.settings.shared.graceMs);
  }

  /**
   * Checks of keys wherever they are counted: here at once, elsewhere by asking. Throws, or rejects, `store-unavailable` when nobody can be
   * sure; then nothing may be taken for granted.
   */
  apply(checks: readonly Check[], requestId?: string): Answer<Decision[]> {
    return this.applyWith(checks, requestId, undefined);
  }

  private applyWith(
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    if (checks.length === 1) {
      const shard = this.shards.of(checks[0]!.key);
      if (shard === undefined) return this.applyFar(checks, requestId);
      return this.applyToOne(shard, checks, requestId, unwritten);
    }
    const isHere = checks.every(({ key }) => this.shards.of(key) !== undefined);
    return isHere ? this.applyHere(checks, requestId, unwritten) : this.applyFar(checks, requestId);
  }

  /** Checks whose keys are all ours. */
  private applyHere(
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    if (checks.length === 1) return this.applyToOne(this.shards.of(checks[0]!.key)!, checks, requestId, unwritten);
    this.mustHaveRight(this.clock.nowMs());
    const groups = this.byShard(checks, unwritten, requestId);
    if (groups.some(({ shard }) => shard.isFrozen)) return this.applyLater(checks, requestId);
    if (groups.length === 1) return this.applyToShard(groups[0]!.shard, checks, requestId, unwritten);
    return this.applyToShards(groups, checks, requestId, unwritten);
  }

  private mustHaveRight(nowMs: number): void {
    if (this.membership.right.leftMs(nowMs) <= 0)
      throw unsure('This node has lost its right to decide, and cannot renew it.');
  }

  /** One check, whose key is in a shard of ours. */
  private applyToOne(
    shard: Shard,
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    // Read once: a plain check is decided at the very time at which the right was looked at.
    const nowMs = this.clock.nowMs();
    this.mustHaveRight(nowMs);
    if (shard.isFrozen) return this.applyLater(checks, requestId);
    const check = checks[0]!;
    const owned = this.policies.of(check.policy);
    const decision =
      requestId === undefined && !owned.isDurable && isPlain(check) ? shard.check(check, owned, nowMs) : undefined;
    if (decision === undefined) return this.applyToShard(shard, checks, requestId, unwritten);
    const isTold = this.standbys.size > 0 && decision.allowed;
    const confirmed = isTold ? this.tellPlain(shard, check, owned) : undefined;
    showOwned(decision, owned);
    return confirmed ? confirmed.then(() => [decision]) : [decision];
  }

  private tellPlain(shard: Shard, check: Check, owned: OwnedPolicy): Promise<void> | undefined {
    const told = shard.asTold(check.name, owned);
    const confirmed = this.standbys.carriedOutPlain(shard.number, check, told);
    return told === owned ? confirmed : confirmed?.then(() => shard.toldLag(check.name, owned));
  }

  /** As its owner carries it out. A shadow that could not be written down is only looked at: it refuses nobody, and takes nothing that nobody would know of. */
  private ownedCheck(
    check: Check,
    place: number,
    unwritten: Unwritten | undefined,
    requestId?: string | undefined,
  ): OwnedCheck {
    const isOnce = requestId !== undefined && this.parts.fences.doneOnce && isDoneOnce(check);
    const once = isOnce ? onceOf(requestId) : undefined;
    const owned = this.policies.ownedCheck(check, once);
    return unwritten?.has(place) && isTaking(check) ? { ...owned, cost: 0, operation: 'peek' } : owned;
  }

  private byShard(checks: readonly Check[], unwritten: Unwritten | undefined, requestId: string | undefined) {
    const groups = new Map<
      number,
      { readonly shard: Shard; readonly places: number[]; readonly checks: OwnedCheck[] }
    >();
    for (const [place, check] of checks.entries()) {
      const number = this.shards.numberOf(check.key);
      const group = groups.get(number) ?? { shard: this.shards.at(number)!, places: [], checks: [] };
      group.places.push(place);
      group.checks.push(this.ownedCheck(check, place, unwritten, requestId));
      groups.set(number, group);
    }
    return [...groups.values()];
  }

  private applyToShard(
    shard: Shard,
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    const owned: OwnedCheck[] = [];
    let isDurable = false;
    for (let i = 0; i < checks.length; i += 1) {
      const check = this.ownedCheck(checks[i]!, i, unwritten, requestId);
      owned.push(check);
      if (check.owned.isDurable) isDurable = true;
    }
    const uncovered = isDurable ? this.uncovered(shard, owned, undefined, unwritten) : undefined;
    if (uncovered) return this.applyCovered([uncovered], checks, requestId, unwritten);
    if (requestId === undefined) return this.decide(shard, owned, isDurable, unwritten);
    return this.once(requestId, checks, () => this.decide(shard, owned, isDurable, unwritten));
  }

  private once(requestId: string, checks: readonly Check[], make: () => Answer<Decision[]>): Answer<Decision[]> {
    return this.answers.once(requestId, checks, this.parts.environment.clock.nowMs(), make);
  }

  private decide(
    shard: Shard,
    owned: readonly OwnedCheck[],
    isDurable: boolean,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    const decisions = shard.apply(owned);
    if (isDurable) this.spend(shard, owned, decisions, undefined, unwritten);
    const confirmed = this.standbys.size > 0 ? this.tellStandby(shard, owned, decisions) : undefined;
    this.show(owned, decisions, unwritten);
    return confirmed ? confirmed.then(() => decisions) : decisions;
  }

  /** Keys of several shards: all of them are asked before the first is charged, and nothing else happens in between. */
  private applyToShards(
    groups: ReturnType<OwnerChecks['byShard']>,
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    const missing = groups.flatMap(
      ({ shard, checks: asked, places }) => this.uncovered(shard, asked, places, unwritten) ?? [],
    );
    if (missing.length > 0) return this.applyCovered(missing, checks, requestId, unwritten);
    const decide = () => this.decideAcross(groups, checks, unwritten);
    return requestId === undefined ? decide() : this.once(requestId, checks, decide);
  }

  private decideAcross(
    groups: ReturnType<OwnerChecks['byShard']>,
    checks: readonly Check[],
    unwritten: Unwritten | undefined,
  ): Answer<Decision[]> {
    const decisions: Decision[] = [];
    const place = (made: readonly (readonly Decision[])[]) => {
      for (const [i, { places }] of groups.entries())
        for (const [j, at] of places.entries()) decisions[at] = made[i]![j]!;
    };
    const looked = groups.map(({ shard, checks: asked }) => shard.peek(asked));
    place(looked);
    const confirmed: Promise<void>[] = [];
    const isRefusedYet = isRefused(checks, decisions);
    const full = isRefusedYet ? undefined : groups.find(({ shard, checks: asked }) => !shard.hasRoomFor(asked));
    // Alone it is refused, or fails, and the others are not charged.
    if (full) place(groups.map((group, i) => (group === full ? full.shard.apply(full.checks) : looked[i]!)));
    else if (!isRefusedYet) {
      place(
        groups.map(({ shard, checks: asked, places }) => {
          const made = shard.apply(asked);
          this.spend(shard, asked, made, places, unwritten);
          const waits = this.tellStandby(shard, asked, made);
          if (waits) confirmed.push(waits);
          return made;
        }),
      );
    }
    const owned = checks.map((check, i) => this.ownedCheck(check, i, unwritten));
    this.show(owned, decisions, unwritten);
    return confirmed.length > 0 ? Promise.all(confirmed).then(() => decisions) : decisions;
  }

  // --- Long windows ---

  /** A check of a long window that could pass, or takes what it takes in any case, were it written down. */
  private uncovered(
    shard: Shard,
    checks: readonly OwnedCheck[],
    places: readonly number[] | undefined,
    unwritten: Unwritten | undefined,
  ): Missing | undefined {
    const { long } = this.parts;
    const isUncovered = (check: OwnedCheck) => !long.covers(check) && (!long.isRead(check) || shard.couldTake(check));
    for (let i = 0; i < checks.length; i += 1) {
      const check = checks[i]!;
      const place = places?.[i] ?? i;
      if (!check.owned.isDurable || check.operation === 'peek' || unwritten?.has(place)) continue;
      if (isTaking(check)) {
        const all = checks.length === 1 ? check : { ...check, cost: costInBatch(check, checks) };
        if (isUncovered(all)) return { shard, check: all, place };
        if (all !== check && isUncovered(check)) return { shard, check, place };
      } else if (overrunOf(check) > 0) {
        const all: OwnedCheck = { ...check, operation: 'penalize', cost: takenInBatch(check, checks) };
        if (!long.covers(all)) return { shard, check: all, place };
      }
    }
    return undefined;
  }

  private async applyCovered(
    missing: readonly Missing[],
    checks: readonly Check[],
    requestId: string | undefined,
    unwritten: Unwritten | undefined,
  ): Promise<Decision[]> {
    const without = new Map(unwritten);
    for (const { shard, check, place } of missing) {
      // A shadow refuses nobody, and what is never refused has been used already: neither waits for what cannot be had.
      const isOptional = check.shadow === true || !isTaking(check);
      if (isOptional && this.clock.nowMs() < this.silentUntilMs) {
        without.set(place, 'store-failure');
        continue;
      }
      try {
        if (await this.cover(shard, check)) continue;
        if (!isOptional) return this.refuseForRoom(checks, check);
        without.set(place, 'store-full');
      } catch (error) {
        this.silentUntilMs = this.clock.nowMs() + owedAgainMs;
        if (isOptional) without.set(place, 'store-failure');
        else if (error instanceof SluiceError) throw error;
        else throw unsure('What is granted could not be written down.', error);
      }
    }
    return this.applyWith(checks, requestId, without.size > 0 ? without : undefined);
  }

  /** Writes down what a check needs, after what is owed of its key. False when there is no room for the key. */
  private async cover(shard: Shard, check: OwnedCheck): Promise<boolean> {
    return (await this.pay(identityOf(check))) && this.parts.long.cover(shard, check);
  }

  /** No more keys of long windows may be written down. */
  private refuseForRoom(checks: readonly Check[], homeless: OwnedCheck): Answer<Decision[]> {
    const asked = checks.map((check) => ({ ...check, cost: 0, operation: 'peek' }) as const);
    return andThen(this.apply(asked), (decisions) =>
      decisions.map((decision, i) => {
        const { name, key } = checks[i]!;
        return name === homeless.name && key === homeless.key ? { ...decision, ...noRoom } : decision;
      }),
    );
  }

  private spend(
    shard: Shard,
    checks: readonly OwnedCheck[],
    decisions: readonly Decision[],
    places: readonly number[] | undefined,
    unwritten: Unwritten | undefined,
  ): void {
    if (isRefused(checks, decisions)) return;
    for (let i = 0; i < checks.length; i += 1) {
      const check = checks[i]!;
      if (!check.owned.isDurable || check.operation === 'peek') continue;
      if (isTaking(check)) {
        if (decisions[i]!.allowed) this.parts.long.spend(check);
        continue;
      }
      const cost = overrunOf(check);
      if (cost === 0) continue;
      if (unwritten?.has(places?.[i] ?? i)) this.owe(shard, check, cost);
      else this.parts.long.spend({ ...check, cost });
    }
  }

  /** Something was taken that is not written down: it is as soon as that can be done. Until then it is known here and to the standby alone. */
  private owe(shard: Shard, check: OwnedCheck, cost: number): void {
    const id = identityOf(check);
    const before = this.owed.get(id);
    const earlier = before?.shard === shard ? before.check.cost : 0;
    if (before === undefined && this.owed.size >= this.parts.settings.durableKeys) return;
    this.owed.set(id, {
      shard,
      check: { ...check, operation: 'penalize', cost: earlier + cost },
      untilMs: this.clock.nowMs() + check.owned.spanMs,
    });
    this.payLater();
  }

  /** Writes down what is owed of a key. False when there is no room for it. */
  private async pay(id: string): Promise<boolean> {
    const owed = this.owed.get(id);
    if (owed === undefined) return true;
    const { shard, check, untilMs } = owed;
    if (this.shards.at(shard.number) !== shard || this.clock.nowMs() >= untilMs) {
      this.owed.delete(id);
      return true;
    }
    const { long } = this.parts;
    // Whoever else waited for it may have spent it first.
    for (let tries = 0; !long.covers(check); tries += 1) {
      if (tries === mostTries) throw unsure('What is granted could not be written down.');
      if (!(await long.cover(shard, check))) return false;
    }
    // More may be owed by now: then all of it is written once more.
    if (this.owed.get(id) === owed) {
      this.owed.delete(id);
      long.spend(check);
    }
    return true;
  }

  private payLater(): void {
    if (this.isPaying) return;
    this.isPaying = true;
    this.clock.after(owedAgainMs, () => void this.payAll());
  }

  private async payAll(): Promise<void> {
    try {
      for (const id of [...this.owed.keys()]) {
        if (this.parts.isStopped) return;
        await this.pay(id);
      }
    } catch (error) {
      this.parts.environment.log.debug({ error: (error as Error).message }, 'what was taken could not be written down');
    }
    this.isPaying = false;
    if (this.owed.size > 0) this.payLater();
  }

  // --- What else has to hear of it ---

  private tellStandby(
    shard: Shard,
    checks: readonly OwnedCheck[],
    decisions: readonly Decision[],
  ): Promise<void> | undefined {
    const carriedOut = checks.filter(
      (check, i) =>
        check.operation !== 'peek' &&
        check.cost + (check.actual ?? 0) >= 0 &&
        (!isTaking(check) || decisions[i]!.allowed),
    );
    if (carriedOut.length === 0 || isRefused(checks, decisions)) return undefined;
    const told = carriedOut.map((check) => {
      const owned = shard.asTold(check.name, check.owned);
      return owned === check.owned ? check : { ...check, owned };
    });
    return this.standbys.carriedOut(shard.number, told)?.then(() => {
      for (const { name, owned } of carriedOut) shard.toldLag(name, owned);
    });
  }

  /** Decisions tell of the policy that was asked for. They are the shard's own objects, fresh from this call. */
  private show(checks: readonly OwnedCheck[], decisions: Decision[], unwritten: Unwritten | undefined): void {
    for (let i = 0; i < checks.length; i += 1) {
      const decision = decisions[i]!;
      showOwned(decision, checks[i]!.owned);
      if (decision.reason === 'quarantine') this.counts.quarantineRefusals += 1;
    }
    for (const [place, reason] of unwritten ?? [])
      if (isTaking(checks[place]!))
        decisions[place] = { ...decisions[place]!, ...(reason === 'store-full' ? noRoom : noAnswer) };
  }

  /** When the shards are no longer on their way. */
  private async applyLater(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    const { clock } = this.parts.environment;
    const endMs = clock.nowMs() + this.parts.settings.patienceMs;
    while (checks.some(({ key }) => this.shards.of(key)?.isFrozen)) {
      if (this.parts.isStopped || clock.nowMs() >= endMs) throw unsure('The key is being handed over to another node.');
      await this.shards.nextChange(this.parts.settings.patienceMs);
    }
    return this.apply(checks, requestId);
  }

  /** Checks of which not all are ours: one owner is asked, or all of them are reserved first. */
  private applyFar(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    const groups = this.byOwner(checks);
    if (groups.length === 1) return this.ask(checks, requestId);
    return applyAcrossSlots(
      groups,
      (some, step) => this.ask(some, requestId === undefined ? undefined : stepOf(requestId, step)),
      requestId !== undefined,
      this.notGivenBack,
    );
  }

  private readonly notGivenBack = (error: unknown) =>
    this.parts.environment.log.debug({ error: (error as Error).message }, 'a reservation could not be given back');

  /** With their places in the batch. */
  private byOwner(checks: readonly Check[]): (readonly [place: number, check: Check])[][] {
    const groups = new Map<string, (readonly [number, Check])[]>();
    for (const [place, check] of checks.entries()) {
      const owner = this.ownerOfKey(check.key);
      groups.set(owner.id, [...(groups.get(owner.id) ?? []), [place, check]]);
    }
    return [...groups.values()];
  }

  private ownerOfKey(key: string): KnownNode {
    const { table } = this.membership;
    const node = table && this.membership.reach(ownerOf(table, this.shards.numberOf(key)));
    // The table may name us where we have nothing any more: asking ourselves would never end.
    const isLost = node?.id === this.membership.self.id && this.shards.of(key) === undefined;
    if (node === undefined || isLost) throw unsure('Nobody is known to count the key now.');
    return node;
  }

  /** Checks of one owner. While it changes, whoever is on its way is asked again: what was not carried out may be repeated. */
  private async ask(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    const { clock } = this.parts.environment;
    const endMs = clock.nowMs() + this.parts.settings.patienceMs;
    const message = {
      checks: checks.map((check) => wireOfCheck(check)),
      ...(requestId !== undefined && { requestId }),
    };
    for (;;) {
      const owner = this.ownerOfKey(checks[0]!.key);
      if (owner.id === this.membership.self.id) return this.apply(checks, requestId);
      this.counts.forwarded += 1;
      const reply = await this.askPeer(owner, { kind: 'apply', to: owner.id, ...message });
      if (reply.kind === 'decisions') {
        return reply.decisions.map((decision, i) => decisionOfWire(decision, checks[i]!.policy));
      }
      if (reply.kind === 'failed') throw new SluiceError(reply.code as 'store-unavailable', reply.message);
      // Also where this node has left meanwhile: who came before that need not hear of it.
      if (clock.nowMs() + againMs > endMs) throw unsure('The node that counted the key counts it no more.');
      await pause(clock, againMs);
      // Whoever has left is told of no change any more, and the owner it knows may leave as well.
      if (this.parts.isStopped || this.membership.isDeposed) await this.membership.look();
      // They were one owner's, and may be several's now.
      if (this.byOwner(checks).length > 1) return this.applyFar(checks, requestId);
    }
  }

  private async askPeer(owner: KnownNode, message: PeerMessage): Promise<PeerReply> {
    try {
      return await this.parts.environment.peers.ask(owner.addresses.resp, message, this.parts.settings.patienceMs);
    } catch (cause) {
      if (!this.parts.fences.onlyOwnersCount && message.kind === 'apply') return this.countAnyway(message);
      throw unsure('The node that counts the key does not answer.', cause);
    }
  }

  /** What must never be done, for the simulation to show why. */
  private countAnyway({ checks }: Extract<PeerMessage, { kind: 'apply' }>): PeerReply {
    const stray = this.shards.counted(this.shards.numberOf(checks[0]!.key));
    const asked = checks.map((check) => this.policies.ownedCheck(this.parts.texts.checkOf(check)));
    return { kind: 'decisions', decisions: stray.apply(asked).map(wireOfDecision) };
  }

  receive({ checks, requestId }: Extract<PeerMessage, { kind: 'apply' }>): Answer<PeerReply> {
    const asked = checks.map((check) => this.parts.texts.checkOf(check));
    if (!asked.every(({ key }) => this.shards.of(key) !== undefined)) return { kind: 'not-mine' };
    // Answers to one asker keep their order: one that waits for a hand-over would hold up all others.
    if (asked.some(({ key }) => this.shards.of(key)!.isFrozen)) return { kind: 'moving' };
    const failed = (error: unknown): PeerReply => {
      if (!(error instanceof SluiceError)) throw error;
      return { kind: 'failed', code: error.code, message: error.message };
    };
    try {
      const answer = andThen(
        this.applyHere(asked, requestId, undefined),
        (decisions): PeerReply => ({ kind: 'decisions', decisions: decisions.map(wireOfDecision) }),
      );
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  }
}

/** Whether it is a check of one key and nothing else, for which stores have a short way. */
function isPlain({ operation, shadow, maxDelayMs, receipt }: Check): boolean {
  return (
    (operation === undefined || operation === 'check') && !shadow && maxDelayMs === undefined && receipt === undefined
  );
}

/** Where the keys of a part have several owners by now, it is still the same step: who repeats it all may find them apart from the start. */
function stepOf(requestId: string, step: string): string {
  return requestId.endsWith(` ${step}`) ? requestId : `${requestId} ${step}`;
}

function showOwned(decision: { -readonly [Field in keyof Decision]: Decision[Field] }, owned: OwnedPolicy): void {
  decision.policy = owned.policy;
  decision.limit = owned.limit;
}

// When there will be room is not known; asking again every second costs little.
const noRoom = { allowed: false, remaining: 0, retryAfterMs: 1000, reason: 'store-full' } as const;

// What a rule says that fails closed.
const noAnswer = { ...noRoom, reason: 'store-failure', degraded: 'closed' } as const;

function unsure(message: string, cause?: unknown): SluiceError {
  return new SluiceError('store-unavailable', message, cause === undefined ? undefined : { cause });
}
