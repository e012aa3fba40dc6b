/** What everything that makes HTTP calls tells of. */
import type { CircuitChangeReason, CircuitState } from '../circuit-breaker/circuit-breaker.ts';
import type { Listeners } from '../listeners.ts';
import type { RetryGiveUpReason } from '../retry/retry.ts';

/** How an attempt ended, for those who only look on: a status, or an error. */
export type AttemptEnd = { readonly status: number } | { readonly error: unknown };

export interface OutboundEvents {
  /** An attempt failed, and the call will be made again after so long. */
  retry: { readonly origin: string; readonly attempt: number; readonly delayMs: number; readonly ended: AttemptEnd };
  /** An attempt failed, and the call will not be made again although it might help. */
  'gave-up': {
    readonly origin: string;
    readonly attempt: number;
    readonly reason: RetryGiveUpReason;
    readonly ended: AttemptEnd;
  };
  /** A call was not made. */
  refused: { readonly origin: string; readonly by: 'pacer' | 'bulkhead' | 'adaptiveThrottle' | 'circuitBreaker' };
  /** The circuit breaker of an origin changed its state. */
  circuit: {
    readonly origin: string;
    readonly from: CircuitState;
    readonly to: CircuitState;
    readonly reason: CircuitChangeReason;
  };
  /** A call was held back for so long by what the server's headers say. */
  delayed: { readonly origin: string; readonly delayMs: number };
  /** The server asked to be left alone for so long. */
  blocked: { readonly origin: string; readonly retryAfterMs: number };
  /** The head of an answer had not come after so long; or, of all attempts together, not after the total time. */
  'timed-out': { readonly origin: string; readonly afterMs: number; readonly isTotal: boolean };
}

export const eventNames: readonly (keyof OutboundEvents)[] = [
  'retry',
  'gave-up',
  'refused',
  'circuit',
  'delayed',
  'blocked',
  'timed-out',
];

export type Tell = Listeners<OutboundEvents>['tell'];
