/**
 * What a configuration says, after defaults: durations are milliseconds, ports are numbers. `read-config.ts` makes one of a file and
 * the environment; `schema.ts` describes the file, to editors too (`sluice.schema.json`).
 */
import type { Match, Rule } from 'sluice';
import type { ClusterSettings } from '../cluster/settings.ts';
import type { GatewayConfig } from './gateway-config.ts';

export interface Config {
  readonly rules: readonly Rule[];
  /** The rules as they were written, for `GET /v1/rules`. */
  readonly ruleData: readonly Readonly<Record<string, unknown>>[];
  /** Subjects that always pass, and those that never do. */
  readonly allow: readonly Match[];
  readonly deny: readonly Match[];
  /** Bits of an IPv6 address that count in a key of field `ip`. */
  readonly ipv6Subnet: number;
  readonly store: StoreConfig;
  readonly listen: ListenConfig;
  readonly security: SecurityConfig;
  readonly limits: LimitsConfig;
  /** Threads that speak with clients. 1: everything in one thread. */
  readonly workers: number;
  /** Where the state is kept between runs; absent: nowhere. Memory only. */
  readonly snapshot: SnapshotConfig | undefined;
  /** `envoyproxy/ratelimit` files. */
  readonly envoy: EnvoyConfig | undefined;
  readonly logs: LogsConfig;
  readonly tracing: TracingConfig | undefined;
  /** How long open requests may take to finish after SIGTERM. */
  readonly drainMs: number;
  /** Whether browsers find the studio where the administration is. */
  readonly studio: boolean;
  /** What `sluice gateway` is; absent: there is none. */
  readonly gateway: GatewayConfig | undefined;
}

export type StoreConfig = MemoryStoreConfig | RedisStoreConfig | OwnedStoreConfig | ClientStoreConfig;

/** What rules do that do not say `onStoreFailure` themselves. */
export type OnFailure = 'closed' | 'open' | 'local';

export interface MemoryStoreConfig {
  readonly type: 'memory';
  /** The most keys held at once. */
  readonly maxKeys: number;
}

export interface RedisStoreConfig {
  readonly type: 'redis';
  /** `redis://` or `rediss://`. */
  readonly url: string;
  readonly prefix: string;
  readonly isCluster: boolean;
  readonly isFenced: boolean;
  /** How long an answer may take before the rule's `onStoreFailure` applies. */
  readonly timeoutMs: number;
  readonly onFailure: OnFailure;
}

/** This process is a node of a cluster, and holds its part of the counts. */
export interface OwnedStoreConfig {
  readonly type: 'owned';
  readonly etcd: EtcdConfig;
  readonly settings: ClusterSettings;
  /** The host that clients and other nodes reach the doors of this one by. */
  readonly advertise: string;
  readonly onFailure: OnFailure;
}

export interface EtcdConfig {
  /** `http://host:port`, or all of them `https://host:port`. */
  readonly endpoints: readonly string[];
  /** Both or neither. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Files, PEM. Undefined: with https, the authorities that Node.js knows, and no certificate of ours. */
  readonly tls: EtcdTlsConfig | undefined;
}

export interface EtcdTlsConfig {
  readonly authority: string | undefined;
  /** Both or neither. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** A cluster of other processes, which this one asks. */
export interface ClientStoreConfig {
  readonly type: 'cluster';
  /** `host:port` of the Redis protocol. */
  readonly nodes: readonly string[];
  readonly isTls: boolean;
  readonly token: string | undefined;
  /** How long an answer may take; a later grant is dropped. */
  readonly deadlineMs: number;
  readonly onFailure: OnFailure;
}

/** Where a door listens; port 0 is any free one. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ListenConfig {
  /** Undefined: this door stays closed. */
  readonly http: Address | undefined;
  readonly grpc: Address | undefined;
  readonly resp: Address | undefined;
  /** Rules, overrides, keys, reload and metrics move here when it is given; checks stay on `http`. */
  readonly admin: Address | undefined;
}

export interface SecurityConfig {
  /** Any of these opens every door: HTTP bearer, RESP AUTH, gRPC metadata. Empty: no token is asked for. */
  readonly tokens: readonly string[];
  readonly tls: TlsConfig | undefined;
}

export interface TlsConfig {
  /** Files, PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Clients must show a certificate of this authority. Undefined: they need none. */
  readonly clientAuthority: string | undefined;
}

/** What clients may ask of the service, so that none takes it from the others. */
export interface LimitsConfig {
  readonly bodyBytes: number;
  readonly keyBytes: number;
  readonly batchItems: number;
  /** Open at once, of each door. */
  readonly connections: number;
  /** Commands of one connection that are being answered at once. */
  readonly pipelineDepth: number;
  /** A connection on which nothing happens ends after this. 0: never. */
  readonly idleMs: number;
  /** A request that has begun must be there whole within this. */
  readonly requestMs: number;
}

export interface SnapshotConfig {
  readonly path: string;
  /** Also while running, so often. 0: only when the service ends. */
  readonly everyMs: number;
}

export interface EnvoyConfig {
  readonly directory: string;
  /** Files may share a domain. */
  readonly mergeDomains: boolean;
  /** Tells Envoy to add `RateLimit-Limit`, `-Remaining` and `-Reset`. */
  readonly responseHeaders: boolean;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LogsConfig {
  readonly level: LogLevel;
}

export interface TracingConfig {
  /** An OTLP/HTTP endpoint for traces with its path, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly endpoint: string;
  /** Share of requests that are traced, 0 to 1. */
  readonly sampleRatio: number;
  readonly serviceName: string;
}
