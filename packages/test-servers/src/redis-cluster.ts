/**
 * A real Redis Cluster on loopback, whose replication can be cut.
 *
 *   primary 0        primary 1        primary 2         slots shared out evenly
 *      |                |                |              replication: as user `repl`
 *   replica 3        replica 4        replica 5         all of them: the cluster bus
 *
 * Replicas log in to their primary as a user of their own. Turning that user off and closing its connections stops the
 * flow of writes and nothing else: the replica stays on the cluster bus, so it sees its primary die and votes can
 * promote it. That is how a failover loses acknowledged writes, and no network rules are needed to make it happen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClusterNode,
  type ClusterOptions,
  formCluster,
  isServing,
  isWell,
  replicationUser,
} from './cluster-formation.ts';
import { hasSlot, isPrimary, type NodeView, parseClusterNodes } from './cluster-view.ts';
import type { Address } from './redis-server.ts';
import { isInSync } from './replication.ts';
import { beginSlotMove, type SlotMove } from './slot-move.ts';
import { waitUntil } from './wait-until.ts';

export interface RedisCluster {
  /** The primaries of the start first, then their replicas, in the same order. */
  readonly nodes: readonly ClusterNode[];
  /** What a cluster client is given to start from. */
  readonly seeds: Address[];
  /** Whoever serves the slot now. Asks the nodes; of two that claim it, the later claim counts. */
  primaryOf(slot: number): Promise<ClusterNode>;
  /** The first running replica of a primary, dead or alive. */
  replicaOf(primary: ClusterNode): Promise<ClusterNode>;
  /** The planned change: CLUSTER FAILOVER on the replica of `primary`, which loses nothing. Gives the new primary. */
  failover(primary: ClusterNode): Promise<ClusterNode>;
  /** Moves a slot with its keys, live. */
  moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void>;
  /** The same in steps, for what happens in between: clients meet ASK until `finish`. */
  beginSlotMove(slot: number, from: ClusterNode, to: ClusterNode): Promise<SlotMove>;
  /** From now on no write of this primary reaches a replica, though all remain in the cluster. */
  cutReplication(primary: ClusterNode): Promise<void>;
  /** Undoes the cut, and waits until the replicas have caught up. */
  restoreReplication(primary: ClusterNode): Promise<void>;
  /** Waits until the replica serves as a primary, and every running node knows. */
  waitForPromotion(replica: ClusterNode): Promise<void>;
  /** Waits until every running node believes the cluster is well and every running replica is in sync. */
  waitUntilSettled(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { nodeTimeoutMs = 1000 } = options;
  const nodes = await formCluster({ ...options, nodeTimeoutMs });
  /** When the last planned failover away from a node was over. */
  const votedMs = new Map<ClusterNode, number>();
  const running = () => nodes.filter((node) => node.state === 'running');

  async function primaryOf(slot: number): Promise<ClusterNode> {
    const owners = (await Promise.all(running().map(ownView)))
      .filter((view) => hasSlot(view, slot))
      .sort((one, other) => other.configEpoch - one.configEpoch);
    if (owners[0] === undefined) throw new Error(`No running node serves slot ${slot}.`);
    return byId(owners[0].id);
  }

  async function replicasOf(primary: ClusterNode): Promise<ClusterNode[]> {
    const views = await Promise.all(running().map(ownView));
    return views.filter((view) => view.primaryId === primary.id).map((view) => byId(view.id));
  }

  async function replicaOf(primary: ClusterNode): Promise<ClusterNode> {
    const [replica] = await replicasOf(primary);
    if (replica === undefined) throw new Error(`The node on port ${primary.port} has no running replica.`);
    return replica;
  }

  async function waitForPromotion(replica: ClusterNode): Promise<void> {
    await waitUntil(`every running node takes the node on port ${replica.port} for a primary`, async () => {
      const views = await Promise.all(running().map((node) => viewOf(node, replica.id)));
      return views.every((view) => view !== undefined && isPrimary(view) && view.slotRanges.length > 0);
    });
    await waitUntil(`the node on port ${replica.port} serves`, () => isServing(replica));
  }

  async function failover(primary: ClusterNode): Promise<ClusterNode> {
    const replica = await replicaOf(primary);
    await waitUntil(`the replica on port ${replica.port} is in sync`, () => isInSync(replica));
    // A node that has not heard yet who replicates whom denies its vote, and a denied failover is not tried again.
    await waitUntilKnown(replica, primary);
    // Nor does a node vote twice about one primary within twice the node time-out.
    await sleep((votedMs.get(primary) ?? Number.NEGATIVE_INFINITY) + 2 * nodeTimeoutMs + 100 - performance.now());
    await replica.call('CLUSTER', 'FAILOVER');
    await waitForPromotion(replica);
    votedMs.set(primary, performance.now());
    // The roles are exchanged when the old primary follows the new one.
    await waitUntil(`the node on port ${primary.port} replicates the new primary`, () => isInSync(primary));
    await waitUntilKnown(primary, replica);
    return replica;
  }

  async function waitUntilKnown(replica: ClusterNode, primary: ClusterNode): Promise<void> {
    await waitUntil(`every running node knows that port ${replica.port} replicates port ${primary.port}`, async () => {
      const views = await Promise.all(running().map((node) => viewOf(node, replica.id)));
      return views.every((view) => view?.primaryId === primary.id);
    });
  }

  async function cutReplication(primary: ClusterNode): Promise<void> {
    await primary.call('ACL', 'SETUSER', replicationUser, 'off');
    // By user, not by type: a replica that has logged in and not asked for the stream yet must go too.
    await primary.call('CLIENT', 'KILL', 'USER', replicationUser);
    await waitUntil(`the primary on port ${primary.port} has no replica attached`, async () => {
      return /^connected_slaves:0\r?$/m.test(await primary.call<string>('INFO', 'replication'));
    });
  }

  async function restoreReplication(primary: ClusterNode): Promise<void> {
    await primary.call('ACL', 'SETUSER', replicationUser, 'on');
    for (const replica of await replicasOf(primary)) {
      await waitUntil(`the replica on port ${replica.port} is in sync again`, () => isInSync(replica));
    }
  }

  async function waitUntilSettled(): Promise<void> {
    for (const node of running()) {
      await waitUntil(`the node on port ${node.port} is well`, () => isWell(node));
      if (isPrimary(await ownView(node))) continue;
      await waitUntil(`the replica on port ${node.port} is in sync`, () => isInSync(node));
    }
  }

  const byId = (id: string): ClusterNode => nodes.find((node) => node.id === id)!;
  const beginMove = (slot: number, from: ClusterNode, to: ClusterNode) =>
    beginSlotMove({ slot, from, to, nodes: running() });

  return {
    nodes,
    seeds: nodes.map(({ host, port }) => ({ host, port })),
    primaryOf,
    replicaOf,
    failover,
    async moveSlot(slot, from, to) {
      const move = await beginMove(slot, from, to);
      await move.moveKeys();
      await move.finish();
    },
    beginSlotMove: beginMove,
    cutReplication,
    restoreReplication,
    waitForPromotion,
    waitUntilSettled,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

async function viewOf(node: ClusterNode, id: string): Promise<NodeView | undefined> {
  return parseClusterNodes(await node.call<string>('CLUSTER', 'NODES')).find((view) => view.id === id);
}

/** What a node says about itself. */
async function ownView(node: ClusterNode): Promise<NodeView> {
  return (await viewOf(node, node.id))!;
}
