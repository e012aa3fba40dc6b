/**
 * One node of the cluster: owns shards as long as etcd and its own clock say so, and knows where the others are.
 *
 *      apply ──► whose keys? ──► ours: is the right still ours? ──► shards ──► (standby) ──► decisions
 *                     └────────► others': ask them
 *
 *      every so often: renew the own record ──► take over from the silent, hand over what others should own, keep the standbys
 */
import { type Check, type Decision, SluiceError } from 'sluice';
import type { Answer } from '../service/service.ts';
import { Duties } from './duties.ts';
import { type NodeEnvironment, pause } from './environment.ts';
import { allFences, type Fences } from './fences.ts';
import { LongWindows } from './long-windows.ts';
import { Membership } from './membership.ts';
import type { PeerMessage, PeerReply } from './messages.ts';
import type { NodeParts } from './node-parts.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { OwnedShards } from './owned-shards.ts';
import { OwnerChecks } from './owner-checks.ts';
import type { KnownNode } from './records.ts';
import { Standbys } from './replication.ts';
import { type ClusterSettings, drift } from './settings.ts';
import { isSameNode, ownerOf, type ShardEdit } from './slot-table.ts';
import type { ClusterDoor, ClusterMember, ClusterView, NodeAddresses, Route } from './view.ts';
import { PolicyTexts } from './wire-check.ts';

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

export class ClusterNode implements ClusterDoor {
  private readonly parts: NodeParts;
  private readonly checks: OwnerChecks;
  private readonly duties: Duties;
  private isBusy = false;
  private callOffTick: (() => void) | undefined;

  constructor({ addresses, settings, environment, fences = allFences }: ClusterNodeOptions) {
    const policies = new OwnedPolicies(settings.shared, fences);
    const texts = new PolicyTexts();
    const shards = new OwnedShards({ settings, environment, fences, policies, texts });
    const membership = new Membership(environment, fences, settings, addresses, {
      table: (table) => shards.follow(table, membership, standbys, long),
    });
    const long = new LongWindows({
      environment,
      fences,
      time: membership.time,
      prefix: membership.keys.long,
      shards: shards.count,
      maxKeys: settings.durableKeys,
      timeoutMs: settings.patienceMs,
    });
    const standbys = new Standbys(environment, fences, settings.patienceMs, () => membership.self);
    const common = { settings, environment, fences, policies, texts };
    this.parts = { ...common, membership, shards, standbys, long, isStopped: false };
    this.checks = new OwnerChecks(this.parts);
    this.duties = new Duties(this.parts);
  }

  // --- Coming and going ---

  /** Joins the cluster, and goes on trying until it has. Rejects when its settings are not the cluster's. */
  async start(): Promise<void> {
    while (!this.parts.isStopped && !(await this.join())) await this.pause(this.parts.settings.ttlMs / 10);
    this.tickIn(this.tickMs);
  }

  private async join(): Promise<boolean> {
    const { membership } = this.parts;
    if (!(await membership.join())) return false;
    await membership.found();
    const { table } = membership;
    if (table === undefined) return false;
    const problem = differenceOf(table.shared, this.parts.settings.shared);
    if (problem !== undefined) {
      // Nothing is used any more that was granted under the old settings.
      if (table.nodes.length === 0) await this.pause(table.shared.graceMs * (1 + 2 * drift));
      if (table.nodes.length === 0 && (await membership.foundAnew()) === 'done') return true;
      await membership.leave();
      throw new SluiceError('invalid-option', problem);
    }
    await this.duties.takeNobodys();
    const { id, epoch } = membership.self;
    this.parts.environment.log.info({ id, epoch, nodes: membership.nodes.length }, 'joined the cluster');
    return true;
  }

