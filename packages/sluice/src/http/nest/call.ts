/**
 * What a limit is asked about, and what it counts once. With HTTP that is the request, by however many guards and resolvers it comes. A socket has
 * one request for all that will ever be said on it, and there it is the message:
 *
 *      http      request ─────────────────► guard, guard                once by its request
 *      graphql   request ──► query ───────► resolver, resolver          once by its request
 *      graphql   socket ═══► operation ───► resolver, resolver          once by the operation's context
 *      ws, rpc   socket ═══► message ─────► guard, guard                once by Nest's context
 */
import type { ExecutionContext } from '@nestjs/common';
import { invalid } from '../../vocabulary/errors.ts';
import type { RateLimitOptions } from '../middleware/options.ts';
import type { NestRateLimitOptions, NestRequest, NestResponse } from './options.ts';

export interface Call {
  readonly request: NestRequest;
  /** Undefined where nothing is answered by HTTP. */
  readonly response: NestResponse | undefined;
  /** The same object wherever the same call comes by. */
  readonly identity: object;
}

/** `undefined` where there is no request. */
export function callOf(context: ExecutionContext, http: NestRateLimitOptions['http']): Call | undefined {
  const type: string = context.getType();
  if (type === 'http') {
    const ofHttp = context.switchToHttp();
    const request: NestRequest = ofHttp.getRequest();
    return { request, response: ofHttp.getResponse(), identity: request.raw ?? request };
  }
  const found = http?.(context);
  if (found === undefined) return undefined;
  mustBeHttp(found);
  const { request } = found;
  // No message is answered by the response to the request that opened its socket.
  const response = type === 'ws' || type === 'rpc' ? undefined : found.response;
  return {
    request,
    response,
    identity: response === undefined ? operationOf(context, type) : (request.raw ?? request),
  };
}

/** Nest has one context for all guards of a message; but one for each resolver of an operation, which share GraphQL's. */
function operationOf(context: ExecutionContext, type: string): object {
  const shared: unknown = type === 'graphql' ? context.getArgByIndex(2) : undefined;
  return isObject(shared) ? shared : context;
}

function mustBeHttp(found: { readonly request: NestRequest; readonly response?: NestResponse | undefined }): void {
  if (!isObject(found)) {
    throw invalid(
      'what http returns',
      '{ request, response }',
      found,
      'Return undefined where there is no request, and nothing is limited.',
    );
  }
  const { request, response } = found;
  if (!isObject(request?.headers)) {
    throw invalid(
      'request, which http returns,',
      'an HTTP request',
      request,
      'Return undefined where there is none; of a socket it is the one that opened it.',
    );
  }
  if (response !== undefined && typeof (response?.raw ?? response)?.setHeader !== 'function') {
    throw invalid(
      'response, which http returns,',
      'the response of Express or of Fastify',
      response,
      'Leave it out where there is none, as on a socket.',
    );
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const ofRequest = ['policy', 'key', 'subject', 'skip', 'cost', 'costAfter', 'onResult'] as const;

/** Options speak of requests, and the gate of calls. What is wrong in them is left as it is, for the gate to tell of. */
export function forCalls(options: NestRateLimitOptions): RateLimitOptions<Call, NestResponse, unknown> {
  if (!isObject(options)) return options;
  const own: Record<string, unknown> = { ...options };
  for (const field of ofRequest) {
    const given = own[field];
    if (typeof given === 'function') own[field] = ({ request }: Call, outcome?: unknown) => given(request, outcome);
  }
  return own as never;
}
