/** What a cluster's client is told, checked. */
import { clockOf, wholeNumber } from '../protect/option-checks.ts';
import { mustFit } from '../stores/store.ts';
import { type Clock, monotonicClock } from '../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { invalid } from '../vocabulary/errors.ts';
import { knownFields } from '../vocabulary/policy.ts';
import { awakeClock } from './awake-clock.ts';
import { endpointOf } from './node-connection.ts';

type Pem = string | Uint8Array | readonly (string | Uint8Array)[];

/** Options of Node's `tls.connect`. They are not named by Node's types, which not everybody has who uses this. */
export interface TlsOptions {
  /** The authority that signed the nodes' certificates. Default: those that Node knows. */
  readonly ca?: Pem;
  /** What this client shows, where nodes ask for it. */
  readonly cert?: Pem;
  readonly key?: Pem;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly [option: string]: unknown;
}

export interface ClusterStoreOptions {
  /** Some nodes of the cluster, `'host:port'` of the Redis protocol each. One that answers is enough to find the others. */
  readonly nodes: readonly string[];
  /** Shown to every node (`security.tokens` of the service). Default: none. */
  readonly token?: string;
  /** `true`, or options of `tls.connect`. Default: plain TCP. */
  readonly tls?: boolean | TlsOptions;
  /**
   * How old an answer may be, since the question was first sent: what is older is dropped, and the call fails with
   * `store-unavailable`. At most the cluster's `grace`, else its limits are not strict. Default 10 ms.
   */
  readonly deadline?: Duration;
  /** How long a call waits for a connection that is being opened, before it is sent. Default 1 s. */
  readonly connectTimeout?: Duration;
  /** The most calls on their way to one node; further ones fail with `store-unavailable`. Default 10,000. */
  readonly maxPending?: number;
  /** The most nodes that are connected to. Default 1024. */
  readonly maxConnections?: number;
  /**
   * What deadlines are counted by, and `wait` sleeps by. It must not step back, and should run on while the machine sleeps. Default: monotonic; the wall
   * clock tells what it slept.
   */
  readonly clock?: Clock;
}

export interface ClusterSettings {
  readonly seeds: readonly string[];
  readonly token: string | undefined;
  readonly tls: TlsOptions | undefined;
  readonly deadlineMs: number;
  readonly connectTimeoutMs: number;
  readonly maxPending: number;
  readonly maxConnections: number;
  readonly clock: Clock;
  /** What ages are counted by. */
  readonly ageClock: Clock;
}

const fields = 'nodes token tls deadline connectTimeout maxPending maxConnections clock';

export function settingsOf(options: ClusterStoreOptions): ClusterSettings {
  knownFields('clusterStore options', options, fields);
  const { nodes, token, tls = false, deadline = '10ms', connectTimeout = '1s', clock } = options;
  const { maxPending = 10_000, maxConnections = 1024 } = options;
  if (!Array.isArray(nodes) || nodes.length === 0) throw invalid('nodes', "a list such as ['10.0.0.1:6380']", nodes);
  for (const node of nodes) mustBeAddress(node);
  if (token !== undefined && (typeof token !== 'string' || token === '')) throw invalid('token', 'a text', token);
  if (typeof tls !== 'boolean' && (typeof tls !== 'object' || tls === null)) {
    throw invalid('tls', 'true, or options of tls.connect', tls);
  }
  mustFit(undefined, clock);
  const givenClock = clockOf(clock);
  return {
    seeds: nodes,
    token,
    tls: tls === true ? {} : tls || undefined,
    deadlineMs: parseDuration(deadline, 'deadline'),
    connectTimeoutMs: parseDuration(connectTimeout, 'connectTimeout'),
    maxPending: wholeNumber('maxPending', maxPending, 1, 1_000_000),
    maxConnections: wholeNumber('maxConnections', maxConnections, 1, 16_384),
    clock: givenClock,
    ageClock: givenClock === monotonicClock ? awakeClock(givenClock) : givenClock,
  };
}

function mustBeAddress(node: unknown): void {
  const { host, port } = typeof node === 'string' ? endpointOf(node) : { host: '', port: Number.NaN };
  if (host !== '' && Number.isInteger(port) && port > 0 && port < 65_536) return;
  throw invalid('nodes', "addresses such as '10.0.0.1:6380'", node);
}
