// At 70 % of what it can do with its clients on the same machine: calls at their times whether or not earlier ones were answered, and a wait counts from
// when a call was due.
import { figure, median, table } from '../../table.mjs';
import { clusterBars } from '../bars.mjs';
import { coresInWords } from '../service/cores.mjs';
import { startCallers, warmUp } from './lanes.mjs';
import { callersPerNode, patient, policies } from './work.mjs';

const loadRatio = 0.7;
const maximumMs = 2000;
const openMs = 6000;

/**
 * @param {import('./servers.mjs').Servers} servers
 * @param {import('../../run.mjs').Run} run
 */
export async function load({ single, cluster }, { rounds, print, progress }) {
  const entries = [];
  try {
    for (const { name, addresses } of [single, cluster]) {
      const setting = /** @type {const} */ ({ mode: 'owned', instances: 1, order: 'uniform', deadline: patient });
      const callers = await startCallers({ ...setting, servers: addresses, policy: policies.gcra });
      const inFlight = callersPerNode * addresses.length;
      entries.push({ name, callers, inFlight, laps: /** @type {Lap[]} */ ([]) });
      await warmUp(callers, inFlight, addresses.length);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, callers, inFlight, laps } of entries) {
        progress(`cluster, load, round ${round + 1} of ${rounds}: ${name}`);
        laps.push(await lapOf(callers, inFlight));
      }
    }
  } finally {
    for (const { callers } of entries) callers.stop();
  }
  const rows = entries.map(({ name, laps }) => ({ name, ...middleOf(laps) }));
  print(loadTable(rows));
  const bars = rows.flatMap(({ name, p99Ms, errors }) => [
    { name: `${name}: p99 ms at ${100 * loadRatio} %`, reached: p99Ms, atMost: clusterBars.loadP99Ms },
    { name: `${name}: errors at ${100 * loadRatio} %`, reached: errors, atMost: 0 },
  ]);
  return { rows, bars };
}

/** @typedef {import('./callers.mjs').LapReport & { maximumPerSecond: number }} Lap */

/**
 * The maximum is looked for each time anew: a machine has better moments and worse.
 * @param {import('./lanes.mjs').Callers} callers
 * @param {number} inFlight
 * @returns {Promise<Lap>}
 */
async function lapOf(callers, inFlight) {
  const { perSecond } = await callers.lap({ kind: 'closed', callers: inFlight, ms: maximumMs });
  const open = await callers.lap({ kind: 'open', perSecond: loadRatio * perSecond, ms: openMs });
  return { ...open, maximumPerSecond: perSecond };
}

/** @param {readonly Lap[]} laps */
function middleOf(laps) {
  const of = (/** @type {(lap: Lap) => number} */ field) => median(laps.map(field));
  const sum = (/** @type {(lap: Lap) => number} */ field) => laps.reduce((total, lap) => total + field(lap), 0);
  const requests = sum((lap) => lap.requests);
  return {
    maximumPerSecond: of((lap) => lap.maximumPerSecond),
    perSecond: of((lap) => lap.perSecond),
    p50Ms: of((lap) => lap.p50Ms),
    p99Ms: of((lap) => lap.p99Ms),
    slowestP99Ms: Math.max(...laps.map((lap) => lap.p99Ms)),
    p999Ms: of((lap) => lap.p999Ms),
    sentLateP99Ms: of((lap) => lap.sentLateP99Ms),
    requests,
    lateShare: sum((lap) => lap.late) / requests,
    errors: sum((lap) => lap.errors),
    firstError: laps.find((lap) => lap.firstError !== undefined)?.firstError,
  };
}

/** @param {readonly ({ name: string } & ReturnType<typeof middleOf>)[]} rows */
function loadTable(rows) {
  const head = [
    '',
    'maximum',
    'per second',
    'p50 ms',
    'p99 ms',
    'slowest',
    'p99.9 ms',
    'sent late',
    'over 10 ms',
    'calls',
  ];
  return table(`smart client, open loop at ${100 * loadRatio} % of the maximum; ${coresInWords}`, [
    [...head, 'errors'],
    ...rows.map((row) => [
      row.name,
      figure(row.maximumPerSecond),
      figure(row.perSecond),
      figure(row.p50Ms),
      figure(row.p99Ms),
      figure(row.slowestP99Ms),
      figure(row.p999Ms),
      figure(row.sentLateP99Ms),
      `${(100 * row.lateShare).toFixed(3)} %`,
      figure(row.requests),
      row.errors === 0 ? '0' : `${row.errors}: ${row.firstError}`,
    ]),
  ]);
}
