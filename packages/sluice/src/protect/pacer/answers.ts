/**
 * What a call answered with may be anything: a response, the headers of one, or the caller's own data, which is not to be touched.
 * A list that is walked through once is gone for whoever wanted it.
 */
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';

/** The answer itself, if it is a response or headers; nothing if it is not. */
export function headIn(value: unknown): HeaderSource {
  try {
    if (!isObject(value)) return undefined;
    const isHead = isHeaders(value) || (isObject(value.headers) && !isWalkedOnce(value.headers));
    return isHead ? (value as HeaderSource) : undefined;
  } catch {
    // What throws when it is looked at is no response, and its caller may well know why.
    return undefined;
  }
}

/** Of a fetch response, or of a message of Node or undici. */
export function statusOf(response: unknown): number | undefined {
  const { status, statusCode } = (response ?? {}) as { readonly status?: unknown; readonly statusCode?: unknown };
  if (typeof status === 'number') return status;
  return typeof statusCode === 'number' ? statusCode : undefined;
}

/** By what it calls itself: undici's own are not the global ones. */
function isHeaders(value: object): boolean {
  return (value as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'Headers';
}

function isWalkedOnce(headers: Record<string, unknown>): boolean {
  return typeof headers.next === 'function';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
