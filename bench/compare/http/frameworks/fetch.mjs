// A handler `Request -> Response`, called in this process: what a server does around it is the same for all. The address comes beside the
// request, in the way of Deno. There is no usual limiter: what people write is a call of rate-limiter-flexible.
import { rateLimit } from 'sluice/fetch';
import { hello, requirePeer } from '../contender.mjs';

const handler = async () => new Response(hello);

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => handler,
  sluice: (options) => rateLimit(options)(handler),
  usual: byHand,
};

/**
 * @param {import('../contender.mjs').Limit} limit
 * @returns {import('../contender.mjs').Handler}
 */
function byHand({ limit, windowMs }) {
  const { RateLimiterMemory } = requirePeer('rate-limiter-flexible');
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
  /** @param {Response} response @param {{ remainingPoints: number, msBeforeNext: number }} state */
  const withHeaders = (response, { remainingPoints, msBeforeNext }) => {
    response.headers.set('X-RateLimit-Limit', String(limit));
    response.headers.set('X-RateLimit-Remaining', String(remainingPoints));
    response.headers.set('X-RateLimit-Reset', String(Math.ceil((Date.now() + msBeforeNext) / 1000)));
    return response;
  };
  return async (_request, { remoteAddr }) => {
    let state;
    try {
      state = await limiter.consume(remoteAddr.hostname);
    } catch (/** @type {any} */ refused) {
      const response = new Response('Too Many Requests', { status: 429 });
      response.headers.set('Retry-After', String(Math.ceil(refused.msBeforeNext / 1000)));
      return withHeaders(response, refused);
    }
    return withHeaders(await handler(), state);
  };
}
