/**
 * A cluster of the service's own: real processes of `sluice serve`, with a real etcd between them.
 *
 *      etcd 0  etcd 1  etcd 2
 *         ╲      │      ╱            each node goes through proxies of its own
 *          node 0   node 1   node 2
 *            │        │        │     each node is reached through a link of its own, by clients and by the other nodes
 *         clients and other nodes
 *
 * So a node can be cut off from etcd, from clients, from the other nodes, or from any of them alone, without the rights that network
 * namespaces and packet filters need, and with the clients in the process of the test.
 */
import { type EtcdCluster, startEtcd } from './etcd-cluster.ts';
import { type EtcdProxies, startEtcdProxies } from './etcd-proxies.ts';
import { loopback, type ReservedPort, reservePort } from './free-port.ts';
import { linkHost, type NodeLink, startNodeLink } from './node-link.ts';
import type { Address } from './redis-server.ts';
import { respConnection } from './resp.ts';
import { type SluiceService, startSluice } from './sluice-service.ts';
import { processOfSocket } from './socket-source.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

export interface SluiceClusterOptions {
  /** Everything but `store` and `listen`, YAML: the rules. */
  readonly config: string;
  /** Default 3. */
  readonly nodes?: number;
  /** Default 1500. */
  readonly ttlMs?: number;
  /** Default 50: machines that run tests are busy. */
  readonly graceMs?: number;
  /** Default 10, as the service's own. */
  readonly unreplicated?: number;
  /** Default 500: in proportion to the rest. */
  readonly patienceMs?: number;
  /** Default 300: a new leader within half a TTL. */
  readonly electionTimeoutMs?: number;
}

/** What a node says of itself. */
export interface NodeFigures {
  readonly ownedShards: number;
  readonly shardsWithStandby: number;
  readonly rightSeconds: number;
  readonly takenOver: number;
  readonly promoted: number;
  readonly handedOver: number;
  readonly quarantineRefusals: number;
}

export interface SluiceNode {
  readonly name: string;
  /** Where clients and other nodes reach it. The same for as long as the cluster lives. */
  readonly address: Address;
  readonly state: SluiceService['state'];
  readonly url: string;
  figures(): Promise<NodeFigures>;
  log(): string;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  /** SIGTERM, and waits for the end: it hands over what it has. */
  leave(): Promise<void>;
  /** Starts it again, at the same address. Resolves when it listens. */
  start(): Promise<void>;
  /** SIGSTOP: connections stay open, what is sent waits in the kernel. */
  pause(): Promise<void>;
  /** SIGCONT: it goes on where it stood, first with what was sent meanwhile. */
  resume(): void;
  cutFromEtcd(): void;
  cutFromClients(): void;
  /** From all other nodes, both ways. */
  cutFromNodes(): void;
  /** Nothing is cut any more; what was sent meanwhile arrives. */
  heal(): void;
}

export interface SluiceCluster {
  readonly etcd: EtcdCluster;
  readonly nodes: readonly SluiceNode[];
  /** Where clients may begin: `host:port` of every node. */
  readonly seeds: readonly string[];
  /** Another node. Resolves when it listens. */
  add(): Promise<SluiceNode>;
  /** Writes the configuration of every node anew. They watch it. */
  configure(config: string): void;
  /** Who owns which slot now, as a running node says; undefined: nobody. */
  owners(): Promise<(slot: number) => SluiceNode | undefined>;
  /** Waits until every running node has its part, each shard its standby, and nothing moves. */
  waitUntilSettled(): Promise<void>;
  stop(): Promise<void>;
}

const clients = 'clients';
const shardCount = 256;
const askTimeoutMs = 10_000;

interface Running extends SluiceNode {
  readonly link: NodeLink;
  readonly service: SluiceService;
  configure(config: string): void;
  end(): Promise<void>;
}

