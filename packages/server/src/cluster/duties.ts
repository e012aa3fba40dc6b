/**
 * What a node does every so often, once its record is renewed: take over from the silent, hand over what others should own, keep the standbys, tidy up.
 */
import { handOver, ruleOut } from './hand-over.ts';
import type { Membership } from './membership.ts';
import type { NodeParts } from './node-parts.ts';
import type { KnownNode } from './records.ts';
import type { StandbyEdits } from './replication.ts';
import type { Shard } from './shard.ts';
import {
  type Assignment,
  assign,
  copyOrigin,
  isSameNode,
  type NodeReference,
  ownerOf,
  type ShardEdit,
  type SlotTable,
  standbyOf,
  tableText,
  unknownOrigin,
} from './slot-table.ts';

// How many shards are handed over at once: calls of their keys wait for so long.
const shardsPerHandOver = 32;
// How often the table is changed at once, when others change it at the same time.
const mostEdits = 5;

export class Duties {
  /** Shards, since the start. */
  handedOver = 0;
  private readonly parts: NodeParts;
  /** The shard whose long windows were tidied up last. */
  private swept = -1;
  private assigned: { readonly addresses: string; readonly assignment: Assignment } | undefined;

  constructor(parts: NodeParts) {
    this.parts = parts;
  }

  async carryOut(): Promise<void> {
    await this.takeOver();
    await this.thawShards();
    await this.handOverShards();
    await this.keepStandbys();
    await this.sweepLongWindows();
  }

  /** Who should own what, of those that are there and stay. */
  private assignment(except?: string): Assignment {
    const staying = this.parts.membership.nodes.filter(({ id, isLeaving }) => !isLeaving && id !== except);
    const addresses = staying.map((node) => node.addresses.resp).sort();
    const name = addresses.join(' ');
    if (this.assigned?.addresses !== name)
      this.assigned = { addresses: name, assignment: assign(addresses, this.parts.shards.count) };
    return this.assigned.assignment;
  }

  /** The youngest node of an address: an older one at the same place is dead, and not yet known to be. */
  private nodeAt(address: string | undefined): KnownNode | undefined {
    const candidates = this.parts.membership.nodes.filter(({ addresses }) => addresses.resp === address);
    return candidates.reduce<KnownNode | undefined>((a, b) => (a && a.epoch > b.epoch ? a : b), undefined);
  }

  private referenceAt(address: string | undefined): NodeReference | undefined {
    const node = this.nodeAt(address);
    return node && referenceOf(node);
  }

  private async takeOver(): Promise<void> {
    const { membership } = this.parts;
    const { log } = this.parts.environment;
    for (const dead of membership.silent()) {
      const key = membership.keys.nodeOf(dead.id);
      const and = { compare: [{ key, modRevision: dead.modRevision }], change: [{ delete: key }] };
      const isDone = await this.edit((table) => this.editsWithout(table, dead), and);
      if (!isDone) continue;
      log.warn({ id: dead.id, at: dead.addresses.resp }, 'a node is silent: its shards have new owners');
      // It may have lost etcd alone: whoever still asks it has to be sent on.
      this.tell([dead]);
    }
    for (const gone of membership.gone()) {
      const isDone = await this.edit((table) => this.editsWithout(table, gone));
      if (isDone) log.warn({ id: gone.id }, 'a node has no record any more: its shards have new owners');
    }
    await this.takeNobodys();
  }

  /** Where all have left as planned nobody has anything any more. There is nothing to wait for: whoever comes has it from the start. */
  async takeNobodys(): Promise<void> {
    if (!this.parts.membership.table?.owners.includes(-1)) return;
    await this.edit((table) => this.editsWithout(table, undefined));
  }

  /** What others get of a node that is no more. */
  private editsWithout(table: SlotTable, dead: NodeReference | undefined): Map<number, ShardEdit> {
    const { owners } = this.assignment(dead?.id);
    const edits = new Map<number, ShardEdit>();
    for (let shard = 0; shard < this.parts.shards.count; shard += 1) {
      const owner = ownerOf(table, shard);
      const standby = standbyOf(table, shard);
      const isStandbyDead = standby !== undefined && isSameNode(standby, dead);
      if (owner !== undefined && !isSameNode(owner, dead)) {
        if (isStandbyDead) edits.set(shard, { standby: null });
        continue;
      }
      const hasCopy = owner !== undefined && !isStandbyDead && this.parts.membership.nodeOf(standby) !== undefined;
      if (hasCopy) edits.set(shard, { owner: standby, origin: copyOrigin(owner.epoch), standby: null });
      else edits.set(shard, { owner: this.referenceAt(owners[shard]), origin: this.unknownOrigin(), standby: null });
    }
    return edits;
  }

  /** Like no other: whoever had the shard before, and has not heard of what happened since, must see that something did. */
  unknownOrigin(): string {
    return unknownOrigin(this.parts.membership.revision);
  }

