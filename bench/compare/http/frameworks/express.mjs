// Express 5, and express-rate-limit as its own defaults are.
import { rateLimit } from 'sluice/express';
import { hello, listening, requirePeer } from '../contender.mjs';

const express = requirePeer('express');

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => app(),
  sluice: (options) => app(rateLimit(options)),
  usual({ limit, windowMs }) {
    const { rateLimit } = requirePeer('express-rate-limit');
    return app(rateLimit({ limit, windowMs }));
  },
};

/** @param {unknown[]} middleware */
function app(...middleware) {
  const app = express();
  for (const one of middleware) app.use(one);
  app.get('/', (/** @type {unknown} */ _request, /** @type {{ send(text: string): void }} */ response) =>
    response.send(hello),
  );
  return listening(app.listen(0, '127.0.0.1'));
}
