/**
 * The shards that this node owns, as the slot table says, and where their state comes from.
 *
 *      slot table ──► ours now ──► a copy that was kept here ─┐
 *                                  an offer that was taken ───┼──► shard
 *                                  nothing is known ──────────┘
 *                 └─► no longer ──► dropped, with its standby and its long windows
 */
import { slotOf } from 'sluice/client';
import { Copies } from './copies.ts';
import type { NodeEnvironment } from './environment.ts';
import type { Fences } from './fences.ts';
import type { LongWindows } from './long-windows.ts';
import type { Membership } from './membership.ts';
import type { Replication, ShardState } from './messages.ts';
import { Offers } from './offers.ts';
import type { OwnedPolicies } from './owned-policy.ts';
import type { Standbys } from './replication.ts';
import type { ClusterSettings } from './settings.ts';
import { Shard } from './shard.ts';
import { defaultShards, shardOfSlot } from './shards.ts';
import { isSameNode, offerOrigin, originOf, ownerOf, type SlotTable, standbyOf } from './slot-table.ts';
import type { PolicyTexts } from './wire-check.ts';

export interface OwnedShardsParts {
  readonly settings: ClusterSettings;
  readonly environment: NodeEnvironment;
  readonly fences: Fences;
  readonly policies: OwnedPolicies;
  readonly texts: PolicyTexts;
}

export class OwnedShards {
  readonly count: number;
  /** How many came in which way. */
  readonly counts = { takenOver: 0, promoted: 0 };
  private readonly parts: OwnedShardsParts;
  private readonly maxKeysPerShard: number;
  private readonly copies: Copies;
  private offers: Offers;
  private owned: (Shard | undefined)[] = [];
  /** How we came by each. */
  private readonly ownedBy: string[] = [];
  /** Who waits for shards that are being handed over. */
  private waiting: (() => void)[] = [];

  constructor(parts: OwnedShardsParts) {
    const { settings, environment, fences, policies, texts } = parts;
    this.parts = parts;
    this.count = settings.shared.shards ?? defaultShards;
    this.maxKeysPerShard = Math.max(64, Math.ceil(settings.maxKeys / this.count));
    this.copies = new Copies(environment.clock, fences, policies, texts, this.maxKeysPerShard);
    this.offers = this.noOffers();
  }

  private noOffers(): Offers {
    const { environment, fences, settings } = this.parts;
    return new Offers(environment.clock, fences, 3 * settings.ttlMs);
  }

  numberOf(key: string): number {
    return shardOfSlot(slotOf(key), this.count);
  }

  numberOfSlot(slot: number): number {
    return shardOfSlot(slot, this.count);
  }

  at(number: number): Shard | undefined {
    return this.owned[number];
  }

  /** The shard that counts a key, where it is ours. */
  of(key: string): Shard | undefined {
    return this.owned[this.numberOf(key)];
  }

  all(): Shard[] {
    return this.owned.filter((shard) => shard !== undefined);
  }

  /** The slot table is another one. */
  follow(table: SlotTable, { self }: Pick<Membership, 'self'>, standbys: Standbys, long: LongWindows): void {
    for (let shard = 0; shard < this.count; shard += 1) {
      if (isSameNode(ownerOf(table, shard), self)) {
        this.own(shard, originOf(table, shard), self.epoch, standbys, long);
        standbys.seen(shard, standbyOf(table, shard)?.id);
        continue;
      }
      const lost = this.owned[shard];
      if (lost === undefined) continue;
      const isMoved = lost.offeredAs !== undefined && originOf(table, shard) === offerOrigin(lost.offeredAs);
      this.owned[shard] = undefined;
      standbys.forget(shard, isMoved);
      long.forget(shard);
    }
    this.copies.drop((shard, epoch) => {
      const owner = ownerOf(table, shard);
      return owner !== undefined && owner.epoch !== epoch;
    });
    this.changed();
  }

  /** A shard that came to us in another way than the one we have was another's in between, though we have not heard of that. */
  private own(shard: number, origin: string, epoch: number, standbys: Standbys, long: LongWindows): void {
    if (this.owned[shard] !== undefined) {
      if (this.ownedBy[shard] === origin) return;
      standbys.forget(shard);
      long.forget(shard);
    }
    const acquired = this.acquire(shard, origin);
    this.owned[shard] = acquired;
    this.ownedBy[shard] = origin;
    long.own(acquired, `${epoch} ${origin}`);
  }

  /** A shard that is ours now, with what is known of it. */
  private acquire(shard: number, origin: string): Shard {
    const { environment, fences } = this.parts;
    const [kind, name] = origin.split(':');
    if (kind === 'copy') {
      const copy = this.copies.take(shard, Number(name));
      if (copy) {
        copy.promote(fences);
        this.counts.promoted += 1;
        return copy;
      }
    }
    try {
      const offered = this.offers.take(kind === 'offer' ? name : undefined, shard, this.maxKeysPerShard);
      if (offered) return offered;
    } catch (error) {
      // Thrown on, it would leave the rest of the table unread: what is no longer ours must be given up in any case.
      environment.log.error({ shard, err: error }, 'a shard that was handed over cannot be kept as it is');
    }
    this.counts.takenOver += 1;
    return Shard.unknown(shard, environment.clock, this.maxKeysPerShard, fences);
  }

  /** Nothing that we have counts any more. */
  drop(standbys: Standbys, long: LongWindows): void {
    for (const { number } of this.all()) {
      standbys.forget(number);
      long.forget(number);
    }
    this.owned = [];
    this.copies.drop(() => true);
    this.offers = this.noOffers();
    this.changed();
  }

  /** Another node offers state: says whether it is kept. */
  receiveOffer(token: string, states: readonly ShardState[]): boolean {
    return this.offers.receive(token, states);
  }

  /** An owner tells what it did: says of which shards the copy has all of it now. */
  receiveCopies(message: Replication, isOwner: (shard: number, epoch: number) => boolean): number[] {
    return this.copies.receive(message, isOwner);
  }

  /** Somebody who waits may look again: shards came or went, or are no longer on their way. */
  changed(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Waits for a change, and no longer than this. */
  nextChange(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const callOff = this.parts.environment.clock.after(withinMs, resolve);
      this.waiting.push(() => {
        callOff();
        resolve();
      });
    });
  }

  /** What must never be done, for the simulation to show why: a shard that somebody else owns. */
  counted(number: number): Shard {
    const { environment, fences } = this.parts;
    const stray =
      this.owned[number] ??
      Shard.unknown(number, environment.clock, this.maxKeysPerShard, { ...fences, quarantine: false });
    this.owned[number] = stray;
    return stray;
  }
}
