/**
 * What is known of the health of members, as plain data: for another `healthChecked`, around another balancer or with other settings, that
 * should not begin with everybody well. Times count from the moment it was made.
 */
import type { CircuitBreakerSnapshot } from '../../protect/circuit-breaker/snapshot.ts';
import type { PastConduct } from './outliers.ts';

export interface HealthSnapshot {
  readonly members: readonly MemberHealth[];
}

export interface MemberHealth {
  readonly id: string;
  /** What holds it. */
  readonly reasons: readonly string[];
  /** In a row, whichever of the two is above 0. Undefined: it was not checked. */
  readonly checks: { readonly passes: number; readonly failures: number } | undefined;
  /** Undefined: nobody looked for outliers. */
  readonly conduct: (PastConduct & { readonly ejectedForMs: number }) | undefined;
  readonly circuit: CircuitBreakerSnapshot | undefined;
  /** For how long it has been warming up; undefined: it is warm. */
  readonly warmingForMs: number | undefined;
}
