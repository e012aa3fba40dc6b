// Checks in the same processor time: three nodes beside one service, through the smart client and through Redis clients that know who owns what. What the
// standbys take, and etcd, counts as the cluster's.
import { clusterBars } from '../bars.mjs';
import { coresInWords } from '../service/cores.mjs';
import { processorRatio, raceTable, serverRace } from '../service/race.mjs';
import { callersLane, generatorsLane, startCallers, warmUp } from './lanes.mjs';
import { callersPerNode, patient, policies } from './work.mjs';

/**
 * @typedef {import('./servers.mjs').Servers} Servers
 * @typedef {import('./servers.mjs').Server} Server
 */

/** `perNode`: so many calls are under way for each node, not for all of them together. */
// biome-ignore format: aligned rows
const ways = /** @type {const} */ ([
  { name: `smart client, gcra, ${callersPerNode} calls under way for each node`,        policy: 'gcra',        perNode: true },
  { name: `smart client, gcra, ${callersPerNode} calls under way in all`,               policy: 'gcra',        perNode: false },
  { name: `smart client, sliding-log, ${callersPerNode} calls under way for each node`, policy: 'sliding-log', perNode: true },
]);

// At most 100 at once, 100 in ten seconds.
const throttle = /** @type {const} */ ({ protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '99', '100', '10'] });
const pipelined = 16;
const connections = 8;

/**
 * @param {Servers} servers
 * @param {import('../../run.mjs').Run} run
 */
export async function throughput({ single, cluster, withoutStandby }, { rounds, print, progress }) {
  const servers = [single, cluster, withoutStandby];
  const rows = [];
  const bars = [];
  for (const { name, policy, perNode } of ways) {
    progress(`cluster, throughput, ${name}: ${rounds} rounds`);
    const results = await raceOfCallers(servers, { policy: policies[policy], perNode }, rounds);
    print(raceTable(`${name}; ${coresInWords}`, results, [single.name]));
    rows.push({ name, results });
    for (const of of [cluster, withoutStandby]) {
      const reached = processorRatio(results, of.name, single.name);
      bars.push({ name: `${name}: ${of.name}, by cpu`, reached, atLeast: clusterBars.ofSingleNode });
    }
    const errors = results.reduce((sum, result) => sum + result.errors, 0);
    bars.push({ name: `${name}: errors`, reached: errors, atMost: 0 });
  }
  const name = `CL.THROTTLE, ${pipelined} pipelined`;
  progress(`cluster, throughput, ${name}: ${rounds} rounds`);
  const lanes = servers.map((server) => {
    // The same callers ask one service, each for its part of the keys.
    const parts = server === single ? cluster.slots : server.slots;
    return generatorsLane(server, { parts, question: throttle, connections, pipelined });
  });
  const results = await serverRace(lanes, rounds);
  print(raceTable(`${name}; ${coresInWords}`, results, [single.name]));
  rows.push({ name, results });
  return { rows, bars };
}

/**
 * @param {readonly Server[]} servers
 * @param {{ policy: object, perNode: boolean }} way
 * @param {number} rounds
 */
async function raceOfCallers(servers, { policy, perNode }, rounds) {
  /** @type {import('./lanes.mjs').Callers[]} */
  const started = [];
  try {
    const lanes = [];
    for (const server of servers) {
      const { addresses } = server;
      const setting = /** @type {const} */ ({ mode: 'owned', instances: 1, order: 'uniform', deadline: patient });
      const callers = await startCallers({ ...setting, servers: addresses, policy });
      started.push(callers);
      const inFlight = callersPerNode * (perNode ? addresses.length : 1);
      await warmUp(callers, inFlight, addresses.length);
      lanes.push(callersLane(server, callers, inFlight));
    }
    return await serverRace(lanes, rounds);
  } finally {
    for (const { stop } of started) stop();
  }
}
