export {
  type CircuitBreaker,
  type CircuitBreakerEvents,
  type CircuitBreakerStats,
  type CircuitChangeReason,
  type CircuitState,
  circuitBreaker,
  type Outcome,
  type Pass,
  type RunOptions,
} from './circuit-breaker/circuit-breaker.ts';
export type { CircuitBreakerOptions, Ended } from './circuit-breaker/settings.ts';
export type { CircuitBreakerSnapshot } from './circuit-breaker/snapshot.ts';
