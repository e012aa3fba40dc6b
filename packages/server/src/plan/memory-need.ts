/** How much memory: of the node with most shards, while nodes are lost, since that is when it has most. */
import type { ClusterSize } from './cluster-size.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';

export interface MemoryNeed {
  /** At once, over all clusters. */
  readonly liveKeys: number;
  readonly bytesPerKey: number;
  /** 2 with copies, else 1. */
  readonly timesKept: number;
  readonly bytesPerNode: number;
  readonly bytesInAll: number;
}

/** How often a user is asked about in a window. */
export function checksPerWindow({ checksPerSecond, users, policy }: PlanQuestion): number {
  return (checksPerSecond / users) * (policy.window / 1000);
}

/** Those who came within a window, with calls spread evenly over users and time. With any other spread there are fewer. */
export function liveKeys(question: PlanQuestion): number {
  return question.users * -Math.expm1(-checksPerWindow(question));
}

/** The same kind of key with a longer or shorter name takes as much more or less as its name. */
export function bytesPerKey({ keyBytes }: PlanQuestion, store: StoreFigures): number {
  return Math.max(1, store.bytesPerKey + keyBytes - store.keyBytes);
}

export function memoryNeed(
  question: PlanQuestion,
  figures: PlanFigures,
  store: StoreFigures,
  { clusters, nodes, someLost }: ClusterSize,
): MemoryNeed {
  const keys = liveKeys(question);
  const bytes = bytesPerKey(question, store);
  const timesKept = question.unreplicated > 0 && nodes > 1 ? 2 : 1;
  const ofBusiest = Math.min(1, someLost.share * someLost.userSpread) / clusters;
  return {
    liveKeys: keys,
    bytesPerKey: bytes,
    timesKept,
    bytesPerNode: figures.idleRssBytes + keys * ofBusiest * bytes * timesKept,
    bytesInAll: clusters * nodes * figures.idleRssBytes + keys * bytes * timesKept,
  };
}
