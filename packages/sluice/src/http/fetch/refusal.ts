/**
 * A refusal as `application/problem+json`, with its headers. Servers refuse most when they have the least time for it, so it is made in the way
 * that is the shortest for the responses there are:
 *
 *      written one by one   where a response copies and checks a whole set of headers that it is given, as Node's does
 *      given all at once    where it keeps them until somebody asks, as the one that @hono/node-server puts in its place: they are sent as they are
 */
import { refusalText } from '../middleware/gate.ts';
import type { Refused } from '../middleware/options.ts';

/** The responses that `isKeeping` is known of. */
let known: unknown;
let isKeeping: boolean;

const keepsHeaders = (headers: Headers) => new Response(null, { headers }).headers === headers;

export function refusal(refused: Refused): Response {
  const { status } = refused;
  const headers: Record<string, string> = { 'Content-Type': 'application/problem+json', ...refused.headers };
  const text = refusalText(refused);
  // A server that is started later may bring its own.
  if (known !== Response) {
    known = Response;
    isKeeping = keepsHeaders(new Headers());
  }
  if (isKeeping) return new Response(text, { status, headers });
  const response = new Response(text, { status });
  for (const name in headers) response.headers.set(name, headers[name] as string);
  return response;
}
