/**
 * One request through a gate, as a hook of Fastify: by callback and without a promise, and where the store answers at once without a closure.
 *
 * A client may leave at any time. What was taken for it is settled then, and a request that was held back for it does not go on.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Gate, gate, type Passage, refusalText } from '../middleware/gate.ts';
import { headerWords } from '../middleware/header-words.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import type { Mistake } from '../middleware/warnings.ts';
import { asError, holdBack } from '../node/admit.ts';
import { whenEnded } from '../node/ended.ts';
import { fastifyReader } from './reader.ts';

/**
 * Answers what is refused: sends the reply, returns what is to be sent, or throws to have it answered by the error handler. The status and the
 * headers are set already.
 */
export type RefusalHandler = (request: FastifyRequest, reply: FastifyReply, refused: Refused) => unknown;

/** For `onRequest`, `preValidation` and `preHandler`. */
export type RateLimitHook = (
  // biome-ignore lint/suspicious/noExplicitAny: of any server, body and schema, so that a route's own types stay what they are
  request: FastifyRequest<any, any, any, any, any, any, any, any>,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  reply: FastifyReply<any, any, any, any, any, any, any, any>,
  done: HookHandlerDoneFunction,
) => void;

type FastifyGate = Gate<FastifyRequest, FastifyReply>;

export function limitHook(
  options: RateLimitOptions<FastifyRequest, FastifyReply, RefusalHandler>,
  warn?: (mistake: Mistake) => void,
): RateLimitHook {
  const entrance: FastifyGate = gate(options, fastifyReader, [], warn);
  const { handler = answerRefusal } = options;
  return (request: FastifyRequest, reply: FastifyReply, done) => {
    let entered: ReturnType<FastifyGate['enter']>;
    try {
      entered = entrance.enter(request);
    } catch (error) {
      done(asError(error));
      return;
    }
    if (!(entered instanceof Promise)) goThrough(entrance, entered, request, reply, handler, done);
    else {
      entered.then(
        (passage) => goThrough(entrance, passage, request, reply, handler, done),
        (error) => done(asError(error)),
      );
    }
  };
}

function goThrough(
  entrance: FastifyGate,
  passage: Passage<FastifyReply> | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  handler: RefusalHandler,
  done: HookHandlerDoneFunction,
): void {
  if (passage === undefined) {
    done();
    return;
  }
  const { headers, refused, delayMs, end } = passage;
  for (const name in headers) reply.header(headerWords(name).lower, headers[name]);
  if (refused !== undefined) {
    refuse(request, reply, refused, handler, done);
    return;
  }
  if (end !== undefined) {
    whenEnded(reply.raw, (status, isComplete) => end({ status, isComplete, response: reply }));
  }
  if (delayMs === 0) done();
  else holdBack(entrance.clock, delayMs, reply.raw, { proceed: done, fail: (error) => done(asError(error)) });
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  refused: Refused,
  handler: RefusalHandler,
  done: HookHandlerDoneFunction,
): void {
  // A deadline of Fastify's own may have answered while the store was asked.
  if (reply.sent) return;
  reply.code(refused.status);
  const send = (payload: unknown) => {
    if (payload !== undefined && payload !== reply && !reply.sent) reply.send(payload);
  };
  try {
    const answered = handler(request, reply, refused);
    if (answered instanceof Promise) answered.then(send).catch((error) => done(asError(error)));
    else send(answered);
  } catch (error) {
    done(asError(error));
  }
}

/** As text: a response schema or a hook that is meant for what the route answers would make something else of the problem. */
function answerRefusal(_request: FastifyRequest, reply: FastifyReply, refused: Refused): void {
  reply.header('content-type', 'application/problem+json').send(refusalText(refused));
}
