/**
 * For `node:http`, and for everything whose handlers are `(request, response, next)`:
 *
 *      const limit = rateLimit({ policy: gcra({ limit: 100, window: '1m' }) });
 *      createServer((request, response) => limit(request, response, () => response.end('hello')));
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gate } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { admit, answerFailure, answerRefusal } from './admit.ts';
import { nodeReader } from './reader.ts';

/** Answers what is refused. */
export type RefusalHandler = (request: IncomingMessage, response: ServerResponse, refused: Refused) => void;

export type NodeRateLimitOptions = RateLimitOptions<IncomingMessage, ServerResponse, RefusalHandler>;

/** Calls `next` for what may go on, and answers everything else itself. */
export type NodeMiddleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

export function rateLimit(options: NodeRateLimitOptions): NodeMiddleware {
  const entrance = gate(options, nodeReader);
  const { handler } = options;
  return (request, response, next) => {
    admit(entrance, request, response, response, {
      proceed: next,
      refuse(refused) {
        if (handler) handler(request, response, refused);
        else answerRefusal(response, refused);
      },
      fail(error) {
        // Nobody else is there to answer; and to go on would be to let in what could not be checked.
        answerFailure(response);
        entrance.report(error);
      },
    });
  };
}
