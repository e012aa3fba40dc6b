/** One limit, as guards have it: a request passes, or what it is refused by is thrown. */

import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import { type Gate, gate } from '../middleware/gate.ts';
import type { Refused } from '../middleware/options.ts';
import type { Mistake } from '../middleware/warnings.ts';
import { admit } from '../node/admit.ts';
import type { NestRateLimitOptions, NestRequest, NestResponse, RefusalHandler } from './options.ts';
import { RateLimitException } from './rate-limit-exception.ts';
import { nestReader } from './reader.ts';

/** On a request: what each limit that it came by has answered. */
const answers = Symbol('sluice/nest answers');

interface Asked extends NestRequest {
  [answers]?: Map<Limit, Promise<true>>;
}

export class Limit {
  readonly #gate: Gate<NestRequest, NestResponse>;
  readonly #handler: RefusalHandler | undefined;
  readonly #http: NestRateLimitOptions['http'];

  constructor(options: NestRateLimitOptions, warn?: (mistake: Mistake) => void) {
    this.#gate = gate(options, nestReader, ['http'], warn);
    this.#handler = options.handler;
    this.#http = options.http;
  }

  /**
   * A request that comes by twice, because two guards stand there or because a query has many resolvers, is counted once and answered the
   * same.
   */
  pass(context: ExecutionContext): true | Promise<true> {
    const found = context.getType() === 'http' ? ofHttp(context) : this.#http?.(context);
    if (found === undefined) return true;
    const request: Asked = found.request;
    request[answers] ??= new Map();
    const before = request[answers].get(this);
    if (before !== undefined) return before;
    const answer = this.#ask(context, request, found.response);
    request[answers].set(this, answer);
    return answer;
  }

  #ask(context: ExecutionContext, request: NestRequest, response: NestResponse): Promise<true> {
    const raw: ServerResponse = response.raw ?? response;
    return new Promise((resolve, reject) => {
      admit(this.#gate, request, raw, response, {
        proceed: () => resolve(true),
        refuse: (refused) => this.#refusal(context, refused, response).then(reject, reject),
        fail: reject,
      });
    });
  }

  async #refusal(context: ExecutionContext, refused: Refused, response: NestResponse): Promise<unknown> {
    const own = await this.#handler?.(context, refused);
    if (own !== undefined) return own;
    sayProblem(response);
    return new RateLimitException(refused);
  }
}

function ofHttp(context: ExecutionContext): { request: NestRequest; response: NestResponse } {
  const http = context.switchToHttp();
  return { request: http.getRequest(), response: http.getResponse() };
}

const problemType = 'application/problem+json';

/** Says what the body of an exception will be, before Nest writes it. */
function sayProblem(response: NestResponse): void {
  // Nest makes plain JSON of every error of Express's that has a text here, and warns; a list of one text it leaves alone.
  if (response.raw === undefined) response.setHeader('Content-Type', [problemType]);
  else response.header('Content-Type', problemType);
}
