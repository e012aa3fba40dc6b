export type { CallOptions, TimeOptions } from './algorithms/algorithm.ts';
export {
  type ConcurrencyMethods,
  type ConcurrencyOptions,
  type ConcurrencyPolicy,
  concurrency,
} from './algorithms/concurrency/concurrency.ts';
export type { Lease } from './algorithms/concurrency/lease.ts';
export {
  type FixedWindowOptions,
  type FixedWindowPolicy,
  fixedWindow,
} from './algorithms/fixed-window/fixed-window.ts';
export { type GcraOptions, type GcraPolicy, gcra } from './algorithms/gcra/gcra.ts';
export {
  type LeakyBucketOptions,
  type LeakyBucketPolicy,
  leakyBucket,
} from './algorithms/leaky-bucket/leaky-bucket.ts';
export { algorithmNames, parsePolicy } from './algorithms/parse-policy.ts';
export { type SlidingLogOptions, type SlidingLogPolicy, slidingLog } from './algorithms/sliding-log/sliding-log.ts';
export {
  type SlidingSlotsOptions,
  type SlidingSlotsPolicy,
  slidingSlots,
} from './algorithms/sliding-slots/sliding-slots.ts';
export { type SlidingWindowPolicy, slidingWindow } from './algorithms/sliding-window/sliding-window.ts';
export {
  type SmoothMethods,
  type SmoothOptions,
  type SmoothPolicy,
  smooth,
  type TryAcquireOptions,
} from './algorithms/smooth/smooth.ts';
export {
  type TokenBucketOptions,
  type TokenBucketPolicy,
  tokenBucket,
} from './algorithms/token-bucket/token-bucket.ts';
export {
  type Limiter,
  type LimiterOf,
  type LimiterOptions,
  limiter,
} from './limit/limiter.ts';
export type { ActiveOverride, Override } from './limit/overrides.ts';
export { parseRules } from './limit/parse-rules.ts';
export { RateLimiter } from './limit/rate-limiter.ts';
export type { Reservation, ReserveOptions } from './limit/reservation.ts';
export {
  type KeyCall,
  type Rule,
  type RuleCounts,
  type RuleOptions,
  type RulePolicy,
  type Rules,
  type RulesCall,
  type RulesOptions,
  type RulesResult,
  rules,
} from './limit/rules.ts';
export { type SmallLimiter, type SmallLimiterOptions, smallLimiter } from './limit/small-limiter.ts';
export type { KeyOf, Match, Subject } from './limit/subject.ts';
export type { WaitOptions } from './limit/waiting.ts';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory/memory-store.ts';
export type { MemoryStoreStats } from './stores/memory/room.ts';
export type { KeyMode } from './stores/memory/rows.ts';
export type { Snapshot, SnapshotName, SnapshotTable } from './stores/memory/snapshot.ts';
export {
  type SharedMemoryStore,
  type SharedMemoryStoreOptions,
  type SharedMemoryStoreStats,
  sharedMemoryStore,
} from './stores/shared-memory/shared-memory-store.ts';
export type { Check, DirectChecks, Operation, Store } from './stores/store.ts';
export type { Mode, Reply } from './vocabulary/answer.ts';
export { type Clock, monotonicClock } from './vocabulary/clock.ts';
export type { Decision, Reason, Receipt, StoreFailureMode } from './vocabulary/decision.ts';
export { type Duration, parseDuration } from './vocabulary/duration.ts';
export { type ErrorCode, SluiceError } from './vocabulary/errors.ts';
export type { Policy, RateOptions } from './vocabulary/policy.ts';
export { tickClock } from './vocabulary/tick-clock.ts';
