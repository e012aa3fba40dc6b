/**
 * One node of the cluster: owns shards as long as etcd and its own clock say so, and knows where the others are.
 *
 *      apply ──► whose keys? ──► ours: is the right still ours? ──► shards ──► (standby) ──► decisions
 *                     └────────► others': ask them
 *
 *      every so often: renew the own record ──► take over from the silent, hand over what others should own, keep the standbys
 */
import { type Check, type Decision, SluiceError } from 'sluice';
import { applyAcrossSlots, slotOf } from 'sluice/client';
import { andThen } from '../service/answer.ts';
import type { Answer } from '../service/service.ts';
import { Copies } from './copies.ts';
import type { NodeEnvironment } from './environment.ts';
import { allFences, type Fences } from './fences.ts';
import { handOver } from './hand-over.ts';
import { LongWindows } from './long-windows.ts';
import { Membership } from './membership.ts';
import type { PeerMessage, PeerReply } from './messages.ts';
import { Offers } from './offers.ts';
import { type OwnedCheck, OwnedPolicies } from './owned-policy.ts';
import type { KnownNode } from './records.ts';
import { RememberedAnswers } from './remembered-answers.ts';
import { type StandbyEdits, Standbys } from './replication.ts';
import { type ClusterSettings, drift } from './settings.ts';
import { costInBatch, isTaking, Shard } from './shard.ts';
import { defaultShards, shardOfSlot } from './shards.ts';
import {
  type Assignment,
  assign,
  copyOrigin,
  type NodeReference,
  offerOrigin,
  originOf,
  ownerOf,
  type ShardEdit,
  type SlotTable,
  standbyOf,
  tableText,
  unknownOrigin,
} from './slot-table.ts';
import type { ClusterDoor, ClusterMember, ClusterView, NodeAddresses, Route } from './view.ts';
import { decisionOfWire, PolicyTexts, wireOfCheck, wireOfDecision } from './wire-check.ts';

export interface ClusterNodeOptions {
  readonly addresses: NodeAddresses;
  readonly settings: ClusterSettings;
  readonly environment: NodeEnvironment;
  /** All, except in the simulation. */
  readonly fences?: Fences;
}

export interface NodeStats {
  readonly id: string;
  readonly ownedShards: number;
  /** Shards whose standby etcd knows of. */
  readonly standbyShards: number;
  readonly keys: number;
  /** How long the right still lasts; 0: this node decides nothing. */
  readonly rightForMs: number;
  readonly takenOver: number;
  readonly handedOver: number;
  readonly promoted: number;
  readonly forwarded: number;
  readonly quarantineRefusals: number;
  /** Keys of long windows that are written down ahead, and how often that was done. */
  readonly durableKeys: number;
  readonly durableWrites: number;
}

// How many shards are handed over at once: calls of their keys wait for so long.
const shardsPerHandOver = 32;
// How soon somebody is asked again for what is being handed over.
const againMs = 5;
// How often the table is changed at once, when others change it at the same time.
const mostEdits = 5;

export class ClusterNode implements ClusterDoor {
  private readonly settings: ClusterSettings;
  private readonly environment: NodeEnvironment;
  private readonly fences: Fences;
  private readonly membership: Membership;
  private readonly policies: OwnedPolicies;
  private readonly texts = new PolicyTexts();
  private readonly answers = new RememberedAnswers();
  private readonly copies: Copies;
  private readonly standbys: Standbys;
  private offers: Offers;
  private readonly long: LongWindows;
  private owned: (Shard | undefined)[] = [];
  /** How we came by each. */
  private readonly ownedBy: string[] = [];
  private readonly shardCount: number;
  private readonly maxKeysPerShard: number;
  /** The shard whose long windows were tidied up last. */
  private swept = -1;
  private isStopped = false;
  private isBusy = false;
  private callOffTick: (() => void) | undefined;
  /** Who waits for shards that are being handed over. */
  private waiting: (() => void)[] = [];
  private assigned: { readonly addresses: string; readonly assignment: Assignment } | undefined;
  private readonly counts = { takenOver: 0, handedOver: 0, promoted: 0, forwarded: 0, quarantineRefusals: 0 };

