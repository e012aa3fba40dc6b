/** What a configuration says about the gateway, after defaults: durations are milliseconds, names are resolved. */
import type { BalancerName } from 'sluice/balance';
import type { Address, TlsConfig } from './config.ts';

export interface GatewayConfig {
  readonly listen: Address;
  /** Undefined: plain text. */
  readonly tls: TlsConfig | undefined;
  /** HTTP/2 to clients that ask for it: by ALPN, or by prior knowledge without TLS. */
  readonly http2: boolean;
  /** Metrics, health, readiness and reload; undefined: not to be had. */
  readonly admin: Address | undefined;
  /** Whose word about the client's address is taken: so many proxies before this one, or networks. 0: nobody's. */
  readonly trustProxy: number | readonly string[];
  /** Fields of the subject that rules, tenants and priorities are about, beside `ip`, `method`, `path`, `host` and `route`. */
  readonly identify: Readonly<Record<string, Source>>;
  readonly limits: GatewayLimits;
  readonly accessLog: AccessLogConfig | undefined;
  readonly admissions: Readonly<Record<string, AdmissionConfig>>;
  /** The first that matches is taken. */
  readonly routes: readonly RouteConfig[];
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
}

/** Where a value comes from: a header, a cookie, a query parameter, or a field of the subject. */
export interface Source {
  readonly from: 'header' | 'cookie' | 'query' | 'field';
  readonly name: string;
}

export interface GatewayLimits {
  readonly headBytes: number;
  readonly headers: number;
  /** Of a request's body. */
  readonly bodyBytes: number;
  readonly connections: number;
  /** Streams of one HTTP/2 connection. */
  readonly streams: number;
  /** A head must be there whole within this. */
  readonly headMs: number;
  /** Between requests, and between bytes of one. */
  readonly idleMs: number;
}

export interface AccessLogConfig {
  /** `-`: standard output. */
  readonly path: string;
  readonly format: 'combined' | 'json';
}

export interface AdmissionConfig {
  readonly name: string;
  /** How many requests are under way at once: a number, or found by measuring. */
  readonly concurrency: number | AdaptiveConfig;
  /** How many may wait beyond that. */
  readonly queue: number;
  readonly queueTimeoutMs: number;
  /** Who shares fairly with whom. Undefined: everybody is one. */
  readonly tenant: Source | undefined;
  /** Weight of a tenant by its name; others have `defaultWeight`. */
  readonly weights: Readonly<Record<string, number>>;
  readonly defaultWeight: number;
  /** Lower goes first, 0 to 9. By route or by source; undefined: all 5. */
  readonly priority: Source | undefined;
  /** The value of the source, such as `high`, and its priority. */
  readonly priorities: Readonly<Record<string, number>>;
  /** After so long a waiting request counts as one priority better, so that none starves. 0: never. */
  readonly ageingMs: number;
}

export interface AdaptiveConfig {
  readonly algorithm: 'aimd' | 'vegas' | 'gradient';
  readonly min: number;
  readonly max: number;
}

export interface RouteConfig {
  readonly name: string;
  /** Globs, as in rules: undefined matches everything. */
  readonly host: readonly string[] | undefined;
  readonly path: readonly string[] | undefined;
  readonly method: readonly string[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Name of an upstream. */
  readonly upstream: string;
  /** Names of rules that apply here; undefined: all (each by its own `match`). */
  readonly rules: readonly string[] | undefined;
  /** Name of an admission; undefined: everybody at once. */
  readonly admission: string | undefined;
  /** Priority of its requests where the admission has no source. */
  readonly priority: number;
  /** What the path begins with is replaced: `/api/x` to `/x`. */
  readonly stripPrefix: string | undefined;
  /** `delay` policies wait for at most so long; longer is refused. */
  readonly maxDelayMs: number;
}

export interface UpstreamConfig {
  readonly name: string;
  readonly members: readonly UpstreamMember[];
  readonly balancer: BalancerName;
  /** The key of hash-ring; default: the client's address. */
  readonly stickyBy: Source | undefined;
  readonly health: ActiveHealthConfig | undefined;
  readonly outliers: OutlierConfig | undefined;
  readonly breaker: BreakerConfig | undefined;
  /** A member that is back gets its whole share only after this. 0: at once. */
  readonly slowStartMs: number;
  readonly timeouts: TimeoutsConfig;
  readonly retries: RetriesConfig;
  /** Connections to one member, at most. */
  readonly connections: number;
  /** Whether `Host` is the client's, or the member's. */
  readonly host: 'client' | 'member';
}

export interface UpstreamMember {
  /** `host:port`. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly weight: number;
}

export interface ActiveHealthConfig {
  readonly path: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** So many in a row. */
  readonly unhealthyAfter: number;
  readonly healthyAfter: number;
  /** Statuses that say yes, from and to. */
  readonly statusFrom: number;
  readonly statusTo: number;
}

export interface OutlierConfig {
  readonly consecutiveFailures: number;
  readonly ejectionMs: number;
  readonly longestEjectionMs: number;
  /** At most this share of the members is out at once. */
  readonly mostEjectedShare: number;
}

export interface BreakerConfig {
  readonly failureRatio: number;
  readonly minimumCalls: number;
  readonly windowMs: number;
  readonly openMs: number;
  readonly halfOpenCalls: number;
}

export interface TimeoutsConfig {
  readonly connectMs: number;
  /** Until the head of the answer is there. */
  readonly responseMs: number;
  /** Between bytes. */
  readonly idleMs: number;
}

export interface RetriesConfig {
  /** Beyond the first attempt. 0: none. */
  readonly attempts: number;
  /** Statuses of an answer that is thrown away for another try. */
  readonly statuses: readonly number[];
  /** Retries as a share of the requests. */
  readonly budgetRatio: number;
  /** A body of at most so many bytes is kept to be sent again. */
  readonly bodyBytes: number;
}
