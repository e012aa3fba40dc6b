/**
 * For everything whose handlers are `Request -> Response`: Next's route handlers, `Bun.serve`, `Deno.serve`, Cloudflare Workers:
 *
 *      const limit = rateLimit({ policy: gcra({ limit: 100, window: '1m' }) });
 *      export const GET = limit(async (request) => new Response('hello'));
 */
import type { Answer } from '../../vocabulary/answer.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { gate } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { goThrough, isPlain } from './go-through.ts';
import { type AddressOf, fetchReader } from './reader.ts';
import { refusal } from './refusal.ts';
import { withHeaders } from './response-headers.ts';

/** Answers what is refused. */
export type RefusalHandler<R extends Request = Request> = (request: R, refused: Refused) => Answer<Response>;

/** `Rest` is what `address` is given beside the request. */
export type FetchRateLimitOptions<R extends Request = Request, Rest extends unknown[] = unknown[]> = RateLimitOptions<
  R,
  Response,
  RefusalHandler<R>
> & {
  /**
   * The peer's address, from what the handler is called with. Default: what Bun, Deno and `@hono/node-server` hand over beside the request,
   * and `CF-Connecting-IP` on Cloudflare.
   */
  readonly address?: AddressOf<R, Rest>;
};

/** Puts a handler behind the limit. What the handler takes beside the request, the outcome takes too. */
export type FetchLimit<R extends Request = Request, Rest extends unknown[] = unknown[]> = <
  Own extends R,
  More extends [...Rest, ...unknown[]],
  Result extends Response | undefined,
>(
  handler: (request: Own, ...rest: More) => Answer<Result>,
) => (request: Own, ...rest: More) => Promise<Result | Response>;

const nothing: readonly unknown[] = [];

export function rateLimit<R extends Request = Request, Rest extends unknown[] = unknown[]>(
  options: FetchRateLimitOptions<R, Rest>,
): FetchLimit<R, Rest> {
  // What the handler is called with beside the request is for the address. That is looked for within the call, and forgotten with it; only
  // after an option that is waited for it may be later, and then it is known by the request, and forgotten with that.
  let current: readonly unknown[] = nothing;
  const rests = new WeakMap<R, readonly unknown[]>();
  const reader = fetchReader<R, Rest>(
    options,
    (request) => ((isLater ? rests.get(request) : undefined) ?? current) as Rest,
  );
  const entrance = gate<R, Response>(options, reader, ['address']);
  const { skip, key, cost, subject } = options;
  const isLater = [skip, key, cost, subject].some((option) => typeof option === 'function');
  const enter = (request: R, rest: readonly unknown[]) => {
    if (isLater && rest.length > 0) rests.set(request, rest);
    current = rest;
    try {
      return entrance.enter(request);
    } finally {
      current = nothing;
    }
  };
  const refuse = options.handler;
  return (handler) => {
    if (typeof handler !== 'function') throw invalid('what limit() is given', 'a handler', handler);
    return async (request, ...rest) => {
      const entered = enter(request, rest);
      const passage = entered instanceof Promise ? await entered : entered;
      if (passage === undefined) return handler(request, ...rest);
      const { refused, headers } = passage;
      if (refused) return refuse ? withHeaders(await refuse(request, refused), headers) : refusal(refused);
      if (isPlain(passage)) return withHeaders(await handler(request, ...rest), headers);
      return goThrough(entrance, passage, request, () => handler(request, ...rest), rest[0]);
    };
  };
}