  constructor({ addresses, settings, environment, fences = allFences }: ClusterNodeOptions) {
    this.settings = settings;
    this.environment = environment;
    this.fences = fences;
    this.shardCount = settings.shared.shards ?? defaultShards;
    this.maxKeysPerShard = Math.max(64, Math.ceil(settings.maxKeys / this.shardCount));
    this.policies = new OwnedPolicies(settings.shared, fences);
    this.membership = new Membership(environment, fences, settings, addresses, {
      table: (table, revision) => this.onTable(table, revision),
    });
    const { clock } = environment;
    this.copies = new Copies(clock, fences, this.policies, this.texts, this.maxKeysPerShard);
    this.offers = new Offers(clock, fences, 3 * settings.ttlMs);
    this.long = new LongWindows({
      environment,
      fences,
      time: this.membership.time,
      prefix: this.membership.keys.long,
      maxKeys: settings.durableKeys,
      timeoutMs: settings.patienceMs,
    });
    this.standbys = new Standbys(environment, fences, settings.patienceMs, () => this.membership.self);
  }

  // --- Coming and going ---

  /** Joins the cluster, and goes on trying until it has. Rejects when its settings are not the cluster's. */
  async start(): Promise<void> {
    while (!this.isStopped && !(await this.join())) await this.pause(this.settings.ttlMs / 10);
    this.tickIn(this.tickMs);
  }

  private async join(): Promise<boolean> {
    const { membership } = this;
    if (!(await membership.join())) return false;
    await membership.found();
    const { table } = membership;
    if (table === undefined) return false;
    const problem = differenceOf(table.shared, this.settings.shared);
    if (problem !== undefined) {
      // Nothing is used any more that was granted under the old settings.
      if (table.nodes.length === 0) await this.pause(table.shared.graceMs * (1 + 2 * drift));
      if (table.nodes.length === 0 && (await membership.foundAnew()) === 'done') return true;
      await membership.leave();
      throw new SluiceError('invalid-option', problem);
    }
    const { id, epoch } = membership.self;
    this.environment.log.info({ id, epoch, nodes: membership.nodes.length }, 'joined the cluster');
    return true;
  }

  /** Hands over everything, takes its record back and stops. After `withinMs` it stops with what it still has. */
  async leave(withinMs: number): Promise<void> {
    const { clock, log } = this.environment;
    const { membership } = this;
    const endMs = clock.nowMs() + withinMs;
    membership.isLeaving = true;
    this.callOffTick?.();
    // Whose copies it keeps has to hear that it leaves: an owner whose standby is gone waits for it.
    const isDone = () =>
      this.isStopped || membership.isDeposed || (this.ownedShards().length === 0 && !this.isStandby());
    while (!isDone() && clock.nowMs() < endMs) {
      await this.duties();
      // The last one has nobody to hand over to.
      if (isDone() || membership.nodes.every(({ isLeaving }) => isLeaving)) break;
      await this.pause(this.settings.ttlMs / 50);
    }
    const left = this.ownedShards().length;
    if (left > 0)
      log.warn({ shards: left }, 'leaves the cluster with shards that nobody took: they will be refused for a window');
    if (!this.isStopped && !membership.isDeposed && clock.nowMs() < endMs) await this.giveUp();
    this.stop();
  }

  private isStandby(): boolean {
    const { table, self } = this.membership;
    const place = table?.nodes.findIndex((node) => isSame(node, self)) ?? -1;
    return place >= 0 && table!.standbys.includes(place);
  }

  /** The last of all leaves nobody behind: what it has is nobody's, and not known to whoever comes next. */
  private async giveUp(): Promise<void> {
    const { membership } = this;
    const own = this.ownedShards().map(({ number }) => number);
    this.membership.right.end();
    if (own.length > 0) {
      const nobodys: ShardEdit = { owner: undefined, origin: this.unknownOrigin(), standby: null };
      await membership.edit(() => new Map(own.map((shard) => [shard, nobodys])));
    }
    await membership.leave();
  }

  /** Stops at once and says nothing to anybody. */
  stop(): void {
    this.isStopped = true;
    this.callOffTick?.();
    this.membership.right.end();
    this.standbys.stop();
    this.wake();
  }

  // --- The duties of a node ---

  private get tickMs(): number {
    return this.settings.ttlMs / 5;
  }

  private tickIn(ms: number): void {
    this.callOffTick?.();
    if (this.isStopped || this.membership.isLeaving) return;
    this.callOffTick = this.environment.clock.after(ms, () => {
      void this.duties().then((isWell) => this.tickIn(isWell ? this.tickMs : this.tickMs / 4));
    });
  }

