// Koa 3, and koa-ratelimit with its memory driver.
import { rateLimit } from 'sluice/koa';
import { hello, listening, requirePeer } from '../contender.mjs';

const Koa = requirePeer('koa');

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => app(),
  sluice: (options) => app(rateLimit(options)),
  usual: ({ limit, windowMs }) =>
    app(requirePeer('koa-ratelimit')({ driver: 'memory', db: new Map(), max: limit, duration: windowMs })),
};

/** @param {unknown[]} middleware */
function app(...middleware) {
  const app = new Koa();
  for (const one of middleware) app.use(one);
  app.use((/** @type {{ body: string }} */ context) => {
    context.body = hello;
  });
  return listening(app.listen(0, '127.0.0.1'));
}
