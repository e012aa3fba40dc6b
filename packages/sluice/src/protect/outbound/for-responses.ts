/** What `retry()` has to know of HTTP, for those who put it around a `fetch` or a client of their own. */
import type { Clock } from '../../vocabulary/clock.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { clockOf } from '../option-checks.ts';
import type { Ended } from '../protection.ts';
import { arrivalMs } from '../rate-limit-headers/arrival-time.ts';
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';
import { type NumberForm, numberForms } from '../rate-limit-headers/waits.ts';
import type { RetryOptions } from '../retry/settings.ts';
import { type Head, isPassing, toldToWaitMs, usualRetryStatuses } from './answers.ts';
import { statusesOf } from './options.ts';

export interface ForResponsesOptions {
  /** Which answers are worth another attempt. Default 408, 425, 429, 500, 502, 503, 504. */
  readonly statuses?: readonly number[];
  /** What the numbers of a reset are, where their size does not tell: see `parseRateLimitHeaders()`. */
  readonly reset?: NumberForm;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

/**
 * Options of `retry()` for calls that end in a response of `fetch` or undici, or in an error that has one: what is passing is retried, and
 * `Retry-After` is obeyed. `retry({ ...forResponses(), attempts: 4 })`.
 */
export function forResponses(
  options: ForResponsesOptions = {},
): Required<Pick<RetryOptions, 'isRetryable' | 'waitFor'>> {
  knownFields('forResponses options', options, 'statuses reset clock');
  const statuses = statusesOf(options.statuses ?? usualRetryStatuses);
  const reset = oneOf('reset', options.reset, numberForms);
  const clock = clockOf(options.clock);
  return {
    isRetryable(ended) {
      const head = headOf(ended);
      if (head) return statuses.includes(head.status);
      return 'error' in ended && isPassing(ended, statuses);
    },
    waitFor: (ended) => toldToWaitMs(headOf(ended), { nowMs: arrivalMs(clock), ...(reset && { reset }) }),
  };
}

/** Of whatever has a status and headers: what was returned, what was thrown, or the response in it. */
function headOf(ended: Ended): Head | undefined {
  if ('value' in ended) return readHead(ended.value);
  const { response } = (ended.error ?? {}) as { readonly response?: unknown };
  return readHead(ended.error) ?? readHead(response);
}

function readHead(value: unknown): Head | undefined {
  const { status, statusCode = status, headers } = (value ?? {}) as { readonly [field: string]: unknown };
  return typeof statusCode === 'number' ? { status: statusCode, headers: headers as HeaderSource } : undefined;
}
