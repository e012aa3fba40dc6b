/** Nodes of a cluster in one process, over a real etcd: they ask each other without a network in between. */
import { SluiceError } from 'sluice';
import { ClusterNode } from './cluster-node.ts';
import type { NodeEnvironment, Peers } from './environment.ts';
import { etcdClient } from './etcd/etcd-client.ts';
import { readPeerMessage, writePeerMessage } from './peers/peer-text.ts';
import type { ClusterSettings } from './settings.ts';
import { systemClock } from './system-clock.ts';

const quiet = () => {};
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

export interface Neighbourhood {
  settings(over?: Partial<ClusterSettings>): ClusterSettings;
  /** Starts a node at an address of its own, and waits until it has joined. */
  node(address: string, over?: Partial<ClusterSettings>): Promise<ClusterNode>;
  /** It is gone, and nobody was told. */
  crash(node: ClusterNode): void;
  close(): void;
}

let clusters = 0;

export function neighbourhood(endpoints: readonly string[], ttlMs = 2000): Neighbourhood {
  clusters += 1;
  const name = `test-${clusters}`;
  const etcd = etcdClient({ endpoints, log });
  const byAddress = new Map<string, ClusterNode>();
  const peers: Peers = {
    async ask(address, message) {
      const node = byAddress.get(address);
      if (node === undefined) throw new SluiceError('store-unavailable', `nobody listens at ${address}`);
      const reply = await node.receive(readPeerMessage(writePeerMessage(message)));
      return JSON.parse(JSON.stringify(reply));
    },
  };
  const environment: NodeEnvironment = { clock: systemClock(), etcd, peers, log, random: Math.random };
  function settings(over: Partial<ClusterSettings> = {}): ClusterSettings {
    const shared = { graceMs: 10, unreplicated: 0, durableFromMs: 3_600_000 };
    return { name, ttlMs, shared, maxKeys: 100_000, durableKeys: 1000, patienceMs: 2000, ...over };
  }
  return {
    settings,
    async node(address, over) {
      const node = new ClusterNode({ addresses: { resp: address }, settings: settings(over), environment });
      byAddress.set(address, node);
      await node.start();
      return node;
    },
    crash(node) {
      node.stop();
      for (const [address, one] of byAddress) if (one === node) byAddress.delete(address);
    },
    close() {
      for (const node of byAddress.values()) node.stop();
      etcd.close();
    },
  };
}
