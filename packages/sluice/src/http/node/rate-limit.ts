/**
 * For `node:http` and `node:http2`, and for everything whose handlers are `(request, response, next)`:
 *
 *      const limit = rateLimit({ policy: gcra({ limit: 100, window: '1m' }) });
 *      createServer((request, response) => limit(request, response, () => response.end('hello')));
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { invalid } from '../../vocabulary/errors.ts';
import { gate } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { admit, answerBy, answerFailure, answerRefusal, type Continuation } from './admit.ts';
import { nodeReader } from './reader.ts';

/** Answers what is refused. */
export type RefusalHandler<Request = IncomingMessage, Response = ServerResponse> = (
  request: Request,
  response: Response,
  refused: Refused,
) => unknown;

export type NodeRateLimitOptions<Request = IncomingMessage, Response = ServerResponse> = RateLimitOptions<
  Request,
  Response,
  RefusalHandler<Request, Response>
>;

/** Calls `next` for what may go on, and answers everything else itself. */
export type NodeMiddleware<Request = IncomingMessage, Response = ServerResponse> = (
  request: Request,
  response: Response,
  next: () => void,
) => void;

export function rateLimit<
  Request extends IncomingMessage | Http2ServerRequest = IncomingMessage,
  Response extends ServerResponse | Http2ServerResponse = ServerResponse,
>(options: NodeRateLimitOptions<Request, Response>): NodeMiddleware<Request, Response> {
  const entrance = gate<Request, Response>(options, nodeReader);
  const { handler } = options;

  /** One object with methods, and not a function for each of them: it is made for every request. */
  class Visit implements Continuation {
    // Those of HTTP/2 are made like them, as far as is needed here.
    readonly response: Response & ServerResponse;
    constructor(
      readonly request: Request,
      response: Response,
      readonly proceed: () => void,
    ) {
      this.response = response as Response & ServerResponse;
    }

    refuse(refused: Refused): void {
      const { request, response } = this;
      if (handler === undefined) answerRefusal(response, refused);
      else answerBy(() => handler(request, response, refused)).catch((error) => this.fail(error));
    }

    fail(error: unknown): void {
      // Nobody else is there to answer; and to go on would be to let in what could not be checked.
      answerFailure(this.response);
      entrance.report(error);
    }
  }

  return (request, response, next) => {
    if (typeof next !== 'function')
      throw invalid('next', 'a function', next, 'Call limit(request, response, () => response.end()).');
    const visit = new Visit(request, response, next);
    admit(entrance, request, visit.response, response, visit);
  };
}
