// fastify with @fastify/rate-limit, by the user in the body, in memory, answering with the same body. In a process of its own.
import { createRequire } from 'node:module';

const requirePeer = createRequire(new URL('../../peers/package.json', import.meta.url));
const { fastify } = requirePeer('fastify');
const { default: rateLimit } = requirePeer('@fastify/rate-limit');

const { body, users } = JSON.parse(process.argv[2] ?? '');
const app = fastify({ keepAliveTimeout: 60_000 });
await app.register(rateLimit, {
  max: 1_000_000,
  timeWindow: 3_600_000,
  // As many as there are: the default is 5,000, beyond which limits are forgotten.
  cache: users,
  // The body has been read by then.
  hook: 'preHandler',
  keyGenerator: (/** @type {{ body: { subject: { user: string } } }} */ request) => request.body.subject.user,
});
app.post(
  '/v1/check',
  (/** @type {unknown} */ _, /** @type {{ type(type: string): { send(body: string): void } }} */ reply) => {
    reply.type('application/json').send(body);
  },
);
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(app.server.address().port);
