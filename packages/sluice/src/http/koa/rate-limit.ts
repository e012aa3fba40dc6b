/**
 * For Koa 2 and 3, whose requests are contexts:
 *
 *      app.use(rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }));
 */
import type { ServerResponse } from 'node:http';
import type { Context, Next } from 'koa';
import type { RulesResult } from '../../limit/rules.ts';
import { gate, type Passage, refusalText } from '../middleware/gate.ts';
import type { RateLimitOptions, Refused } from '../middleware/options.ts';
import { earlierResult, together } from '../middleware/several.ts';
import { admit, answerBy, type Continuation } from '../node/admit.ts';
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

  /** One object with methods, and not a function for each of them: it is made for every request. */
  class Visit implements Continuation {
    /** What Koa waits for, once it is known: over a memory store at once. */
    answer: Promise<unknown> | undefined;
    later: ((answer: Promise<unknown>) => void) | undefined;
    private shown: RateLimitHeaders | undefined;

    constructor(
      readonly context: Context,
      readonly next: Next,
    ) {
      this.answer = undefined;
      this.later = undefined;
      this.shown = undefined;
    }

    limited({ result, headers }: Passage<never>): void {
      const { state } = this.context;
      state.rateLimit = together(earlierResult(state.rateLimit), result);
      this.shown = headers;
    }

    proceed(): void {
      const { next, shown, context } = this;
      this.answerWith(shown === undefined ? next() : keepingHeaders(next(), context.res, shown));
    }

    refuse(refused: Refused): void {
      const { context } = this;
      const answered = answerBy(() => handler(context, refused));
      this.answerWith(keepingHeaders(answered, context.res, refused.headers));
    }

    fail(error: unknown): void {
      this.answerWith(Promise.reject(error));
    }

    gone(): void {
      this.answerWith(Promise.resolve());
    }

    private answerWith(known: Promise<unknown>): void {
      this.answer = known;
      this.later?.(known);
    }
  }

  return (context, next) => {
    const visit = new Visit(context, next);
    admit(entrance, context, context.res, context, visit);
    return visit.answer ?? new Promise((resolve) => (visit.later = resolve));
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
