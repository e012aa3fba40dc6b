/** How long etcd takes for a transaction as nodes send them, and how many it does. What is written is removed again. */
import { randomUUID } from 'node:crypto';
import type { Etcd, NodeLog } from '../../cluster/environment.ts';
import { etcdClient } from '../../cluster/etcd/etcd-client.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';

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
  try {
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
  } finally {
    etcd.close();
  }
}

/** A record that is renewed over and over, each time against the revision of the last, and then removed. */
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
  await etcd.transact({ compare: [], change: [{ delete: key }], read: [] }, timeoutMs);
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
  await etcd.transact({ compare: [], change: keys.map((key) => ({ delete: key })), read: [] }, timeoutMs);
  return read / seconds;
}