  /** Everything that has to be done now and then; says whether etcd answered. */
  private async duties(): Promise<boolean> {
    if (this.isBusy || this.isStopped) return true;
    this.isBusy = true;
    try {
      const outcome = await this.membership.renew();
      if (this.isStopped) return true;
      if (this.membership.isDeposed) {
        await this.startAnew();
        return true;
      }
      if (outcome === 'done') {
        await this.takeOver();
        await this.handOverShards();
        await this.keepStandbys();
        await this.sweepLongWindows();
      }
      return outcome === 'done';
    } catch (error) {
      this.environment.log.error({ err: error }, 'a node of the cluster could not do its duties');
      return false;
    } finally {
      this.isBusy = false;
    }
  }

  /** Somebody took over from us: nothing that we have counts any more. */
  private async startAnew(): Promise<void> {
    this.environment.log.warn({ id: this.membership.self.id }, 'was taken for dead, and joins anew');
    this.membership.right.end();
    this.dropEverything();
    if (this.membership.isLeaving) return;
    while (!this.isStopped && !(await this.join())) await this.pause(this.settings.ttlMs / 10);
  }

  private dropEverything(): void {
    for (const { number } of this.ownedShards()) {
      this.standbys.forget(number);
      this.long.forget(number);
    }
    this.owned = [];
    this.copies.drop(() => true);
    this.offers = new Offers(this.environment.clock, this.fences, 3 * this.settings.ttlMs);
    this.wake();
  }

  /** Who should own what, of those that are there and stay. */
  private assignment(except?: string): Assignment {
    const staying = this.membership.nodes.filter(({ id, isLeaving }) => !isLeaving && id !== except);
    const addresses = staying.map((node) => node.addresses.resp).sort();
    const name = addresses.join(' ');
    if (this.assigned?.addresses !== name)
      this.assigned = { addresses: name, assignment: assign(addresses, this.shardCount) };
    return this.assigned.assignment;
  }

  /** The youngest node of an address: an older one at the same place is dead, and not yet known to be. */
  private nodeAt(address: string | undefined): KnownNode | undefined {
    const candidates = this.membership.nodes.filter(({ addresses }) => addresses.resp === address);
    return candidates.reduce<KnownNode | undefined>((a, b) => (a && a.epoch > b.epoch ? a : b), undefined);
  }

  private referenceAt(address: string | undefined): NodeReference | undefined {
    const node = this.nodeAt(address);
    return node && referenceOf(node);
  }

  private async takeOver(): Promise<void> {
    const { membership } = this;
    const { log } = this.environment;
    for (const dead of membership.silent()) {
      const key = membership.keys.nodeOf(dead.id);
      const and = { compare: [{ key, modRevision: dead.modRevision }], change: [{ delete: key }] };
      const isDone = await this.edit((table) => this.editsWithout(table, dead), and);
      if (isDone) log.warn({ id: dead.id, at: dead.addresses.resp }, 'a node is silent: its shards have new owners');
    }
    for (const gone of membership.gone()) {
      const isDone = await this.edit((table) => this.editsWithout(table, gone));
      if (isDone) log.warn({ id: gone.id }, 'a node has no record any more: its shards have new owners');
    }
    if (membership.table?.owners.includes(-1)) await this.edit((table) => this.editsWithout(table, undefined));
  }

  /** What others get of a node that is no more. */
  private editsWithout(table: SlotTable, dead: NodeReference | undefined): Map<number, ShardEdit> {
    const { owners } = this.assignment(dead?.id);
    const edits = new Map<number, ShardEdit>();
    for (let shard = 0; shard < this.shardCount; shard += 1) {
      const owner = ownerOf(table, shard);
      const standby = standbyOf(table, shard);
      const isStandbyDead = standby !== undefined && isSame(standby, dead);
      if (owner !== undefined && !isSame(owner, dead)) {
        if (isStandbyDead) edits.set(shard, { standby: null });
        continue;
      }
      const hasCopy = owner !== undefined && !isStandbyDead && this.membership.nodeOf(standby) !== undefined;
      if (hasCopy) edits.set(shard, { owner: standby, origin: copyOrigin(owner.epoch), standby: null });
      else edits.set(shard, { owner: this.referenceAt(owners[shard]), origin: this.unknownOrigin(), standby: null });
    }
    return edits;
  }

