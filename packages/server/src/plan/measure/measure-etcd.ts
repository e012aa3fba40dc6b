/** How long etcd takes for a transaction as nodes send them, and how many it does. What is written is removed again. */
import { randomUUID } from 'node:crypto';
import type { Etcd, NodeLog } from '../../cluster/environment.ts';
import { etcdClient } from '../../cluster/etcd/etcd-client.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { removingAfterwards } from './leftovers.ts';

export interface EtcdSpeed {
  readonly transactionP50Ms: number;
  readonly transactionP99Ms: number;
  readonly transactionsPerSecond: number;
  readonly recordsPerSecond: number;
}

const timeoutMs = 5000;
const underWay = 32;
/** About as long as a node's. */
const recordText = 'x'.repeat(200);
const quiet: NodeLog = { debug() {}, info() {}, warn() {}, error() {} };

export async function measureEtcd(endpoints: readonly string[], seconds: number): Promise<EtcdSpeed> {
  const etcd = etcdClient({ endpoints, log: quiet });
  const prefix = `/sluice/plan-${randomUUID()}/`;
  const remove = async () => {
    // Nothing is written behind its back.
    etcd.close();
    await removeFromEtcd(endpoints, prefix);
  };
  return removingAfterwards(remove, async () => {
    const alone = new LatencyHistogram();
    await renewFor(etcd, `${prefix}0`, seconds * 1000, alone);
    const together = new LatencyHistogram();
    const names = Array.from({ length: underWay }, (_, i) => `${prefix}${i + 1}`);
    await Promise.all(names.map((key) => renewFor(etcd, key, seconds * 1000, together)));
    const recordsPerSecond = await readFor(etcd, `${prefix}all/`, seconds);
    return {
      transactionP50Ms: alone.percentileMs(0.5),
      transactionP99Ms: alone.percentileMs(0.99),
      transactionsPerSecond: together.count / seconds,
      recordsPerSecond,
    };
  });
}

/** Before anything else is measured. */
export async function mustAnswer(endpoints: readonly string[]): Promise<void> {
  const etcd = etcdClient({ endpoints, log: quiet });
  try {
    await etcd.transact({ compare: [], change: [], read: [{ key: '/sluice/' }] }, timeoutMs);
  } catch (error) {
    throw new Error(
      `etcd does not answer at ${endpoints.join(', ')}: ${(error as Error).message} Start it, or plan without --etcd.`,
      { cause: error },
    );
  } finally {
    etcd.close();
  }
}

/** A transaction has at most 128 operations. */
const mostRemoved = 100;

/** All that begins with this. */
export async function removeFromEtcd(endpoints: readonly string[], prefix: string): Promise<void> {
  const etcd = etcdClient({ endpoints, log: quiet });
  try {
    for (;;) {
      const read = [{ key: prefix, isPrefix: true }];
      const { found } = await etcd.transact({ compare: [], change: [], read }, timeoutMs);
      const keys = found.flat().map(({ key }) => key);
      if (keys.length === 0) return;
      const change = keys.slice(0, mostRemoved).map((key) => ({ delete: key }));
      await etcd.transact({ compare: [], change, read: [] }, timeoutMs);
    }
  } finally {
    etcd.close();
  }
}

/** A record that is renewed over and over, each time against the revision of the last. */
async function renewFor(etcd: Etcd, key: string, durationMs: number, histogram: LatencyHistogram): Promise<void> {
  let modRevision = 0;
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs) {
    const sentMs = performance.now();
    const { revision } = await etcd.transact(
      { compare: [{ key, modRevision }], change: [{ put: key, value: recordText }], read: [{ key }] },
      timeoutMs,
    );
    histogram.record(performance.now() - sentMs);
    modRevision = revision;
  }
}

const recordsRead = 100;
const readersUnderWay = 4;

/** Records of nodes as a renewal reads them: all of them, each time. */
async function readFor(etcd: Etcd, prefix: string, seconds: number): Promise<number> {
  const keys = Array.from({ length: recordsRead }, (_, i) => `${prefix}${i}`);
  const change = keys.map((key) => ({ put: key, value: recordText }));
  await etcd.transact({ compare: [], change, read: [] }, timeoutMs);
  let read = 0;
  const endMs = performance.now() + 1000 * seconds;
  const reader = async () => {
    while (performance.now() < endMs) {
      const { found } = await etcd.transact(
        { compare: [], change: [], read: [{ key: prefix, isPrefix: true }] },
        timeoutMs,
      );
      read += found[0]!.length;
    }
  };
  await Promise.all(Array.from({ length: readersUnderWay }, reader));
  return read / seconds;
}
