// Two threads against one: each with keys of its own, and both on one shared store, where no grant may be lost.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { sharedMemoryStore } from 'sluice';
import { median, table } from '../table.mjs';
import { sharedBars } from './bars.mjs';
import { runPieces } from './pieces.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {import('./thread.mjs').Task} Task
 * @typedef {import('./thread.mjs').Lap} Lap
 */

const million = 1_000_000;
// Longer than anything here takes: a thread that waits for ever must not keep the command.
const longestMs = 60_000;
/** @type {Task} */
const task = {
  firstKey: 0,
  keys: million,
  burst: 1e6,
  isLoaded: true,
  store: 'own',
  calls: million,
  order: 'uniform',
  seed: 1,
};

/** @param {Run} run */
export function shared(run) {
  return runPieces({ speed, grants }, run);
}

/** @param {Run} run */
async function speed({ rounds, print, progress }) {
  progress('shared, 2 threads against 1: loading keys');
  const half = { ...task, keys: task.keys / 2 };
  const { buffer } = sharedMemoryStore({ maxKeys: task.keys });
  // Without a store: what two threads can be at most on this machine at this time, with whoever else runs there.
  const idle = await startTeam([1, 2].map((seed) => ({ ...task, seed, store: 'none' })));
  const alone = await startTeam([task]);
  const sharded = await startTeam([half, { ...half, firstKey: half.keys }]);
  const sharing = await startTeam([1, 2].map((seed) => ({ ...task, seed, store: 'shared', sharedBuffer: buffer })));
  const pairs = [
    { name: 'no store: decoding the keys', one: idle.slice(0, 1), two: idle },
    { name: 'memoryStore, keys sharded', one: alone, two: sharded, atLeast: sharedBars.shardedSpeedup },
    { name: 'sharedMemoryStore', one: sharing.slice(0, 1), two: sharing, atLeast: sharedBars.sharedSpeedup },
  ];
  const rows = await inTurns(pairs, rounds, progress);
  await Promise.all([idle, alone, sharded, sharing].flat().map((worker) => worker.terminate()));
  print(speedTable(rows));
  const bars = rows.flatMap(({ name, speedup, atLeast }) =>
    atLeast === undefined ? [] : [{ name: `${name}: 2 threads, x 1 thread`, reached: speedup, atLeast }],
  );
  return { rows, bars };
}

/**
 * @typedef {{ name: string, one: Worker[], two: Worker[], atLeast?: number }} Pair
 * @typedef {{ onePerSecond: number, twoPerSecond: number }} Round
 * @typedef {Round & { name: string, speedup: number, atLeast: number | undefined, rounds: Round[] }} Speed
 */

/**
 * @param {readonly Pair[]} pairs
 * @param {number} rounds
 * @param {Run['progress']} progress
 * @returns {Promise<Speed[]>}
 */
async function inTurns(pairs, rounds, progress) {
  const measured = pairs.map((pair) => ({ ...pair, rounds: /** @type {Round[]} */ ([]) }));
  // The first round is a warm-up: the compiler has then seen the loop.
  for (let round = 0; round <= rounds; round += 1) {
    progress(`shared, 2 threads against 1: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
    for (const { name, one, two, rounds } of measured) {
      const speeds = { onePerSecond: await perSecond(name, one), twoPerSecond: await perSecond(name, two) };
      if (round > 0) rounds.push(speeds);
    }
  }
  return measured.map(({ name, atLeast, rounds }) => {
    const onePerSecond = median(rounds.map((round) => round.onePerSecond));
    const twoPerSecond = median(rounds.map((round) => round.twoPerSecond));
    return { name, atLeast, onePerSecond, twoPerSecond, speedup: twoPerSecond / onePerSecond, rounds };
  });
}

/**
 * @param {string} name
 * @param {readonly Worker[]} team
 */
async function perSecond(name, team) {
  const { calls, allowed, ms } = await lap(team);
  // A fast wrong answer is no result.
  if (allowed !== calls) throw new Error(`${name}: ${allowed} of ${calls} were allowed`);
  return (1000 * calls) / ms;
}

/** @param {readonly Speed[]} rows */
function speedTable(rows) {
  const whole = (/** @type {number} */ value) => Math.round(value).toLocaleString('en');
  return table('1 million keys, checks per second', [
    ['', '1 thread', '2 threads', 'x 1 thread', 'of each round'],
    ...rows.map(({ name, onePerSecond, twoPerSecond, speedup, rounds }) => [
      name,
      whole(onePerSecond),
      whole(twoPerSecond),
      speedup.toFixed(2),
      rounds.map((round) => (round.twoPerSecond / round.onePerSecond).toFixed(2)).join(' '),
    ]),
  ]);
}

/** @param {Run} run */
async function grants({ print, progress }) {
  progress('shared: no grant is lost');
  const rows = [await grantsOf(16, 20_000), await grantsOf(million, 1)];
  print(
    table('sharedMemoryStore, 2 threads asking for the same keys at once, each for all that is allowed', [
      ['', 'granted to both', 'allowed by the limit'],
      ...rows.map(({ name, granted, limit }) => [name, granted.toLocaleString('en'), limit.toLocaleString('en')]),
    ]),
  );
  const bars = rows.map(({ name, granted, limit }) => ({
    name: `grants too many or too few, ${name}`,
    reached: Math.abs(granted - limit),
    atMost: sharedBars.wrongGrants,
  }));
  return { rows, bars };
}

/**
 * Two threads take turns with the same keys, in the same order: whatever can be lost between them, is.
 * @param {number} keys
 * @param {number} burst
 */
async function grantsOf(keys, burst) {
  const { buffer } = sharedMemoryStore({ maxKeys: Math.max(1000, keys) });
  /** @type {Task} */
  const hammer = {
    ...task,
    keys,
    burst,
    isLoaded: false,
    store: 'shared',
    sharedBuffer: buffer,
    calls: keys * burst,
    order: 'in turn',
  };
  const team = await startTeam([hammer, hammer]);
  const { allowed } = await lap(team);
  await Promise.all(team.map((worker) => worker.terminate()));
  return { name: `${keys.toLocaleString('en')} keys`, granted: allowed, limit: keys * burst };
}

/**
 * @param {readonly Task[]} tasks
 * @returns {Promise<Worker[]>} those that hold their keys
 */
async function startTeam(tasks) {
  const team = tasks.map((workerData) => new Worker(new URL('thread.mjs', import.meta.url), { workerData }));
  await Promise.all(team.map(nextMessage));
  return team;
}

/** Fails when the thread does, or says nothing for too long. @param {Worker} worker */
function nextMessage(worker) {
  return once(worker, 'message', { signal: AbortSignal.timeout(longestMs) });
}

/** One round of a team, from the first start to the last end. @param {readonly Worker[]} team */
async function lap(team) {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const laps = team.map(async (worker) => {
    worker.postMessage({ gate, members: team.length });
    const [lap] = await nextMessage(worker);
    return /** @type {Lap} */ (lap);
  });
  const done = await Promise.all(laps);
  const sum = (/** @type {'calls' | 'allowed'} */ field) => done.reduce((total, lap) => total + lap[field], 0);
  const ms = Math.max(...done.map(({ endMs }) => endMs)) - Math.min(...done.map(({ startMs }) => startMs));
  return { ms, calls: sum('calls'), allowed: sum('allowed') };
}
