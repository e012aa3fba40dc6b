/**
 * The body of a refusal: problem details (RFC 9457) in the form of `draft-ietf-httpapi-ratelimit-headers`, which registers the types
 * and the member `violated-policies`. It is to be sent as `application/problem+json`.
 *
 * 429 when a limit refused. 503 when no limit did, but the store could not say: that is our fault and not the caller's.
 */
import type { Decision } from '../vocabulary/decision.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import { type Answered, decisionsOf, tightestOf, wholeSeconds } from './answered.ts';
import { policyName } from './policy-name.ts';

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: 429 | 503;
  readonly detail: string;
  /** As the `RateLimit-Policy` header names them. */
  readonly 'violated-policies': readonly string[];
}

export const problemTypes = {
  429: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  503: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
} as const;

export const problemTitles = { 429: 'Quota exceeded', 503: 'Temporarily reduced capacity' } as const;

/** On a deny-list no quota was exceeded, and no type is registered that says so: a problem that is nothing but its status (RFC 9457, 4.2.1). */
const denied = { type: 'about:blank', title: 'Too Many Requests' } as const;

/** The status of an answer: 200 where nothing was refused. */
export function statusOf(answered: Answered): 200 | 429 | 503 {
  if (!isRefused(answered)) return 200;
  const tightest = tightestOf(answered);
  if (tightest === undefined || !isStoresFault(tightest)) return 429;
  // Where a limit refused as well, that is what is certain.
  return decisionsOf(answered).every((decision) => !isViolated(decision) || isStoresFault(decision)) ? 503 : 429;
}

/** For refusals only. */
export function problemBody(answered: Answered): ProblemBody {
  const status = statusOf(answered);
  if (status === 200)
    throw new SluiceError(
      'invalid-option',
      'problemBody is for refusals, and nothing was refused. Ask `allowed` first.',
    );
  const tightest = tightestOf(answered);
  return {
    ...(tightest === undefined ? denied : { type: problemTypes[status], title: problemTitles[status] }),
    status,
    detail: detailOf(tightest),
    'violated-policies': decisionsOf(answered)
      .filter(isViolated)
      .map(({ rule }) => policyName(rule)),
  };
}

function isRefused(answered: Answered): boolean {
  return Array.isArray(answered) ? answered.some(isViolated) : !(answered as Decision).allowed;
}

function isViolated({ allowed, shadow }: Decision): boolean {
  return !allowed && !shadow;
}

function isStoresFault({ reason }: Decision): boolean {
  return reason === 'store-failure' || reason === 'quarantine' || reason === 'store-full';
}

function detailOf(decision: Decision | undefined): string {
  // A deny-list has no decision.
  if (decision === undefined) return 'The caller is on a deny-list.';
  const name = policyName(decision.rule);
  const isNever = decision.retryAfterMs === Number.POSITIVE_INFINITY;
  const wait = isNever ? 'Waiting does not help.' : `Try again in ${wholeSeconds(decision.retryAfterMs)} s.`;
  switch (decision.reason) {
    case 'blocked':
      return `${name} blocks this key. ${wait}`;
    case 'store-full':
      return `${name} cannot count another key at the moment. ${wait}`;
    case 'store-failure':
    case 'quarantine':
      return `${name} cannot tell at the moment what was used, and refuses meanwhile. ${wait}`;
    default:
      if (isNever) return `${name} never allows so much at once: ${decision.limit} is the most. Ask for less.`;
      return `${name} allows ${promiseOf(decision)}. ${wait}`;
  }
}

function promiseOf({ policy: { limit, window } }: Decision): string {
  if (window === undefined) return `${limit} at a time`;
  return `${limit} in ${window % 1000 === 0 ? `${window / 1000} s` : `${window} ms`}`;
}