  /** Like no other: whoever had the shard before, and has not heard of what happened since, must see that something did. */
  private unknownOrigin(): string {
    return unknownOrigin(this.membership.revision);
  }

  /** Changes the slot table, also where others change it at the same time; and tells the others. */
  private async edit(
    editsFor: (table: SlotTable) => ReadonlyMap<number, ShardEdit>,
    and?: Parameters<Membership['edit']>[1],
  ): Promise<boolean> {
    const { membership } = this;
    for (let tries = 0; tries < mostEdits && !this.isStopped && !membership.isDeposed; tries += 1) {
      const before = membership.revision;
      const outcome = await membership.edit((table) => {
        const edits = editsFor(table);
        return edits.size === 0 && and === undefined ? undefined : edits;
      }, and);
      if (outcome === 'done') {
        this.tellOthers();
        return true;
      }
      // Refused by the same table: what else was compared does not hold, and never will.
      if (outcome === 'unknown' || membership.revision === before) return false;
    }
    return false;
  }

  /** Nobody has to wait for his next look at etcd. */
  private tellOthers(): void {
    const { table, revision, self, nodes } = this.membership;
    if (table === undefined) return;
    const text = tableText(table);
    for (const { id, addresses } of nodes) {
      if (id === self.id) continue;
      this.environment.peers
        .ask(addresses.resp, { kind: 'table', to: id, revision, table: text }, this.settings.patienceMs)
        .catch((error) => this.environment.log.debug({ to: addresses.resp, error: error.message }, 'was not told'));
    }
  }

  private async handOverShards(): Promise<void> {
    const { environment, fences, membership, settings } = this;
    const { owners } = this.assignment();
    const leaving = this.ownedShards().filter(
      ({ number }) => owners[number] !== undefined && this.nodeAt(owners[number])?.id !== membership.self.id,
    );
    const byTarget = new Map<string, Shard[]>();
    for (const shard of leaving) {
      const address = owners[shard.number]!;
      byTarget.set(address, [...(byTarget.get(address) ?? []), shard]);
    }
    for (const [address, given] of byTarget) {
      for (let left: readonly Shard[] = given; left.length > 0; ) {
        const to = this.nodeAt(address);
        if (to === undefined || this.isStopped || membership.isDeposed || membership.right.leftMs() <= 0) return;
        left = left.filter((shard) => this.owned[shard.number] === shard);
        const offerMs = settings.patienceMs / 4;
        const some = left.slice(0, shardsPerHandOver);
        const taken = some.length === 0 ? [] : await handOver({ environment, fences, membership, offerMs }, some, to);
        this.wake();
        if (taken.length === 0) break;
        environment.log.info({ shards: taken.length, to: address }, 'handed over shards');
        this.counts.handedOver += taken.length;
        left = left.slice(taken.length);
        this.tellOthers();
        // Many shards take longer than a right lasts.
        if (membership.right.leftMs() < settings.ttlMs / 2) await membership.renew();
      }
    }
  }

  private async keepStandbys(): Promise<void> {
    if (this.settings.shared.unreplicated === 0) return;
    const { standbys: wanted } = this.assignment();
    for (const shard of this.ownedShards()) {
      const node = this.nodeAt(wanted[shard.number]);
      const current = this.standbys.standbyOf(shard.number);
      if (current && current.id !== node?.id) this.standbys.break(shard.number);
      else if (!current && node && node.id !== this.membership.self.id && !shard.isFrozen) {
        this.standbys.begin(shard, { id: node.id, address: node.addresses.resp });
      }
    }
    await this.recordStandbys();
  }

  /** One shard at a time: what no longer matters goes slowly, and costs next to nothing. */
  private async sweepLongWindows(): Promise<void> {
    const own = this.ownedShards();
    const next = own.find(({ number }) => number > this.swept) ?? own[0];
    if (next === undefined) return;
    this.swept = next.number;
    try {
      await this.long.sweep(next.number);
    } catch (error) {
      this.environment.log.debug(
        { error: (error as Error).message },
        'old records of long windows could not be removed',
      );
    }
  }

