// Central, owned, approximate and leased at the same load: what a check waits for, what it takes of the servers, and what may be granted beyond the limit.
import { Redis } from 'ioredis';
import { figure, median, table } from '../../table.mjs';
import { clusterBars } from '../bars.mjs';
import { answerOf } from '../child.mjs';
import { coresInWords } from '../service/cores.mjs';
import { processorUs } from '../service/process-usage.mjs';
import { startCallers } from './lanes.mjs';
import { exchangeMs } from './stores.mjs';
import { keys, patient, policies } from './work.mjs';

/** @typedef {keyof typeof import('./stores.mjs').stores} Mode */

const instances = 2;
const callers = 128;
const perSecond = 10_000;
// While others had their turn all leases ended, and slices grow with what is asked for: some leases long.
const runUpMs = 2000;
const lapMs = 2000;
const auditMs = 3000;

/** What a check waits for, and what may be granted beyond the limit, at worst. */
// biome-ignore format: aligned rows
const promises = /** @type {const} */ ({
  central:     { waitsFor: 'a trip',                  worst: 'none while the primary lives; a limit more after a failover that lost counts, unless fenced' },
  owned:       { waitsFor: 'a trip to the owner',     worst: 'none' },
  approximate: { waitsFor: 'nothing',                 worst: `what the other instances grant within ${2 * exchangeMs} ms and three trips; each a whole limit at worst` },
  leased:      { waitsFor: 'a trip for each slice',   worst: 'as central' },
});

/**
 * @param {import('./servers.mjs').Servers} servers
 * @param {import('../../run.mjs').Run} run
 */
export async function modes({ cluster, redis }, { rounds, print, progress }) {
  /** @type {Entry[]} */
  const entries = [];
  try {
    for (const mode of /** @type {Mode[]} */ (Object.keys(promises))) {
      entries.push(await entryOf(mode, mode === 'owned' ? cluster : redis));
    }
    await race(entries, rounds, progress);
  } finally {
    for (const { callers } of entries) callers.stop();
  }
  const rows = [];
  for (const entry of entries) {
    progress(`cluster, modes: the auditor, ${entry.mode}`);
    rows.push({ ...middleOf(entry), audit: await audited(entry) });
  }
  print(modesTable(rows));
  print(markdown(rows));
  const strict = rows.filter(({ mode }) => mode !== 'approximate');
  const bars = strict.map(({ mode, audit }) => ({
    name: `${mode}: most grants beyond the limit in any window, by the auditor`,
    reached: Math.max(0, audit.most - audit.limit),
    atMost: clusterBars.overAdmitted,
  }));
  return { rows, bars };
}

/**
 * @typedef {{ maximumPerSecond: number, perCore: number, serverUs: number, clientUs: number, requests: number, p50Ms: number, p99Ms: number, sentLateP99Ms: number, errors: number, firstError: string | undefined }} Lap
 * @typedef {{ mode: Mode, addresses: readonly string[], pids: readonly number[], callers: import('./lanes.mjs').Callers, laps: Lap[] }} Entry
 *
 * @param {Mode} mode
 * @param {import('./servers.mjs').Server} server
 * @returns {Promise<Entry>}
 */
async function entryOf(mode, { addresses, pids }) {
  const setting = { mode, instances, servers: addresses, policy: policies.hot, deadline: patient };
  return { mode, addresses, pids, callers: await startCallers({ ...setting, order: 'zipf' }), laps: [] };
}

/**
 * @param {readonly Entry[]} entries
 * @param {number} rounds
 * @param {(text: string) => void} progress
 */
async function race(entries, rounds, progress) {
  for (let round = 0; round < rounds; round += 1) {
    progress(`cluster, modes: round ${round + 1} of ${rounds}`);
    // There and back: who comes first is not always the same.
    for (const entry of round % 2 === 0 ? entries : [...entries].reverse()) entry.laps.push(await lapOf(entry));
  }
}

