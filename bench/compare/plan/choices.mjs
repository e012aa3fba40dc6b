// The plan for 50 million checks per second by figures of this machine, and what other choices would make of it.
import { startEtcd } from '@sluice/test-servers';
import { measureFigures, measureStoresApart } from '../../../packages/server/dist/plan/measure/measure-figures.js';
import { checksPerWindow, liveKeys } from '../../../packages/server/dist/plan/memory-need.js';
import { plan } from '../../../packages/server/dist/plan/plan.js';
import { clients, gatherMsOf, planDefaults } from '../../../packages/server/dist/plan/plan-question.js';
import { planText } from '../../../packages/server/dist/plan/plan-text.js';
import { bytes, count, milliseconds, share } from '../../../packages/server/dist/plan/units.js';
import { table } from '../../table.mjs';

/**
 * @typedef {import('../../../packages/server/src/plan/plan-question.ts').PlanQuestion} PlanQuestion
 * @typedef {import('../../../packages/server/src/plan/plan-figures.ts').StoreFigures} StoreFigures
 */

const policy = { algorithm: 'sliding-log', limit: 100, window: 60_000 };

/** @type {PlanQuestion} */
const usual = { ...planDefaults, checksPerSecond: 50e6, users: 40e6, policy, gatherMs: gatherMsOf.smart };

// biome-ignore format: aligned rows
const choices = /** @type {[name: string, options: string, change: Partial<PlanQuestion>][]} */ ([
  ['the plan above',                    '',                            {}],
  ['many small callers',                '--callers 10k',               { callers: 10_000 }],
  ['few large callers: gateways',       '--callers 100',               { callers: 100 }],
  ['the same, gathering for longer',    '--callers 100 --gather 2ms',  { callers: 100, gatherMs: 2 }],
  ['no copies',                         '--standby off',               { unreplicated: 0 }],
  ['half the load',                     '--load 0.35',                 { load: 0.35 }],
  ['a bucket instead of the exact log', '--algorithm gcra',            { policy: { ...policy, algorithm: 'gcra' } }],
  ['slots instead of the exact log',    '--algorithm sliding-slots',   { policy: { ...policy, algorithm: 'sliding-slots' } }],
  ['ten times the users',               '--users 400M',                { users: 400e6 }],
  ['machines of 16 nodes that fail',    '--nodes-per-failure 16',      { nodesPerFailure: 16 }],
  ['any client of Redis Cluster',       '--client redis',              { client: 'redis', gatherMs: gatherMsOf.redis }],
  ['HTTP, to any node',                 '--client http',               { client: 'http', gatherMs: gatherMsOf.http }],
  ['gRPC (Envoy), to any node',         '--client grpc',               { client: 'grpc', gatherMs: gatherMsOf.grpc }],
]);

/** @param {import('../../run.mjs').Run} run */
export async function choicesOfPlan({ print, progress }) {
  const tell = (/** @type {string} */ text) => progress(`plan, choices: ${text}`);
  const etcd = await startEtcd();
  let figures;
  try {
    figures = await measureFigures({
      clients,
      policy,
      keyBytes: usual.keyBytes,
      store: storeOrder(usual),
      seconds: 5,
      etcd: etcd.endpoints,
      progress: tell,
    });
  } finally {
    await etcd.stop();
  }
  /** @type {Map<string, StoreFigures>} */
  const stores = new Map();
  const rows = [];
  for (const [name, options, change] of choices) {
    const question = { ...usual, ...change };
    const order = storeOrder(question);
    const known = JSON.stringify(order);
    const store = stores.get(known) ?? (await measureStoresApart(order, tell));
    stores.set(known, store);
    const found = plan(question, figures, store);
    if (options === '') print(`${typeof found === 'string' ? found : planText(found, figures, store)}\n`);
    rows.push([name, options, ...(typeof found === 'string' ? ['none', '', ''] : cellsOf(found))]);
  }
  print(table('50 million checks/s, by choice', [head, ...rows]));
  return { rows: { figures, rows }, bars: [] };
}

const head = [
  '',
  '',
  'nodes',
  'clusters',
  'busiest, checks/s',
  'load',
  'p99',
  'memory in all',
  'into a node',
  'refused in a year',
];

/** @param {import('../../../packages/server/src/plan/plan.ts').Plan} plan */
function cellsOf({ question, size, memory, network, failover }) {
  const { clusters, nodes, allUp } = size;
  const { refusedRatioPerYearWithCopy, refusedRatioPerYearWithout } = failover;
  return [
    count(clusters * nodes),
    count(clusters),
    count(allUp.checksPerSecond),
    share(allUp.load),
    milliseconds(allUp.latency.totalMs),
    bytes(memory.bytesInAll),
    `${bytes(network.bytesInPerSecond)}/s`,
    share(question.unreplicated > 0 ? refusedRatioPerYearWithCopy : refusedRatioPerYearWithout),
  ];
}

/**
 * @param {PlanQuestion} question
 * @returns {import('../../../packages/server/src/plan/measure/store-figures.ts').StoreOrder}
 */
function storeOrder(question) {
  const { policy, keyBytes, graceMs } = question;
  const keysPerStore = Math.ceil(liveKeys(question) / 1024);
  return { policy, keyBytes, graceMs, keysPerStore, checksPerKey: checksPerWindow(question), mostChecks: 2_000_000 };
}
