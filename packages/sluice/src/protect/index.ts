export {
  type AdaptiveConcurrency,
  type AdaptiveConcurrencyEvents,
  type AdaptiveConcurrencyStats,
  adaptiveConcurrency,
} from './adaptive-concurrency/adaptive-concurrency.ts';
export type {
  AdaptiveConcurrencyOptions,
  AimdOptions,
  GradientOptions,
  VegasOptions,
} from './adaptive-concurrency/settings.ts';
export {
  type AdaptiveThrottle,
  type AdaptiveThrottleEvents,
  type AdaptiveThrottleStats,
  adaptiveThrottle,
} from './adaptive-throttle/adaptive-throttle.ts';
export type { AdaptiveThrottleOptions } from './adaptive-throttle/settings.ts';
export {
  type Bulkhead,
  type BulkheadEvents,
  type BulkheadOptions,
  type BulkheadRefusal,
  type BulkheadStats,
  bulkhead,
} from './bulkhead/bulkhead.ts';
export {
  type CircuitBreaker,
  type CircuitBreakerEvents,
  type CircuitBreakerStats,
  type CircuitChangeReason,
  type CircuitState,
  circuitBreaker,
} from './circuit-breaker/circuit-breaker.ts';
export type { CircuitBreakerOptions } from './circuit-breaker/settings.ts';
export type { CircuitBreakerSnapshot } from './circuit-breaker/snapshot.ts';
export {
  type Fallback,
  type FallbackEvents,
  type FallbackOptions,
  fallback,
} from './fallback/fallback.ts';
export {
  type Fetch,
  type ResilientFetch,
  type ResilientFetchOptions,
  resilientFetch,
} from './fetch/resilient-fetch.ts';
export type { AttemptEnd, OutboundEvents } from './outbound/events.ts';
export { type ForResponsesOptions, forResponses } from './outbound/for-responses.ts';
export type { GivenGate, OutboundOptions, OutboundRetryOptions } from './outbound/options.ts';
export type { OriginStats } from './outbound/origin.ts';
export {
  type PacedCall,
  type Pacer,
  type PacerEvents,
  type PacerOptions,
  type PacerStats,
  pacer,
} from './pacer/pacer.ts';
export type { Ended, Outcome, Pass, ProtectedCall, Protection, ProtectionOr, RunOptions } from './protection.ts';
export type { HeaderSource, HeaderValue } from './rate-limit-headers/header-lines.ts';
export {
  type ParseRateLimitHeadersOptions,
  parseRateLimitHeaders,
} from './rate-limit-headers/parse-rate-limit-headers.ts';
export type { ParsedPolicy, ParsedRateLimit } from './rate-limit-headers/parsed.ts';
export type { NumberForm } from './rate-limit-headers/waits.ts';
export { type RetryBudget, type RetryBudgetOptions, type RetryBudgetStats, retryBudget } from './retry/budget.ts';
export { type Retry, type RetryEvents, type RetryGiveUpReason, retry } from './retry/retry.ts';
export type { RetryOptions } from './retry/settings.ts';
export type { SharedCircuitOptions } from './shared-circuit/settings.ts';
export {
  type SharedCircuit,
  type SharedCircuitEvents,
  type SharedCircuitView,
  sharedCircuit,
} from './shared-circuit/shared-circuit.ts';
export { type Timeout, type TimeoutEvents, type TimeoutOptions, timeout } from './timeout/timeout.ts';
export type { Dispatch } from './undici/dispatch.ts';
export {
  type ResilientInterceptor,
  type ResilientInterceptorOptions,
  resilientInterceptor,
} from './undici/resilient-interceptor.ts';
export { type InsteadOf, wrap } from './wrap/wrap.ts';
