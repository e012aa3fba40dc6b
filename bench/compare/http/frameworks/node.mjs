// node:http. It has no usual middleware: what people write is a call of rate-limiter-flexible.
import { createServer } from 'node:http';
import { rateLimit } from 'sluice/node';
import { hello, listening, requirePeer } from '../contender.mjs';

/**
 * @typedef {import('node:http').IncomingMessage} IncomingMessage
 * @typedef {import('node:http').ServerResponse} ServerResponse
 * @typedef {(request: IncomingMessage, response: ServerResponse, next: () => void) => void} Middleware
 */

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => listen((_request, response) => response.end(hello)),
  sluice: (options) => limited(rateLimit(options)),
  usual: (limit) => limited(byHand(limit)),
};

/** @param {import('node:http').RequestListener} listener */
function listen(listener) {
  return listening(createServer(listener).listen(0, '127.0.0.1'));
}

/** @param {Middleware} limit */
function limited(limit) {
  return listen((request, response) => limit(request, response, () => response.end(hello)));
}

/**
 * @param {import('../contender.mjs').Limit} limit
 * @returns {Middleware}
 */
function byHand({ limit, windowMs }) {
  const { RateLimiterMemory } = requirePeer('rate-limiter-flexible');
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
  /** @param {ServerResponse} response @param {{ remainingPoints: number, msBeforeNext: number }} state */
  const writeHeaders = (response, { remainingPoints, msBeforeNext }) => {
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', remainingPoints);
    response.setHeader('X-RateLimit-Reset', Math.ceil((Date.now() + msBeforeNext) / 1000));
  };
  return (request, response, next) => {
    limiter.consume(request.socket.remoteAddress).then(
      (/** @type {any} */ state) => {
        writeHeaders(response, state);
        next();
      },
      (/** @type {any} */ state) => {
        writeHeaders(response, state);
        response.setHeader('Retry-After', Math.ceil(state.msBeforeNext / 1000));
        response.statusCode = 429;
        response.end('Too Many Requests');
      },
    );
  };
}
