/** From so many lone servers to one cluster that has settled: slots, introductions, replicas, agreement. */
import { isSettled, parseClusterNodes } from './cluster-view.ts';
import { loopback, reservePort } from './free-port.ts';
import { type RedisConfig, type RedisServer, startRedisProcess } from './redis-server.ts';
import { isInSync } from './replication.ts';
import { waitUntil } from './wait-until.ts';

export interface ClusterOptions {
  /** Primaries: 3 or more, because fewer cannot vote for a promotion. Default 3. */
  readonly shards?: number;
  /** Replicas of each primary: 0 or more. Default 1. */
  readonly replicas?: number;
  /** How long a node may be silent before it counts as failed (cluster-node-timeout). Default 1000. */
  readonly nodeTimeoutMs?: number;
  /** Lines of redis.conf for every node. */
  readonly config?: RedisConfig;
  /** Gives every node a clock of its own that `shiftClock` can move. Default false. */
  readonly shiftableClock?: boolean;
}

export interface ClusterNode extends RedisServer {
  /** The name it has in the cluster (CLUSTER MYID); it survives a restart. */
  readonly id: string;
}

export const slotCount = 16_384;
export const replicationUser = 'repl';
const replicationPassword = 'repl-password';

export async function formCluster(
  options: ClusterOptions & { readonly nodeTimeoutMs: number },
): Promise<ClusterNode[]> {
  const { shards = 3, replicas = 1, nodeTimeoutMs, config = {}, shiftableClock: isShiftable = false } = options;
  requireWhole('shards', shards, 3);
  requireWhole('replicas', replicas, 0);
  requireWhole('nodeTimeoutMs', nodeTimeoutMs, 100);

  const starting = Array.from({ length: shards * (1 + replicas) }, () =>
    startNode((busPort) => nodeConfig(busPort, nodeTimeoutMs, config), isShiftable),
  );
  const outcomes = await Promise.allSettled(starting);
  const nodes = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  try {
    // Only now, when every node that did start is known and can be stopped.
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    await join(nodes, shards);
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
  return nodes;
}

async function startNode(configOf: (busPort: number) => RedisConfig, isShiftable: boolean): Promise<ClusterNode> {
  const bus = await reservePort();
  try {
    const server = await startRedisProcess({ name: 'cluster-node', config: configOf(bus.port), isShiftable });
    const id = await server.call<string>('CLUSTER', 'MYID');
    const stop = async () => {
      await server.stop();
      bus.release();
    };
    // Descriptors, not values: pid and state of a server are read anew each time.
    const fields = { ...Object.getOwnPropertyDescriptors(server), ...Object.getOwnPropertyDescriptors({ id, stop }) };
    return Object.defineProperties({} as ClusterNode, fields);
  } catch (error) {
    bus.release();
    throw error;
  }
}

function nodeConfig(busPort: number, nodeTimeoutMs: number, config: RedisConfig): RedisConfig {
  return {
    save: '""',
    appendonly: 'no',
    'cluster-enabled': 'yes',
    'cluster-config-file': 'nodes.conf',
    'cluster-port': busPort,
    'cluster-announce-ip': loopback,
    'cluster-node-timeout': nodeTimeoutMs,
    // One dead shard must not stop the others.
    'cluster-require-full-coverage': 'no',
    // However stale a replica is after a cut, it may be promoted: the loss is what tests want to see.
    'cluster-replica-validity-factor': 0,
    // Replicas stay where they were put.
    'cluster-allow-replica-migration': 'no',
    // The default waits 5 seconds for more replicas before it sends the first copy.
    'repl-diskless-sync-delay': 0,
    user: `${replicationUser} on >${replicationPassword} +psync +replconf +ping`,
    masteruser: replicationUser,
    masterauth: replicationPassword,
    ...config,
  };
}

async function join(nodes: readonly ClusterNode[], shards: number): Promise<void> {
  const primaries = nodes.slice(0, shards);
  const replicas = nodes.slice(shards);
  await Promise.all(
    primaries.map(async (primary, index) => {
      const first = Math.floor((index * slotCount) / shards);
      const last = Math.floor(((index + 1) * slotCount) / shards) - 1;
      await primary.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
    }),
  );
  // Epochs of their own from the start: otherwise the nodes settle the collision by themselves, some time later.
  await Promise.all(nodes.map((node, index) => node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
  await introduce(nodes);
  await Promise.all(
    replicas.map((replica, index) => replica.call('CLUSTER', 'REPLICATE', primaries[index % shards]!.id)),
  );
  await Promise.all(nodes.map((node) => waitUntilAgreed(node, nodes, shards)));
  await Promise.all(replicas.map((node) => waitUntil(`port ${node.port} is in sync`, () => isInSync(node))));
}

async function introduce(nodes: readonly ClusterNode[]): Promise<void> {
  const [first, ...others] = nodes;
  for (const { host, port, busPort } of await Promise.all(others.map(addressOf))) {
    await first!.call('CLUSTER', 'MEET', host, port, busPort);
  }
  await waitUntil('all nodes of the cluster know each other', async () => {
    const views = await Promise.all(nodes.map(clusterNodes));
    return views.every((view) => view.length === nodes.length && view.every(isSettled));
  });
}

async function addressOf(node: ClusterNode): Promise<{ host: string; port: number; busPort: number }> {
  const [, busPort] = await node.call<string[]>('CONFIG', 'GET', 'cluster-port');
  return { host: node.host, port: node.port, busPort: Number(busPort) };
}

async function waitUntilAgreed(node: ClusterNode, nodes: readonly ClusterNode[], shards: number): Promise<void> {
  const primaryIdOf = new Map(
    nodes.map(({ id }, index) => [id, index < shards ? undefined : nodes[index % shards]!.id]),
  );
  await waitUntil(`the node on port ${node.port} knows who replicates whom`, async () => {
    const view = await clusterNodes(node);
    return view.every((other) => other.primaryId === primaryIdOf.get(other.id)) && (await isWell(node));
  });
}

async function clusterNodes(node: ClusterNode) {
  return parseClusterNodes(await node.call<string>('CLUSTER', 'NODES'));
}

/** Whether the node takes part and serves what it has; slots of others may be without anybody. */
export async function isServing(node: ClusterNode): Promise<boolean> {
  return (await clusterInfo(node)).get('cluster_state') === 'ok';
}

/** Whether the node believes that every slot of the cluster is served. */
export async function isWell(node: ClusterNode): Promise<boolean> {
  const info = await clusterInfo(node);
  return info.get('cluster_state') === 'ok' && info.get('cluster_slots_ok') === String(slotCount);
}

async function clusterInfo(node: ClusterNode): Promise<Map<string, string>> {
  const lines = (await node.call<string>('CLUSTER', 'INFO')).split('\r\n');
  return new Map(lines.map((line) => line.split(':') as [string, string]));
}

function requireWhole(field: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new RangeError(`${field} must be a whole number of at least ${least}, got ${value}.`);
}
