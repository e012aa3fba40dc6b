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
 *      wrong use                no        nothing           nothing
 */
import { wasNotMade } from '../passes.ts';
import type { Ended } from '../protection.ts';
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';
import { parseRateLimitHeaders } from '../rate-limit-headers/parse-rate-limit-headers.ts';

/** An answer whose head has come, and whose body nobody has read yet. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderSource;
  /** Nobody will read its body: what it holds is let go. May be called twice. */
  discard(): void;
}

/** The answer, if there is one. */
export function answerIn(ended: Ended): Answer | undefined {
  return 'value' in ended ? (ended.value as Answer) : undefined;
}

export const usualRetryStatuses: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** Whether the same call may end better if it is made again. */
export function isPassing(ended: Ended, statuses: readonly number[]): boolean {
  const answer = answerIn(ended);
  if (answer) return statuses.includes(answer.status);
  return !wasNotMade(ended) && !wasWrongUse(ended);
}

/** The server turned it away without doing anything, or there was none to do it. */
export function isRejection(ended: Ended): boolean {
  const answer = answerIn(ended);
  return answer === undefined || answer.status === 429 || answer.status === 503;
}

/** The server did not manage. */
export function isFailure(ended: Ended): boolean {
  const answer = answerIn(ended);
  return answer === undefined || answer.status >= 500;
}

// As undici calls them: a request that no server will ever see.
const wrongUses: readonly unknown[] = [
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
  'ERR_INVALID_URL',
];

/** Whether it says something about the caller, and nothing about the server. */
export function wasWrongUse(ended: Ended): boolean {
  if (!('error' in ended)) return false;
  const { code, cause } = (ended.error ?? {}) as {
    readonly code?: unknown;
    readonly cause?: { readonly code?: unknown };
  };
  return wrongUses.includes(code) || wrongUses.includes(cause?.code);
}

/** How long the server asked to be left alone, in milliseconds: by `Retry-After`, or by a limit that has nothing left when it refused. */
export function toldToWaitMs(ended: Ended, nowMs: number): number | undefined {
  const answer = answerIn(ended);
  if (!answer) return undefined;
  const { retryAfterMs, waitMs } = parseRateLimitHeaders(answer.headers, { nowMs });
  // What is left of a limit matters to a call that was refused by one.
  return retryAfterMs ?? (answer.status === 429 && waitMs > 0 ? waitMs : undefined);
}
