/**
 * Keys belong to slots exactly as in Redis Cluster, and sixteen slots are a shard: what is owned, handed over and copied as one. A shard
 * is small enough to move within milliseconds, and there are enough of them for a thousand nodes.
 */
export const slots = 16_384;
export const slotsPerShard = 16;
export const shards = slots / slotsPerShard;

/** Clusters of the simulation have fewer shards; shards are even stretches of slots in any case. */
export function shardOfSlot(slot: number, count = shards): number {
  return (slot * count) >>> 14;
}
