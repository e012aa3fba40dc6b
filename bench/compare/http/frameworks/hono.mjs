// Hono on @hono/node-server, and hono-rate-limiter as its own defaults are; it has to be told the key.
import { rateLimit } from 'sluice/hono';
import { hello, listening, requirePeer } from '../contender.mjs';

const { Hono } = requirePeer('hono');
const { serve } = requirePeer('@hono/node-server');

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => app(),
  sluice: (options) => app(rateLimit(options)),
  usual({ limit, windowMs }) {
    const { rateLimiter } = requirePeer('hono-rate-limiter');
    const { getConnInfo } = requirePeer('@hono/node-server/conninfo');
    const keyGenerator = (/** @type {unknown} */ context) => getConnInfo(context).remote.address;
    return app(rateLimiter({ limit, windowMs, keyGenerator }));
  },
};

/** @param {unknown[]} middleware */
function app(...middleware) {
  const app = new Hono();
  for (const one of middleware) app.use(one);
  app.get('/', (/** @type {{ text(text: string): unknown }} */ context) => context.text(hello));
  return listening(serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }));
}
