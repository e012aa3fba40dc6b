/**
 * For Koa 2 and 3, whose requests are contexts:
 *
 *      app.use(rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }));
 */
import type { ServerResponse } from 'node:http';
import type { Context, Next } from 'koa';
import type { RulesResult } from '../../limit/rules.ts';
import { gate, refusalText } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { earlierResult, together } from '../middleware/several.ts';
import { admit, answerBy } from '../node/admit.ts';
import type { RateLimitHeaders } from '../rate-limit-headers.ts';
import { koaReader } from './reader.ts';

declare module 'koa' {
  interface DefaultState {
    /** What the limits said to this request: all that it came by, as one result. Absent where none did. */
    rateLimit?: RulesResult;
  }
}

/** Answers what is refused. */
export type RefusalHandler = (context: Context, refused: Refused) => unknown;

export type KoaRateLimitOptions = RateLimitOptions<Context, Context, RefusalHandler>;

export type KoaMiddleware = (context: Context, next: Next) => Promise<unknown>;

export function rateLimit(options: KoaRateLimitOptions): KoaMiddleware {
  const entrance = gate(options, koaReader);
  const { handler = answerRefusal } = options;
  return (context, next) => {
    let shown: RateLimitHeaders | undefined;
    let answer: Promise<unknown> | undefined;
    let later: ((answer: Promise<unknown>) => void) | undefined;
    const answerWith = (known: Promise<unknown>) => {
      answer = known;
      later?.(known);
    };
    admit(entrance, context, context.res, context, {
      limited({ result, headers }) {
        context.state.rateLimit = together(earlierResult(context.state.rateLimit), result);
        shown = headers;
      },
      proceed: () => answerWith(shown === undefined ? next() : keepingHeaders(next(), context.res, shown)),
      refuse(refused) {
        const answered = answerBy(() => handler(context, refused));
        answerWith(keepingHeaders(answered, context.res, refused.headers));
      },
      fail: (error) => answerWith(Promise.reject(error)),
      gone: () => answerWith(Promise.resolve()),
    });
    // Over a memory store it is there already.
    return answer ?? new Promise((resolve) => (later = resolve));
  };
}

function answerRefusal(context: Context, refused: Refused): void {
  context.status = refused.status;
  context.set('Content-Type', 'application/problem+json');
  context.body = refusalText(refused);
}

/**
 * When a handler throws, Koa answers without any of the headers that were set before, and a client that paces itself by them would not know
 * where it stands. They are put back as the head is written.
 */
function keepingHeaders(answered: Promise<unknown>, response: ServerResponse, headers: RateLimitHeaders) {
  return answered.catch((error) => {
    // As they are now: a limiter further in may have written others.
    const kept = Object.keys(headers).map((name) => [name, response.getHeader(name)] as const);
    const { writeHead } = response;
    response.writeHead = ((...head: Parameters<typeof writeHead>) => {
      for (const [name, value] of kept) {
        if (value !== undefined && !response.hasHeader(name)) response.setHeader(name, value);
      }
      return writeHead.apply(response, head);
    }) as typeof writeHead;
    throw error;
  });
}
