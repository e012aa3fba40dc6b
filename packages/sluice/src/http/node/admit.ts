/**
 * One request through a gate, for everything that stands on Node's own responses: plain `node:http`, Express, Koa, Nest.
 *
 * A client may leave at any time. What was taken for it is settled then, and a request that was held back for it does not go on.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../vocabulary/clock.ts';
import { type Gate, type Passage, refusalText } from '../middleware/gate.ts';
import type { Refused } from '../middleware/options.ts';
import { whenEnded, whenLeft } from './ended.ts';

/** What the framework does next. */
export interface Continuation {
  proceed(): void;
  refuse(refused: Refused): void;
  fail(error: unknown): void;
  /** Told what the limits said, before any of the above but `fail`. */
  limited?(passage: Passage<never>): void;
  /** Instead of `proceed`: the client left while it was held back. */
  gone?(): void;
}

/**
 * @param owner what `costAfter` is given as the response, where the framework has one of its own
 */
export function admit<Request, Response>(
  gate: Gate<Request, Response>,
  request: Request,
  response: ServerResponse,
  owner: Response,
  next: Continuation,
): void {
  let entered: ReturnType<typeof gate.enter>;
  try {
    entered = gate.enter(request);
  } catch (error) {
    next.fail(asError(error));
    return;
  }
  if (!(entered instanceof Promise)) goThrough(gate, entered, response, owner, next);
  else {
    entered.then(
      (passage) => goThrough(gate, passage, response, owner, next),
      (error) => next.fail(asError(error)),
    );
  }
}

function goThrough<Request, Response>(
  gate: Gate<Request, Response>,
  passage: Passage<Response> | undefined,
  response: ServerResponse,
  owner: Response,
  next: Continuation,
): void {
  if (passage === undefined) {
    next.proceed();
    return;
  }
  const { headers, refused, delayMs, end } = passage;
  if (!response.headersSent) for (const name in headers) response.setHeader(name, headers[name] as string);
  next.limited?.(passage as Passage<never>);
  if (refused !== undefined) {
    next.refuse(refused);
    return;
  }
  if (end !== undefined) {
    whenEnded(response, (status, isComplete) => end({ status, isComplete, response: owner }));
  }
  if (delayMs === 0) next.proceed();
  else holdBack(gate.clock, delayMs, response, next);
}

/** Goes on when the time has come, unless the client has left by then. */
export function holdBack(
  clock: Clock,
  delayMs: number,
  response: ServerResponse,
  next: Pick<Continuation, 'proceed' | 'fail' | 'gone'>,
): void {
  const left = new AbortController();
  const stay = whenLeft(response, () => left.abort());
  clock.sleep(delayMs, left.signal).then(
    () => {
      stay();
      next.proceed();
    },
    (error: unknown) => {
      if (left.signal.aborted) next.gone?.();
      else next.fail(asError(error));
    },
  );
}

/** Frameworks go on, or wait for ever, when the error they are given is none; and Express also goes on for the words `route` and `router`. */
export function asError(thrown: unknown): Error {
  if (typeof thrown === 'object' && thrown !== null) return thrown as Error;
  return new Error(`rateLimit: ${String(thrown)} was thrown`, { cause: thrown });
}

/** What a handler of refusals does, now or later. What it throws is for the framework, and must not end the process: callers could bring that about. */
export async function answerBy(handle: () => unknown): Promise<unknown> {
  try {
    return await handle();
  } catch (error) {
    throw asError(error);
  }
}

/** Something failed that is nobody's limit, and there is no framework to say so. */
export function answerFailure(response: ServerResponse): void {
  if (response.headersSent) return;
  response.statusCode = 500;
  response.end();
}

/** A refusal as `application/problem+json`. */
export function answerRefusal(response: ServerResponse, refused: Refused): void {
  if (response.headersSent) return;
  response.statusCode = refused.status;
  response.setHeader('Content-Type', 'application/problem+json');
  response.end(refusalText(refused));
}
