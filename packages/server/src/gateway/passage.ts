/**
 * One request on its way through the gateway: what each stage has found out, for those after it and for the report.
 * All fields are there from the beginning, so that every passage has the same shape.
 */
import type { RulesResult, Subject } from 'sluice';
import type { PickOutcome } from 'sluice/balance';
import type { Pass } from 'sluice/protect';
import type { Answer } from '../service/service.ts';
import type { AdmissionRequest, Admitted } from './admission/admission-types.ts';
import type { Exchange } from './exchange.ts';
import type { Leased } from './leases.ts';
import type { Plan, Route } from './plan.ts';
import type { Taken } from './pool/taken.ts';
import type { RepeatableBody } from './upstream/repeatable-body.ts';

/**
 * Where a request goes from a stage: on to the next one, back to choose another member, or straight to the report, because it has its
 * answer or nobody is there to be answered.
 */
export type Step = 'next' | 'again' | 'report';

export type Stage = (passage: Passage) => Answer<Step>;

/** Why a request was not forwarded, as it is counted. */
export const refusals = ['no-route', 'bad-request', 'limit', 'store', 'admission', 'no-member'] as const;
export type Refusal = (typeof refusals)[number];

/** Why the last attempt came to nothing, in case there is no other. */
export interface Failure {
  readonly status: number;
  readonly detail: string;
  /** Where nobody was asked, because nobody could be: when it is worth another try. */
  readonly retryAfterMs?: number;
}

export class Passage implements AdmissionRequest {
  readonly exchange: Exchange;
  /** What was configured when it came; it ends as it began, whatever is configured meanwhile. */
  readonly plan: Plan;
  readonly startedMs: number;

  // identify
  route: Route | undefined = undefined;
  /** The client's address, by whoever is trusted. */
  address = '';
  subject: Subject = nobody;
  /** What the member is asked for. */
  target = '';

  // limit
  limits: RulesResult | undefined = undefined;
  delayedMs = 0;
  /** What it holds under rules of `concurrency`. */
  leased: Leased | undefined = undefined;

  // admit
  tenant = '';
  priority = 0;
  admitted: Admitted | undefined = undefined;

  // receive
  body: RepeatableBody | undefined = undefined;

  // balance and break
  picked: Taken | undefined = undefined;
  /** Members that were tried, and those whose circuit is open. */
  leftOut: Set<string> | undefined = undefined;
  /** How many attempts there were when nobody was left out. */
  roundBegan = 0;
  circuit: Pass | undefined = undefined;

  // forward
  attempts = 0;
  /** Of the last attempt; empty: there was none. */
  member = '';
  failure: Failure | undefined = undefined;
  /** The head of an answer to the last attempt has come, and its member's circuit knows. */
  isAnswered = false;
  /** What the last attempt said about the member. */
  outcome: PickOutcome = 'ignored';

  refusal: Refusal | undefined = undefined;
  private left: AbortController | undefined = undefined;

  constructor(plan: Plan, exchange: Exchange, startedMs: number) {
    this.plan = plan;
    this.exchange = exchange;
    this.startedMs = startedMs;
  }

  /** Aborted when the client leaves. For those who wait: who listens to the client itself afterwards listens instead of this. */
  get signal(): AbortSignal {
    if (this.left === undefined) {
      const left = new AbortController();
      this.left = left;
      this.exchange.whenGone(() => left.abort());
    }
    return this.left.signal;
  }
}

const nobody: Subject = {};
