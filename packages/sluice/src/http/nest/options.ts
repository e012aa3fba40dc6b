import type { IncomingHttpHeaders } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import type { OwnOptions, WholeOptions } from '../middleware/own-options.ts';

/** What the requests of Express and of Fastify have in common; and, as everywhere in Nest, whatever guards and middleware put there. */
export interface NestRequest {
  readonly ip: string | undefined;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: `user`, `session`, `params` and the like are the application's
  [field: string]: any;
}

/** What the responses of Express and of Fastify have in common. */
export interface NestResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  [field: string]: any;
}

/** Throws, or returns, what a refused request is answered by instead of `RateLimitException`. The headers are written already. */
export type RefusalHandler = (context: ExecutionContext, refused: Refused) => unknown;

interface HttpOfContext<Request> {
  /**
   * The HTTP request behind a context of another kind, as of GraphQL, and its response where it has one: a socket has none. Undefined where there
   * is no request. Default: nothing but HTTP is limited.
   */
  readonly http?: (
    context: ExecutionContext,
  ) => { readonly request: Request; readonly response?: NestResponse | undefined } | undefined;
}

/** What `rateLimit()` takes. */
export type NestRateLimitOptions<Request = NestRequest> = RateLimitOptions<Request, NestResponse, RefusalHandler> &
  HttpOfContext<Request>;

/** What `@RateLimit()` takes; what it does not say is as the module has it. */
export type NestOwnOptions<Request = NestRequest> = OwnOptions<Request, NestResponse, RefusalHandler>;

/** What `RateLimitModule.forRoot()` takes. */
export type RateLimitModuleOptions<Request = NestRequest> = HttpOfContext<Request> & {
  /** Limits by name, for `@RateLimit('name')`: one budget for all that have it. */
  readonly limits?: Readonly<Record<string, NestOwnOptions<Request>>>;
} & (
    | (RateLimitOptions<Request, NestResponse, RefusalHandler> & { readonly global?: true })
    | (WholeOptions<Request, NestResponse, RefusalHandler> & {
        /** False: nothing is limited but what has a decorator. Default true. */
        readonly global: false;
      })
  );
