// Contenders in turns, each a server with a generator before it: requests per second, waits, and what it took of the server.
import { figure, median, table } from '../../table.mjs';
import { processorUs } from './process-usage.mjs';

/**
 * What a lap came to. Errors are answers that were none, lost connections, and the like.
 * @typedef {{ requests: number, ms: number, p50Ms: number, p99Ms: number, errors: number }} Lap
 *
 * `pid`: of its server, or of all of them.
 * @typedef {{ name: string, pid: number | readonly number[], lap(ms: number): Promise<Lap> }} Lane
 *
 * `serverUs` is processor time of the server per request; `serverBusy` the share of one core that it had. Below 1 the generator was
 * the limit, or somebody else had the core: then ratios by processor time say more than those by speed.
 * @typedef {{
 *   name: string, perSecond: number, slowestPerSecond: number, fastestPerSecond: number, p50Ms: number, p99Ms: number,
 *   serverUs: number, serverBusy: number, errors: number,
 * }} Result
 */

const runUpMs = 1000;
const lapMs = 2000;

/**
 * @param {readonly Lane[]} lanes
 * @param {number} rounds
 * @returns {Promise<Result[]>}
 */
export async function serverRace(lanes, rounds) {
  const entries = lanes.map((lane) => ({ lane, laps: /** @type {(Lap & { serverUs: number })[]} */ ([]) }));
  for (let round = 0; round < rounds; round += 1) {
    // There and back: who comes first is not always the same.
    const turn = round % 2 === 0 ? entries : [...entries].reverse();
    for (const { lane, laps } of turn) {
      await runUp(lane);
      const before = processorUs(lane.pid);
      const lap = await lane.lap(lapMs);
      laps.push({ ...lap, serverUs: (processorUs(lane.pid) - before) / lap.requests });
    }
  }
  return entries.map(({ lane: { name }, laps }) => {
    const speeds = laps.map(({ requests, ms }) => (1000 * requests) / ms);
    return {
      name,
      perSecond: median(speeds),
      slowestPerSecond: Math.min(...speeds),
      fastestPerSecond: Math.max(...speeds),
      p50Ms: median(laps.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(laps.map(({ p99Ms }) => p99Ms)),
      serverUs: median(laps.map(({ serverUs }) => serverUs)),
      serverBusy: median(laps.map(({ serverUs, requests, ms }) => (serverUs * requests) / ms / 1000)),
      errors: laps.reduce((sum, { errors }) => sum + errors, 0),
    };
  });
}

/**
 * Meanwhile others had the caches; and at first, nothing is compiled. A generator that counts requests, not time, may be over
 * sooner than it was told, until it knows how fast the server is.
 * @param {Lane} lane
 */
async function runUp(lane) {
  for (let leftMs = runUpMs; leftMs > 0; ) leftMs -= (await lane.lap(runUpMs)).ms;
}

/**
 * @param {string} title
 * @param {readonly Result[]} results
 * @param {readonly string[]} references
 */
export function raceTable(title, results, references) {
  const head = ['', 'per second', 'slowest', 'fastest', 'p50 ms', 'p99 ms', 'server us', 'busy', 'errors'];
  return table(title, [
    [...head, ...references.flatMap((name) => [`x ${name}`, 'by cpu'])],
    ...results.map((result) => [
      result.name,
      figure(result.perSecond),
      figure(result.slowestPerSecond),
      figure(result.fastestPerSecond),
      figure(result.p50Ms),
      figure(result.p99Ms),
      figure(result.serverUs),
      figure(result.serverBusy),
      String(result.errors),
      ...references.flatMap((reference) => [
        figure(speedRatio(results, result.name, reference)),
        figure(processorRatio(results, result.name, reference)),
      ]),
    ]),
  ]);
}

/**
 * How many times as many requests a second.
 * @param {readonly Result[]} results
 * @param {string} one
 * @param {string} other
 */
export function speedRatio(results, one, other) {
  return resultOf(results, one).perSecond / resultOf(results, other).perSecond;
}

/**
 * How many times as many requests with the same processor time.
 * @param {readonly Result[]} results
 * @param {string} one
 * @param {string} other
 */
export function processorRatio(results, one, other) {
  return resultOf(results, other).serverUs / resultOf(results, one).serverUs;
}

/** @param {readonly Result[]} results @param {string} name */
function resultOf(results, name) {
  const result = results.find((one) => one.name === name);
  if (result === undefined) throw new Error(`${name} was not in the race`);
  return result;
}
