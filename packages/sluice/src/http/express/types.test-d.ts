/** Types flow from Express, and those of a route stay its own: this file only has to compile. */
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { type Store as OtherStore, rateLimit as otherRateLimit } from 'express-rate-limit';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Store } from '../../stores/store.ts';
import { expressRateLimitStore, type Refused, rateLimit } from './index.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;
declare const redis: Store<'async'>;

const policy = gcra({ limit: 100, window: '1m' });
const app = express();

export const limit = rateLimit({
  policy: (request) => {
    same<typeof request, Request>(true);
    return policy;
  },
  key: (request) => {
    same<typeof request, Request>(true);
    return request.get('x-api-key');
  },
  skip: async ({ path }) => path === '/health',
  cost: ({ query }) => (query.deep ? 10 : 1),
  costAfter(request, { status, isComplete, response }) {
    same<typeof request, Request>(true);
    same<typeof response, Response>(true);
    same<[typeof status, typeof isComplete], [number, boolean]>(true);
    return response.locals.tokens as number;
  },
  handler(request, response, next, refused) {
    same<typeof request, Request>(true);
    same<typeof response, Response>(true);
    same<typeof next, NextFunction>(true);
    same<typeof refused, Refused>(true);
    response.status(refused.status).render('slow-down');
  },
  onResult: (request, result) => {
    same<typeof request, Request>(true);
    same<typeof result, RulesResult>(true);
  },
  store: redis,
});

export const byRules = rateLimit({
  rules: [{ name: 'x', policy, key: 'user' }],
  subject: (request) => ({ user: request.get('x-user') }),
  store: memoryStore(),
});

// It is a handler like any other.
export const handler: RequestHandler = limit;
app.use(limit, byRules);
app.use('/api', limit);
express.Router().all('/x', limit);

// What a path has for parameters is not forgotten because a limiter stands before the handler.
app.get('/users/:id', limit, byRules, (request, response) => {
  same<typeof request.params, { id: string }>(true);
  same<typeof request.rateLimit, RulesResult | undefined>(true);
  response.json(request.rateLimit?.tightest?.remaining);
});
app.post('/typed', limit, (request: Request<object, string, { name: string }>, response: Response<string>) => {
  response.send(request.body.name);
});

// @ts-expect-error Nothing says what is limited.
rateLimit({});
// @ts-expect-error One policy, or rules.
rateLimit({ policy, rules: [] });
// @ts-expect-error Each rule has a key of its own.
rateLimit({ rules: [], key: () => 'x' });
// @ts-expect-error A policy has a key.
rateLimit({ policy, subject: () => ({}) });
// @ts-expect-error There is no such option.
rateLimit({ policy, keyGenerator: () => 'x' });
// @ts-expect-error Express has no such field.
rateLimit({ policy, key: (request) => request.nothing });
// @ts-expect-error To trust everybody is to trust nobody.
rateLimit({ policy, trustProxy: true });

// It fits where express-rate-limit wants a store of its own.
export const other: OtherStore = expressRateLimitStore({ policy, store: redis, name: 'api' });
app.use(otherRateLimit({ limit: 100, windowMs: 60_000, store: expressRateLimitStore({ policy }) }));
// @ts-expect-error It has to know what decides.
expressRateLimitStore({ store: redis });
