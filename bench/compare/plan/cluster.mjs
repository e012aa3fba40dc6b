// A cluster of the service on this machine, each node with what it owns.
import { setTimeout as sleep } from 'node:timers/promises';
import { startSluice, waitUntil } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { defaultShards, firstSlotOf } from '../../../packages/server/dist/cluster/shards.js';
import { assign } from '../../../packages/server/dist/cluster/slot-table.js';
import { policy } from './question.mjs';

/**
 * @typedef {[from: number, to: number]} SlotRange
 * @typedef {{ pid: number, port: number, slots: SlotRange[] }} Node
 */

/**
 * @param {readonly string[]} etcd
 * @param {string} name
 * @param {number} count
 * @param {number} unreplicated
 */
export async function startCluster(etcd, name, count, unreplicated) {
  const config = JSON.stringify({
    rules: [{ name: 'per-user', key: 'user', ...policy }],
    store: { type: 'owned', etcd, clusterName: name, unreplicated, maxKeys: 1_000_000 },
    listen: { host: '127.0.0.1' },
  });
  /** @type {Awaited<ReturnType<typeof startSluice>>[]} */
  const services = [];
  const stop = () => Promise.all(services.map((service) => service.stop()));
  try {
    for (let i = 0; i < count; i += 1) services.push(await startSluice({ config }));
    const addresses = services.map(({ respPort }) => `127.0.0.1:${respPort}`);
    const { owners } = assign(addresses, defaultShards);
    /** @type {Map<string, SlotRange[]>} */
    let owned = new Map();
    await waitUntil(
      `each of ${count} nodes has what is its own`,
      async () => {
        const { byOwner, isCopied } = await slotsByOwner(services[0]?.respPort ?? 0);
        owned = byOwner;
        const isSettled = owners.every((owner, shard) =>
          isAmong(byOwner.get(owner ?? '') ?? [], firstSlotOf(shard, defaultShards)),
        );
        return isSettled && (isCopied || unreplicated === 0 || count === 1);
      },
      { everyMs: 200, timeoutMs: 120_000 },
    );
    // Whoever took over without knowing the past refuses for a window.
    await sleep(3 * policy.window);
    const nodes = services.map(({ pid, respPort }, i) => ({
      pid,
      port: respPort,
      slots: owned.get(addresses[i] ?? '') ?? [],
    }));
    return { nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * @param {readonly SlotRange[]} ranges
 * @param {number} slot
 */
function isAmong(ranges, slot) {
  return ranges.some(([from, to]) => slot >= from && slot <= to);
}

/** @param {number} port */
async function slotsByOwner(port) {
  const redis = new Redis({ host: '127.0.0.1', port, lazyConnect: true });
  try {
    await redis.connect();
    const ranges = await redis.cluster('SLOTS');
    /** @type {Map<string, SlotRange[]>} */
    const byOwner = new Map();
    for (const [from, to, owner] of ranges) {
      const address = owner === undefined ? '' : `${owner[0]}:${owner[1]}`;
      byOwner.set(address, [...(byOwner.get(address) ?? []), [from, to]]);
    }
    return { byOwner, isCopied: ranges.every((range) => range.length > 3) };
  } finally {
    redis.disconnect();
  }
}
