/** What the nodes ask of etcd. Decisions ask nothing of it, unless their window is so long that they must outlive everything. */
import { parsePolicy } from 'sluice';
import { allFences } from '../cluster/fences.ts';
import { OwnedPolicies, type OwnedPolicy } from '../cluster/owned-policy.ts';
import { keysOf, type NodeRecord } from '../cluster/records.ts';
import { mostShards as shards } from '../cluster/shards.ts';
import { emptyTable, tableText } from '../cluster/slot-table.ts';
import type { ClusterSize } from './cluster-size.ts';
import { grantsPerKeySecond } from './grants.ts';
import { type LongRecordSize, longRecordSize } from './long-record.ts';
import { liveKeys } from './memory-need.ts';
import type { PlanQuestion } from './plan-question.ts';

export interface EtcdLoad {
  /** Of one cluster, which has an etcd of its own. */
  readonly renewalsPerSecond: number;
  /** Of windows that are written down ahead. */
  readonly reservationsPerSecond: number;
  /** Of the record that each of them writes again. */
  readonly reservation: LongRecordSize;
  /** Keys of such windows at one node. */
  readonly durableKeysPerNode: number;
  readonly writesPerSecond: number;
  /** Records that transactions read. */
  readonly readsPerSecond: number;
  readonly writtenBytesPerSecond: number;
  readonly readBytesPerSecond: number;
  readonly nodeRecordBytes: number;
  readonly slotTableBytes: number;
  /** Changes of the slot table, in a year. */
  readonly tableChangesPerYear: number;
  readonly databaseBytes: number;
}

/** How often a node looks after its right in the time that it lasts. */
const renewalsPerTtl = 5;

export function renewEveryMs(ttlMs: number): number {
  return ttlMs / renewalsPerTtl;
}

/** A cluster of so many nodes, written as nodes write it. */
function slotTable({ ttlMs, graceMs, unreplicated, durableFromMs }: PlanQuestion, nodes: number): string {
  const table = emptyTable({ graceMs, unreplicated, durableFromMs });
  const places = Array.from({ length: shards }, (_, shard) => shard % nodes);
  return tableText({
    ...table,
    nodes: Array.from({ length: nodes }, (_, i) => ({ id: idOf(i), epoch: 1_000_000 + i, ttlMs })),
    owners: places,
    standbys: places.map((place) => (unreplicated > 0 && nodes > 1 ? (place + 1) % nodes : -1)),
  });
}

function idOf(node: number): string {
  return node.toString(16).padStart(40, '0');
}

/** A key and its record, as a node writes them. */
function nodeRecordText(ttlMs: number): string {
  const addresses = { resp: '10.0.255.255:6380', http: '10.0.255.255:8080', grpc: '10.0.255.255:8081' };
  const record: NodeRecord = { id: idOf(1), addresses, ttlMs, timeMs: 1_000_000_000, isLeaving: false };
  return keysOf('default').nodeOf(record.id) + JSON.stringify(record);
}

/** The policy as nodes apply it. */
export function ownedPolicyOf({ policy, graceMs, unreplicated, durableFromMs }: PlanQuestion): OwnedPolicy {
  return new OwnedPolicies({ graceMs, unreplicated, durableFromMs }, allFences).of(parsePolicy(policy));
}

/** Of one key. */
export function reservationsPerKeySecond(question: PlanQuestion): number {
  return Math.min(grantsPerKeySecond(question), 1000 / question.reserveEveryMs);
}

export function etcdLoad(question: PlanQuestion, { clusters, nodes }: ClusterSize): EtcdLoad {
  const { ttlMs, etcdRetentionMs, failuresPerNodePerYear } = question;
  const renewalsPerSecond = (1000 * nodes) / renewEveryMs(ttlMs);
  const nodeRecordBytes = nodeRecordText(ttlMs).length;
  const slotTableBytes = slotTable(question, nodes).length;
  // Each renewal reads the records of all nodes: that they change is how nodes know of each other.
  const readsPerSecond = renewalsPerSecond * nodes;
  const { isDurable, spanMs } = ownedPolicyOf(question);
  const keys = isDurable ? liveKeys(question) / clusters : 0;
  const perKeySecond = reservationsPerKeySecond(question);
  // Of all users: who comes seldom is not always alive, and is written down each time.
  const reservationsPerSecond = isDurable ? (question.users / clusters) * perKeySecond : 0;
  const writesPerSecond = renewalsPerSecond + reservationsPerSecond;
  const reservation = longRecordSize(question, {
    spanMs,
    writesPerSecond: perKeySecond,
    grantsPerSecond: grantsPerKeySecond(question),
  });
  const writtenBytesPerSecond = renewalsPerSecond * nodeRecordBytes + reservationsPerSecond * reservation.bytes;
  const lastingBytes = nodes * nodeRecordBytes + slotTableBytes + keys * reservation.bytes;
  return {
    renewalsPerSecond,
    reservationsPerSecond,
    reservation,
    durableKeysPerNode: keys / nodes,
    writesPerSecond,
    readsPerSecond,
    writtenBytesPerSecond,
    readBytesPerSecond: readsPerSecond * nodeRecordBytes,
    nodeRecordBytes,
    slotTableBytes,
    // A crash changes the table when the shards are taken over, when copies are there again, and when the node is back, twice.
    tableChangesPerYear: 4 * nodes * failuresPerNodePerYear,
    databaseBytes: lastingBytes + (writtenBytesPerSecond * etcdRetentionMs) / 1000,
  };
}
