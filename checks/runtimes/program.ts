/**
 * What runs under the other runtimes: the library as it is built, behind real HTTP. The paths are what `runtimes.test.ts` asks for.
 *
 * Limits are made when the module loads, as programs do it; Cloudflare Workers allow much less then.
 */
import { Hono } from 'hono';
import { concurrency, gcra, leakyBucket, limiter, memoryStore, monotonicClock } from 'sluice';
import { rateLimit } from 'sluice/fetch';
import { rateLimit as honoRateLimit } from 'sluice/hono';
import { conformance } from 'sluice/testing';

type Handler = (request: Request, ...rest: unknown[]) => Promise<Response>;

const perMinute = (limit: number) => gcra({ limit, window: '1m' });
const key = () => 'everybody';

const three = rateLimit({ policy: perMinute(3), key });
const hundred = rateLimit({ policy: perMinute(100), key });
const onlyFailures = rateLimit({
  policy: perMinute(2),
  key,
  costAfter: (_request, { status, isComplete }) => (isComplete && status < 400 ? 0 : 1),
});
const oneAtATime = rateLimit({ policy: concurrency({ limit: 1, lease: '1h' }), key });
const oneEndless = rateLimit({ policy: concurrency({ limit: 1, lease: '1h' }), key });
const shaped = rateLimit({ policy: leakyBucket({ limit: 1, window: '20ms', burst: 5 }), key });
const byAddress = rateLimit({ policy: perMinute(1) });
/** What is known of the latest request. */
let known: unknown;
const noting = rateLimit({
  rules: [
    {
      name: 'noting',
      policy: perMinute(100),
      key({ ip, method, path }) {
        known = { ip, method, path };
        return 'everybody';
      },
    },
  ],
});

const app = new Hono().basePath('/hono');
app.use(honoRateLimit({ policy: perMinute(100), name: 'app', key }));
app.get('/route', honoRateLimit({ policy: perMinute(1), name: 'route', key }), (c) =>
  c.json(c.get('rateLimit')?.decisions.map(({ rule, remaining }) => [rule, remaining])),
);
app.get('/address', honoRateLimit({ policy: perMinute(1), name: 'address' }), (c) => c.text('let in'));
app.get('/throws', () => {
  throw new Error('as it should');
});
app.onError((error, c) => c.text(error.message, 500));

/** A body that never ends. */
function ticks(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      controller.enqueue(new Uint8Array(1));
    },
  });
}

async function runConformance(): Promise<{ passed: number; failed: string[] }> {
  const failed: string[] = [];
  for (const { name, run } of conformance) {
    try {
      await run(({ clock }) => memoryStore({ clock }));
    } catch (error) {
      failed.push(`${name}: ${error}`);
    }
  }
  return { passed: conformance.length - failed.length, failed };
}

const handlers: Record<string, Handler> = {
  '/': async () => new Response('ready'),
  '/hello': three(async () => new Response('hello')),
  '/hundred': hundred(async () => new Response('hello')),
  '/json': hundred(async () => Response.json({ hello: 'world' })),
  '/redirect': hundred(async () => Response.redirect('http://localhost/elsewhere', 307)),
  '/fetched': hundred(async () => fetch('data:text/plain,fetched')),
  '/outcome': onlyFailures(
    async (request) => new Response('done', { status: Number(new URL(request.url).search.slice(1)) }),
  ),
  // It lasts as long as its client goes on sending.
  '/echo': oneAtATime(async ({ body }) => new Response(body)),
  '/endless': oneEndless(async ({ method }) => new Response(method === 'POST' ? ticks() : 'free')),
  '/probe': oneAtATime(async () => new Response('free')),
  '/throws': oneAtATime(async () => {
    throw new Error('as it should');
  }),
  '/shaped': shaped(async () => new Response('let in')),
  '/address': byAddress(async () => new Response('let in')),
  '/known': noting(async () => Response.json(known)),
  '/clock': async () => Response.json({ now: monotonicClock.now(), wall: Date.now() }),
  '/limiter': async () => {
    const own = limiter(gcra({ limit: 2, window: '1m' }));
    return Response.json(
      [own.check('a'), own.check('a'), own.check('a'), own.check('b')].map(({ allowed }) => allowed),
    );
  },
  '/conformance': async () => Response.json(await runConformance()),
};

export default {
  async fetch(request: Request, ...rest: unknown[]): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/hono/')) return app.fetch(request, rest[0] as object);
    const handler = handlers[pathname];
    return handler === undefined ? new Response('nothing here', { status: 404 }) : handler(request, ...rest);
  },
};
