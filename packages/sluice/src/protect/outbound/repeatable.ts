/** Whether a request may be sent twice: it does no harm, and all of it is still there. */

// What these do, they do once, however often they are asked to (RFC 9110, 9.2.2).
const idempotent: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'];

/** A server that knows the key of a request does it once; one that does not know the header is asked at the caller's risk. */
export function isSafeToRepeat(method: string, headers: unknown): boolean {
  return idempotent.includes(method.toUpperCase()) || hasHeader(headers, 'idempotency-key');
}

const wholes: readonly string[] = ['Blob', 'File', 'FormData', 'URLSearchParams', 'ArrayBuffer'];

/** It is all there, however often it is read. Anything else may be a stream, and is gone once it is sent. */
export function isWhole(body: unknown): boolean {
  if (body === null || body === undefined || typeof body === 'string' || ArrayBuffer.isView(body)) return true;
  // By name, because several of a kind may be around: those of the platform and those of a package.
  return wholes.includes(Object.prototype.toString.call(body).slice('[object '.length, -1));
}

/**
 * Headers that can be read as often as there are attempts: pairs, where they came as something that is iterated, and perhaps only once.
 * Undefined where they may stay as they are.
 */
export function keptPairs(headers: unknown): readonly unknown[] | undefined {
  if (typeof headers !== 'object' || headers === null || !(Symbol.iterator in headers)) return undefined;
  if (Array.isArray(headers) || Object.prototype.toString.call(headers) === '[object Headers]') return undefined;
  return [...(headers as Iterable<unknown>)];
}

/** In `Headers`, pairs, a plain object, or a flat list in which names and values take turns. */
function hasHeader(headers: unknown, name: string): boolean {
  if (typeof headers !== 'object' || headers === null) return false;
  if (Array.isArray(headers) && !Array.isArray(headers[0]))
    return headers.some((text, i) => i % 2 === 0 && String(text).toLowerCase() === name);
  const pairs = Symbol.iterator in headers ? (headers as Iterable<unknown>) : Object.entries(headers);
  for (const pair of pairs) if (Array.isArray(pair) && String(pair[0]).toLowerCase() === name) return true;
  return false;
}
