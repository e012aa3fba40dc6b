/** What a handler takes beside the request flows through: this file only has to compile. */
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { type Refused, rateLimit } from './index.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;

const policy = gcra({ limit: 100, window: '1m' });

const limit = rateLimit({
  policy: (request) => {
    same<typeof request, Request>(true);
    return policy;
  },
  key: (request) => {
    same<typeof request, Request>(true);
    return request.headers.get('x-api-key') ?? undefined;
  },
  skip: async ({ url }) => url.endsWith('/health'),
  costAfter(request, { status, isComplete, response }) {
    same<[typeof request, typeof response], [Request, Response]>(true);
    same<[typeof status, typeof isComplete], [number, boolean]>(true);
    return Number(response.headers.get('x-tokens'));
  },
  handler(request, refused) {
    same<[typeof request, typeof refused], [Request, Refused]>(true);
    return new Response('slow down', { status: refused.status });
  },
  onResult: (request, result) => {
    same<[typeof request, typeof result], [Request, RulesResult]>(true);
  },
});

const plain = limit(async (request) => {
  same<typeof request, Request>(true);
  return new Response('hello');
});
same<Awaited<ReturnType<typeof plain>>, Response>(true);

// Next: a request of its own kind, and the parameters of the route.
interface NextRequestLike extends Request {
  readonly cookies: { get(name: string): { value: string } | undefined };
}
interface RouteContext {
  readonly params: Promise<{ id: string }>;
}
export const GET = limit(
  async (_request: NextRequestLike, { params }: RouteContext) => new Response((await params).id),
);
same<Parameters<typeof GET>, [_request: NextRequestLike, RouteContext]>(true);
export const byCookie = rateLimit({ policy, key: (request: NextRequestLike) => request.cookies.get('id')?.value });
byCookie(async (request) => {
  same<typeof request, NextRequestLike>(true);
  return new Response(null);
});

// Workers: the environment, and where to put what goes on after the response.
interface Environment {
  readonly TOKEN: string;
}
export default {
  fetch: limit((_request, env: Environment) => new Response(env.TOKEN)),
} satisfies {
  fetch(request: Request, env: Environment, context: { waitUntil(promise: Promise<unknown>): void }): unknown;
};

// Deno and Bun: as they call their handlers.
interface DenoInfo {
  readonly remoteAddr: { readonly hostname: string };
}
declare function denoServe(handler: (request: Request, info: DenoInfo) => Response | Promise<Response>): void;
denoServe(plain);
denoServe(
  limit((_request, info) => {
    same<typeof info, DenoInfo>(true);
    return new Response(info.remoteAddr.hostname);
  }),
);
interface BunServer {
  upgrade(request: Request): boolean;
}
declare function bunServe(options: {
  fetch(request: Request, server: BunServer): Response | undefined | Promise<Response | undefined>;
}): void;
bunServe({
  fetch: limit((request, server: BunServer) => (server.upgrade(request) ? undefined : new Response('no WebSocket'))),
});

// Whoever reads the address from what is handed over has to be handed it.
const byConnection = rateLimit({ policy, address: (_request, info: DenoInfo) => info.remoteAddr.hostname });
denoServe(byConnection(() => new Response('hello')));
denoServe(byConnection((_request, info: DenoInfo) => new Response(info.remoteAddr.hostname)));
// @ts-expect-error It is called without.
void byConnection(() => new Response('hello'))(new Request('http://localhost/'));

// @ts-expect-error Nothing says what is limited.
rateLimit({});
// @ts-expect-error One policy, or rules.
rateLimit({ policy, rules: [] });
// @ts-expect-error There is no such option.
rateLimit({ policy, keyGenerator: () => 'x' });
// @ts-expect-error A request has no such field.
rateLimit({ policy, key: (request) => request.ip });
// @ts-expect-error A handler answers with a response.
limit(() => 'hello');
// @ts-expect-error It is a handler that is limited, not a request.
limit(new Request('http://localhost/'));
