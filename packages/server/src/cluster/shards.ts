/**
 * Keys belong to slots exactly as in Redis Cluster, and an even stretch of slots is a shard: what is owned, handed over and copied as one. A shard
 * is small enough to move within milliseconds. Many of them spread evenly over many nodes; few of them are quicker, because each is a store of
 * its own, and memory that is used together lies together.
 */
export const slots = 16_384;

/** The most that a cluster can have, and so the most nodes. */
export const mostShards = 1024;
export const defaultShards = 256;

export function shardOfSlot(slot: number, count: number): number {
  return (slot * count) >>> 14;
}

export function firstSlotOf(shard: number, count: number): number {
  return Math.ceil((shard * slots) / count);
}
