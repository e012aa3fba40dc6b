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
  /** What measures it, where that is how many places there are. Once it is measured, another that only counts as under way. */
  private pass: Pass | undefined;
  private isMeasured = false;
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

  measured(outcome: Outcome): void {
    if (this.isMeasured) return;
    this.isMeasured = true;
    this.renew(outcome);
  }

  measureAnew(): void {
    if (!this.isMeasured) this.renew('ignored');
  }

  /** Who measures also counts how many are under way: by that alone the limit may grow, so a place that is kept stays one of them. */
  private renew(outcome: Outcome): void {
    const { pass, whenEnded } = this;
    if (pass === undefined || whenEnded === undefined) return;
    pass[outcome]();
    this.pass = whenEnded.take();
    whenEnded.learnt();
  }

  private end(outcome: Outcome): void {
    const { whenEnded } = this;
    if (whenEnded === undefined) return;
    this.whenEnded = undefined;
    this.pass?.[this.isMeasured ? 'ignored' : outcome]();
    whenEnded.ended(this);
  }
}

export interface WhenEnded {
  /** Another pass for a place that is kept; undefined: nothing is measured, or fewer may be under way now. */
  take(): Pass | undefined;
  /** The limit may be another. */
  learnt(): void;
  ended(place: Place): void;
}
