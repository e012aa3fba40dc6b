// An owned cluster of three nodes on this machine: beside one service of its own, at 70 % of what it can do, and beside the other ways to limit
// across machines.
import { load } from './cluster/load.mjs';
import { modes } from './cluster/modes.mjs';
import { withServers } from './cluster/servers.mjs';
import { throughput } from './cluster/throughput.mjs';
import { runPieces } from './pieces.mjs';

/** @param {import('../run.mjs').Run} run */
export async function cluster(run) {
  run.progress('cluster: one service, one Redis, and two clusters of three nodes, one without standbys');
  return withServers((servers) => {
    const named = Object.entries({ throughput, load, modes }).map(([name, piece]) => [
      name,
      (/** @type {import('../run.mjs').Run} */ run) => piece(servers, run),
    ]);
    return runPieces(Object.fromEntries(named), run);
  });
}