export async function startSluiceCluster(options: SluiceClusterOptions): Promise<SluiceCluster> {
  const { nodes: count = 3, ttlMs = 1500, electionTimeoutMs = 300 } = options;
  const etcd = await startEtcd({ electionTimeoutMs, heartbeatMs: Math.ceil(electionTimeoutMs / 10) });
  const nodes: Running[] = [];
  let rules = options.config;

  function sourceOf(from: number, to: number): string {
    const pid = processOfSocket(
      nodes.map(({ service }) => service.pid),
      from,
      to,
    );
    return nodes.find(({ service }) => service.pid === pid)?.name ?? clients;
  }

  async function add(): Promise<SluiceNode> {
    const place: Place = { name: `node-${nodes.length}`, etcd, options, others: () => nodes, sourceOf };
    const node = await startNode(place, rules);
    nodes.push(node);
    return node;
  }

  async function stop(): Promise<void> {
    await Promise.all(nodes.map((node) => node.end()));
    await etcd.stop();
  }

  const running = () => nodes.filter(({ state }) => state === 'running');

  async function waitUntilSettled(): Promise<void> {
    let before = '';
    let seen: readonly NodeFigures[] = [];
    await waitUntil(
      'the nodes of the cluster have settled',
      async () => {
        const figures = await Promise.all(running().map((node) => node.figures()));
        seen = figures;
        const owned = figures.reduce((sum, { ownedShards }) => sum + ownedShards, 0);
        const now = JSON.stringify(figures.map(({ ownedShards, handedOver }) => [ownedShards, handedOver]));
        const isSame = now === before;
        before = now;
        const isKept = options.unreplicated === 0 || figures.length === 1;
        const isCopied = figures.every((each) => isKept || each.shardsWithStandby === each.ownedShards);
        return isSame && owned === shardCount && isCopied && figures.every(({ ownedShards }) => ownedShards > 0);
      },
      // A tick of the nodes, and a little more: whatever is to be moved has been begun by then.
      { everyMs: ttlMs / 4, timeoutMs: 60_000 },
    ).catch((error: unknown) => {
      const logs = nodes.map(({ name, log }) => `${name}: ${log()}`).join('\n');
      throw new Error(`${String(error)}\n${seen.map((each) => JSON.stringify(each)).join('\n')}\n${logs}`);
    });
  }

  try {
    // One founds the cluster, the others find it.
    for (let i = 0; i < count; i += 1) await add();
    await waitUntilSettled();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    etcd,
    nodes,
    get seeds() {
      return nodes.map(({ address }) => `${address.host}:${address.port}`);
    },
    add,
    configure(config) {
      rules = config;
      for (const node of nodes) node.configure(config);
    },
    async owners() {
      const [some] = running();
      if (some === undefined) throw new GaveUp('No node runs. Start one first.');
      const ranges = await slotRanges(some);
      return (slot) => {
        const range = ranges.find(([first, last]) => first <= slot && slot <= last);
        return range && nodes.find(({ address }) => address.port === range[2][1]);
      };
    },
    waitUntilSettled,
    stop,
  };
}

interface Place {
  readonly name: string;
  readonly etcd: EtcdCluster;
  readonly options: SluiceClusterOptions;
  others(): readonly Running[];
  sourceOf(from: number, to: number): string;
}

async function startNode({ name, etcd, options, others, sourceOf }: Place, rules: string): Promise<Running> {
  const reserved: ReservedPort = await reservePort();
  const { port } = reserved;
  const link = await startNodeLink({ port, sourceOf: (from) => sourceOf(from, port) });
  const proxies: EtcdProxies = await startEtcdProxies(etcd);
  const textOf = (config: string) => `${config}\n${storeSection(proxies.endpoints, options)}`;
  const service = await startSluice({ config: textOf(rules), env: { SLUICE_LISTEN_RESP: String(port) } });
  const theOthers = () => others().filter((other) => other.name !== name);

  return {
    name,
    address: { host: link.host, port },
    link,
    service,
    get state() {
      return service.state;
    },
    get url() {
      return service.url;
    },
    figures: () => figuresOf(service.url),
    log: () => service.log(),
    kill: () => service.end('SIGKILL'),
    leave: () => service.end('SIGTERM'),
    start: () => service.restart(),
    pause: () => service.pause(),
    resume: () => service.resume(),
    cutFromEtcd: () => proxies.blackhole(),
    cutFromClients: () => link.close(clients),
    cutFromNodes() {
      for (const other of theOthers()) {
        link.close(other.name);
        other.link.close(name);
      }
    },
    heal() {
      proxies.resume();
      link.open(clients);
      for (const other of theOthers()) {
        link.open(other.name);
        other.link.open(name);
      }
    },
    configure: (config) => service.configure(textOf(config)),
    async end() {
      await service.stop();
      await Promise.all([link.stop(), proxies.stop()]);
      reserved.release();
    },
  };
}

function storeSection(endpoints: readonly string[], options: SluiceClusterOptions): string {
  const { ttlMs = 1500, graceMs = 50, unreplicated = 10, patienceMs = 500 } = options;
  return [
    'store:',
    '  type: owned',
    `  etcd: [${endpoints.join(', ')}]`,
    `  advertise: ${linkHost}`,
    `  ttl: ${ttlMs}ms`,
    `  grace: ${graceMs}ms`,
    `  patience: ${patienceMs}ms`,
    `  unreplicated: ${unreplicated}`,
    '',
  ].join('\n');
}

async function figuresOf(url: string): Promise<NodeFigures> {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(askTimeoutMs) });
  const text = await response.text();
  const figure = (series: string): number => {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    if (line === undefined) throw new Error(`The node does not tell ${series}.`);
    return Number(line.slice(series.length + 1));
  };
  return {
    ownedShards: figure('sluice_cluster_shards{part="owned"}'),
    shardsWithStandby: figure('sluice_cluster_shards{part="with-standby"}'),
    rightSeconds: figure('sluice_cluster_right_seconds'),
    takenOver: figure('sluice_cluster_moved_shards_total{kind="taken-over"}'),
    promoted: figure('sluice_cluster_moved_shards_total{kind="promoted"}'),
    handedOver: figure('sluice_cluster_moved_shards_total{kind="handed-over"}'),
    quarantineRefusals: figure('sluice_cluster_quarantine_refusals_total'),
  };
}

type SlotRange = [first: number, last: number, owner: [host: string, port: number], ...rest: unknown[]];

async function slotRanges({ service }: Running): Promise<SlotRange[]> {
  const connection = respConnection({ host: loopback, port: service.respPort, timeoutMs: askTimeoutMs });
  try {
    return (await connection.call(['CLUSTER', 'SLOTS'])) as unknown as SlotRange[];
  } finally {
    connection.close();
  }
}