  /** Hands over everything, takes its record back and stops. After `withinMs` it stops with what it still has. */
  async leave(withinMs: number): Promise<void> {
    const { clock, log } = this.parts.environment;
    const { membership } = this.parts;
    const endMs = clock.nowMs() + withinMs;
    membership.isLeaving = true;
    this.callOffTick?.();
    // Whose copies it keeps has to hear that it leaves: an owner whose standby is gone waits for it. And until it has said so, somebody may be handing over
    // to it: what it was given before, it sees when it says so; from then on it is given nothing.
    const isFree = () => this.hasSaidSo() && this.parts.shards.all().length === 0 && !this.isStandby();
    const isDone = () => this.parts.isStopped || membership.isDeposed || isFree();
    while (!isDone() && clock.nowMs() < endMs) {
      await this.doDuties();
      // The last one has nobody to hand over to.
      if (isDone() || membership.nodes.every(({ isLeaving }) => isLeaving)) break;
      await this.pause(this.parts.settings.ttlMs / 50);
    }
    const left = this.parts.shards.all().length;
    if (left > 0)
      log.warn({ shards: left }, 'leaves the cluster with shards that nobody took: they will be refused for a window');
    if (!this.parts.isStopped && !membership.isDeposed && clock.nowMs() < endMs) {
      await this.giveUp(endMs);
      // Whoever asked before hearing of the next owner is told to ask again; who is gone tells nobody anything.
      await this.pause(Math.min(this.parts.settings.shared.graceMs, endMs - clock.nowMs()));
    }
    this.stop();
  }

  /** Etcd knows that it leaves, or has never heard of it. */
  private hasSaidSo(): boolean {
    const { nodes, self } = this.parts.membership;
    return self.epoch === 0 || nodes.some(({ id, isLeaving }) => id === self.id && isLeaving);
  }

  private isStandby(): boolean {
    const { table, self } = this.parts.membership;
    const place = table?.nodes.findIndex((node) => isSameNode(node, self)) ?? -1;
    return place >= 0 && table!.standbys.includes(place);
  }

  /** The last of all leaves nobody behind: what it has is nobody's, and not known to whoever comes next. */
  private async giveUp(endMs: number): Promise<void> {
    const { environment, membership, shards } = this.parts;
    membership.right.end();
    // Where all are stopped at one time, all change the table at one time: whoever was too late does it again. Left as it was, it would name somebody who
    // is gone, and whoever comes next would have to wait until his right has ended.
    const isOver = () => this.parts.isStopped || membership.isDeposed || environment.clock.nowMs() >= endMs;
    while (shards.all().length > 0 && !isOver()) {
      const nobodys: ShardEdit = { owner: undefined, origin: this.duties.unknownOrigin(), standby: null };
      const outcome = await membership.edit(() => new Map(shards.all().map(({ number }) => [number, nobodys])));
      if (outcome !== 'done') await this.pause(this.parts.settings.ttlMs / 50);
    }
    await membership.leave();
  }

  /** Stops at once and says nothing to anybody. */
  stop(): void {
    this.parts.isStopped = true;
    this.callOffTick?.();
    this.parts.membership.stop();
    this.parts.standbys.stop();
    this.parts.shards.changed();
  }

  // --- The duties of a node ---

  private get tickMs(): number {
    return this.parts.settings.ttlMs / 5;
  }

  private tickIn(ms: number): void {
    this.callOffTick?.();
    if (this.parts.isStopped || this.parts.membership.isLeaving) return;
    this.callOffTick = this.parts.environment.clock.after(ms, () => {
      void this.doDuties().then((isWell) => this.tickIn(isWell ? this.tickMs : this.tickMs / 4));
    });
  }

  /** Everything that has to be done now and then; says whether etcd answered. */
  private async doDuties(): Promise<boolean> {
    if (this.isBusy || this.parts.isStopped) return true;
    this.isBusy = true;
    try {
      const outcome = await this.parts.membership.renew();
      if (this.parts.isStopped) return true;
      if (this.parts.membership.isDeposed) {
        await this.startAnew();
        return true;
      }
      if (outcome === 'done') await this.duties.carryOut();
      return outcome === 'done';
    } catch (error) {
      this.parts.environment.log.error({ err: error }, 'a node of the cluster could not do its duties');
      return false;
    } finally {
      this.isBusy = false;
    }
  }

  /** Somebody took over from us: nothing that we have counts any more. */
  private async startAnew(): Promise<void> {
    const { environment, membership, shards, standbys, long } = this.parts;
    environment.log.warn({ id: membership.self.id }, 'was taken for dead, and joins anew');
    membership.right.end();
    shards.drop(standbys, long);
    if (membership.isLeaving) return;
    while (!this.parts.isStopped && !(await this.join())) await this.pause(this.parts.settings.ttlMs / 10);
  }

  // --- What is asked ---

  /**
   * Checks of keys wherever they are counted: here at once, elsewhere by asking. Throws, or rejects, `store-unavailable` when nobody can be
   * sure; then nothing may be taken for granted.
   */
  apply(checks: readonly Check[], requestId?: string): Answer<Decision[]> {
    return this.checks.apply(checks, requestId);
  }

