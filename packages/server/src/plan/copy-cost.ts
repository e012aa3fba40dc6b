/**
 * What copies cost. An owner gathers what it granted, and tells each standby in one message:
 *
 *      message to standby B   ┬ shard 17   step, step, step
 *                             └ shard 90   step
 *
 * Each message, each shard in it and each step costs something. Many nodes have few shards each, and so few standbys: messages are fuller.
 */
import { mostShards as shards } from '../cluster/shards.ts';
import type { ReadCost } from './check-cost.ts';
import { refusedRatioOf } from './grants.ts';
import type { StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';

/** Of one node, as an owner; as a standby it has as much. */
export interface CopyTraffic {
  readonly stepsPerSecond: number;
  readonly entriesPerSecond: number;
  readonly messagesPerSecond: number;
}

const none: CopyTraffic = { stepsPerSecond: 0, entriesPerSecond: 0, messagesPerSecond: 0 };

export function copyTraffic(question: PlanQuestion, nodes: number, nodeChecksPerSecond: number): CopyTraffic {
  const { unreplicated, copyEveryMs } = question;
  const stepsPerSecond = nodeChecksPerSecond * (1 - refusedRatioOf(question));
  if (unreplicated === 0 || nodes === 1 || stepsPerSecond === 0) return none;
  const standbys = Math.min(nodes - 1, shards / nodes);
  const messagesPerSecond = Math.min(stepsPerSecond, (standbys * 1000) / copyEveryMs);
  const stepsPerMessage = stepsPerSecond / messagesPerSecond;
  const shardsPerStandby = shards / nodes / standbys;
  // So many steps fall on so many shards by chance: on how many of them?
  const entries = shardsPerStandby * (1 - (1 - 1 / Math.max(1, shardsPerStandby)) ** stepsPerMessage);
  return { stepsPerSecond, entriesPerSecond: messagesPerSecond * Math.max(1, entries), messagesPerSecond };
}

/** For one check, at the owner and at the standby together. */
export function copyUsPerCheck(
  question: PlanQuestion,
  store: StoreFigures,
  peer: ReadCost,
  nodes: number,
  nodeChecksPerSecond: number,
): number {
  const { stepsPerSecond, entriesPerSecond, messagesPerSecond } = copyTraffic(question, nodes, nodeChecksPerSecond);
  if (stepsPerSecond === 0) return 0;
  // Who asks has as much to do with a message as who answers.
  const messageUs = 2 * (peer.perReadUs + peer.perCheckUs);
  const usPerSecond =
    stepsPerSecond * (store.stepOwnerUs + store.stepStandbyUs) +
    entriesPerSecond * (store.entryOwnerUs + store.entryStandbyUs) +
    messagesPerSecond * messageUs;
  return usPerSecond / nodeChecksPerSecond;
}
