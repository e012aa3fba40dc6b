/**
 * For Express 4 and 5:
 *
 *      app.use(rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }));
 *      app.post('/log-in', rateLimit({ name: 'log-in', policy: gcra({ limit: 5, window: '1m' }) }), logIn);
 */
import type { NextFunction, Request, Response } from 'express';
import type { RulesResult } from '../../limit/rules.ts';
import { gate } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { earlierResult, together } from '../middleware/several.ts';
import { admit, answerBy, answerRefusal } from '../node/admit.ts';
import { expressReader } from './reader.ts';

declare global {
  namespace Express {
    interface Request {
      /** What the limits said to this request: all that it came by, as one result. Absent where none did. */
      rateLimit?: RulesResult;
    }
  }
}

/** Answers what is refused, or hands it on with `next`. */
export type RefusalHandler = (request: Request, response: Response, next: NextFunction, refused: Refused) => unknown;

export type ExpressRateLimitOptions = RateLimitOptions<Request, Response, RefusalHandler>;

/** Of any types, so that in `app.get('/users/:id', limit, handler)` the handler has those of its path. */
// biome-ignore lint/suspicious/noExplicitAny: as Express itself has it
export type ExpressMiddleware = <P, ResBody, ReqBody, ReqQuery, Locals extends Record<string, any>>(
  request: Request<P, ResBody, ReqBody, ReqQuery, Locals>,
  response: Response<ResBody, Locals>,
  next: NextFunction,
) => void;

export function rateLimit(options: ExpressRateLimitOptions): ExpressMiddleware {
  const entrance = gate(options, expressReader);
  const { handler } = options;
  const limit = (request: Request, response: Response, next: NextFunction) => {
    admit(entrance, request, response, response, {
      limited({ result }) {
        request.rateLimit = together(earlierResult(request.rateLimit), result);
      },
      proceed: () => next(),
      refuse(refused) {
        if (handler === undefined) answerRefusal(response, refused);
        // Express 4 does not wait for promises, and neither version sees what is thrown after a store has answered.
        else answerBy(() => handler(request, response, next, refused)).catch(next);
      },
      fail: next,
    });
  };
  return limit as ExpressMiddleware;
}
