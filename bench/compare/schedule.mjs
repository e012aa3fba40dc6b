// Schedulers: ours beside p-queue and bottleneck, and the heap beside the ordered trees that Linux' scheduler and others use.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { figure, median, table } from '../table.mjs';
import { scheduleBars } from './bars.mjs';
import { runPieces } from './pieces.mjs';

const execute = promisify(execFile);
const lane = fileURLToPath(new URL('schedule/lane.mjs', import.meta.url));

const ours = 'sluice priorityScheduler';
const heap = 'indexed heap';

/** @param {import('../run.mjs').Run} run */
export function schedule(run) {
  return runPieces({ tasks, changes, fair }, run);
}

/** @param {import('../run.mjs').Run} run */
async function tasks(run) {
  const title = 'tasks per second with 10,000 waiting, of ten priorities, ten under way';
  const rows = await inTurns('tasks', [ours, 'p-queue', 'bottleneck'], run);
  run.print(raceTable(title, rows));
  return { rows, bars: fasterThanPeers('tasks with 10,000 waiting', rows) };
}

/** @param {import('../run.mjs').Run} run */
async function changes(run) {
  // Bottleneck has no way to change a priority.
  const rows = await inTurns('changes', [ours, 'p-queue'], run);
  run.print(raceTable('changes of priority per second with 10,000 waiting', rows));
  return { rows, bars: fasterThanPeers('changes of priority', rows) };
}

/** Who is served next, and is charged for it: what the fair scheduler does with its tenants at each turn. @param {import('../run.mjs').Run} run */
async function fair(run) {
  const all = [];
  const bars = [];
  for (const tenants of [10, 1000, 100_000]) {
    const rows = await inTurns(`fair ${tenants}`, [heap, 'red-black tree', 'skip list'], run);
    run.print(raceTable(`next and charge per second, ${tenants.toLocaleString('en')} tenants`, rows));
    all.push({ tenants, rows });
    bars.push(...fasterThanPeers(`next and charge, ${tenants} tenants`, rows));
  }
  return { rows: all, bars };
}

/** @typedef {{ name: string, perSecond: number, slowest: number, fastest: number }} Row */

/**
 * Each lap in a process of its own, so that nobody's garbage is another's.
 * @param {string} workload
 * @param {readonly string[]} names
 * @param {import('../run.mjs').Run} run
 * @returns {Promise<Row[]>}
 */
async function inTurns(workload, names, { rounds, progress }) {
  progress(`schedule, ${workload}: ${rounds} rounds`);
  const laps = new Map(names.map((name) => [name, /** @type {number[]} */ ([])]));
  for (let round = 0; round < rounds; round += 1) {
    const turn = round % 2 === 0 ? names : [...names].reverse();
    for (const name of turn) {
      const { stdout } = await execute(process.execPath, [lane, name, ...workload.split(' ')], { timeout: 120_000 });
      laps.get(name)?.push(Number(stdout));
    }
  }
  return names.map((name) => {
    const speeds = laps.get(name) ?? [];
    return { name, perSecond: median(speeds), slowest: Math.min(...speeds), fastest: Math.max(...speeds) };
  });
}

/** @param {string} title @param {readonly Row[]} rows the first is ours */
function raceTable(title, rows) {
  return table(title, [
    ['', 'per second', 'slowest', 'fastest', 'ours, x this'],
    ...rows.map(({ name, perSecond, slowest, fastest }) => [
      name,
      figure(perSecond),
      figure(slowest),
      figure(fastest),
      figure((rows[0]?.perSecond ?? Number.NaN) / perSecond),
    ]),
  ]);
}

/** @param {string} what @param {readonly Row[]} rows */
function fasterThanPeers(what, [own, ...peers]) {
  return peers.map(({ name, perSecond }) => ({
    name: `${what}, x ${name}`,
    reached: (own?.perSecond ?? Number.NaN) / perSecond,
    atLeast: scheduleBars.ofPeers,
  }));
}
