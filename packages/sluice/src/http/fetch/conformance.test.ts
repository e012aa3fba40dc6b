import { describeMiddleware, type MiddlewareUnderTest, type Routes } from '../middleware/conformance.test-support.ts';
import { rateLimit } from './index.ts';
import { serve } from './serve.test-support.ts';

function handlerOf({ slow }: Routes) {
  return async (request: Request, ..._rest: unknown[]): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === '/throws') throw new Error('thrown by the handler');
    if (pathname === '/slow') await slow();
    const [, code] = /^\/status\/(\d+)$/.exec(pathname) ?? [];
    const status = Number(code ?? 200);
    return new Response(status === 204 ? null : pathname === '/hello' ? 'hello' : 'done', { status });
  };
}

const underTest: MiddlewareUnderTest = {
  start: async (options, routes) => serve(rateLimit(options as never)(handlerOf(routes))),
  async startTwice(options, routes) {
    const limit = rateLimit(options as never);
    return serve(limit(limit(handlerOf(routes))));
  },
  header: (request: Request, name) => request.headers.get(name) ?? undefined,
  teapot: () => new Response('slow down', { status: 418 }),
};

describeMiddleware('fetch-style handlers', underTest);
