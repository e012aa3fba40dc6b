/**
 * For Hono, wherever it runs:
 *
 *      app.use(rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }));
 */
import type { Context, Env, MiddlewareHandler } from 'hono';
import type { HTTPException } from 'hono/http-exception';
import type { RulesResult } from '../../limit/rules.ts';
import type { Answer } from '../../vocabulary/answer.ts';
import { goThrough, isPlain } from '../fetch/go-through.ts';
import { withHeaders } from '../fetch/response-headers.ts';
import { gate, refusalText } from '../middleware/gate.ts';
import { headerWords } from '../middleware/header-words.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { earlierResult, together } from '../middleware/several.ts';
import { honoReader } from './reader.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** What the limits said to this request: all that it came by, as one result. Absent where none did. */
    rateLimit: RulesResult | undefined;
  }
}

/** Answers what is refused. */
export type RefusalHandler<E extends Env> = (c: Context<E>, refused: Refused) => Answer<Response>;

export type HonoRateLimitOptions<E extends Env> = RateLimitOptions<Context<E>, Response, RefusalHandler<E>> & {
  /**
   * The peer's address. Default: what `@hono/node-server`, Bun and Deno hand over, and `CF-Connecting-IP` on Cloudflare. For others there
   * is Hono's `getConnInfo`: `(c) => getConnInfo(c).remote.address`.
   */
  readonly address?: (c: Context<E>) => string | undefined;
};

const problemType = { 'content-type': 'application/problem+json' };

// biome-ignore lint/suspicious/noExplicitAny: as Hono's own middleware, which goes into an app of any kind
export function rateLimit<E extends Env = any>(options: HonoRateLimitOptions<E>): MiddlewareHandler<E> {
  const entrance = gate<Context<E>, Response>(options, honoReader(options), ['address']);
  const { handler } = options;
  return async (c, next) => {
    const entered = entrance.enter(c);
    const passage = entered instanceof Promise ? await entered : entered;
    if (passage === undefined) return next();
    c.set('rateLimit', together(earlierResult(c.get('rateLimit')), passage.result));
    const { refused, headers } = passage;
    // Hono writes them into what it makes itself. What the handler makes gets them afterwards.
    for (const name in headers) c.header(headerWords(name).lower, headers[name]);
    // Made by Hono, with what middleware before this one wrote.
    if (refused && handler === undefined) return c.body(refusalText(refused), refused.status, problemType);
    if (refused) {
      try {
        return withHeaders(await (handler as RefusalHandler<E>)(c, refused), headers);
      } catch (error) {
        keepHeaders(c, error);
        throw error;
      }
    }
    let response: Response;
    if (isPlain(passage)) {
      await next();
      response = withHeaders(c.res, headers);
    } else {
      const proceed = async () => {
        await next();
        return c.res;
      };
      response = await goThrough(entrance, passage, c.req.raw, proceed, c.env);
    }
    if (response === c.res) return undefined;
    // Otherwise Hono would write the old one's headers over the new one's.
    c.res = undefined;
    c.res = response;
    return undefined;
  };
}

/**
 * When a handler throws, `onError` may answer with a response that knows nothing of the context, as the one of an `HTTPException` is. Hono adds
 * to it what the context's own response has, once there is one. What the exception has written itself stays.
 */
function keepHeaders({ res }: Context, error: unknown): void {
  const own = (error as Partial<HTTPException> | undefined)?.res?.headers;
  for (const name of own?.keys() ?? []) res.headers.delete(name);
}
