/** How a cluster is set, after defaults. Those of `shared` must be the same on all of its nodes: etcd holds them, and a node with others is refused. */
export interface ClusterSettings {
  /** Clusters of different names in one etcd know nothing of each other. */
  readonly name: string;
  /** How long a node's right lasts after each renewal. Longer than etcd needs to choose a new leader. */
  readonly ttlMs: number;
  readonly shared: SharedSettings;
  /** The most keys of the whole cluster; each shard has its part of them. */
  readonly maxKeys: number;
  /** The most keys of long windows whose grants are written down ahead, at each node. */
  readonly durableKeys: number;
  /** How long a call waits for a shard that is being handed over, and for an answer of another node. */
  readonly patienceMs: number;
}

export interface SharedSettings {
  /** How old a grant may be when it is used, since the question was sent. Owners make windows wider by it. */
  readonly graceMs: number;
  /** How many grants of a key may be ahead of its standby; 0: no standby is kept. */
  readonly unreplicated: number;
  /** Policies with a window of this or more are written to etcd ahead of being granted. */
  readonly durableFromMs: number;
  /** How many shards there are, 1 to 1024. Default 256. */
  readonly shards?: number;
}

/** Clocks of machines differ by less than this share. NTP corrects at most half of it. */
export const drift = 1e-3;
