/**
 * What a configuration came to: everything that stages ask. A request keeps the plan it came under until it has ended; a reload makes
 * another for those that come after. What is in both (pools, admissions, counts, the store) is shared by both.
 */
import type { Clock, RulesResult, Subject } from 'sluice';
import type { RouteConfig } from '../config/gateway-config.ts';
import type { Log } from '../service/log.ts';
import type { Answer } from '../service/service.ts';
import type { Admission } from './admission/admission-types.ts';
import type { Leases } from './leases.ts';
import type { UpstreamPool } from './pool/upstream-pool.ts';
import type { AccessLog } from './report/access-log.ts';
import type { RouteMeter } from './report/route-meter.ts';
import type { RouteQuestion } from './routes/compile-routes.ts';
import type { Identity } from './stages/identity.ts';
import type { SourceReader } from './stages/source.ts';

export interface Route {
  readonly config: RouteConfig;
  readonly pool: UpstreamPool;
  readonly admittance: Admittance | undefined;
  readonly meter: RouteMeter;
}

/** An admission, and what a request has to tell it. */
export interface Admittance {
  readonly admission: Admission;
  readonly tenantOf: SourceReader | undefined;
  readonly priorityOf: SourceReader | undefined;
  readonly priorities: Readonly<Record<string, number>>;
}

/** The rules, over the store that all plans share. */
export interface Limits {
  check(subject: Subject, call: { readonly maxDelayMs: number }): Answer<RulesResult>;
  /** Gives back what a request held for as long as it was under way. */
  release(result: RulesResult): Answer<void>;
  /** Says that it is still under way; false where what it held is gone, or could not be renewed. */
  renew(result: RulesResult): Answer<boolean>;
}

export interface PlanParts {
  routeOf(question: RouteQuestion): Route | undefined;
  readonly identity: Identity;
  /** Undefined: there is nothing to ask. */
  readonly limits: Limits | undefined;
  /** What requests hold under rules of `concurrency`. */
  readonly leases: Leases;
  /** Of requests that no route takes. */
  readonly strangers: RouteMeter;
  readonly accessLog: AccessLog | undefined;
  readonly clock: Clock;
  /** A sparing one: what is said in it, clients bring about. */
  readonly log: Log;
}

export class Plan implements PlanParts {
  readonly routeOf: PlanParts['routeOf'];
  readonly identity: Identity;
  readonly limits: Limits | undefined;
  readonly leases: Leases;
  readonly strangers: RouteMeter;
  readonly accessLog: AccessLog | undefined;
  readonly clock: Clock;
  readonly log: Log;
  private underWay = 0;
  private whenLeft: (() => void) | undefined;

  constructor(parts: PlanParts) {
    this.routeOf = parts.routeOf;
    this.identity = parts.identity;
    this.limits = parts.limits;
    this.leases = parts.leases;
    this.strangers = parts.strangers;
    this.accessLog = parts.accessLog;
    this.clock = parts.clock;
    this.log = parts.log;
  }

  begun(): void {
    this.underWay += 1;
  }

  ended(): void {
    this.underWay -= 1;
    if (this.underWay === 0) this.whenLeft?.();
  }

  /** Nobody comes under it any more. Acts when the last has left: what only this plan had can then go. */
  retire(act: () => void): void {
    this.whenLeft = act;
    if (this.underWay === 0) act();
  }
}
