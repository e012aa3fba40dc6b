/** What requests and responses are in options without an annotation, and what cannot be written: this file only has to compile. */
import type { CanActivate, DynamicModule, ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { FastifyRequest } from 'fastify';
import { expectTypeOf } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { rules } from '../../limit/rules.ts';
import { type NestRequest, type NestResponse, RateLimit, RateLimitModule, rateLimit, SkipRateLimit } from './index.ts';

const policy = gcra({ limit: 100, window: '1m' });

expectTypeOf(
  RateLimitModule.forRoot({
    policy,
    key: (request) => {
      expectTypeOf(request).toEqualTypeOf<NestRequest>();
      return request.user?.id ?? request.ip;
    },
    costAfter: (_request, { response }) => {
      expectTypeOf(response).toEqualTypeOf<NestResponse>();
      return response.statusCode < 400 ? 0 : 1;
    },
    handler: (context, { problem }) => {
      expectTypeOf(context).toEqualTypeOf<ExecutionContext>();
      return new Error(problem.title);
    },
    http: (context) => context.getArgByIndex(2),
    limits: { writes: { policy, key: (request) => request.headers.authorization } },
  }),
).toEqualTypeOf<DynamicModule>();
RateLimitModule.forRoot({ rules: rules([{ name: 'all', policy }]) });
RateLimitModule.forRoot({ global: false, limits: { writes: { policy } } });
RateLimitModule.forRootAsync({
  inject: ['limit'],
  useFactory: async (limit: number) => ({ policy: gcra({ limit, window: '1m' }) }),
});

// A socket has no response.
RateLimitModule.forRoot({ policy, http: (context) => ({ request: context.switchToWs().getClient().request }) });
// @ts-expect-error there is no limit without a request
RateLimitModule.forRoot({ policy, http: (context) => ({ response: context.getArgByIndex(1) }) });

// With the requests of the platform, where that is wanted.
RateLimitModule.forRoot<Request>({ policy, key: (request) => request.get('x-user') });
RateLimitModule.forRoot<FastifyRequest>({ policy, key: (request) => request.routeOptions.url });

// @ts-expect-error a policy or rules
RateLimitModule.forRoot({});
// @ts-expect-error not both
RateLimitModule.forRoot({ policy, rules: [] });
// @ts-expect-error there is no such option
RateLimitModule.forRoot({ policy, ttl: 60 });
// @ts-expect-error a policy or rules
RateLimitModule.forRootAsync({ useFactory: () => ({}) });
// @ts-expect-error a limit of a name is options
RateLimitModule.forRoot({ policy, limits: { writes: 5 } });

expectTypeOf(rateLimit({ policy, skip: (request) => request.url === '/health' })).toEqualTypeOf<CanActivate>();
// @ts-expect-error a policy or rules
rateLimit({});

export class Reports {
  @RateLimit({ policy, key: (request) => request.user.id })
  own() {}

  @RateLimit('writes')
  named() {}

  @RateLimit()
  asTheModule() {}

  @SkipRateLimit()
  not() {}

  // @ts-expect-error not both
  @RateLimit({ policy, rules: [] })
  both() {}

  // @ts-expect-error one name: for many limits at once there are rules
  @RateLimit(['writes', 'reads'])
  many() {}
}

RateLimit({ policy })(Reports);
SkipRateLimit()(Reports);
