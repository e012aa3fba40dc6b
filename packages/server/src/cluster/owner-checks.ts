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
import { type NodeClock, pause } from './environment.ts';
import type { PeerMessage, PeerReply } from './messages.ts';
import type { NodeParts } from './node-parts.ts';
import type { OwnedCheck, OwnedPolicy } from './owned-policy.ts';
import type { KnownNode } from './records.ts';
import { RememberedAnswers } from './remembered-answers.ts';
import { costInBatch, isTaking, type Shard } from './shard.ts';
import { ownerOf } from './slot-table.ts';
import { decisionOfWire, wireOfCheck, wireOfDecision } from './wire-check.ts';

// How soon somebody is asked again for what is being handed over.
const againMs = 5;

export class OwnerChecks {
  readonly counts = { forwarded: 0, quarantineRefusals: 0 };
  private readonly parts: NodeParts;
  private readonly answers = new RememberedAnswers();
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
  }

  /**
   * Checks of keys wherever they are counted: here at once, elsewhere by asking. Throws, or rejects, `store-unavailable` when nobody can be
   * sure; then nothing may be taken for granted.
   */
  apply(checks: readonly Check[], requestId?: string): Answer<Decision[]> {
    if (checks.length === 1) {
      const shard = this.shards.of(checks[0]!.key);
      return shard === undefined ? this.applyFar(checks, requestId) : this.applyToOne(shard, checks, requestId);
    }
    const isHere = checks.every(({ key }) => this.shards.of(key) !== undefined);
    return isHere ? this.applyHere(checks, requestId) : this.applyFar(checks, requestId);
  }

  /** Checks whose keys are all ours. */
  private applyHere(checks: readonly Check[], requestId: string | undefined): Answer<Decision[]> {
    if (checks.length === 1) return this.applyToOne(this.shards.of(checks[0]!.key)!, checks, requestId);
    this.mustHaveRight(this.clock.nowMs());
    const groups = this.byShard(checks);
    if (groups.some(({ shard }) => shard.isFrozen)) return this.applyLater(checks, requestId);
    if (groups.length === 1) return this.applyToShard(groups[0]!.shard, checks, requestId);
    return this.applyToShards(groups, checks, requestId);
  }

  private mustHaveRight(nowMs: number): void {
    if (this.membership.right.leftMs(nowMs) <= 0)
      throw unsure('This node has lost its right to decide, and cannot renew it.');
  }

  /** One check, whose key is in a shard of ours. */
  private applyToOne(shard: Shard, checks: readonly Check[], requestId: string | undefined): Answer<Decision[]> {
    // Read once: a plain check is decided at the very time at which the right was looked at.
    const nowMs = this.clock.nowMs();
    this.mustHaveRight(nowMs);
    if (shard.isFrozen) return this.applyLater(checks, requestId);
    const check = checks[0]!;
    const owned = this.policies.of(check.policy);
    const decision =
      requestId === undefined && !owned.isDurable && isPlain(check) ? shard.check(check, owned, nowMs) : undefined;
    if (decision === undefined) return this.applyToShard(shard, checks, requestId);
    const isTold = this.standbys.size > 0 && decision.allowed;
    const confirmed = isTold ? this.standbys.carriedOutPlain(shard.number, check, owned) : undefined;
    showOwned(decision, owned);
    return confirmed ? confirmed.then(() => [decision]) : [decision];
  }

  private byShard(checks: readonly Check[]) {
    const groups = new Map<
      number,
      { readonly shard: Shard; readonly places: number[]; readonly checks: OwnedCheck[] }
    >();
    for (const [place, check] of checks.entries()) {
      const number = this.shards.numberOf(check.key);
      const group = groups.get(number) ?? { shard: this.shards.at(number)!, places: [], checks: [] };
      group.places.push(place);
      group.checks.push(this.policies.ownedCheck(check));
      groups.set(number, group);
    }
    return [...groups.values()];
  }

  private applyToShard(shard: Shard, checks: readonly Check[], requestId: string | undefined): Answer<Decision[]> {
    const owned: OwnedCheck[] = [];
    let isDurable = false;
    for (let i = 0; i < checks.length; i += 1) {
      const check = this.policies.ownedCheck(checks[i]!);
      owned.push(check);
      if (check.owned.isDurable) isDurable = true;
    }
    const uncovered = isDurable ? this.uncovered(shard, owned) : undefined;
    if (uncovered) return this.applyCovered([{ shard, check: uncovered }], checks, requestId);
    if (requestId === undefined) return this.decide(shard, owned, isDurable);
    return this.once(requestId, checks, () => this.decide(shard, owned, isDurable));
  }

  private once(requestId: string, checks: readonly Check[], make: () => Answer<Decision[]>): Answer<Decision[]> {
    return this.answers.once(requestId, checks, this.parts.environment.clock.nowMs(), make);
  }

  private decide(shard: Shard, owned: readonly OwnedCheck[], isDurable: boolean): Answer<Decision[]> {
    const decisions = shard.apply(owned);
    if (isDurable) this.spend(owned, decisions);
    const confirmed = this.standbys.size > 0 ? this.tellStandby(shard, owned, decisions) : undefined;
    this.show(owned, decisions);
    return confirmed ? confirmed.then(() => decisions) : decisions;
  }

  /** Keys of several shards: all of them are asked before the first is charged, and nothing else happens in between. */
  private applyToShards(
    groups: ReturnType<OwnerChecks['byShard']>,
    checks: readonly Check[],
    requestId: string | undefined,
  ): Answer<Decision[]> {
    const missing = groups.flatMap(({ shard, checks: asked }) => {
      const check = this.uncovered(shard, asked);
      return check ? [{ shard, check }] : [];
    });
    if (missing.length > 0) return this.applyCovered(missing, checks, requestId);
    if (requestId === undefined) return this.decideAcross(groups, checks);
    return this.once(requestId, checks, () => this.decideAcross(groups, checks));
  }

  private decideAcross(groups: ReturnType<OwnerChecks['byShard']>, checks: readonly Check[]): Answer<Decision[]> {
    const decisions: Decision[] = [];
    const place = (made: readonly (readonly Decision[])[]) => {
      for (const [i, { places }] of groups.entries())
        for (const [j, at] of places.entries()) decisions[at] = made[i]![j]!;
    };
    place(groups.map(({ shard, checks: asked }) => shard.peek(asked)));
    const isRefused = checks.some((check, i) => isTaking(check) && !check.shadow && !decisions[i]!.allowed);
    const confirmed: Promise<void>[] = [];
    if (!isRefused) {
      place(
        groups.map(({ shard, checks: asked }) => {
          const made = shard.apply(asked);
          this.spend(asked, made);
          const waits = this.tellStandby(shard, asked, made);
          if (waits) confirmed.push(waits);
          return made;
        }),
      );
    }
    const owned = checks.map((check) => this.policies.ownedCheck(check));
    this.show(owned, decisions);
    return confirmed.length > 0 ? Promise.all(confirmed).then(() => decisions) : decisions;
  }

  /** A check of a long window that could pass, were it written down. */
  private uncovered(shard: Shard, checks: readonly OwnedCheck[]): OwnedCheck | undefined {
    const isUncovered = (check: OwnedCheck) =>
      !this.parts.long.covers(check) && (!this.parts.long.isRead(check) || shard.couldTake(check));
    for (const check of checks) {
      if (!check.owned.isDurable || !isTaking(check) || check.operation === 'peek') continue;
      const all = checks.length === 1 ? check : { ...check, cost: costInBatch(check, checks) };
      if (isUncovered(all)) return all;
      if (all !== check && isUncovered(check)) return check;
    }
    return undefined;
  }

  private async applyCovered(
    missing: readonly { readonly shard: Shard; readonly check: OwnedCheck }[],
    checks: readonly Check[],
    requestId: string | undefined,
  ): Promise<Decision[]> {
    for (const { shard, check } of missing) {
      try {
        if (!(await this.parts.long.cover(shard, check))) return this.refuseForRoom(checks, check);
      } catch (error) {
        if (error instanceof SluiceError) throw error;
        throw unsure('What is granted could not be written down.', error);
      }
    }
    return this.apply(checks, requestId);
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

  private spend(checks: readonly OwnedCheck[], decisions: readonly Decision[]): void {
    for (let i = 0; i < checks.length; i += 1) {
      const check = checks[i]!;
      if (check.owned.isDurable && check.operation !== 'peek' && isTaking(check) && decisions[i]!.allowed)
        this.parts.long.spend(check);
    }
  }

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
    const isRefused = checks.some((check, i) => isTaking(check) && !check.shadow && !decisions[i]!.allowed);
    return carriedOut.length === 0 || isRefused ? undefined : this.standbys.carriedOut(shard.number, carriedOut);
  }

  /** Decisions tell of the policy that was asked for. They are the shard's own objects, fresh from this call. */
  private show(checks: readonly OwnedCheck[], decisions: readonly Decision[]): void {
    for (let i = 0; i < checks.length; i += 1) {
      const decision = decisions[i]!;
      showOwned(decision, checks[i]!.owned);
      if (decision.reason === 'quarantine') this.counts.quarantineRefusals += 1;
    }
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
    const groups = new Map<string, [number, Check][]>();
    for (const [place, check] of checks.entries()) {
      const owner = this.ownerOfKey(check.key);
      groups.set(owner.id, [...(groups.get(owner.id) ?? []), [place, check]]);
    }
    if (groups.size === 1) return this.ask(checks, requestId);
    return applyAcrossSlots(
      [...groups.values()],
      (some, step) => this.ask(some, requestId === undefined ? undefined : `${requestId} ${step}`),
      requestId !== undefined,
      (error) =>
        this.parts.environment.log.debug({ error: (error as Error).message }, 'a reservation could not be given back'),
    );
  }

  private ownerOfKey(key: string): KnownNode {
    const { table } = this.membership;
    const node = table && this.membership.reach(ownerOf(table, this.shards.numberOf(key)));
    if (node === undefined) throw unsure('Nobody is known to count the key now.');
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
      if (this.parts.isStopped || clock.nowMs() + againMs > endMs)
        throw unsure('The node that counted the key counts it no more.');
      await pause(clock, againMs);
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
        this.applyHere(asked, requestId),
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

function showOwned(decision: { -readonly [Field in keyof Decision]: Decision[Field] }, owned: OwnedPolicy): void {
  decision.policy = owned.policy;
  decision.limit = owned.limit;
}

// When there will be room is not known; asking again every second costs little.
const noRoom = { allowed: false, remaining: 0, retryAfterMs: 1000, reason: 'store-full' } as const;

function unsure(message: string, cause?: unknown): SluiceError {
  return new SluiceError('store-unavailable', message, cause === undefined ? undefined : { cause });
}
