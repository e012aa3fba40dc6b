/** A place that somebody has, until the first of the endings is said. */
import type { Outcome, Pass } from 'sluice/protect';
import type { AdmissionRequest, Admitted } from './admission-types.ts';
import type { Account } from './waiter.ts';

export class Place implements Admitted, AdmissionRequest {
  readonly isAdmitted = true;
  readonly tenant: string;
  readonly priority: number;
  readonly waitedMs: number;
  readonly beganMs: number;
  /** What it is charged to; undefined: it did not have to wait. */
  readonly account: Account | undefined;
  /** What measures it, where that is how many places there are. */
  readonly pass: Pass | undefined;
  private whenEnded: WhenEnded | undefined;

  constructor(
    { tenant, priority }: AdmissionRequest,
    waited: { readonly waitedMs: number; readonly account: Account | undefined },
    beganMs: number,
    pass: Pass | undefined,
    whenEnded: WhenEnded,
  ) {
    this.tenant = tenant;
    this.priority = priority;
    this.waitedMs = waited.waitedMs;
    this.account = waited.account;
    this.beganMs = beganMs;
    this.pass = pass;
    this.whenEnded = whenEnded;
  }

  ok(): void {
    this.end('ok');
  }

  failed(): void {
    this.end('failed');
  }

  ignored(): void {
    this.end('ignored');
  }

  private end(outcome: Outcome): void {
    const { whenEnded } = this;
    if (whenEnded === undefined) return;
    this.whenEnded = undefined;
    this.pass?.[outcome]();
    whenEnded.ended(this);
  }
}

export interface WhenEnded {
  ended(place: Place): void;
}
