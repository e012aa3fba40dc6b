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
import type { Failure, Passage, Step } from '../passage.ts';
import { countAnswer } from '../pool/pool-member.ts';
import type { AddedHeaders } from '../upstream/answer.ts';
import { type Forwarded, forward as send } from '../upstream/forward.ts';
import { mayBeDoneTwice } from '../upstream/may-be-done-twice.ts';
import { answerFailure } from './answer-failure.ts';
import { leaveOut } from './break-circuit.ts';
import { forwardingHeaders, viaOf } from './forwarding-headers.ts';
import { isLimitHeader, limitHeaders } from './limit.ts';

export async function forward(passage: Passage): Promise<Step> {
  const { exchange } = passage;
  const { pool } = passage.route!;
  const { member } = passage.picked!;
  passage.attempts += 1;
  passage.member = member.id;
  passage.isAnswered = false;
  if (passage.attempts === 1) pool.budget.request();
  try {
    const forwarded = await send(exchange, passage.body!, member.connections, {
      target: passage.target,
      authority: authorityOf(passage),
      headers: forwardingHeaders(exchange, passage.plan.identity.isProxy(exchange.client.address)),
      ...addedHeaders(passage),
      arrived: (status) => arrived(passage, status),
      bodyCame: () => passage.admitted?.measureAnew(),
    });
    return goOn(passage, forwarded);
  } catch (error) {
    // A mistake of ours says nothing about the member, and must not keep its place.
    endAttempt(passage, { kind: 'gone' });
    throw error;
  }
}

/**
 * The head of an answer says how the member is; when all of it has been read is up to the client, and an event stream may go on for hours.
 * Whether it is set aside.
 */
function arrived(passage: Passage, status: number): boolean {
  const { pool } = passage.route!;
  passage.isAnswered = true;
  passage.outcome = isOverload(status) ? 'failed' : 'ok';
  passage.picked!.answered(isError(status) ? 'failed' : 'ok');
  passage.circuit?.[passage.outcome]();
  passage.circuit = undefined;
  // Only now: by what was just said, the last that could be asked may be out.
  const isSetAside = pool.isSetAside(status) && mayRepeat(passage, true) && pool.hasTaker() && takesRetry(passage);
  if (!isSetAside) passage.admitted?.measured(passage.outcome);
  return isSetAside;
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
        forwarded.reason === 'busy' ? 'a member has no connection free' : 'a member did not answer',
      );
      if (forwarded.isAnswered) return 'report';
      return forwarded.reason === 'busy' ? busy(passage) : failed(passage, forwarded);
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
  answerFailure(passage, failure);
  return 'report';
}

/**
 * All connections that the member may have are in use, which is the gateway's own bound. Nobody was asked: so whoever else is asked
 * costs nothing of the budget, but where all are busy nobody waits a second time.
 */
function busy(passage: Passage): Step {
  const failure: Failure = {
    status: 503,
    detail: 'All connections to the upstream are in use. Try again later.',
    retryAfterMs: passage.route!.pool.config.timeouts.connectMs,
  };
  passage.roundBegan = passage.attempts;
  if (mayRepeat(passage, false)) return another(passage, failure);
  answerFailure(passage, failure);
  return 'report';
}

function another(passage: Passage, failure: Failure): Step {
  passage.failure = failure;
  leaveOut(passage, passage.member);
  return 'again';
}

/** Whether it can be sent again, and nothing is done twice by that. */
function mayRepeat({ attempts, body, exchange, route }: Passage, mayHaveArrived: boolean): boolean {
  if (attempts > route!.pool.config.retries.attempts || exchange.isGone || !body!.isRepeatable) return false;
  return !mayHaveArrived || mayBeDoneTwice(exchange);
}

/** The last question of all: what is taken here is taken. */
function takesRetry({ route }: Passage): boolean {
  const { budget, meter } = route!.pool;
  const isGranted = budget.tryRetry();
  if (isGranted) meter.retries += 1;
  else meter.retriesRefused += 1;
  return isGranted;
}

/**
 * Gives the member back, and says how it went where no head has said so. An answer that the member breaks off after its head is a failure of
 * its own: what the head said was true then.
 *
 * To the balancer every 5xx is a failure: one that fails fast must not seem the best of all, and only so many members are ever out. A
 * circuit has no such bound, so whoever finds a request that makes members fail could open one after the other: to it, and to the
 * admission, only what says that the member is overloaded is a failure.
 */
function endAttempt(passage: Passage, forwarded: Forwarded): void {
  const picked = passage.picked!;
  const hasFailed = forwarded.kind === 'failed' && forwarded.reason !== 'busy';
  if (!passage.isAnswered) {
    passage.outcome = hasFailed ? 'failed' : 'ignored';
    passage.circuit?.[passage.outcome]();
    passage.circuit = undefined;
  } else if (hasFailed && passage.outcome === 'ok') {
    picked.member.breaker?.tryPass()?.failed();
  }
  picked.done(hasFailed ? 'failed' : durationOutcome(forwarded));
}

/** To balancers that learn how long a member takes. */
function durationOutcome(forwarded: Forwarded): PickOutcome {
  // A connection that was handed over is open for as long as its users like: how long says nothing.
  if (forwarded.kind === 'gone' || forwarded.kind === 'failed' || forwarded.status === 101) return 'ignored';
  return isError(forwarded.status) ? 'failed' : 'ok';
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