  private async recordStandbys(): Promise<void> {
    let edits: StandbyEdits = new Map();
    if (this.standbys.edits().size === 0) return;
    const isDone = await this.edit((table) => {
      edits = this.standbys.edits();
      this.standbys.telling(edits);
      return this.standbyEdits(table, edits);
    }, {});
    if (isDone) this.standbys.told(edits);
  }

  private standbyEdits(table: SlotTable, edits: StandbyEdits): Map<number, ShardEdit> {
    const made = new Map<number, ShardEdit>();
    for (const [shard, standby] of edits) {
      if (!isSame(ownerOf(table, shard), this.membership.self)) continue;
      const node = standby && this.membership.nodes.find(({ id }) => id === standby.id);
      made.set(shard, { standby: node ? referenceOf(node) : null });
    }
    return made;
  }

  // --- What the slot table says ---

  private onTable(table: SlotTable, _revision: number): void {
    const { self } = this.membership;
    for (let shard = 0; shard < this.shardCount; shard += 1) {
      const isOurs = isSame(ownerOf(table, shard), self);
      if (isOurs) {
        this.own(shard, originOf(table, shard));
        this.standbys.seen(shard, standbyOf(table, shard)?.id);
        continue;
      }
      const lost = this.owned[shard];
      if (lost !== undefined) {
        const isMoved = lost.offeredAs !== undefined && originOf(table, shard) === offerOrigin(lost.offeredAs);
        this.owned[shard] = undefined;
        this.standbys.forget(shard, isMoved);
        this.long.forget(shard);
      }
    }
    this.copies.drop((shard, epoch) => {
      const owner = ownerOf(table, shard);
      return owner !== undefined && owner.epoch !== epoch;
    });
    this.wake();
  }

  /** A shard that came to us in another way than the one we have was another's in between, though we have not heard of that. */
  private own(shard: number, origin: string): void {
    if (this.owned[shard] !== undefined) {
      if (this.ownedBy[shard] === origin) return;
      this.standbys.forget(shard);
      this.long.forget(shard);
    }
    this.owned[shard] = this.acquire(shard, origin);
    this.ownedBy[shard] = origin;
  }

  /** A shard that is ours now, with what is known of it. */
  private acquire(shard: number, origin: string): Shard {
    const { clock } = this.environment;
    const [kind, name] = origin.split(':');
    if (kind === 'copy') {
      const copy = this.copies.take(shard, Number(name));
      if (copy) {
        copy.promote(this.fences);
        this.counts.promoted += 1;
        return copy;
      }
    }
    try {
      const offered = this.offers.take(kind === 'offer' ? name : undefined, shard, this.maxKeysPerShard);
      if (offered) return offered;
    } catch (error) {
      // Thrown on, it would leave the rest of the table unread: what is no longer ours must be given up in any case.
      this.environment.log.error({ shard, err: error }, 'a shard that was handed over cannot be kept as it is');
    }
    this.counts.takenOver += 1;
    return Shard.unknown(shard, clock, this.maxKeysPerShard, this.fences);
  }

  // --- Checks ---

  /**
   * Checks of keys wherever they are counted: here at once, elsewhere by asking. Throws, or rejects, `store-unavailable` when nobody can be
   * sure; then nothing may be taken for granted.
   */
  apply(checks: readonly Check[], requestId?: string): Answer<Decision[]> {
    if (checks.length === 1) {
      const shard = this.shardOf(checks[0]!.key);
      return this.owned[shard] === undefined ? this.applyFar(checks, requestId) : this.applyHere(checks, requestId);
    }
    const isHere = checks.every(({ key }) => this.owned[this.shardOf(key)] !== undefined);
    return isHere ? this.applyHere(checks, requestId) : this.applyFar(checks, requestId);
  }

  /** Checks whose keys are all ours. */
  private applyHere(checks: readonly Check[], requestId: string | undefined): Answer<Decision[]> {
    if (this.membership.right.leftMs() <= 0)
      throw unsure('This node has lost its right to decide, and cannot renew it.');
    if (checks.length === 1) {
      const shard = this.owned[this.shardOf(checks[0]!.key)]!;
      if (shard.isFrozen) return this.applyLater(checks, requestId);
      return this.applyToShard(shard, checks, requestId);
    }
    const groups = this.byShard(checks);
    if (groups.some(({ shard }) => shard.isFrozen)) return this.applyLater(checks, requestId);
    if (groups.length === 1) return this.applyToShard(groups[0]!.shard, checks, requestId);
    return this.applyToShards(groups, checks, requestId);
  }

