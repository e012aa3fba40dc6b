/** A cluster's slots as CLUSTER tells of them: those that follow each other and have the same owner and the same standby are one range. */
import { firstSlotOf } from '../cluster/shards.ts';
import type { ClusterMember, ClusterView } from '../cluster/view.ts';

export interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly owner: ClusterMember;
  readonly standby: ClusterMember | undefined;
}

/** Slots that nobody owns are in no range. */
export function slotRanges({ members, owners, standbys }: ClusterView): readonly SlotRange[] {
  const ranges: SlotRange[] = [];
  const { length: shards } = owners;
  for (let shard = 0; shard < shards; ) {
    let next = shard + 1;
    while (next < shards && owners[next] === owners[shard] && standbys[next] === standbys[shard]) next += 1;
    const owner = members[owners[shard]!];
    const standby = members[standbys[shard]!];
    if (owner) {
      ranges.push({ first: firstSlotOf(shard, shards), last: firstSlotOf(next, shards) - 1, owner, standby });
    }
    shard = next;
  }
  return ranges;
}

/** Slots from the first to the last, both of them in it. */
export type Slots = Pick<SlotRange, 'first' | 'last'>;

/** What each owner has, by its id and whoever stands by: what CLUSTER NODES has on one line. */
export function slotsByOwner(ranges: readonly SlotRange[]): ReadonlyMap<string, readonly Slots[]> {
  const byOwner = new Map<string, Slots[]>();
  for (const { first, last, owner } of ranges) {
    const owned = byOwner.get(owner.id) ?? [];
    const before = owned.at(-1);
    if (before && before.last + 1 === first) owned[owned.length - 1] = { first: before.first, last };
    else owned.push({ first, last });
    byOwner.set(owner.id, owned);
  }
  return byOwner;
}

/** A server of its own is a cluster of one node that owns every slot. */
export function viewOfOne(self: Pick<ClusterMember, 'id' | 'addresses'>): ClusterView {
  const member: ClusterMember = { ...self, epoch: 1, isSelf: true, isLeaving: false };
  return { revision: 1, members: [member], owners: [0], standbys: [-1] };
}

export function slotCount(ranges: readonly Slots[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}
