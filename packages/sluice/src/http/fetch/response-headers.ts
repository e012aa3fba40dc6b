import { headerWords } from '../middleware/header-words.ts';
import type { RateLimitHeaders } from '../rate-limit-headers.ts';

// They have no body as a rule, so that a copy costs nothing; and they are the ones that programs make once and answer with again and again, or
// that are made by `Response.redirect` and cannot be written to.
const bodiless = new Set([204, 205, 301, 302, 303, 304, 307, 308]);

// Asked for its body, Bun makes a stream of it, and forgets that it was text.
const mayAskForBody = !('Bun' in globalThis);

/**
 * Whether it can be answered with again and again, as nothing with a body can: one client's headers must not reach the next. What says its type has
 * a body, and is not asked: some servers make a stream of it to answer, and send it in a slower way.
 */
function isReusable(response: Response, own: Headers): boolean {
  if (bodiless.has(response.status)) return true;
  return mayAskForBody && !own.has('content-type') && response.body === null;
}

/**
 * A response with the headers that it does not have yet: a limit nearer to the handler has the word, and the handler itself. Those that belong
 * together, `X-RateLimit-*` and `RateLimit*`, are written together or not at all: half of one and half of another would be wrong.
 *
 * Written in place where that can be. A copy has its body as a stream, which servers send in a slower way, in pieces and without its length.
 */
export function withHeaders<Result extends Response | undefined>(
  response: Result,
  headers: RateLimitHeaders,
): Result | Response {
  // What is no answer but a change of protocol, or an error, has no headers and can only be passed on.
  if (response === undefined || response.status < 200) return response;
  try {
    return written(response, headers);
  } catch (error) {
    // What came out of fetch() cannot be written to: nothing was, and a copy can.
    if (!(error instanceof TypeError)) throw error;
    return written(copyOf(response), headers);
  }
}

function copyOf(response: Response): Response {
  return new Response(response.body, response);
}

/** In one pass, since a look into Node's headers takes about as long as the limit itself. */
function written(response: Response, headers: RateLimitHeaders): Response {
  const own = response.headers;
  let answer: Response | undefined;
  let target = own;
  let current: string | undefined;
  let isMissing = false;
  for (const name in headers) {
    const { lower, set } = headerWords(name);
    if (set !== current) {
      current = set;
      // Nothing is, where whoever made the response was given them before, as Hono is.
      isMissing = !own.has(lower);
    }
    if (!isMissing) continue;
    if (answer === undefined) {
      answer = isReusable(response, own) ? copyOf(response) : response;
      target = answer.headers;
    }
    target.set(lower, headers[name] as string);
  }
  return answer ?? response;
}
