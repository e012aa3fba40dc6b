// One, two and three nodes, one generator each, as fast as it goes: what the model says, by figures of a plain service, and what they did.
import { availableParallelism } from 'node:os';
import { startEtcd } from '@sluice/test-servers';
import { processUsage } from '../../../packages/server/dist/load/process-usage.js';
import { runGenerator } from '../../../packages/server/dist/load/run-generator.js';
import { startServiceProcess } from '../../../packages/server/dist/load/service-process.js';
import { checkCost } from '../../../packages/server/dist/plan/check-cost.js';
import { questionOf } from '../../../packages/server/dist/plan/measure/client-questions.js';
import { measureFigures } from '../../../packages/server/dist/plan/measure/measure-figures.js';
import { throughputOf } from '../../../packages/server/dist/plan/model-check/shared-machine.js';
import { figure, median, table } from '../../table.mjs';
import { planBars } from '../bars.mjs';
import { startCluster } from './cluster.mjs';
import { keyBytes, keys, policy, question, storeOrder } from './question.mjs';

const seconds = 3;
const asked = questionOf('smart', policy, keyBytes);

// biome-ignore format: aligned rows
const runs = [
  { nodes: 1, unreplicated: 0,  depth: 1 },
  { nodes: 1, unreplicated: 0,  depth: 16 },
  { nodes: 2, unreplicated: 0,  depth: 1 },
  { nodes: 2, unreplicated: 0,  depth: 16 },
  { nodes: 3, unreplicated: 0,  depth: 1 },
  { nodes: 3, unreplicated: 0,  depth: 16 },
  { nodes: 2, unreplicated: 10, depth: 1 },
  { nodes: 3, unreplicated: 10, depth: 1 },
];

/** @typedef {{ perSecond: number, nodeUs: number, generatorUs: number, errors: number, firstError: string | undefined }} Measured */

