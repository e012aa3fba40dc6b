// Whoever asks a server here, as a lane of the race.
import { startChild } from '../child.mjs';
import { generate } from '../service/generator.mjs';

/**
 * @typedef {import('./servers.mjs').Server} Server
 * @typedef {import('../service/race.mjs').Lane} Lane
 * @typedef {Awaited<ReturnType<typeof startCallers>>} Callers
 */

/**
 * Callers of a store, in a process of their own.
 * @param {import('./work.mjs').Setting} setting
 */
export async function startCallers(setting) {
  const child = startChild('cluster/callers.mjs', [JSON.stringify(setting)]);
  mustBeWell(await child.next());
  return {
    /** @param {import('./callers.mjs').Lap} lap @returns {Promise<import('./callers.mjs').LapReport>} */
    lap: async (lap) => mustBeWell(await child.ask(lap)),
    stop: child.stop,
  };
}

/** @param {any} answer */
function mustBeWell(answer) {
  if (answer.failure) throw new Error(`the callers failed: ${answer.failure}`);
  return answer;
}

// Calls until compilers have seen the code, of each node and of the client; on a machine that is busy it is not waited for longer.
const warmCalls = 100_000;
const longestWarmUpMs = 10_000;

/**
 * @param {Callers} callers
 * @param {number} inFlight
 * @param {number} nodes
 */
export async function warmUp(callers, inFlight, nodes) {
  const ms = 500;
  let answered = 0;
  for (let leftMs = longestWarmUpMs; leftMs > 0 && answered < warmCalls * nodes; leftMs -= ms) {
    answered += (await callers.lap({ kind: 'closed', callers: inFlight, ms })).answered;
  }
}

/**
 * So many calls through one store are under way all the time.
 * @param {Server} server
 * @param {Callers} callers
 * @param {number} inFlight
 * @returns {Lane}
 */
export function callersLane({ name, pids }, callers, inFlight) {
  return {
    name,
    pid: pids,
    async lap(ms) {
      const report = await callers.lap({ kind: 'closed', callers: inFlight, ms });
      const { answered, elapsedMs, p50Ms, p99Ms, errors } = report;
      return { requests: answered, ms: elapsedMs, p50Ms, p99Ms, errors };
    },
  };
}

/**
 * Redis clients that know who owns what: one generator for each part of the keys, as many for one service as for three nodes.
 * @param {Server} server
 * @param {{ parts: Server['slots'], question: import('../service/generator.mjs').Question, connections: number, pipelined: number }} way
 * @returns {Lane}
 */
export function generatorsLane({ name, pids, addresses }, { parts, question, connections, pipelined }) {
  const loop = /** @type {const} */ ({ kind: 'closed', inFlightPerConnection: pipelined });
  return {
    name,
    pid: pids,
    async lap(ms) {
      const reports = await Promise.all(
        parts.map((slots, i) => {
          const port = Number(addresses[i % addresses.length]?.split(':').at(-1));
          return generate({ port, question, connections, loop, durationMs: ms, slots });
        }),
      );
      const most = (/** @type {(report: (typeof reports)[number]) => number} */ of) => Math.max(...reports.map(of));
      const sum = (/** @type {(report: (typeof reports)[number]) => number} */ of) =>
        reports.reduce((total, report) => total + of(report), 0);
      return {
        requests: sum(({ answered }) => answered),
        ms: most(({ elapsedMs }) => elapsedMs),
        p50Ms: most(({ p50Ms }) => p50Ms),
        p99Ms: most(({ p99Ms }) => p99Ms),
        errors: sum(({ errors }) => errors),
      };
    },
  };
}
