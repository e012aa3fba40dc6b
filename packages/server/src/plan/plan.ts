/** A plan: what a cluster must be for this traffic, by figures of a machine. Pure: the same question and figures give the same plan. */
import { mostShards as shards } from '../cluster/shards.ts';
import { clientFigures } from './check-cost.ts';
import {
  busiestNode,
  type ClusterSize,
  clusterSize,
  fewestClusters,
  measuredLoad,
  mostClusters,
  mostNodesLeft,
  mostOfOneKey,
  partOf,
  serviceVariability,
} from './cluster-size.ts';
import { type EtcdLoad, etcdLoad } from './etcd-load.ts';
import { type FailoverCost, failoverCost } from './failover.ts';
import { type MemoryNeed, memoryNeed } from './memory-need.ts';
import { type NetworkNeed, networkNeed } from './network-need.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';
import { type PlanSetting, planSettings } from './plan-settings.ts';
import { type RestartCost, restartCost } from './restart-cost.ts';
import { count, share } from './units.ts';

export interface Plan {
  readonly question: PlanQuestion;
  readonly size: ClusterSize;
  readonly machines: number;
  readonly memory: MemoryNeed;
  readonly network: NetworkNeed;
  readonly etcd: EtcdLoad;
  readonly failover: FailoverCost;
  readonly restart: RestartCost;
  readonly serviceVariability: number;
  /** Checks per second of one key: more, and its node is above the load that was asked for; more than that, and it cannot follow. */
  readonly hotKey: { readonly withinLoad: number; readonly atMost: number };
  /** What the nodes have to be told, because they take something else by themselves. */
  readonly settings: readonly PlanSetting[];
  /** What stands in the way. */
  readonly problems: readonly string[];
}

/** A text: there is none, and why. */
export function plan(question: PlanQuestion, figures: PlanFigures, store: StoreFigures): Plan | string {
  const size = clusterSize(question, figures, store);
  if (size === undefined) return whyNone(question, figures, store);
  const { allUp, clusters, nodes } = size;
  const etcd = etcdLoad(question, size);
  const perSecondOfCore = 1e6 / allUp.cost.totalUs;
  return {
    question,
    size,
    machines: Math.ceil((clusters * nodes) / question.coresPerMachine),
    memory: memoryNeed(question, figures, store, size),
    network: networkNeed(question, figures, store, size),
    etcd,
    failover: failoverCost(question, size),
    restart: restartCost(question, figures, store, size),
    serviceVariability: serviceVariability(question, figures),
    hotKey: {
      withinLoad: Math.max(0, question.load * perSecondOfCore - allUp.checksPerSecond),
      atMost: Math.max(0, perSecondOfCore - allUp.checksPerSecond),
    },
    settings: planSettings(question, size),
    problems: problemsOf(question, figures, etcd),
  };
}

function whyNone(question: PlanQuestion, figures: PlanFigures, store: StoreFigures): string {
  const { nodesPerCluster, nodesPerFailure } = question;
  if (mostNodesLeft(question) < 1) {
    return (
      `With --nodes-per-cluster ${nodesPerCluster} and --nodes-per-failure ${nodesPerFailure} a failure may leave no node of a cluster. ` +
      'Give more of the one, or less of the other.'
    );
  }
  const { latency } = busiestNode(partOf({ ...question, checksPerSecond: 1 }, figures, store, 1), 1);
  if (latency.totalMs > question.latencyMs) {
    return (
      `A check that waits for nobody takes ${latency.totalMs.toFixed(2)} ms already (${latency.idleMs.toFixed(2)} ms measured, ` +
      `${latency.roundTripMs} ms on the way, ${latency.gatherMs} ms gathered), which is more than the ${question.latencyMs} ms asked for.`
    );
  }
  const clusters = fewestClusters(question, figures, store);
  const why = clusters === undefined ? oneUserTooMuch(question, figures, store) : tooManyClusters(question, clusters);
  // Were the load all that counts, it would be another number, and another reason.
  const isOfLatency = clusterSize({ ...question, latencyMs: Number.POSITIVE_INFINITY }, figures, store) !== undefined;
  return isOfLatency ? `${why} ${whyLatency(question, figures)}` : why;
}

function oneUserTooMuch(question: PlanQuestion, figures: PlanFigures, store: StoreFigures): string {
  const { checksPerSecond, users, policy } = question;
  return (
    `A key lives on one node, which can do ${count(mostOfOneKey(question, figures, store))} checks/s of it by these figures, within load and latency. ` +
    `Users: ${count(users)}, with ${count(checksPerSecond / users)}/s each, and more nodes do not help. Split the key into several ` +
    `that share the ${count(policy.limit)}, or let callers take some of it at a time and decide by themselves ("leased", docs/guides/layers.md).`
  );
}

function tooManyClusters({ nodesPerCluster }: PlanQuestion, clusters: number): string {
  return (
    `It would take ${count(clusters)} clusters of at most ${count(nodesPerCluster)} nodes, and a plan has at most ${mostClusters}. ` +
    `Give more --nodes-per-cluster (up to ${shards}), or a part of the traffic.`
  );
}

function whyLatency(question: PlanQuestion, figures: PlanFigures): string {
  const { atLoad } = clientFigures(figures, question.client);
  return (
    `It is the latency that asks for so much: 99 of 100 checks took up to ${atLoad.p99Ms.toFixed(1)} ms here at a load of ` +
    `${share(measuredLoad(atLoad))}, with ${share(figures.othersRatio)} of the machine busy with something else. ` +
    'Measure on a quieter machine, give more --latency, or say with --serving how uneven serving is.'
  );
}

/** Where etcd has no quota of its own set, it stops taking writes at this. */
const etcdQuotaBytes = 2 * 1024 ** 3;

function problemsOf({ durableKeys }: PlanQuestion, figures: PlanFigures, etcd: EtcdLoad): string[] {
  const problems: string[] = [];
  if (etcd.durableKeysPerNode > durableKeys) {
    problems.push(
      `A node would have ${Math.round(etcd.durableKeysPerNode).toLocaleString('en')} keys whose window must outlive everything, and takes ${durableKeys.toLocaleString('en')} (store.durableKeys): the others are refused.`,
    );
  }
  const most = figures.etcd?.transactionsPerSecond;
  if (most !== undefined && etcd.writesPerSecond > most) {
    problems.push(
      `etcd would have to do ${Math.round(etcd.writesPerSecond).toLocaleString('en')} writes per second, and did ${Math.round(most).toLocaleString('en')} here.`,
    );
  }
  const mostRecords = figures.etcd?.recordsPerSecond;
  if (mostRecords !== undefined && etcd.readsPerSecond > mostRecords) {
    problems.push(
      `etcd would have to read ${Math.round(etcd.readsPerSecond).toLocaleString('en')} records per second, and read ${Math.round(mostRecords).toLocaleString('en')} here. Fewer --nodes-per-cluster, or a longer --ttl, are less.`,
    );
  }
  if (etcd.databaseBytes > etcdQuotaBytes) {
    problems.push(
      `etcd would hold ${(etcd.databaseBytes / 1e9).toFixed(1)} GB, and takes ${(etcdQuotaBytes / 1e9).toFixed(1)} GB unless its quota is raised.`,
    );
  }
  return problems;
}
