import Koa, { type Context } from 'koa';
import { describeMiddleware, type Routes, type StartedApp } from '../middleware/conformance.test-support.ts';
import { type KoaMiddleware, rateLimit } from './index.ts';
import { listen } from './koa.test-support.ts';

async function serve(limits: readonly KoaMiddleware[], { slow }: Routes): Promise<StartedApp> {
  const app = new Koa();
  for (const limit of limits) app.use(limit);
  app.use(async (context) => {
    if (context.path === '/throws') throw new Error('as it should');
    if (context.path === '/slow') await slow();
    const [, code] = /^\/status\/(\d+)$/.exec(context.path) ?? [];
    context.body = context.path === '/hello' ? 'hello' : 'done';
    if (code) context.status = Number(code);
  });
  return listen(app);
}

describeMiddleware('Koa', {
  start: async (options, routes) => serve([rateLimit(options as never)], routes),
  async startTwice(options, routes) {
    const limit = rateLimit(options as never);
    return serve([limit, limit], routes);
  },
  header: (context: Context, name) => context.get(name) || undefined,
  teapot(context: Context) {
    context.status = 418;
    context.body = 'slow down';
  },
  throwsTeapot: (context: Context) => context.throw(418, 'slow down'),
});