  /** Another node says something. */
  receive(message: PeerMessage): Answer<PeerReply> {
    // Until etcd has said which epoch is ours, a table that names it would not be taken for ours, and be kept as known.
    if (this.parts.isStopped || this.parts.membership.isDeposed || message.to !== this.parts.membership.self.id)
      return { kind: 'not-mine' };
    switch (message.kind) {
      case 'apply':
        return this.checks.receive(message);
      case 'offer':
        if (this.parts.membership.isLeaving) return { kind: 'not-mine' };
        return this.parts.shards.receiveOffer(message.token, message.shards) ? { kind: 'done' } : { kind: 'not-mine' };
      case 'table':
        this.parts.membership.adopt(message.table, message.revision);
        return { kind: 'done' };
      case 'replicate':
        return { kind: 'copied', shards: this.parts.shards.receiveCopies(message, this.isOwner) };
    }
  }

  // --- What is known ---

  route(slot: number): Route {
    const { shards } = this.parts;
    const shard = shards.numberOfSlot(slot);
    if (shards.at(shard) !== undefined) return 'here';
    const { table } = this.parts.membership;
    const node = table && this.parts.membership.reach(ownerOf(table, shard));
    return node === undefined || node.id === this.parts.membership.self.id ? 'nowhere' : this.memberOf(node);
  }

  /** Why it decides nothing now, for people; undefined: it does. */
  problem(): string | undefined {
    const { right, trouble, self } = this.parts.membership;
    if (right.leftMs() > 0) return undefined;
    if (trouble !== undefined) return `etcd cannot be used, so this node may not decide: ${trouble}`;
    return self.epoch === 0
      ? 'this node has not joined its cluster yet'
      : 'this node has lost its right to decide, and has not renewed it yet';
  }

  private memberOf({ id, epoch, addresses, isLeaving }: KnownNode): ClusterMember {
    return { id, epoch, addresses, isLeaving, isSelf: id === this.parts.membership.self.id };
  }

  view(): ClusterView {
    const { membership } = this.parts;
    const { table, revision } = membership;
    const unrecorded = (table?.nodes ?? []).filter((reference) => membership.nodeOf(reference) === undefined);
    const reached = unrecorded.flatMap((reference) => membership.reach(reference) ?? []);
    const nodes = [...membership.nodes.filter((node) => !membership.isPredecessor(node)), ...reached];
    const places = new Map(nodes.map(({ id, epoch }, place) => [`${id}@${epoch}`, place]));
    const placeIn = (list: readonly number[] | undefined) =>
      Array.from({ length: this.parts.shards.count }, (_, shard) => {
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

  /** How many shards came to it in which way. Looks at nothing else, not even at the clock: whoever watches a simulation must not change it. */
  get origins(): Pick<NodeStats, 'takenOver' | 'promoted'> {
    return this.parts.shards.counts;
  }

  stats(): NodeStats {
    const own = this.parts.shards.all();
    return {
      id: this.parts.membership.self.id,
      ownedShards: own.length,
      standbyShards: this.parts.standbys.recorded,
      keys: own.reduce((sum, { keys }) => sum + keys, 0),
      rightForMs: Math.max(0, this.parts.membership.right.leftMs()),
      ...this.parts.shards.counts,
      ...this.checks.counts,
      handedOver: this.duties.handedOver,
      durableKeys: this.parts.long.size,
      durableWrites: this.parts.long.writes,
    };
  }

  private readonly isOwner = (shard: number, epoch: number): boolean => {
    const { table } = this.parts.membership;
    return table !== undefined && ownerOf(table, shard)?.epoch === epoch;
  };

  private pause(ms: number): Promise<void> {
    return pause(this.parts.environment.clock, ms);
  }
}

/** What the nodes of a cluster have to agree on. */
function differenceOf(theirs: ClusterSettings['shared'], ours: ClusterSettings['shared']): string | undefined {
  const fields = Object.keys(ours) as (keyof typeof ours)[];
  const field = fields.find((name) => theirs[name] !== ours[name]);
  if (field === undefined) return undefined;
  return `store.${field} of this node is ${ours[field]}, that of its cluster ${theirs[field]}. All nodes need the same; to change it, end them all (SIGTERM), then start them anew.`;
}
