/**
 * What the end of an HTTP call says, and to whom.
 *
 *      status or error          retried   throttle          circuit breaker
 *      1xx to 4xx               no        accepted          ok
 *      408, 425                 yes       accepted          ok
 *      429                      yes       rejected          ok: who refuses politely is well
 *      500, 502, 504            yes       accepted          failed
 *      503                      yes       rejected          failed
 *      other 5xx                no        accepted          failed
 *      no answer, or too late   yes       rejected          failed
 *      the caller's mistake     no        nothing           nothing
 *
 * An answer that a redirect brought from elsewhere says nothing about who was asked, but that it answered.
 */
import { type Judge, judgeBy, wasNotMade } from '../passes.ts';
import type { Ended } from '../protection.ts';
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';
import {
  type ParseRateLimitHeadersOptions,
  parseRateLimitHeaders,
} from '../rate-limit-headers/parse-rate-limit-headers.ts';

/** What is known of an answer before its body. */
export interface Head {
  readonly status: number;
  readonly headers: HeaderSource;
  /** It came from another origin than was asked. */
  isFromElsewhere?: boolean;
}

/** An answer whose head has come, and whose body nobody has read yet. */
export interface Answer extends Head {
  /** Where it came from in the end, where redirects led further. */
  readonly redirectedTo?: URL | undefined;
  /** Nobody will read its body: what it holds is let go. May be called twice. */
  discard(): void;
}

/** The answer, if there is one. */
export function answerIn(ended: Ended): Answer | undefined {
  return 'value' in ended ? (ended.value as Answer) : undefined;
}

/** The head of the answer, if there is one; also where undici's `responseError` made an error of it. */
export function headIn(ended: Ended): Head | undefined {
  if ('value' in ended) return ended.value as Answer;
  const { code, statusCode, headers } = (ended.error ?? {}) as { [field: string]: unknown };
  if (code !== 'UND_ERR_RESPONSE' || typeof statusCode !== 'number') return undefined;
  return { status: statusCode, headers: headers as HeaderSource };
}

export const usualRetryStatuses: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** Whether the same call may end better if it is made again. */
export function isPassing(ended: Ended, statuses: readonly number[]): boolean {
  const head = headIn(ended);
  if (head) return statuses.includes(head.status);
  return !wasNotMade(ended) && !wasOwnMistake(ended);
}

/** The server turned it away without doing anything, or there was none to do it. */
export function isRejection(ended: Ended): boolean {
  const head = headIn(ended);
  return head === undefined || (!head.isFromElsewhere && (head.status === 429 || head.status === 503));
}

/** The server did not manage. */
export function isFailure(ended: Ended): boolean {
  const head = headIn(ended);
  return head === undefined || (!head.isFromElsewhere && head.status >= 500);
}

// As undici calls them: a request that no server will ever see, or not as it was meant.
const ownMistakes: readonly unknown[] = [
  'UND_ERR_INVALID_ARG',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
  'ERR_INVALID_URL',
];

const blamed = new WeakSet<object>();

/** Nothing in the error says so, but it is the caller's own. */
export function blameCaller(error: unknown): void {
  if (typeof error === 'object' && error !== null) blamed.add(error);
}

/** Whether it says something about the caller, and nothing about the server. */
export function wasOwnMistake(ended: Ended): boolean {
  if (!('error' in ended)) return false;
  const { code, cause } = (ended.error ?? {}) as {
    readonly code?: unknown;
    readonly cause?: { readonly code?: unknown };
  };
  return blamed.has(ended.error as object) || ownMistakes.includes(code) || ownMistakes.includes(cause?.code);
}

/** What a circuit breaker makes of it. */
export const judgeFailure: Judge = judgeBy(isFailure, wasOwnMistake);
/** What those make of it who look for overload. */
export const judgeRejection: Judge = judgeBy(isRejection, wasOwnMistake);

/** How long the server asked to be left alone, in milliseconds: by `Retry-After`, or by a limit that has nothing left when it refused. */
export function toldToWaitMs(head: Head | undefined, options: ParseRateLimitHeadersOptions): number | undefined {
  if (!head) return undefined;
  const { retryAfterMs, waitMs } = parseRateLimitHeaders(head.headers, options);
  // What is left of a limit matters to a call that was refused by one.
  return retryAfterMs ?? (head.status === 429 && waitMs > 0 ? waitMs : undefined);
}
