/** What has to be known of a request before it is made, read from the arguments of `fetch` without touching a body. */
import { isSafeToRepeat, isWhole, keptPairs } from '../outbound/repeatable.ts';

export type FetchInput = string | URL | Request;

export interface RequestFacts {
  readonly url: URL;
  readonly method: string;
  /** Of `init`, and such as can be read by every attempt. */
  readonly headers: RequestInit['headers'] | undefined;
  readonly isRepeatable: boolean;
  /** The caller's way to give up. */
  readonly signal: AbortSignal | undefined;
}

/** Undefined where there is no server to protect: a `data:` URL, a `blob:`, what is no URL at all, or a request that was sent already. */
export function requestFacts(
  input: FetchInput,
  init: RequestInit | undefined,
  retryUnsafe: boolean,
): RequestFacts | undefined {
  const request = isRequest(input) ? input : undefined;
  const url = readUrl(request?.url ?? String(input));
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  const { method = request?.method ?? 'GET', body, signal = request?.signal } = init ?? {};
  if (request?.bodyUsed && body == null) return undefined;
  const headers = (keptPairs(init?.headers) as [string, string][] | undefined) ?? init?.headers;
  // The body of a request object is a stream, whatever it was made from.
  const canRepeat = body == null ? request?.body == null : isWhole(body);
  const mayRepeat = retryUnsafe || isSafeToRepeat(String(method), headers ?? request?.headers);
  return { url, method, headers, isRepeatable: canRepeat && mayRepeat, signal: signal ?? undefined };
}

/** Of any implementation. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && input !== null && 'url' in input;
}

function readUrl(text: string): URL | undefined {
  // In a browser addresses may be relative.
  const base = (globalThis as { location?: { href?: string } }).location?.href;
  try {
    return new URL(text, base);
  } catch {
    // `fetch` itself has the words for what is wrong with it, and is asked next.
    return undefined;
  }
}
