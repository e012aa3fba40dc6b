import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AnyOptions,
  describeMiddleware,
  type MiddlewareUnderTest,
  type Routes,
  type StartedApp,
} from '../middleware/conformance.test-support.ts';
import { type NodeMiddleware, rateLimit } from './index.ts';

async function handle(request: IncomingMessage, response: ServerResponse, { slow }: Routes): Promise<void> {
  const path = request.url?.split('?')[0] ?? '';
  if (path === '/throws') {
    // Plain Node has nobody who catches; a handler answers for itself.
    response.statusCode = 500;
    response.end('failed');
    return;
  }
  if (path === '/slow') await slow();
  const [, code] = /^\/status\/(\d+)$/.exec(path) ?? [];
  if (code) response.statusCode = Number(code);
  response.end(path === '/hello' ? 'hello' : 'done');
}

async function serve(limits: readonly NodeMiddleware[], routes: Routes): Promise<StartedApp> {
  const server = createServer((request, response) => {
    const [first, second] = limits;
    const go = () => void handle(request, response, routes);
    first?.(request, response, second ? () => second(request, response, go) : go);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const underTest: MiddlewareUnderTest = {
  start: async (options: AnyOptions, routes) => serve([rateLimit(options as never)], routes),
  async startTwice(options, routes) {
    const limit = rateLimit(options as never);
    return serve([limit, limit], routes);
  },
  header: (request: IncomingMessage, name) => request.headers[name] as string | undefined,
  teapot(_request: IncomingMessage, response: ServerResponse) {
    response.statusCode = 418;
    response.end('slow down');
  },
};

describeMiddleware('node:http', underTest);
