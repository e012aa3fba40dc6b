/** The cluster as one node sees it: for CLUSTER SLOTS and its like, for redirections, for people. */
import type { Answer } from '../service/service.ts';
import type { PeerMessage, PeerReply } from './messages.ts';

export interface NodeAddresses {
  /** `host:port` of the Redis protocol: where clients are sent, and where nodes speak with each other. */
  readonly resp: string;
  readonly http?: string | undefined;
  readonly grpc?: string | undefined;
}

export interface ClusterMember {
  /** Forty hexadecimal digits; of one run of one process. */
  readonly id: string;
  /** etcd's revision when it joined. */
  readonly epoch: number;
  readonly addresses: NodeAddresses;
  readonly isSelf: boolean;
  /** It hands over what it has, and takes nothing. */
  readonly isLeaving: boolean;
}

export interface ClusterView {
  /** etcd's revision of the slot table; it grows. */
  readonly revision: number;
  readonly members: readonly ClusterMember[];
  /** For each shard its owner and its standby, as places in `members`; -1: none. */
  readonly owners: ArrayLike<number>;
  readonly standbys: ArrayLike<number>;
}

/** Where a slot's keys are counted. `'nowhere'`: nobody is known to. */
export type Route = 'here' | 'nowhere' | ClusterMember;

/** What the doors need of a node. */
export interface ClusterDoor {
  route(slot: number): Route;
  view(): ClusterView;
  receive(message: PeerMessage): Answer<PeerReply>;
}
