/** One limit, as guards have it: a request passes, or what it is refused by is thrown. */

import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import { type Gate, gate } from '../middleware/gate.ts';
import type { Refused } from '../middleware/options.ts';
import type { Mistake } from '../middleware/warnings.ts';
import { admit } from '../node/admit.ts';
import { type Call, callOf, forCalls } from './call.ts';
import type { NestRateLimitOptions, NestResponse, RefusalHandler } from './options.ts';
import { RateLimitException } from './rate-limit-exception.ts';
import { nestReader } from './reader.ts';

/** True at once over a memory store. A refusal is what the promise is rejected with. */
type Passing = true | Promise<true>;

export class Limit {
  readonly #gate: Gate<Call, NestResponse>;
  readonly #handler: RefusalHandler | undefined;
  readonly #http: NestRateLimitOptions['http'];
  /** What was answered to calls that are under way, by their identity. */
  readonly #answers = new WeakMap<object, Passing>();

  constructor(options: NestRateLimitOptions, warn?: (mistake: Mistake) => void) {
    this.#gate = gate(forCalls(options), nestReader, ['http'], warn);
    this.#handler = options.handler;
    this.#http = options.http;
  }

  /** A call that comes by twice, because two guards stand there or because a query has many resolvers, is counted once and answered the same. */
  pass(context: ExecutionContext): Passing {
    const call = callOf(context, this.#http);
    if (call === undefined) return true;
    const before = this.#answers.get(call.identity);
    if (before !== undefined) return before;
    const answer = this.#ask(context, call);
    this.#answers.set(call.identity, answer);
    return answer;
  }

  #ask(context: ExecutionContext, call: Call): Passing {
    const { response = nobody } = call;
    const raw: ServerResponse = response.raw ?? response;
    let answer: Passing | undefined;
    let later: ((answer: Passing) => void) | undefined;
    const answerWith = (known: Passing) => {
      answer = known;
      later?.(known);
    };
    admit(this.#gate, call, raw, response, {
      proceed: () => answerWith(true),
      refuse: (refused) => answerWith(this.#refuse(context, refused, call.response)),
      fail: (error) => answerWith(Promise.reject(error)),
    });
    return (
      answer ??
      new Promise((resolve) => {
        later = resolve;
      })
    );
  }

  async #refuse(context: ExecutionContext, refused: Refused, response: NestResponse | undefined): Promise<never> {
    const own = await this.#handler?.(context, refused);
    if (own !== undefined) throw own;
    if (response !== undefined) sayProblem(response);
    throw new RateLimitException(refused);
  }
}

/** Where there is no response: it takes no headers, and never says that it has ended. */
const nobody: NestResponse = { statusCode: 0, headersSent: true, getHeader() {}, once() {}, off() {} };

const problemType = 'application/problem+json';

/** Says what the body of an exception will be, before Nest writes it. */
function sayProblem(response: NestResponse): void {
  // Nest makes plain JSON of every error of Express's that has a text here, and warns; a list of one text it leaves alone.
  if (response.raw === undefined) response.setHeader('Content-Type', [problemType]);
  else response.header('Content-Type', problemType);
}
