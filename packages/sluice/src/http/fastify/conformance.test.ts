import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type AnyOptions,
  describeMiddleware,
  type MiddlewareUnderTest,
  type Routes,
  type StartedApp,
} from '../middleware/conformance.test-support.ts';
import { rateLimit } from './index.ts';

type App = ReturnType<typeof Fastify>;

async function serve(
  register: (app: App) => Promise<unknown>,
  { slow }: Routes,
  rateLimitOfRoutes?: AnyOptions,
): Promise<StartedApp> {
  const app = Fastify({ forceCloseConnections: true });
  await register(app);
  const options = rateLimitOfRoutes ? { config: { rateLimit: rateLimitOfRoutes } } : {};
  app.get('/hello', options, () => 'hello');
  app.get<{ Params: { code: string } }>('/status/:code', options, (request, reply) =>
    reply.code(Number(request.params.code)).send('done'),
  );
  app.get('/slow', options, async () => {
    await slow();
    return 'done';
  });
  app.get('/throws', options, () => {
    throw new Error('as it should');
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, close: () => app.close() };
}

const underTest: MiddlewareUnderTest = {
  start: async (options: AnyOptions, routes) => serve(async (app) => app.register(rateLimit(options as never)), routes),
  async startTwice(options, routes) {
    const limit = rateLimit(options as never);
    return serve(async (app) => {
      await app.register(limit);
      await app.register(limit);
    }, routes);
  },
  header: (request: FastifyRequest, name) => request.headers[name] as string | undefined,
  teapot: (_request: FastifyRequest, reply: FastifyReply) => reply.code(418).send('slow down'),
  throwsTeapot() {
    throw Object.assign(new Error('slow down'), { statusCode: 418 });
  },
};

const { header, teapot, throwsTeapot } = underTest;
const onlyRoutes = () => rateLimit({ global: false, warn: false });
const named = (options: AnyOptions) => (options.policy ? { name: 'default', ...options } : options);

describeMiddleware('Fastify 5', underTest);

describeMiddleware('Fastify 5, registered with its options', {
  start: async (options, routes) => serve(async (app) => app.register(rateLimit, options as never), routes),
  header,
  teapot,
  throwsTeapot,
});

describeMiddleware('Fastify 5, as a hook', {
  async start(options, routes) {
    return serve(async (app) => {
      await app.register(onlyRoutes());
      app.addHook('preHandler', app.rateLimit(named(options) as never));
    }, routes);
  },
  header,
  teapot,
  throwsTeapot,
});

describeMiddleware('Fastify 5, in the options of each route', {
  start: async (options, routes) => serve(async (app) => app.register(onlyRoutes()), routes, named(options)),
  header,
  teapot,
  throwsTeapot,
});
