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
export type { Ended, Outcome, Pass, ProtectedCall, Protection, RunOptions } from './protection.ts';
