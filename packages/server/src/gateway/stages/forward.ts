/**
 * There and back: the request goes to the member as it comes from the client, the answer to the client as it comes from the member.
 * Where it fails, another member is asked if nothing is lost by that:
 *
 *      it did not arrive              any request
 *      it may have arrived            only what may be done twice (GET, HEAD, OPTIONS, TRACE, PUT, DELETE: RFC 9110, 9.2.2)
 *      the body                       only while all of it is kept
 *      attempts, and a budget         so that a failing upstream gets a tenth more to do, and not three times as much
 */
import type { PickOutcome } from 'sluice/balance';
import { answerProblem, Problem } from '../answer-problem.ts';
import type { Failure, Passage, Step } from '../passage.ts';
import { countAnswer } from '../pool/pool-member.ts';
import type { AddedHeaders } from '../upstream/answer.ts';
import { type Forwarded, forward as send } from '../upstream/forward.ts';
import { RepeatableBody } from '../upstream/repeatable-body.ts';
import { leaveOut } from './break-circuit.ts';
import { forwardingHeaders, viaOf } from './forwarding-headers.ts';
import { isLimitHeader, limitHeaders } from './limit.ts';

export async function forward(passage: Passage): Promise<Step> {
  const { exchange } = passage;
  const { pool } = passage.route!;
  const { member } = passage.picked!;
  passage.body ??= new RepeatableBody(exchange.body, exchange.framing, pool.config.retries.bodyBytes);
  passage.attempts += 1;
  passage.member = member.id;
  if (passage.attempts === 1) pool.budget.request();
  try {
    const forwarded = await send(exchange, passage.body, member.connections, {
      target: passage.target,
      authority: authorityOf(passage),
      headers: forwardingHeaders(exchange, passage.plan.identity.isProxy(exchange.client.address)),
      ...addedHeaders(passage),
      isSetAside: (status) => pool.isSetAside(status) && mayRepeat(passage, true) && takesRetry(passage),
    });
    return goOn(passage, forwarded);
  } catch (error) {
    // A mistake of ours says nothing about the member, and must not keep its place.
    endAttempt(passage, { kind: 'gone' });
    throw error;
  }
}

function goOn(passage: Passage, forwarded: Forwarded): Step {
  endAttempt(passage, forwarded);
  const { meter, id } = passage.picked!.member;
  const { pool } = passage.route!;
  switch (forwarded.kind) {
    case 'answered':
      countAnswer(meter, forwarded.status);
      return 'report';
    case 'set-aside':
      countAnswer(meter, forwarded.status);
      return another(passage, {
        status: forwarded.status,
        detail: `The upstream answered ${forwarded.status}, and nobody else could be asked.`,
      });
    case 'failed':
      meter.failed[forwarded.reason] += 1;
      pool.failures.warn(
        { upstream: pool.config.name, member: id, reason: forwarded.reason, error: forwarded.message },
        'a member did not answer',
      );
      if (forwarded.isAnswered) return 'report';
      return failed(passage, forwarded);
    case 'gone':
      return 'report';
  }
}

function failed(passage: Passage, { reason, mayHaveArrived }: Extract<Forwarded, { kind: 'failed' }>): Step {
  const failure: Failure =
    reason === 'timed-out'
      ? { status: 504, detail: 'The upstream did not answer in time.' }
      : { status: 502, detail: 'The upstream could not be reached, or did not answer as it should.' };
  if (mayRepeat(passage, mayHaveArrived) && takesRetry(passage)) return another(passage, failure);
  answerProblem(passage.exchange, new Problem(failure.status, failure.detail));
  return 'report';
}

function another(passage: Passage, failure: Failure): Step {
  passage.failure = failure;
  leaveOut(passage, passage.member);
  return 'again';
}

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Whether it can be sent again, and nothing is done twice by that. */
function mayRepeat({ attempts, body, exchange, route }: Passage, mayHaveArrived: boolean): boolean {
  if (attempts > route!.pool.config.retries.attempts || exchange.isGone || exchange.upgrade !== undefined) return false;
  return body!.isRepeatable && (!mayHaveArrived || idempotent.has(exchange.request.method));
}

/** The last question of all: what is taken here is taken. */
function takesRetry({ route }: Passage): boolean {
  const { budget, meter } = route!.pool;
  const isGranted = budget.tryRetry();
  if (isGranted) meter.retries += 1;
  else meter.retriesRefused += 1;
  return isGranted;
}

/** Tells the balancer and the circuit how it went. */
function endAttempt(passage: Passage, forwarded: Forwarded): void {
  passage.outcome = outcomeOf(forwarded, isOverload);
  passage.picked!.done(outcomeOf(forwarded, isError));
  passage.circuit?.[passage.outcome]();
  passage.circuit = undefined;
}

/**
 * What the attempt says about the member. To the balancer every 5xx is a failure: one that fails fast must not seem the best of all, and
 * only so many members are ever out. A circuit has no such bound, so whoever finds a request that makes members fail could open one after
 * the other: to it, and to the admission, only what says that the member is overloaded is a failure.
 */
function outcomeOf(forwarded: Forwarded, isFailure: (status: number) => boolean): PickOutcome {
  switch (forwarded.kind) {
    case 'answered':
    case 'set-aside':
      // A connection that was handed over is open for as long as its users like: how long says nothing.
      if (forwarded.status === 101) return 'ignored';
      return isFailure(forwarded.status) ? 'failed' : 'ok';
    case 'failed':
      return 'failed';
    case 'gone':
      return 'ignored';
  }
}

function isError(status: number): boolean {
  return status >= 500;
}

function isOverload(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

function authorityOf({ exchange, route, picked }: Passage): string {
  const { authority } = exchange.request;
  // HTTP/1.0 may do without a host; what goes on is HTTP/1.1, which may not.
  return route!.pool.config.host === 'member' || authority === '' ? picked!.member.id : authority;
}

/** Where rules of ours were asked the client is told of those, and not of the member's own beside them: it could not tell which is which. */
function addedHeaders({ limits }: Passage): AddedHeaders {
  const via = ['via', viaOf('HTTP/1.1')];
  const own = limits === undefined ? [] : limitHeaders(limits);
  return own.length === 0 ? { responseHeaders: via } : { responseHeaders: [...own, ...via], isReplaced: isLimitHeader };
}
