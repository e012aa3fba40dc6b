import type { Request, RequestHandler, Response } from 'express';
import { describeMiddleware, type MiddlewareUnderTest, type Routes } from '../middleware/conformance.test-support.ts';
import { listen, versions } from './express.test-support.ts';
import { rateLimit } from './index.ts';

for (const [name, express] of versions) {
  const serve = (limits: readonly RequestHandler[], { slow }: Routes) => {
    const app = express();
    // Express prints what handlers throw, except in tests.
    app.set('env', 'test');
    for (const limit of limits) app.use(limit);
    app.get('/hello', (_request, response) => void response.send('hello'));
    app.get('/status/:code', (request, response) => void response.status(Number(request.params.code)).send('done'));
    app.get('/slow', (_request, response) => void slow().then(() => response.send('done')));
    app.get('/throws', () => {
      throw new Error('as it should');
    });
    return listen(app);
  };

  const underTest: MiddlewareUnderTest = {
    start: async (options, routes) => serve([rateLimit(options as never)], routes),
    async startTwice(options, routes) {
      const limit = rateLimit(options as never);
      return serve([limit, limit], routes);
    },
    header: (request: Request, name) => request.get(name),
    teapot: (_request: Request, response: Response) => response.status(418).send('slow down'),
    throwsTeapot() {
      throw Object.assign(new Error('slow down'), { status: 418 });
    },
  };

  describeMiddleware(name, underTest);
}
