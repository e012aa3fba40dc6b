/**
 * Whether a request is one that `fetch` would never send: a header with a line break, a method that is no word, a GET with a body. To its
 * caller that is a `TypeError`, and so is a server that is down. Asked only after a failure, because it costs as much as a request does.
 */
import { isWhole } from '../outbound/repeatable.ts';
import type { RequestFacts } from './request-facts.ts';

export function isRefusedByPlatform({ url, method }: RequestFacts, init: RequestInit): boolean {
  if (typeof Request === 'undefined') return false;
  const { body, signal: _, ...others } = init;
  try {
    new Request(url, { ...others, method, ...(body != null && { body: standIn(body) }) });
    return false;
  } catch {
    // The answer that was asked for; the error itself is already with the caller.
    return true;
  }
}

/** A body of the same kind, with nothing in it: the real one may be large, or gone. */
function standIn(body: unknown): BodyInit {
  return isWhole(body) ? '' : new ReadableStream();
}
