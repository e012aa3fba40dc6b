/** The owned cluster: its parts that lean on nothing but their environment. The simulator runs these very modules. */
export { ClusterNode, type ClusterNodeOptions, type NodeStats } from './cluster-node.ts';
export type {
  Change,
  Comparison,
  Etcd,
  EtcdRecord,
  NodeClock,
  NodeEnvironment,
  NodeLog,
  Peers,
  Reading,
  Transaction,
  TransactionOutcome,
} from './environment.ts';
export { allFences, type Fences } from './fences.ts';
export type { PeerMessage, PeerReply } from './messages.ts';
export { readPeerMessage, writePeerMessage } from './peers/peer-text.ts';
export { type ClusterSettings, drift, type SharedSettings } from './settings.ts';
export { defaultShards, mostShards, shardOfSlot, slots } from './shards.ts';
export type { ClusterDoor, ClusterMember, ClusterView, NodeAddresses, Route } from './view.ts';