/** As fast as it goes for what it takes of the servers, and at the same pace as all for how long it takes. @param {Entry} entry */
async function lapOf({ addresses, pids, callers: own }) {
  await own.lap({ kind: 'open', perSecond, ms: runUpMs });
  const open = await own.lap({ kind: 'open', perSecond, ms: lapMs });
  const before = { us: processorUs(pids), requests: await requestsOf(addresses) };
  const closed = await own.lap({ kind: 'closed', callers, ms: lapMs });
  const us = processorUs(pids) - before.us;
  return {
    maximumPerSecond: closed.perSecond,
    perCore: (1e6 * closed.answered) / us,
    serverUs: us / closed.answered,
    clientUs: closed.clientUs,
    requests: ((await requestsOf(addresses)) - before.requests) / closed.answered,
    p50Ms: open.p50Ms,
    p99Ms: open.p99Ms,
    sentLateP99Ms: open.sentLateP99Ms,
    errors: open.errors + closed.errors,
    firstError: open.firstError ?? closed.firstError,
  };
}

/**
 * How many requests the servers had so far: scripts of Redis, commands of nodes, what they tell each other among them.
 * @param {readonly string[]} addresses
 */
async function requestsOf(addresses) {
  const counts = await Promise.all(
    addresses.map(async (address) => {
      const redis = new Redis(`redis://${address}`, { lazyConnect: true });
      try {
        await redis.connect();
        const info = await redis.info('everything');
        const scripts = [...info.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].map(([, calls]) => Number(calls));
        if (info.includes('server_name:sluice')) return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
        return scripts.reduce((sum, calls) => sum + calls, 0);
      } finally {
        redis.disconnect();
      }
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** @param {Entry} entry */
function middleOf({ mode, laps }) {
  const of = (/** @type {Exclude<keyof Lap, 'firstError'>} */ field) => median(laps.map((lap) => lap[field]));
  return {
    mode,
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    sentLateP99Ms: of('sentLateP99Ms'),
    maximumPerSecond: of('maximumPerSecond'),
    perCore: of('perCore'),
    serverUs: of('serverUs'),
    clientUs: of('clientUs'),
    requests: of('requests'),
    errors: laps.reduce((sum, { errors }) => sum + errors, 0),
    firstError: laps.find(({ firstError }) => firstError !== undefined)?.firstError,
  };
}

/**
 * @param {Entry} entry
 * @returns {Promise<{ calls: number, unanswered: number, grants: number, limit: number, most: number }>}
 */
async function audited({ mode, addresses }) {
  const order = JSON.stringify({ mode, servers: addresses, ms: auditMs });
  const answer = await answerOf('cluster/over-admission.mjs', [order]);
  if (answer.failure) throw new Error(`the auditor of ${mode} failed: ${answer.failure}`);
  return answer;
}

/** @typedef {ReturnType<typeof middleOf> & { audit: Awaited<ReturnType<typeof audited>> }} Row */

const loadInWords = `${keys.toLocaleString('en')} keys (Zipf), ${instances} instances`;

/** @param {readonly Row[]} rows */
function modesTable(rows) {
  const pace = `${perSecond.toLocaleString('en')}/s`;
  return table(`${loadInWords}: waits at ${pace}; the rest as fast as it goes; ${coresInWords}`, [
    ['', 'p50 ms', 'p99 ms', 'sent late', 'maximum/s', 'server us', 'client us', 'requests', 'unanswered', 'errors'],
    ...rows.map((row) => [
      row.mode,
      figure(row.p50Ms),
      figure(row.p99Ms),
      figure(row.sentLateP99Ms),
      figure(row.maximumPerSecond),
      figure(row.serverUs),
      figure(row.clientUs),
      row.requests.toFixed(4),
      `${row.audit.unanswered} of ${row.audit.calls}`,
      row.errors === 0 ? '0' : `${row.errors}: ${row.firstError}`,
    ]),
  ]);
}

/** The table of the guide. @param {readonly Row[]} rows */
function markdown(rows) {
  const head = [
    '',
    'a check waits for',
    'p50',
    'p99',
    'checks/s per core of all servers',
    'requests to servers per check',
    'most in a window, limit 50',
    'beyond the limit at worst',
  ];
  const lines = rows.map((row) => [
    row.mode,
    promises[row.mode].waitsFor,
    `${figure(row.p50Ms)} ms`,
    `${figure(row.p99Ms)} ms`,
    figure(row.perCore),
    row.requests < 0.01 ? 'under 0.01' : row.requests.toFixed(2),
    String(row.audit.most),
    promises[row.mode].worst,
  ]);
  const text = [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return `for docs/guides/across-machines.md (${loadInWords}, gcra)\n\n${text}\n`;
}
