/**
 * What every front door asks, whichever protocol it speaks.
 *
 *      HTTP ──┐
 *      RESP ──┼──► Service ──► rules, policies, Envoy descriptors ──► store
 *      gRPC ──┘
 *
 * An answer is there at once, or later when the store or another thread has to be asked (`Answer`); a door handles both.
 * Refusals are values. What is wrong with a request is thrown (or rejected) as a `SluiceError` of code `invalid-option`; a store
 * that cannot answer as `store-unavailable`.
 */
import type { ActiveOverride, Decision, Override, Policy, RulesResult, Subject } from 'sluice';
import type { SentCheck } from 'sluice/client';
import type { RateLimitRequest, RateLimitResponse } from '../envoy/rate-limit-message.ts';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';

/** A value that is there at once, or will be. */
export type Answer<T> = T | Promise<T>;

/** Who asked, for traces: the caller's W3C trace context, as it came in HTTP headers or gRPC metadata. */
export interface TraceContext {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

export interface ServiceCall extends TraceContext {
  /** Default 1. */
  readonly cost?: number | undefined;
  /** A call that is made again with the same id gets the same answer, and is not counted twice. */
  readonly requestId?: string | undefined;
  /** The longest delay that is accepted from a shaping algorithm; a longer one is a refusal. Default: any. */
  readonly maxDelayMs?: number | undefined;
}

/** The numbers of CL.THROTTLE, as the client sent them. */
export interface ThrottleNumbers {
  readonly maxBurst: number;
  readonly count: number;
  readonly periodSeconds: number;
}

/** redis-cell's five integers, in its order. */
export interface ThrottleReply {
  /** 0 allowed, 1 not. */
  readonly limited: 0 | 1;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds; -1 when allowed, and when waiting never helps. */
  readonly retryAfterSeconds: number;
  readonly resetAfterSeconds: number;
}

/** A key of a rule, as it stands. */
export interface KeyState {
  readonly rule: string;
  readonly key: string;
  /** What a check of cost 1 would be answered now; nothing is taken. */
  readonly decision: Decision;
  readonly override?: ActiveOverride | undefined;
}

export interface RefusedKey {
  readonly rule: string;
  readonly key: string;
  /** At most this often; the sketch may count too high, never too low, by at most `error`. */
  readonly refusals: number;
  readonly error: number;
}

/** What came of reading the configuration again. */
export interface ReloadReport {
  readonly isApplied: boolean;
  /** Why not, in the words of `sluice validate`. */
  readonly problems: readonly string[];
  /** What changed in the file and needs a restart to apply. */
  readonly needsRestart: readonly string[];
  /** Names of rules. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface Service {
  /** The configured rules about one request. */
  check(subject: Subject, call?: ServiceCall): Answer<RulesResult>;
  /** One rule, with its key given instead of read from a subject. */
  checkRule(rule: string, key: string, call?: ServiceCall): Answer<Decision>;
  /** A policy that came with the request; it is its own name, so equal policies share their keys. */
  checkPolicy(policy: Policy, key: string, call?: ServiceCall): Answer<Decision>;
  /**
   * Checks that came whole, with names and policies of the caller's own: all or nothing. A name is shared on purpose: that of a
   * configured rule means its keys.
   */
  apply(checks: readonly SentCheck[], requestId?: string): Answer<Decision[]>;
  /**
   * Whether `apply` is answered in this process, of numbers that nobody else holds. Then the door remembers by itself what it answered,
   * at a fraction of the cost, and gives no request ids.
   */
  readonly answersAtOnce?: boolean | undefined;
  /**
   * CL.THROTTLE for the key in `bytes[start..end)`. Throws `ThrottleError`, whose message is redis-cell's.
   * The reply object is the service's own and changes with the next call: read it at once.
   */
  throttle(
    bytes: Uint8Array,
    start: number,
    end: number,
    numbers: ThrottleNumbers,
    quantity: number,
  ): Answer<ThrottleReply>;
  /** Envoy's question. Rejects rather than to answer UNKNOWN. */
  shouldRateLimit(request: RateLimitRequest, context?: TraceContext): Answer<RateLimitResponse>;

  ruleData(): Answer<readonly Readonly<Record<string, unknown>>[]>;
  /** `tier`: the policy of which of the rule's tiers. Default: that of a subject without a tier. */
  inspect(rule: string, key: string, tier?: string): Answer<KeyState>;
  reset(rule: string, key: string): Answer<Decision>;
  override(rule: string, key: string, override: Override): Answer<void>;
  removeOverride(rule: string, key: string): Answer<boolean>;
  overrides(): Answer<readonly ActiveOverride[]>;
  /** The keys refused most, the most refused first. */
  topRefused(most: number): Answer<readonly RefusedKey[]>;
  reload(): Answer<ReloadReport>;
  /** Everything there is to see at this moment. */
  status(): Answer<LiveSnapshot>;
  /** Prometheus' text format. */
  metrics(): Answer<string>;
  /** Ready: the store answers and the service is not ending. The text says why not. */
  readiness(): Answer<{ readonly isReady: boolean; readonly reason?: string }>;
}
