/** What a rolling restart costs: each node hands over what it has, comes back, and gets it again. Nobody is refused for it unless he waits too long. */
import { mostShards as shards } from '../cluster/shards.ts';
import type { ClusterSize } from './cluster-size.ts';
import { liveKeys } from './memory-need.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';

export interface RestartCost {
  /** Each key leaves its node and comes back. */
  readonly bytesMoved: number;
  /** How long a shard decides nothing while it is handed over, with those that go to the same node. */
  readonly frozenMs: number;
  /** One node after the other. */
  readonly totalMs: number;
  /** Checks that wait, at most so long, and are answered then. */
  readonly delayedChecks: number;
}

/** Shards that a node hands over at once. */
const mostTogether = 32;

export function restartCost(
  question: PlanQuestion,
  figures: PlanFigures,
  store: StoreFigures,
  { clusters, nodes }: ClusterSize,
): RestartCost {
  const keys = liveKeys(question);
  const keysPerShard = keys / clusters / shards;
  const transactionMs = figures.etcd?.transactionP99Ms ?? 0;
  const shardsPerNode = shards / nodes;
  // Those that go to the same node go together.
  const together = Math.max(1, Math.min(mostTogether, shardsPerNode / Math.max(1, nodes - 1)));
  const writingMs = (together * keysPerShard * (store.snapshotUsPerKey + store.restoreUsPerKey)) / 1000;
  const frozenMs = writingMs + question.roundTripMs + transactionMs;
  const moves = 2 * clusters * shards;
  return {
    bytesMoved: 2 * keys * store.snapshotBytesPerKey,
    frozenMs,
    totalMs: clusters * nodes * (figures.startMs + (2 * shardsPerNode * frozenMs) / together),
    delayedChecks: moves * (question.checksPerSecond / clusters / shards) * (frozenMs / 1000),
  };
}
