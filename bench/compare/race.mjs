// Runs contenders in turns and says how long each took for a call.
import { availableParallelism } from 'node:os';
import { median } from '../table.mjs';
import { startChild } from './child.mjs';

/**
 * @typedef {{ contender: string, workload: string }} Entry
 * @typedef {Entry & { medianNs: number, fastestNs: number, slowestNs: number }} Time
 * @typedef {Entry & { failure: string }} Failure
 * @typedef {Time | Failure} Place
 */

/**
 * @param {readonly Entry[]} entries
 * @param {number} rounds
 * @returns {Promise<Place[]>} in the order of the entries
 */
export async function race(entries, rounds) {
  const lanes = await startAll(entries);
  for (let round = 0; round < rounds; round += 1) {
    // There and back: who comes first is not always the same.
    const turn = round % 2 === 0 ? lanes : [...lanes].reverse();
    for (const lane of turn) if (!lane.failure) await runRound(lane);
  }
  return lanes.map(({ entry, child, times, failure }) => {
    child.stop();
    if (failure) return { ...entry, failure };
    return { ...entry, medianNs: median(times), fastestNs: Math.min(...times), slowestNs: Math.max(...times) };
  });
}

/** @typedef {{ entry: Entry, child: import('./child.mjs').Child, times: number[], failure: string }} Lane */

/**
 * Loading keys is not measured, so as many do it at once as there are cores.
 * @param {readonly Entry[]} entries
 * @returns {Promise<Lane[]>}
 */
async function startAll(entries) {
  /** @type {Lane[]} */
  const lanes = [];
  const waiting = entries.entries();
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (const [i, entry] of waiting) lanes[i] = await start(entry);
    }),
  );
  return lanes;
}

/**
 * @param {Entry} entry
 * @returns {Promise<Lane>}
 */
async function start(entry) {
  const child = startChild('lane.mjs', [entry.contender, entry.workload]);
  const { failure } = await child.next();
  /** @type {Lane} */
  const lane = { entry, child, times: [], failure };
  // Warm-up: the compiler has seen the loop.
  if (!failure) await runRound(lane);
  lane.times.length = 0;
  return lane;
}

/** @param {Lane} lane */
async function runRound(lane) {
  const { ns, failure } = await lane.child.ask('round');
  if (failure) lane.failure = failure;
  else lane.times.push(ns);
}
