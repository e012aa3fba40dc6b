/**
 * What one check costs the nodes, in processor time.
 *
 *      smart, redis      caller ──► owner                       reading and writing is shared by what comes in one read
 *      http, grpc        caller ──► any node ──► owner          both pay, and the asker pays for asking too
 *      copies            owner ──► standby                      of what was granted
 */
import { copyUsPerCheck } from './copy-cost.ts';
import type { ClientFigures, PlanFigures, StoreFigures } from './plan-figures.ts';
import type { Client, PlanQuestion } from './plan-question.ts';

/** A read costs something, and each check in it. */
export interface ReadCost {
  readonly perReadUs: number;
  readonly perCheckUs: number;
}

export interface CheckCost {
  /** Checks in one read, on average. */
  readonly batch: number;
  /** What the node that is asked spends on it, and the owner where that is another. */
  readonly askedUs: number;
  readonly forwardedUs: number;
  readonly copiedUs: number;
  /** All of it. */
  readonly totalUs: number;
}

export function clientFigures(figures: PlanFigures, client: Client): ClientFigures {
  const found = figures.clients.find((one) => one.client === client);
  if (found === undefined)
    throw new Error(`The figures have nothing about the client "${client}". Measure again with it.`);
  return found;
}

/** From two depths: what is the same for a read however much is in it, and what grows with it. */
export function readCostOf({ atMost }: Pick<ClientFigures, 'atMost'>): ReadCost {
  const single = atMost[0]!;
  const deep = atMost.at(-1)!;
  if (deep.pipelined <= single.pipelined) return { perReadUs: 0, perCheckUs: single.processorUs };
  const perReadUs = Math.max(0, (single.processorUs - deep.processorUs) / (1 - 1 / deep.pipelined));
  return { perReadUs, perCheckUs: Math.max(0, single.processorUs - perReadUs) };
}

/** Of a plain service, and of being a node. */
function nodeCost(plain: ReadCost, owned: ReadCost): ReadCost {
  return { perReadUs: plain.perReadUs + owned.perReadUs, perCheckUs: plain.perCheckUs + owned.perCheckUs };
}

/** How many checks a caller's write holds: the one that began it, and those that came while it gathered. */
export function batchOf(question: PlanQuestion, nodeChecksPerSecond: number): number {
  return 1 + (nodeChecksPerSecond / question.callers) * (question.gatherMs / 1000);
}

/** What it costs a node to be one of a cluster, beyond what a plain service spends. Where it could not be measured, it is told as a ratio of checks. */
export function ownedCostOf(question: PlanQuestion, figures: PlanFigures): ReadCost {
  const { etcd } = figures;
  if (etcd) return { perReadUs: etcd.ownedReadUs, perCheckUs: etcd.ownedCheckUs };
  const { client } = question;
  // As it is measured where it can be: with a client that asks the owner itself.
  const { perCheckUs } = readCostOf(clientFigures(figures, asksAnyNode(client) ? 'smart' : client));
  return { perReadUs: 0, perCheckUs: perCheckUs * (1 / question.ownedRatio - 1) };
}

export function asksAnyNode(client: Client): boolean {
  return client === 'http' || client === 'grpc';
}

/** What a node has to do. */
export interface NodeTraffic {
  /** Of the cluster. */
  readonly nodes: number;
  readonly checksPerSecond: number;
  /** Checks in one read. */
  readonly batch: number;
}

export function checkCost(
  question: PlanQuestion,
  figures: PlanFigures,
  store: StoreFigures,
  traffic: NodeTraffic,
): CheckCost {
  const { client, movedRatio } = question;
  const { nodes, batch, checksPerSecond } = traffic;
  const owned = ownedCostOf(question, figures);
  const asked = nodeCost(readCostOf(clientFigures(figures, client)), owned);
  const askedUs = (asked.perCheckUs + asked.perReadUs / batch) * (1 + (client === 'redis' ? movedRatio : 0));
  const peer = nodeCost(readCostOf(clientFigures(figures, asksAnyNode(client) ? 'smart' : client)), owned);
  const copiedUs = copyUsPerCheck(question, store, peer, nodes, checksPerSecond);
  // Twice what answering a smart client costs: the owner answers, and for the node between asking is taken to be as much work as answering.
  const forwardUs = 2 * (peer.perReadUs + peer.perCheckUs);
  const forwardedUs = asksAnyNode(client) ? (1 - 1 / nodes) * forwardUs : 0;
  return { batch, askedUs, forwardedUs, copiedUs, totalUs: askedUs + forwardedUs + copiedUs };
}
