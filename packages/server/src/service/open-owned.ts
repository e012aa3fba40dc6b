/**
 * The store that is this process's part of a cluster, with etcd and the other nodes as they really are.
 *
 *      store.apply ──► the rule's own way to fail ──► ClusterNode ──► shards here, or the node that has them
 */

import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Check, type Clock, type Decision, SluiceError, type Store } from 'sluice';
import { type DegradeLayer, degrade } from 'sluice/layers';
import { ClusterNode } from '../cluster/cluster-node.ts';
import { etcdClient } from '../cluster/etcd/etcd-client.ts';
import { peersByRedis } from '../cluster/peers/peers-by-redis.ts';
import { systemClock } from '../cluster/system-clock.ts';
import type { ClusterDoor, NodeAddresses } from '../cluster/view.ts';
import type { EtcdTlsConfig, OwnedStoreConfig } from '../config/config.ts';
import type { TlsFiles } from './door.ts';
import type { Log } from './log.ts';
import type { OpenStore } from './open-store.ts';
import type { Answer } from './service.ts';
import { failsByItself, failureNumbers } from './store-failures.ts';

/** What nodes need to speak with each other. */
export interface PeerSecrets {
  readonly token: string | undefined;
  readonly tls: TlsFiles | undefined;
}

export function openOwned(config: OwnedStoreConfig, log: Log, { token, tls }: PeerSecrets): OpenStore {
  const { endpoints, username, password, tls: etcdTls } = config.etcd;
  const etcd = etcdClient({ endpoints, username, password, tls: filesOf(etcdTls), log });
  const peers = peersByRedis({ token, tls: tls && { ca: tls.ca, cert: tls.cert, key: tls.key }, log });
  const clock = systemClock();
  let node: ClusterNode | undefined;
  const door: ClusterDoor = {
    route: (slot) => node?.route(slot) ?? 'nowhere',
    view: () => node?.view() ?? { revision: 0, members: [], owners: [], standbys: [] },
    receive: (message) => node?.receive(message) ?? { kind: 'not-mine' },
  };
  const environment = { clock, etcd, peers, log, random };
  const layer = degrade({ ...failsByItself, to: config.onFailure });
  const storeClock: Clock = {
    now: () => clock.nowMs(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
  const ask = (checks: readonly Check[], requestId: string | undefined) => {
    if (node === undefined) throw new SluiceError('store-unavailable', 'This node has not joined its cluster yet.');
    return node.apply(checks, requestId);
  };
  const store = failingByRule(storeClock, ask, layer);
  return {
    store,
    largeStore: store,
    sentStore: {
      mode: 'sync',
      clock: storeClock,
      apply: (checks, _atMs, requestId) => ask(checks, requestId) as Decision[],
    },
    memories: [],
    stats: () => ({ type: 'owned', keys: node?.stats().keys ?? 0, evictedLiveKeys: 0, ...failureNumbers(layer) }),
    problem: () => (node === undefined ? 'this node has not joined its cluster yet' : node.problem()),
    cluster: {
      door,
      stats: () => node?.stats(),
      async join(addresses: NodeAddresses) {
        node = new ClusterNode({ addresses, settings: config.settings, environment });
        await node.start();
      },
      async leave(withinMs: number) {
        await node?.leave(withinMs);
      },
    },
    async close() {
      node?.stop();
      peers.close();
      etcd.close();
    },
  };
}

/**
 * A store in this thread and a remote one at once: it answers at once where the key is counted here, and with a promise where it is not. Who
 * asks it minds both (`andThen`). The layer takes as long as a check does, so it is asked only where something has failed, or still may.
 */
function failingByRule(
  clock: Clock,
  ask: (checks: readonly Check[], requestId: string | undefined) => Answer<Decision[]>,
  layer: DegradeLayer,
): Store<'sync'> {
  let begun: (() => Answer<Decision[]>) | undefined;
  const degraded = layer<'sync'>({
    mode: 'sync',
    clock,
    apply(checks, _atMs, requestId) {
      const answer = begun ?? (() => ask(checks, requestId));
      begun = undefined;
      return answer() as Decision[];
    },
  });
  return {
    mode: 'sync',
    clock,
    apply(checks, atMs, requestId) {
      // It may be about what the layer itself granted.
      if (checks.some(({ receipt }) => receipt !== undefined)) return degraded.apply(checks, atMs, requestId);
      try {
        const answer = ask(checks, requestId);
        if (!(answer instanceof Promise)) return answer;
        begun = () => answer;
      } catch (error) {
        begun = () => {
          throw error;
        };
      }
      return degraded.apply(checks, atMs, requestId);
    },
  };
}

function filesOf(files: EtcdTlsConfig | undefined) {
  if (files === undefined) return undefined;
  const read = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path, 'utf8'));
  return { ca: read(files.authority), cert: read(files.certificate), key: read(files.key) };
}

const bits = new Uint32Array(1);

/** Ids of nodes must differ whatever else is alike. */
function random(): number {
  return randomFillSync(bits)[0]! / 2 ** 32;
}
