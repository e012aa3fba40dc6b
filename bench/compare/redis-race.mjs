// Runs contenders over one Redis server in turns: how many requests a second, how long each waited, and what it took of the
// server and of the client.
import { median } from '../table.mjs';
import { startChild } from './child.mjs';

/**
 * @typedef {import('@sluice/test-servers').RedisServer} RedisServer
 * @typedef {import('./redis-lane.mjs').Lap} Lap
 *
 * Whoever can be let run for a while.
 * @typedef {{ name: string, lap(ms: number): Promise<Lap | { failure: string }>, stop(): void }} Lane
 *
 * `serverUs` and `clientUs` are processor time per request; `requestsPerCall` is how many travelled in one script call, or the
 * part of one that a script call was.
 * @typedef {{
 *   name: string, perSecond: number, slowestPerSecond: number, fastestPerSecond: number, p50Ms: number, p99Ms: number,
 *   serverUs: number, clientUs: number, requestsPerCall: number, failure?: string,
 * }} Result
 */

const lapMs = 1000;

/**
 * @param {RedisServer} server
 * @param {readonly Lane[]} lanes
 * @param {number} rounds
 * @param {number} [runUpMs] before each lap, not measured: meanwhile others had the caches
 * @returns {Promise<Result[]>}
 */
export async function redisRace(server, lanes, rounds, runUpMs = 300) {
  const entries = lanes.map((lane) => ({ lane, laps: /** @type {MeasuredLap[]} */ ([]), failure: '' }));
  for (let round = 0; round < rounds; round += 1) {
    // There and back: who comes first is not always the same.
    const turn = round % 2 === 0 ? entries : [...entries].reverse();
    for (const entry of turn) {
      if (entry.failure) continue;
      const lap = await measuredLap(server, entry.lane, runUpMs);
      if ('failure' in lap) entry.failure = lap.failure;
      else entry.laps.push(lap);
    }
  }
  for (const { stop } of lanes) stop();
  return entries.map(({ lane, laps, failure }) => {
    const speeds = laps.map(({ calls, ms }) => (1000 * calls) / ms);
    const medianOf = (/** @type {keyof MeasuredLap} */ field) => median(laps.map((lap) => lap[field]));
    const result = {
      name: lane.name,
      perSecond: median(speeds),
      slowestPerSecond: Math.min(...speeds),
      fastestPerSecond: Math.max(...speeds),
      p50Ms: medianOf('p50Ms'),
      p99Ms: medianOf('p99Ms'),
      serverUs: medianOf('serverUs'),
      clientUs: medianOf('clientUs'),
      requestsPerCall: medianOf('requestsPerCall'),
    };
    return failure ? { ...result, failure } : result;
  });
}

/** @typedef {Lap & { serverUs: number, requestsPerCall: number }} MeasuredLap */

/**
 * @param {RedisServer} server
 * @param {Lane} lane
 * @param {number} runUpMs
 * @returns {Promise<MeasuredLap | { failure: string }>}
 */
async function measuredLap(server, lane, runUpMs) {
  const runUp = await lane.lap(runUpMs);
  if ('failure' in runUp) return runUp;
  const before = await usageOf(server);
  const lap = await lane.lap(lapMs);
  if ('failure' in lap) return lap;
  const after = await usageOf(server);
  if (after.failedCalls > before.failedCalls) return { failure: 'the server refused some of its calls' };
  return {
    ...lap,
    serverUs: (after.cpuUs - before.cpuUs) / lap.calls,
    requestsPerCall: lap.calls / (after.scriptCalls - before.scriptCalls),
  };
}

/** @param {RedisServer} server */
async function usageOf(server) {
  const info = await server.call('INFO', 'everything');
  const sum = (/** @type {RegExp} */ pattern) =>
    Array.from(String(info).matchAll(pattern), ([, figure]) => Number(figure)).reduce((total, one) => total + one, 0);
  return {
    cpuUs: 1e6 * sum(/^used_cpu_(?:user|sys):([\d.]+)/gm),
    scriptCalls: sum(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm),
    failedCalls: sum(/^cmdstat_eval(?:sha)?:.*\bfailed_calls=(\d+)/gm),
  };
}

/**
 * A contender in a process of its own, which holds its keys.
 * @param {string} name
 * @param {RedisServer} server
 * @param {import('./redis-work.mjs').RedisWorkload} workload
 * @returns {Promise<Lane>}
 */
export async function startRedisLane(name, { host, port }, workload) {
  const child = startChild('redis-lane.mjs', [name, JSON.stringify({ host, port }), JSON.stringify(workload)]);
  const { failure } = await child.next();
  return { name, lap: async (ms) => (failure ? { failure } : child.ask({ ms })), stop: child.stop };
}
