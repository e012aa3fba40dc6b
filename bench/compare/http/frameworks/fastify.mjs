// Fastify 5, and @fastify/rate-limit as its own defaults are.
import { rateLimit } from 'sluice/fastify';
import { hello, keepAliveTimeout, requirePeer } from '../contender.mjs';

const { fastify } = requirePeer('fastify');

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  // With a plugin that does nothing: to register any plugin at all makes Node's `process.nextTick` slower for as long as the process lives, by
  // some microseconds a request. That is nobody's overhead.
  bare: () => app(async () => {}),
  sluice: (options) => app(rateLimit, options),
  usual: ({ limit, windowMs }) => app(requirePeer('@fastify/rate-limit'), { max: limit, timeWindow: windowMs }),
};

/** @param {unknown} plugin @param {unknown} [options] */
async function app(plugin, options) {
  const app = fastify({ keepAliveTimeout });
  await app.register(plugin, options);
  app.get('/', (/** @type {unknown} */ _request, /** @type {{ send(text: string): void }} */ reply) =>
    reply.send(hello),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app.server;
}
