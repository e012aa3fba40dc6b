/** How many nodes: the fewest that keep load and latency when as many as may fail together are gone. */
import { mostShards as shards } from '../cluster/shards.ts';
import { asksAnyNode, batchOf, type CheckCost, checkCost, clientFigures } from './check-cost.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';
import { type Queue, serviceVariabilityOf, waitMs } from './queue.ts';
import { mostShare, userSpread } from './spread.ts';

/** The node with most to do, while so many serve. */
export interface BusiestNode {
  readonly nodes: number;
  readonly share: number;
  readonly userSpread: number;
  readonly checksPerSecond: number;
  readonly cost: CheckCost;
  /** Above 1: it cannot be. */
  readonly load: number;
  readonly latency: Latency;
}

/** What 99 of 100 checks do not exceed, and of what it is made. */
export interface Latency {
  readonly idleMs: number;
  readonly roundTripMs: number;
  readonly gatherMs: number;
  readonly waitMs: number;
  readonly totalMs: number;
}

export interface ClusterSize {
  /** Clusters of the same size that share the users between them. */
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly allUp: BusiestNode;
  readonly someLost: BusiestNode;
}

/** A cluster for one part of the traffic. */
export interface Part {
  readonly question: PlanQuestion;
  readonly figures: PlanFigures;
  readonly store: StoreFigures;
  readonly checksPerSecond: number;
  readonly users: number;
}

export function partOf(question: PlanQuestion, figures: PlanFigures, store: StoreFigures, clusters: number): Part {
  const { checksPerSecond } = question;
  // Users come whole.
  const users = Math.ceil(question.users / clusters);
  return { question, figures, store, checksPerSecond: (checksPerSecond / question.users) * users, users };
}

export function serviceVariability(question: PlanQuestion, figures: PlanFigures): number {
  if (question.serviceVariability !== undefined) return question.serviceVariability;
  const { atLoad, idleP50Ms } = clientFigures(figures, question.client);
  const observedMs = Math.max(0, atLoad.p99Ms - atLoad.sentLateP99Ms - idleP50Ms);
  const serviceMs = atLoad.processorUs / 1000;
  // The generator spaces its checks evenly.
  return serviceVariabilityOf({ serviceMs, arrivalVariability: 0, load: measuredLoad(atLoad), waitMs: observedMs });
}

/** How busy the service was when latencies were measured. */
export function measuredLoad(atLoad: { readonly checksPerSecond: number; readonly processorUs: number }): number {
  return Math.min(0.99, (atLoad.checksPerSecond * atLoad.processorUs) / 1e6);
}

export function busiestNode(part: Part, nodes: number): BusiestNode {
  const { question, figures, store } = part;
  const share = mostShare(nodes);
  const spread = userSpread(part.users, nodes);
  const checksPerSecond = part.checksPerSecond * Math.min(1, share * spread);
  const batch = batchOf(question, checksPerSecond);
  const cost = checkCost(question, figures, store, { nodes, checksPerSecond, batch });
  const load = (checksPerSecond * cost.totalUs) / 1e6;
  return { nodes, share, userSpread: spread, checksPerSecond, cost, load, latency: latencyAt(part, cost, load) };
}

function latencyAt({ question, figures }: Part, cost: CheckCost, load: number): Latency {
  const { client, roundTripMs, gatherMs, arrivalVariability } = question;
  const isForwarded = asksAnyNode(client);
  const idleMs =
    clientFigures(figures, client).idleP50Ms + (isForwarded ? clientFigures(figures, 'smart').idleP50Ms : 0);
  const queue: Queue = {
    // What stands in the queue is a read with all that is in it.
    serviceMs: (cost.totalUs * cost.batch) / 1000,
    arrivalVariability,
    serviceVariability: serviceVariability(question, figures),
  };
  const hops = isForwarded ? 2 : 1;
  const waitedMs = hops * waitMs(queue, load);
  const totalMs = idleMs + hops * roundTripMs + gatherMs + waitedMs;
  return { idleMs, roundTripMs: hops * roundTripMs, gatherMs, waitMs: waitedMs, totalMs };
}

function isEnough({ question }: Part, { load, latency }: BusiestNode): boolean {
  return load <= question.load && latency.totalMs <= question.latencyMs;
}

/** Of a cluster that has lost as many as may fail together. */
export function mostNodesLeft({ nodesPerCluster, nodesPerFailure }: PlanQuestion): number {
  return Math.min(shards, nodesPerCluster) - nodesPerFailure;
}

/** Undefined: not even as many nodes as there are shards. */
function fewestNodes(part: Part): number | undefined {
  const most = mostNodesLeft(part.question);
  if (most < 1 || !isEnough(part, busiestNode(part, most))) return undefined;
  let [tooFew, enough] = [0, most];
  while (enough - tooFew > 1) {
    const middle = (tooFew + enough) >> 1;
    if (isEnough(part, busiestNode(part, middle))) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

export const mostClusters = 256;
// Shards come whole: with one cluster more, nodes may be used better.
const furtherTries = 4;

/** The fewest nodes in all. Undefined: no number of clusters does it. */
export function clusterSize(
  question: PlanQuestion,
  figures: PlanFigures,
  store: StoreFigures,
): ClusterSize | undefined {
  let best: ClusterSize | undefined;
  for (let clusters = 1; clusters <= (best ? best.clusters + furtherTries : mostClusters); clusters += 1) {
    const part = partOf(question, figures, store, clusters);
    const needed = fewestNodes(part);
    if (needed === undefined) continue;
    const nodes = needed + question.nodesPerFailure;
    if (best !== undefined && best.clusters * best.nodes <= clusters * nodes) continue;
    best = { clusters, nodes, allUp: busiestNode(part, nodes), someLost: busiestNode(part, needed) };
    if (clusters === 1) break;
  }
  return best;
}

/** How many clusters it takes, however many they are. Undefined: not even a cluster for each user does it. */
export function fewestClusters(question: PlanQuestion, figures: PlanFigures, store: StoreFigures): number | undefined {
  const isEnoughIn = (clusters: number) => fewestNodes(partOf(question, figures, store, clusters)) !== undefined;
  if (!isEnoughIn(question.users)) return undefined;
  let [tooFew, enough] = [0, question.users];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (isEnoughIn(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/** Checks per second of one key, which lives on one node, when that node has nothing else to do. */
export function mostOfOneKey(question: PlanQuestion, figures: PlanFigures, store: StoreFigures): number {
  const nodes = Math.max(1, mostNodesLeft(question));
  const canDo = (checksPerSecond: number) => {
    const part = { question, figures, store, checksPerSecond, users: 1 };
    return isEnough(part, busiestNode(part, nodes));
  };
  let [most, tooMany] = [0, question.checksPerSecond];
  for (let halvings = 0; halvings < 40; halvings += 1) {
    const middle = (most + tooMany) / 2;
    if (canDo(middle)) most = middle;
    else tooMany = middle;
  }
  return most;
}