/** @param {import('../../run.mjs').Run} run */
export async function throughput({ rounds, print, progress }) {
  // One member: three would take what is to be measured.
  const etcd = await startEtcd({ members: 1 });
  try {
    const figures = await measureFigures({
      clients: ['smart'],
      policy,
      keyBytes,
      store: storeOrder,
      seconds,
      etcd: etcd.endpoints,
      progress: (text) => progress(`plan, figures: ${text}`),
    });
    const store = figures.stores[0];
    if (store === undefined) throw new Error('there are no figures of stores');
    const generatorUs = await generatorCosts(progress);
    const rows = [];
    for (const { nodes, unreplicated, depth } of runs) {
      const name = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}${unreplicated > 0 ? ', copies' : ''}, ${depth} at once`;
      progress(`plan, throughput: ${name}`);
      const predicted = predict(
        { ...question, unreplicated },
        figures,
        store,
        nodes,
        depth,
        generatorUs[depth] ?? Number.NaN,
      );
      const measured = await measure(etcd.endpoints, { nodes, unreplicated, depth }, rounds);
      // Copies cost more for a check where there are fewer checks to a message, so the cost is that of the rate that was reached.
      const traffic = { nodes, batch: depth, checksPerSecond: measured.perSecond / nodes };
      const { totalUs: predictedUs } = checkCost({ ...question, unreplicated }, figures, store, traffic);
      rows.push({ name, predicted, predictedUs, measured });
    }
    print(rowsTable(rows, figures.othersRatio));
    const bars = rows.map(({ name, predictedUs, measured }) => ({
      name: `${name}: processor time of a check, times what the model says`,
      reached: Math.max(measured.nodeUs / predictedUs, predictedUs / measured.nodeUs),
      atMost: planBars.costRatio,
    }));
    return { rows: { figures, generatorUs, rows }, bars };
  } finally {
    await etcd.stop();
  }
}

const tries = 50;

/**
 * What copies cost depends on how much there is to copy, and that on what all of it costs: calculated until it agrees with itself.
 * @param {import('../../../packages/server/src/plan/plan-question.ts').PlanQuestion} asked
 * @param {import('../../../packages/server/src/plan/plan-figures.ts').PlanFigures} figures
 * @param {import('../../../packages/server/src/plan/plan-figures.ts').StoreFigures} store
 * @param {number} nodes
 * @param {number} batch
 * @param {number} generatorUs
 */
function predict(asked, figures, store, nodes, batch, generatorUs) {
  const machine = { cores: availableParallelism(), nodes, generators: nodes, generatorUs };
  let checksPerSecond = 10_000;
  let nodeUs = 0;
  for (let i = 0; i < tries; i += 1) {
    nodeUs = checkCost(asked, figures, store, { nodes, batch, checksPerSecond: checksPerSecond / nodes }).totalUs;
    checksPerSecond = (checksPerSecond + throughputOf({ ...machine, nodeUs }).checksPerSecond) / 2;
  }
  return { ...throughputOf({ ...machine, nodeUs }), nodeUs };
}

/**
 * What the generator itself takes for a check, by how many are under way on a connection.
 * @param {(text: string) => void} progress
 */
async function generatorCosts(progress) {
  const service = await startServiceProcess({ workers: 1, maxKeys: 1_000_000, policy });
  /** @type {Record<number, number>} */
  const costs = {};
  try {
    for (const depth of new Set(runs.map((run) => run.depth))) {
      progress(`plan, what the generator takes, ${depth} at once`);
      await runGenerator(order(service.ports.resp, depth));
      const { answered, processorMs = 0 } = await runGenerator(order(service.ports.resp, depth));
      costs[depth] = (1000 * processorMs) / answered;
    }
  } finally {
    await service.stop();
  }
  return costs;
}

/**
 * @param {number} port
 * @param {number} depth
 * @param {import('./cluster.mjs').SlotRange[]} [slots]
 * @returns {import('../../../packages/server/src/load/load-order.ts').LoadOrder}
 */
function order(port, depth, slots) {
  return {
    host: '127.0.0.1',
    port,
    question: asked,
    connections: 50,
    keys,
    keyOrder: 'random',
    ...(slots && { slots }),
    loop: { kind: 'closed', inFlightPerConnection: depth },
    durationMs: 1000 * seconds,
    warmUpMs: 0,
  };
}

/**
 * @param {readonly string[]} etcd
 * @param {{ nodes: number, unreplicated: number, depth: number }} run
 * @param {number} rounds
 * @returns {Promise<Measured>}
 */
async function measure(etcd, { nodes: count, unreplicated, depth }, rounds) {
  const cluster = await startCluster(etcd, `plan-${count}-${unreplicated}-${depth}`, count, unreplicated);
  /** @type {Measured[]} */
  const all = [];
  try {
    // For the compilers: its processor time must not count for the checks of the others.
    await measureRound(cluster.nodes, depth);
    for (let round = 0; round < rounds; round += 1) all.push(await measureRound(cluster.nodes, depth));
  } finally {
    await cluster.stop();
  }
  const middle = median(all.map(({ perSecond }) => perSecond));
  const found = all.find(({ perSecond }) => perSecond === middle);
  if (found === undefined) throw new Error('nothing was measured');
  return { ...found, errors: all.reduce((sum, { errors }) => sum + errors, 0) };
}

/**
 * @param {readonly import('./cluster.mjs').Node[]} nodes
 * @param {number} depth
 * @returns {Promise<Measured>}
 */
async function measureRound(nodes, depth) {
  const before = await processorMsOf(nodes);
  const reports = await Promise.all(nodes.map(({ port, slots }) => runGenerator(order(port, depth, slots))));
  const after = await processorMsOf(nodes);
  const sum = (/** @type {(report: (typeof reports)[number]) => number} */ of) =>
    reports.reduce((all, one) => all + of(one), 0);
  const answered = sum((report) => report.answered);
  return {
    perSecond: sum((report) => report.perSecond),
    nodeUs: (1000 * (after - before)) / answered,
    generatorUs: (1000 * sum((report) => report.processorMs ?? 0)) / answered,
    errors: sum((report) => report.errors),
    firstError: reports.find(({ firstError }) => firstError !== undefined)?.firstError,
  };
}

/** @param {readonly import('./cluster.mjs').Node[]} nodes */
async function processorMsOf(nodes) {
  const usages = await Promise.all(nodes.map(({ pid }) => processUsage(pid)));
  return usages.reduce((sum, { processorMs }) => sum + processorMs, 0);
}

/**
 * @param {{ name: string, predicted: { checksPerSecond: number, scarce: string }, predictedUs: number, measured: Measured }[]} rows
 * @param {number} othersRatio
 */
function rowsTable(rows, othersRatio) {
  const percent = (/** @type {number} */ predicted, /** @type {number} */ measured) =>
    `${((100 * (predicted - measured)) / measured).toFixed(0)} %`;
  return table(
    `checks/s and us of processor for a check: as the model says, and as it was; ${(100 * othersRatio).toFixed(0)} % of the machine was busy with others`,
    [
      ['', 'predicted', 'scarce', 'measured', 'error', 'us predicted', 'us measured', 'error', 'errors'],
      ...rows.map(({ name, predicted, predictedUs, measured }) => [
        name,
        figure(predicted.checksPerSecond),
        predicted.scarce,
        figure(measured.perSecond),
        percent(predicted.checksPerSecond, measured.perSecond),
        figure(predictedUs),
        figure(measured.nodeUs),
        percent(predictedUs, measured.nodeUs),
        measured.errors === 0 ? '0' : `${measured.errors}: ${measured.firstError}`,
      ]),
    ],
  );
}