  /** Changes the slot table, also where others change it at the same time; and tells the others. */
  private async edit(
    editsFor: (table: SlotTable) => ReadonlyMap<number, ShardEdit>,
    and?: Parameters<Membership['edit']>[1],
  ): Promise<boolean> {
    const { membership } = this.parts;
    for (let tries = 0; tries < mostEdits && !this.parts.isStopped && !membership.isDeposed; tries += 1) {
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
    const { self, nodes } = this.parts.membership;
    this.tell(nodes.filter(({ id }) => id !== self.id));
  }

  private tell(nodes: readonly KnownNode[]): void {
    const { table, revision } = this.parts.membership;
    if (table === undefined) return;
    const text = tableText(table);
    for (const { id, addresses } of nodes) {
      this.parts.environment.peers
        .ask(addresses.resp, { kind: 'table', to: id, revision, table: text }, this.parts.settings.patienceMs)
        .catch((error) =>
          this.parts.environment.log.debug({ to: addresses.resp, error: error.message }, 'was not told'),
        );
    }
  }

  /**
   * Duties come one after the other, so no hand-over is under way here: what is frozen was left so by one whose outcome was not known when the right
   * ran out. It would be ours, and never answer again.
   */
  private async thawShards(): Promise<void> {
    const frozen = this.parts.shards.all().filter(({ isFrozen }) => isFrozen);
    if (frozen.length === 0) return;
    const isKnown = await ruleOut(this.parts.membership, frozen);
    this.parts.shards.changed();
    if (isKnown)
      this.parts.environment.log.info({ shards: frozen.length }, 'ended a hand-over that nobody knew the end of');
  }

  private async handOverShards(): Promise<void> {
    const { environment, fences, membership, settings } = this.parts;
    const { owners } = this.assignment();
    const leaving = this.parts.shards
      .all()
      .filter(({ number }) => owners[number] !== undefined && this.nodeAt(owners[number])?.id !== membership.self.id);
    const byTarget = new Map<string, Shard[]>();
    for (const shard of leaving) {
      const address = owners[shard.number]!;
      byTarget.set(address, [...(byTarget.get(address) ?? []), shard]);
    }
    for (const [address, given] of byTarget) {
      for (let left: readonly Shard[] = given; left.length > 0; ) {
        const to = this.nodeAt(address);
        if (to === undefined || this.parts.isStopped || membership.isDeposed || membership.right.leftMs() <= 0) return;
        left = left.filter((shard) => this.parts.shards.at(shard.number) === shard);
        const offerMs = settings.patienceMs / 4;
        const some = left.slice(0, shardsPerHandOver);
        const taken = some.length === 0 ? [] : await handOver({ environment, fences, membership, offerMs }, some, to);
        this.parts.shards.changed();
        if (taken.length === 0) break;
        environment.log.info({ shards: taken.length, to: address }, 'handed over shards');
        this.handedOver += taken.length;
        left = left.slice(taken.length);
        this.tellOthers();
        // Many shards take longer than a right lasts.
        if (membership.right.leftMs() < settings.ttlMs / 2) await membership.renew();
      }
    }
  }

  private async keepStandbys(): Promise<void> {
    if (this.parts.settings.shared.unreplicated === 0) return;
    const { standbys: wanted } = this.assignment();
    for (const shard of this.parts.shards.all()) {
      const node = this.nodeAt(wanted[shard.number]);
      const current = this.parts.standbys.standbyOf(shard.number);
      if (current && current.id !== node?.id) this.parts.standbys.break(shard.number);
      else if (!current && node && node.id !== this.parts.membership.self.id && !shard.isFrozen) {
        this.parts.standbys.begin(shard, { id: node.id, address: node.addresses.resp });
      }
    }
    await this.recordStandbys();
  }

  /** One shard at a time: what no longer matters goes slowly, and costs next to nothing. */
  private async sweepLongWindows(): Promise<void> {
    const own = this.parts.shards.all();
    const next = own.find(({ number }) => number > this.swept) ?? own[0];
    if (next === undefined) return;
    this.swept = next.number;
    try {
      await this.parts.long.sweep(next.number);
    } catch (error) {
      this.parts.environment.log.debug(
        { error: (error as Error).message },
        'old records of long windows could not be removed',
      );
    }
  }

  private async recordStandbys(): Promise<void> {
    let edits: StandbyEdits = new Map();
    if (this.parts.standbys.edits().size === 0) return;
    const isDone = await this.edit((table) => {
      edits = this.parts.standbys.edits();
      this.parts.standbys.telling(edits);
      return this.standbyEdits(table, edits);
    }, {});
    if (isDone) this.parts.standbys.told(edits);
  }

  private standbyEdits(table: SlotTable, edits: StandbyEdits): Map<number, ShardEdit> {
    const made = new Map<number, ShardEdit>();
    for (const [shard, standby] of edits) {
      if (!isSameNode(ownerOf(table, shard), this.parts.membership.self)) continue;
      const node = standby && this.parts.membership.nodes.find(({ id }) => id === standby.id);
      made.set(shard, { standby: node ? referenceOf(node) : null });
    }
    return made;
  }
}

function referenceOf({ id, epoch, ttlMs, addresses }: KnownNode): NodeReference {
  return { id, epoch, ttlMs, addresses };
}
