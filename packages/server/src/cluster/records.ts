/** What is kept in etcd, and under which keys. */
import type { EtcdRecord, Reading } from './environment.ts';
import type { NodeAddresses } from './view.ts';

/** A node's own record; that it changes is what tells others that the node is there. */
export interface NodeRecord {
  readonly id: string;
  readonly addresses: NodeAddresses;
  readonly ttlMs: number;
  /** It hands over what it has, and takes nothing. */
  readonly isLeaving: boolean;
  /** How far the cluster's time had come. */
  readonly timeMs: number;
}

/** A node, as etcd knows it. */
export interface KnownNode extends NodeRecord {
  readonly epoch: number;
  readonly modRevision: number;
}

export interface ClusterKeys {
  readonly nodes: string;
  readonly slots: string;
  /** What records of long windows begin with. */
  readonly long: string;
  nodeOf(id: string): string;
  readEverything(sinceRevision?: number): readonly Reading[];
}

export function keysOf(cluster: string): ClusterKeys {
  const nodes = `/sluice/${cluster}/nodes/`;
  const slots = `/sluice/${cluster}/slots`;
  return {
    nodes,
    slots,
    long: `/sluice/${cluster}/long/`,
    nodeOf: (id) => `${nodes}${id}`,
    readEverything: (sinceRevision) => [
      { key: nodes, isPrefix: true },
      sinceRevision === undefined ? { key: slots } : { key: slots, sinceRevision },
    ],
  };
}

export function nodeOfRecord({ value, createRevision, modRevision }: EtcdRecord): KnownNode {
  const record = JSON.parse(value) as NodeRecord;
  if (typeof record?.id !== 'string' || typeof record.addresses?.resp !== 'string' || !(record.ttlMs > 0)) {
    throw new TypeError(`not a node: ${value.slice(0, 100)}`);
  }
  return { ...record, epoch: createRevision, modRevision };
}
