/**
 * A place among the requests that are under way at once: there is one now, or there will be, or there is none.
 *
 *      enter ──► Admitted ──► measured                      what it says is learnt from: how long the member took, and how it went
 *        │          └─────────► ok, failed, ignored          the place is given back; learnt from where nothing was before
 *        └─────► Refused: full, waited too long, shed      503, and when to come back
 */
import type { Outcome, Pass } from 'sluice/protect';
import type { AdmissionConfig } from '../../config/gateway-config.ts';
import type { Answer } from '../../service/service.ts';

export interface AdmissionRequest {
  /** Who shares fairly with whom; empty: nobody said. */
  readonly tenant: string;
  /** Lower goes first, 0 to 9. */
  readonly priority: number;
  /** Aborted when the client has left. To be read only where it has to wait: one is made when it is asked for. */
  readonly signal?: AbortSignal | undefined;
}

/** A place, until one of the endings is said. */
export interface Admitted extends Pass {
  readonly isAdmitted: true;
  readonly waitedMs: number;
  /** It is known how it goes, and how long that took; the place is kept. What comes now, such as a client that reads slowly, says nothing. */
  measured(outcome: Outcome): void;
  /** What it took until now says nothing: the client had not sent all of it. */
  measureAnew(): void;
}

export type RefusalReason = 'full' | 'waited-too-long' | 'shed' | 'closed' | 'gone';

export interface Refused {
  readonly isAdmitted: false;
  readonly reason: RefusalReason;
  /** When it is worth another try. */
  readonly retryAfterMs: number;
}

export interface AdmissionStats {
  /** How many may be under way at once, now. */
  readonly limit: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly admitted: number;
  readonly refused: Readonly<Record<RefusalReason, number>>;
}

export interface Admission {
  /** At once where there is a place, or no hope of one. */
  enter(request: AdmissionRequest): Answer<Admitted | Refused>;
  /** From now on; whoever is in or waits stays. */
  reconfigure(config: AdmissionConfig): void;
  /** Refuses whoever waits, and whoever comes. */
  close(): void;
  stats(): AdmissionStats;
}
