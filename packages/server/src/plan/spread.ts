/** How uneven a cluster is: shards come whole, and users are not the same number in each. */
import { mostShards as shards } from '../cluster/shards.ts';
import { assign } from '../cluster/slot-table.ts';

const known = new Map<number, number>();

/** Of so many nodes, what the one with most shards has: by the very arithmetic that nodes use. */
export function mostShards(nodes: number): number {
  const before = known.get(nodes);
  if (before !== undefined) return before;
  const addresses = Array.from({ length: nodes }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}:6380`);
  const counts = new Map<string, number>();
  for (const owner of assign(addresses, shards).owners) counts.set(owner!, (counts.get(owner!) ?? 0) + 1);
  const most = Math.max(...counts.values());
  known.set(nodes, most);
  return most;
}

/** The share of everything, 0 to 1, that the node with most shards has. */
export function mostShare(nodes: number): number {
  return mostShards(nodes) / shards;
}

/**
 * Users fall on nodes by chance. Of n nodes with m users each, the fullest has about sqrt(2 m ln n) more than m: the largest of n values that are
 * nearly normal with variance m. It has one at least, because users come whole, and no more than there are.
 */
export function userSpread(users: number, nodes: number): number {
  if (nodes === 1) return 1;
  const perNode = users * mostShare(nodes);
  const ofFullest = Math.min(users, Math.max(1, perNode + Math.sqrt(2 * perNode * Math.log(nodes))));
  return ofFullest / perNode;
}
