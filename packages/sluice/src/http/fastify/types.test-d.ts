/** What requests, replies and routes are in options without an annotation, and what cannot be written: this file only has to compile. */
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { expectTypeOf } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { rules } from '../../limit/rules.ts';
import type { Store } from '../../stores/store.ts';
import { type RateLimitHook, rateLimit } from './index.ts';

const policy = gcra({ limit: 100, window: '1m' });
declare const remote: Store<'async'>;

rateLimit({
  policy,
  key: (request) => {
    expectTypeOf(request).toEqualTypeOf<FastifyRequest>();
    return request.headers.authorization;
  },
  skip: (request) => request.routeOptions.url === '/health',
  costAfter: (_request, { response }) => {
    expectTypeOf(response).toEqualTypeOf<FastifyReply>();
    return response.elapsedTime;
  },
  handler: (request, reply, { problem }) => {
    expectTypeOf(request).toEqualTypeOf<FastifyRequest>();
    return reply.send(problem.title);
  },
});

rateLimit({ policy: (request) => (request.headers['x-tier'] === 'paid' ? policy : gcra({ limit: 1, window: '1m' })) });
rateLimit({ rules: [{ name: 'all', policy }], subject: (request) => ({ user: request.id }) });
rateLimit({ rules: rules([{ name: 'all', policy }]) });
rateLimit({ rules: rules([{ name: 'all', policy }], { store: remote }) });
rateLimit({ global: false });
rateLimit({ global: false, store: remote });

// @ts-expect-error a policy or rules
rateLimit({});
// @ts-expect-error only what is limited by routes needs neither
rateLimit({ global: true });
// @ts-expect-error not both
rateLimit({ policy, rules: [] });
// @ts-expect-error rules have keys of their own
rateLimit({ rules: [], key: () => 'x' });
// @ts-expect-error there is no such hook to limit in
rateLimit({ policy, hook: 'onSend' });
// @ts-expect-error there is no such option
rateLimit({ policy, max: 100 });

export async function application() {
  const app = Fastify();
  await app.register(rateLimit({ policy }));
  await app.register(rateLimit, { policy, key: (request) => request.ip });
  // @ts-expect-error a policy or rules
  await app.register(rateLimit, { hook: 'preHandler' });

  app.get('/', { config: { rateLimit: false } }, async () => 'hello');
  app.get('/own', { config: { rateLimit: { policy, key: (request) => request.hostname } } }, async () => 'hello');
  // @ts-expect-error a cost is a number
  app.get('/cost', { config: { rateLimit: { cost: '1' } } }, async () => 'hello');
  // @ts-expect-error not both
  app.get('/both', { config: { rateLimit: { policy, rules: [] } } }, async () => 'hello');

  expectTypeOf(app.rateLimit()).toEqualTypeOf<RateLimitHook>();
  const hook = app.rateLimit({ name: 'writes', policy, skip: (request) => request.method === 'GET' });
  // @ts-expect-error a policy of its own has a name
  app.rateLimit({ policy });
  app.rateLimit({ cost: 2 });
  app.rateLimit({ rules: [] });

  // The route's own types stay what they are.
  app.post<{ Body: { email: string } }>('/log-in', { preHandler: hook, onRequest: [hook] }, async ({ body }) => {
    expectTypeOf(body).toEqualTypeOf<{ email: string }>();
    return body.email;
  });
  const over2 = Fastify({ http2: true });
  await over2.register(rateLimit({ policy }));
  over2.get('/', { preHandler: over2.rateLimit() }, async () => 'hello');
  app.setNotFoundHandler({ preHandler: app.rateLimit() }, async () => 'nothing here');
}
