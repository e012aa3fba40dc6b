/** What a plan is made for: the traffic, the promise, and everything about the cluster that cannot be measured beforehand. */
import { parsePolicy, SluiceError } from 'sluice';
import { tellEveryMs } from '../cluster/replication.ts';
import { typedTime } from '../terminal/typed-time.ts';

export const clients = ['smart', 'redis', 'http', 'grpc'] as const;
/** Who asks: `sluice/client`, any client of Redis Cluster, or whoever speaks HTTP or gRPC to any node. */
export type Client = (typeof clients)[number];

export interface PlanPolicy {
  readonly algorithm: string;
  readonly limit: number;
  readonly window: number;
}

export interface PlanQuestion {
  readonly checksPerSecond: number;
  /** Different keys that are asked about. */
  readonly users: number;
  readonly policy: PlanPolicy;
  readonly client: Client;
  readonly keyBytes: number;
  /** Above 0 and below 1: what a node's core may be busy, also while nodes are lost. */
  readonly load: number;
  /** What 99 of 100 checks must not exceed, at the caller. */
  readonly latencyMs: number;
  /** Between a caller and a node, and between nodes, there and back. */
  readonly roundTripMs: number;
  /** Processes that ask; each has one connection with each node. */
  readonly callers: number;
  /** How long a caller gathers checks for one write. */
  readonly gatherMs: number;
  /** Of all checks, those that the limit refuses. Undefined: what users ask beyond it. */
  readonly refusedRatio: number | undefined;
  /** Of all commands of a Redis client, those that go to the wrong node first. */
  readonly movedRatio: number;
  /** How evenly checks come: the squared coefficient of variation of the time between two; 1 is Poisson. */
  readonly arrivalVariability: number;
  /** The same of serving them. Undefined: what was measured. */
  readonly serviceVariability: number | undefined;
  /** Lost at the same moment, and to be survived within load and latency. */
  readonly nodesPerFailure: number;
  readonly failuresPerNodePerYear: number;
  /** Each reads the records of all others whenever it renews its right: etcd's work grows with the square. More nodes are more clusters. */
  readonly nodesPerCluster: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  /** How many grants of a key may be ahead of its copy; 0: there are no copies. */
  readonly unreplicated: number;
  /** How long an owner gathers grants for a message to a copy. */
  readonly copyEveryMs: number;
  /** Windows of this and more are written to etcd ahead. */
  readonly durableFromMs: number;
  /** For how long one such write lasts: a key's are no closer together. */
  readonly reserveEveryMs: number;
  /** Keys of such windows at one node, at most. */
  readonly durableKeys: number;
  /** For how long etcd keeps what was overwritten. */
  readonly etcdRetentionMs: number;
  readonly coresPerMachine: number;
  /** Of a packet beside what it carries. */
  readonly packetBytes: number;
  /** What an owned node does of the checks that a plain service does, reading aside. Measured where etcd was at hand, and then not asked for. */
  readonly ownedRatio: number;
}

type Defaulted = Omit<PlanQuestion, 'checksPerSecond' | 'users' | 'policy'>;

// biome-ignore format: aligned rows
export const planDefaults: Omit<Defaulted, 'gatherMs'> = {
  client:                 'smart',
  keyBytes:               20,
  load:                   0.7,
  latencyMs:              10,
  roundTripMs:            0.5,
  callers:                1000,
  refusedRatio:           undefined,
  movedRatio:             0,
  arrivalVariability:     1,
  serviceVariability:     undefined,
  nodesPerFailure:        1,
  failuresPerNodePerYear: 4,
  nodesPerCluster:        512,
  ttlMs:                  10_000,
  graceMs:                10,
  unreplicated:           10,
  copyEveryMs:            tellEveryMs,
  durableFromMs:          3_600_000,
  reserveEveryMs:         1000,
  durableKeys:            10_000,
  etcdRetentionMs:        3_600_000,
  coresPerMachine:        16,
  packetBytes:            66,
  ownedRatio:             0.7,
};

/** A smart client sends together what its process asked in one turn of its event loop; others send each check by itself. */
export const gatherMsOf: Readonly<Record<Client, number>> = { smart: 1, redis: 0, http: 0, grpc: 0 };

const magnitudes: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 };

/** `50M` is 50,000,000. */
export function parseCount(text: string, field: string): number {
  const [, digits, suffix = ''] = /^(\d+(?:\.\d+)?)([kMG]?)$/.exec(text.trim().replaceAll(/[,_]/g, '')) ?? [];
  const value = Number(digits) * magnitudes[suffix]!;
  if (value > 0 && value <= 1e15) return value;
  throw new SluiceError('invalid-option', `${field} must be a number above 0 such as 5000, 40k or 50M, got "${text}".`);
}

/** `100/1m`: so many in each such window. */
export function parseLimit(text: string, algorithm: string): PlanPolicy {
  const [count, window, ...rest] = text.split('/');
  if (window === undefined || rest.length > 0) {
    throw new SluiceError('invalid-option', `--limit must be written such as 100/1m, got "${text}".`);
  }
  const limit = parseCount(count!, '--limit');
  const windowMs = typedTime(window, 'The window of --limit');
  const { algorithm: known } = parsePolicy({ algorithm, limit, window: windowMs });
  return { algorithm: known, limit, window: windowMs };
}
