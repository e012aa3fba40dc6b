/**
 * A route: what is asked for, who answers it, and how it is described. One table of them (`routes.ts`) drives both the router and the
 * OpenAPI document, so that the two cannot disagree.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { LimitsConfig } from '../config/config.ts';
import type { Answer, Service, TraceContext } from '../service/service.ts';
import type { Reply } from './reply.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What a route is told of a request. */
export interface Call {
  readonly service: Service;
  readonly limits: LimitsConfig;
  /** The decoded `{parameters}` of the path, in their order. */
  readonly parameters: readonly string[];
  /** What follows the question mark; empty where there is none. */
  readonly query: string;
  /** The body's bytes; empty where the route takes none. */
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** The caller's trace, if it has one. */
  readonly trace: TraceContext | undefined;
  /** The answer to somebody who wants to be told every second; throws a problem where there is no room. */
  watch(): Reply;
}

export interface Route {
  readonly method: Method;
  /** With parameters in braces: `/v1/keys/{rule}/{key}`. */
  readonly path: string;
  /** Which door has it, when checks and administration are on ports of their own. */
  readonly area: 'checks' | 'administration' | 'both';
  /** Nobody needs a token for it. */
  readonly isOpen?: true;
  /** Whether there is a body, and whether its content type has to be JSON's. */
  readonly body?: 'json' | 'any';
  readonly operation: Operation;
  answer(call: Call): Answer<Reply>;
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** What the OpenAPI document says about a route, beside what follows from the route itself. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tag: 'checks' | 'administration' | 'operations';
  /** Of the path and the query, by name. An example is what a reader may try, and what the tests do. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly request?: { readonly schema: JsonSchema; readonly examples: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<number, ResponseDescription>>;
}

export interface Parameter {
  readonly in: 'path' | 'query';
  /** Of the query; those of the path always are. */
  readonly isRequired?: true;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
}

export interface ResponseDescription {
  readonly description: string;
  /** The content type; absent where there is no body. */
  readonly type?: string;
  readonly schema?: JsonSchema;
  /** The content type of what browsers get instead. */
  readonly browserType?: string;
  /** It has the headers that tell a client where it stands. */
  readonly hasRateLimitHeaders?: true;
}
