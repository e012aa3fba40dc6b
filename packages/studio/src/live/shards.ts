/** Who owns the shards of a cluster, in numbers and in words, and what moved from one snapshot to the next. */
import type { LiveCluster } from './contract.ts';

export interface ShardCounts {
  readonly owned: number;
  readonly standby: number;
}

/** One for each member, in their order. */
export function shardCounts({ members, owners, standbys }: LiveCluster): ShardCounts[] {
  const counts = members.map(() => ({ owned: 0, standby: 0 }));
  for (const place of owners) if (counts[place] !== undefined) counts[place].owned += 1;
  for (const place of standbys) if (counts[place] !== undefined) counts[place].standby += 1;
  return counts;
}

/** For those who cannot see the strip, and for those who can. */
export function shardWords(cluster: LiveCluster): string {
  const { members, owners } = cluster;
  const counts = shardCounts(cluster);
  const unowned = owners.filter((place) => members[place] === undefined).length;
  const parts = members.map(({ address }, place) => `${address} ${counts[place]!.owned}`);
  const nobody = unowned === 0 ? 'Every shard has an owner.' : `${shardsText(unowned)} without an owner: refused.`;
  return `${shardsText(owners.length)}. ${nobody} Owned: ${parts.join(', ')}.`;
}

/** Keys belong to 16,384 slots as in Redis Cluster, and an even stretch of them is a shard. */
export function slotsOfShard(shard: number, shards: number): { readonly first: number; readonly last: number } {
  const slots = 16_384;
  return { first: Math.ceil((shard * slots) / shards), last: Math.ceil(((shard + 1) * slots) / shards) - 1 };
}

export interface Moves {
  readonly shards: ReadonlySet<number>;
  readonly words: string;
}

/** Members are known by their ids: their places change when one comes or goes. Undefined: nothing moved. */
export function movesBetween(before: LiveCluster | null, after: LiveCluster | null): Moves | undefined {
  if (before === null || after === null || before.owners.length !== after.owners.length) return undefined;
  const shards = new Set<number>();
  const ways = new Map<string, number>();
  after.owners.forEach((place, shard) => {
    const from = before.members[before.owners[shard]!];
    const to = after.members[place];
    if (from?.id === to?.id) return;
    shards.add(shard);
    const way = `from ${from?.address ?? 'nobody'} to ${to?.address ?? 'nobody'}`;
    ways.set(way, (ways.get(way) ?? 0) + 1);
  });
  if (shards.size === 0) return undefined;
  return { shards, words: `Moved: ${[...ways].map(([way, count]) => `${count} ${way}`).join(', ')}.` };
}

/**
 * A number for each member, which is its sign and its colour for as long as it is there: when another one goes, those that stay keep theirs. By id;
 * a newcomer gets the smallest that is free.
 */
export function memberNumbers(
  before: ReadonlyMap<string, number>,
  cluster: LiveCluster | null,
): ReadonlyMap<string, number> {
  const ids = cluster?.members.map(({ id }) => id) ?? [];
  const numbers = new Map(ids.filter((id) => before.has(id)).map((id) => [id, before.get(id)!]));
  const taken = new Set(numbers.values());
  let next = 1;
  for (const id of ids) {
    if (numbers.has(id)) continue;
    while (taken.has(next)) next += 1;
    taken.add(next);
    numbers.set(id, next);
  }
  return numbers;
}

function shardsText(count: number): string {
  return count === 1 ? '1 shard' : `${count} shards`;
}