  private byShard(checks: readonly Check[]) {
    const groups = new Map<
      number,
      { readonly shard: Shard; readonly places: number[]; readonly checks: OwnedCheck[] }
    >();
    for (const [place, check] of checks.entries()) {
      const number = this.shardOf(check.key);
      const group = groups.get(number) ?? { shard: this.owned[number]!, places: [], checks: [] };
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
    return this.answers.once(requestId, checks, this.environment.clock.nowMs(), make);
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
    groups: ReturnType<ClusterNode['byShard']>,
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

  private decideAcross(groups: ReturnType<ClusterNode['byShard']>, checks: readonly Check[]): Answer<Decision[]> {
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
      !this.long.covers(check) && (!this.long.isRead(check) || shard.couldTake(check));
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
        if (!(await this.long.cover(shard, check))) return this.refuseForRoom(checks, check);
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
        this.long.spend(check);
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
      const { policy, limit } = checks[i]!.owned;
      const decision = decisions[i] as { -readonly [Field in keyof Decision]: Decision[Field] };
      decision.policy = policy;
      decision.limit = limit;
      if (decision.reason === 'quarantine') this.counts.quarantineRefusals += 1;
    }
  }

  /** When the shards are no longer on their way. */
  private async applyLater(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    const { clock } = this.environment;
    const endMs = clock.nowMs() + this.settings.patienceMs;
    while (checks.some(({ key }) => this.owned[this.shardOf(key)]?.isFrozen)) {
      if (this.isStopped || clock.nowMs() >= endMs) throw unsure('The key is being handed over to another node.');
      await new Promise<void>((resolve) => {
        const callOff = clock.after(this.settings.patienceMs, resolve);
        this.waiting.push(() => {
          callOff();
          resolve();
        });
      });
    }
    return this.apply(checks, requestId);
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
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
        this.environment.log.debug({ error: (error as Error).message }, 'a reservation could not be given back'),
    );
  }

  private ownerOfKey(key: string): KnownNode {
    const { table } = this.membership;
    const node = table && this.membership.reach(ownerOf(table, this.shardOf(key)));
    if (node === undefined) throw unsure('Nobody is known to count the key now.');
    return node;
  }

