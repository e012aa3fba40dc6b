// The servers that are measured. All of them are on one core, whoever it is, and the clients on the other: so "per core" is what it says, and the three
// nodes of a cluster have no more to work with than one service of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd, startRedis } from '@sluice/test-servers';
import { startCluster } from '../plan/cluster.mjs';
import { moveToServerCore } from '../service/cores.mjs';
import { startSluice } from '../service/server-process.mjs';
import { windowMs } from './work.mjs';

/**
 * `pids`: whose processor time counts. `slots`: who owns which, of a cluster.
 * @typedef {{ name: string, addresses: string[], pids: number[], slots: import('../plan/cluster.mjs').SlotRange[][] }} Server
 * @typedef {{ single: Server, cluster: Server, withoutStandby: Server, redis: Server }} Servers
 */

/** How many grants of a key may be ahead of its standby: the default, and none kept. */
const standby = 10;
const noStandby = 0;

/**
 * Starts all of them, and ends them when the work is done.
 * @template T
 * @param {(servers: Servers) => Promise<T>} work
 */
export async function withServers(work) {
  /** @type {(() => Promise<unknown>)[]} */
  const stops = [];
  try {
    const service = await startSluice({ workers: 1 });
    stops.push(service.stop);
    const single = { name: 'one service', addresses: [`127.0.0.1:${service.resp}`], pids: [service.pid], slots: [] };
    const central = await startRedis();
    stops.push(() => central.stop());
    moveToServerCore(central.pid);
    const redis = { name: 'redis', addresses: [`${central.host}:${central.port}`], pids: [central.pid], slots: [] };
    const cluster = await startNodes('three nodes', standby, stops);
    const withoutStandby = await startNodes('three nodes, no standby', noStandby, stops);
    // Whoever owns a key for the first time refuses it for a window.
    await sleep(windowMs);
    return await work({ single, cluster, withoutStandby, redis });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/**
 * Three nodes with an etcd of their own: what it does for them counts as theirs.
 * @param {string} name
 * @param {number} unreplicated
 * @param {(() => Promise<unknown>)[]} stops
 * @returns {Promise<Server>}
 */
async function startNodes(name, unreplicated, stops) {
  const etcd = await startEtcd({ members: 1 });
  stops.push(() => etcd.stop());
  const { nodes, stop } = await startCluster(etcd.endpoints, 'bench', 3, unreplicated);
  stops.push(stop);
  const pids = [...nodes, ...etcd.members].map(({ pid }) => pid);
  for (const pid of pids) moveToServerCore(pid);
  return {
    name,
    addresses: nodes.map(({ port }) => `127.0.0.1:${port}`),
    pids,
    slots: nodes.map(({ slots }) => slots),
  };
}
