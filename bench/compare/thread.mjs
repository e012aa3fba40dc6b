// One thread of a team: it holds its keys, and runs a round when told to, starting together with the others.
import { parentPort, workerData } from 'node:worker_threads';
import { gcra, limiter, memoryStore, sharedMemoryStore, tickClock } from 'sluice';
import { keyBuffer, orderOf, settingOf, textOf } from './workloads.mjs';

/**
 * `firstKey` and `keys`: which of all keys it has. `store`: its own, the one of `sharedBuffer`, or none, where keys are decoded
 * and nothing is asked.
 * @typedef {{
 *   firstKey: number, keys: number, burst: number, isLoaded: boolean,
 *   store: 'own' | 'shared' | 'none', sharedBuffer?: SharedArrayBuffer,
 *   calls: number, order: 'uniform' | 'in turn', seed: number,
 * }} Task
 *
 * @typedef {{ gate: Int32Array, members: number }} Start
 * @typedef {{ startMs: number, endMs: number, calls: number, allowed: number }} Lap
 */

/** @type {Task} */
const task = workerData;
const { firstKey, keys, isLoaded, calls, order, seed } = task;
const allow = allowOf(task);

const buffer = keyBuffer(firstKey + keys);
if (isLoaded) for (let i = 0; i < keys; i += 1) allow(textOf(buffer, firstKey + i));
const numbers = orderOf({ keys, order, calls }, seed);

parentPort?.on('message', (/** @type {Start} */ { gate, members }) => {
  meet(gate, members);
  const startMs = nowMs();
  const allowed = round();
  const endMs = nowMs();
  parentPort?.postMessage({ startMs, endMs, calls, allowed });
});
parentPort?.postMessage('ready');

/**
 * @param {Task} task
 * @returns {(key: string) => boolean}
 */
function allowOf({ store, sharedBuffer, keys, burst }) {
  if (store === 'none') return (key) => key.length > 0;
  const { windowMs, maxKeys } = settingOf({ keys });
  // Of what is used, nothing comes back within a run.
  const policy = gcra({ limit: 1, window: windowMs, burst });
  const subject = limiter(policy, {
    name: 'bench',
    store:
      store === 'shared'
        ? sharedMemoryStore({ buffer: sharedBuffer })
        : memoryStore({ maxKeys, keys: 'fingerprint', clock: tickClock() }),
  });
  return (key) => subject.allow(key);
}

/** Unlike `performance.now()`, from the same moment in every thread. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function round() {
  let allowed = 0;
  for (let i = 0; i < calls; i += 1) {
    if (allow(textOf(buffer, firstKey + /** @type {number} */ (numbers[i])))) allowed += 1;
  }
  return allowed;
}

/**
 * Waits until all are there.
 * @param {Int32Array} gate
 * @param {number} members
 */
function meet(gate, members) {
  Atomics.add(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (let there = Atomics.load(gate, 0); there < members; there = Atomics.load(gate, 0)) Atomics.wait(gate, 0, there);
}