  /** Checks of one owner. While it changes, whoever is on its way is asked again: what was not carried out may be repeated. */
  private async ask(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    const { clock } = this.environment;
    const endMs = clock.nowMs() + this.settings.patienceMs;
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
      if (this.isStopped || clock.nowMs() + againMs > endMs)
        throw unsure('The node that counted the key counts it no more.');
      await this.pause(againMs);
    }
  }

  private async askPeer(owner: KnownNode, message: PeerMessage): Promise<PeerReply> {
    try {
      return await this.environment.peers.ask(owner.addresses.resp, message, this.settings.patienceMs);
    } catch (cause) {
      if (!this.fences.onlyOwnersCount && message.kind === 'apply') return this.countAnyway(message);
      throw unsure('The node that counts the key does not answer.', cause);
    }
  }

  /** What must never be done, for the simulation to show why. */
  private countAnyway({ checks }: Extract<PeerMessage, { kind: 'apply' }>): PeerReply {
    const number = this.shardOf(checks[0]!.key);
    const stray =
      this.owned[number] ??
      Shard.unknown(number, this.environment.clock, this.maxKeysPerShard, { ...this.fences, quarantine: false });
    this.owned[number] = stray;
    const asked = checks.map((check) => this.policies.ownedCheck(this.texts.checkOf(check)));
    return { kind: 'decisions', decisions: stray.apply(asked).map(wireOfDecision) };
  }

  // --- Other nodes ---

  /** Another node says something. */
  receive(message: PeerMessage): Answer<PeerReply> {
    // Until etcd has said which epoch is ours, a table that names it would not be taken for ours, and be kept as known.
    if (this.isStopped || this.membership.isDeposed || message.to !== this.membership.self.id)
      return { kind: 'not-mine' };
    switch (message.kind) {
      case 'apply':
        return this.receiveChecks(message);
      case 'offer':
        if (this.membership.isLeaving) return { kind: 'not-mine' };
        return this.offers.receive(message.token, message.shards) ? { kind: 'done' } : { kind: 'not-mine' };
      case 'table':
        this.membership.adopt(message.table, message.revision);
        return { kind: 'done' };
      case 'replicate':
        return { kind: 'copied', shards: this.copies.receive(message, (shard, epoch) => this.isOwnerOf(shard, epoch)) };
    }
  }

  private receiveChecks({ checks, requestId }: Extract<PeerMessage, { kind: 'apply' }>): Answer<PeerReply> {
    const asked = checks.map((check) => this.texts.checkOf(check));
    if (!asked.every(({ key }) => this.owned[this.shardOf(key)] !== undefined)) return { kind: 'not-mine' };
    // Answers to one asker keep their order: one that waits for a hand-over would hold up all others.
    if (asked.some(({ key }) => this.owned[this.shardOf(key)]!.isFrozen)) return { kind: 'moving' };
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

  // --- What is known ---

  route(slot: number): Route {
    const shard = shardOfSlot(slot, this.shardCount);
    if (this.owned[shard] !== undefined) return 'here';
    const { table } = this.membership;
    const node = table && this.membership.reach(ownerOf(table, shard));
    return node === undefined || node.id === this.membership.self.id ? 'nowhere' : this.memberOf(node);
  }

  private memberOf({ id, epoch, addresses, isLeaving }: KnownNode): ClusterMember {
    return { id, epoch, addresses, isLeaving, isSelf: id === this.membership.self.id };
  }

  view(): ClusterView {
    const { membership } = this;
    const { table, revision } = membership;
    const unrecorded = (table?.nodes ?? []).filter((reference) => membership.nodeOf(reference) === undefined);
    const reached = unrecorded.flatMap((reference) => membership.reach(reference) ?? []);
    const nodes = [...membership.nodes, ...reached];
    const places = new Map(nodes.map(({ id, epoch }, place) => [`${id}@${epoch}`, place]));
    const placeIn = (list: readonly number[] | undefined) =>
      Array.from({ length: this.shardCount }, (_, shard) => {
        const reference = table?.nodes[list?.[shard] ?? -1];
        return (reference && places.get(`${reference.id}@${reference.epoch}`)) ?? -1;
      });
    return {
      revision,
      members: nodes.map((node) => this.memberOf(node)),
      owners: placeIn(table?.owners),
      standbys: placeIn(table?.standbys),
    };
  }

  stats(): NodeStats {
    const own = this.ownedShards();
    return {
      id: this.membership.self.id,
      ownedShards: own.length,
      standbyShards: this.standbys.recorded,
      keys: own.reduce((sum, { keys }) => sum + keys, 0),
      rightForMs: Math.max(0, this.membership.right.leftMs()),
      ...this.counts,
      durableKeys: this.long.size,
      durableWrites: this.long.writes,
    };
  }

  private isOwnerOf(shard: number, epoch: number): boolean {
    const { table } = this.membership;
    return table !== undefined && ownerOf(table, shard)?.epoch === epoch;
  }

  private shardOf(key: string): number {
    return shardOfSlot(slotOf(key), this.shardCount);
  }

  private ownedShards(): Shard[] {
    return this.owned.filter((shard) => shard !== undefined);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.environment.clock.after(ms, resolve);
    });
  }
}

// When there will be room is not known; asking again every second costs little.
const noRoom = { allowed: false, remaining: 0, retryAfterMs: 1000, reason: 'store-full' } as const;

function referenceOf({ id, epoch, ttlMs, addresses }: KnownNode): NodeReference {
  return { id, epoch, ttlMs, addresses };
}

function isSame(a: NodeReference | undefined, b: NodeReference | undefined): boolean {
  return a !== undefined && a.id === b?.id && a.epoch === b.epoch;
}

function unsure(message: string, cause?: unknown): SluiceError {
  return new SluiceError('store-unavailable', message, cause === undefined ? undefined : { cause });
}

/** What the nodes of a cluster have to agree on. */
function differenceOf(theirs: ClusterSettings['shared'], ours: ClusterSettings['shared']): string | undefined {
  const fields = Object.keys(ours) as (keyof typeof ours)[];
  const field = fields.find((name) => theirs[name] !== ours[name]);
  if (field === undefined) return undefined;
  return `store.${field} of this node is ${ours[field]}, that of its cluster ${theirs[field]}. All nodes need the same; to change it, end them all (SIGTERM), then start them anew.`;
}
