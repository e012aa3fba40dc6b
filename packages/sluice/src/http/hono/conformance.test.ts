import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { serve } from '../fetch/serve.test-support.ts';
import { describeMiddleware, type MiddlewareUnderTest, type Routes } from '../middleware/conformance.test-support.ts';
import { rateLimit } from './index.ts';

function appOf(limits: readonly MiddlewareHandler[], { slow }: Routes): Hono {
  const app = new Hono();
  for (const limit of limits) app.use(limit);
  app.get('/hello', (c) => c.text('hello'));
  app.get('/status/:code', ({ req }) => {
    const status = Number(req.param('code'));
    return new Response(status === 204 ? null : 'done', { status });
  });
  app.get('/slow', async (c) => {
    await slow();
    return c.text('done');
  });
  app.get('/throws', () => {
    throw new Error('thrown by the handler');
  });
  // As Hono's documentation has it: what an exception gives knows nothing of the context.
  app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text('failed', 500)));
  return app;
}

const underTest: MiddlewareUnderTest = {
  start: async (options, routes) => serve(appOf([rateLimit(options as never)], routes).fetch),
  async startTwice(options, routes) {
    const limit = rateLimit(options as never);
    return serve(appOf([limit, limit], routes).fetch);
  },
  header: (c: Context, name) => c.req.header(name),
  teapot: (c: Context) => c.text('slow down', 418),
  throwsTeapot() {
    throw new HTTPException(418, { message: 'slow down' });
  },
};

describeMiddleware('Hono', underTest);
