/**
 * The headers that tell a client where it stands.
 *
 *      X-RateLimit-Limit: 100                                  of the tightest limit: the most at once, what is left of it,
 *      X-RateLimit-Remaining: 50                               and when it is as good as new, in epoch seconds
 *      X-RateLimit-Reset: 1750000030
 *      RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400         every limit that applied
 *      RateLimit: "burst";r=50;t=30                            the tightest: 50 may be used within the next 30 seconds
 *      Retry-After: 30                                         refused, and waiting helps
 *
 * The last but one are `draft-ietf-httpapi-ratelimit-headers`, whose wire form is the same from draft 8 to 11. A client that
 * uses no more than `r` within `t` is not refused by that limit. On a refusal `t` is the wait itself, because the draft does
 * not want `Retry-After` to end before it.
 *
 * Seconds are rounded up. Whatever cannot be written exactly is written so that it promises less: a window of 250 ms is one of a
 * second, a limit of 7.5 is one of 7.
 */
import { canDelay } from '../algorithms/algorithm.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import { knownFields, oneOf, type Policy } from '../vocabulary/policy.ts';
import { type Answered, decisionsOf, tightestOf, wholeSeconds } from './answered.ts';
import { quotedPolicyName } from './policy-name.ts';

/** `draft-8` is the form of drafts 8 to 11; the older ones are still read by many clients. */
export type HeaderDialect = 'x-ratelimit' | 'draft-6' | 'draft-7' | 'draft-8';

export interface RateLimitHeaderOptions {
  /**
   * Which headers to write, one dialect or several. `draft-6`, `draft-7` and `draft-8` exclude one another: they share header names.
   * An empty list leaves only `Retry-After`. Default `['x-ratelimit', 'draft-8']`.
   */
  readonly dialect?: HeaderDialect | readonly HeaderDialect[];
  /** `X-RateLimit-Reset` as seconds since the epoch, or as seconds from now. Default `'epoch'`. */
  readonly reset?: 'epoch' | 'delta';
  /** The time of an `'epoch'` reset, in milliseconds since the epoch. Default: the wall clock's, which clients compare with. */
  readonly nowMs?: number;
}

/** Header names and values. */
export type RateLimitHeaders = Record<string, string>;

const usual: readonly HeaderDialect[] = ['x-ratelimit', 'draft-8'];
const noOptions: RateLimitHeaderOptions = {};

const drafts: readonly HeaderDialect[] = ['draft-6', 'draft-7', 'draft-8'];

/**
 * Refuses what no header can be written by: at set-up, and not with the first answer.
 *
 * @param field what the dialect was given as
 */
export function checkHeaderOptions({ dialect = usual, reset }: RateLimitHeaderOptions, field = 'dialect'): void {
  const given = [dialect].flat();
  for (const one of given) oneOf(field, one, ['x-ratelimit', ...drafts]);
  const others = given.filter((one) => drafts.includes(one));
  if (others.length > 1)
    throw invalid(field, 'at most one of "draft-6", "draft-7", "draft-8": they share header names', others[1]);
  oneOf('reset', reset, ['epoch', 'delta']);
}

/** No headers at all where no limit applied. */
export function rateLimitHeaders(answered: Answered, options: RateLimitHeaderOptions = noOptions): RateLimitHeaders {
  if (options !== noOptions) {
    knownFields('rateLimitHeaders options', options, 'dialect reset nowMs');
    checkHeaderOptions(options);
  }
  return headersOf(answered, options);
}

/** By options that were checked before. */
export function headersOf(answered: Answered, options: RateLimitHeaderOptions): RateLimitHeaders {
  const headers: RateLimitHeaders = {};
  const tightest = tightestOf(answered);
  if (tightest === undefined) return headers;
  const { dialect = usual } = options;
  if (typeof dialect === 'string') write(dialect, headers, answered, tightest, options);
  else for (const one of dialect) write(one, headers, answered, tightest, options);
  const { allowed, retryAfterMs } = tightest;
  // At least 1: with 0 a client would come back at once, and be refused again.
  if (!allowed && retryAfterMs < Number.POSITIVE_INFINITY)
    headers['Retry-After'] = integer(Math.max(1, wholeSeconds(retryAfterMs)));
  return headers;
}

function write(
  dialect: HeaderDialect,
  headers: RateLimitHeaders,
  answered: Answered,
  tightest: Decision,
  options: RateLimitHeaderOptions,
): void {
  switch (dialect) {
    case 'x-ratelimit':
      headers['X-RateLimit-Limit'] = integer(tightest.limit);
      headers['X-RateLimit-Remaining'] = integer(leftOf(tightest));
      headers['X-RateLimit-Reset'] = integer(resetSeconds(tightest, options));
      return;
    case 'draft-6':
      writeNameless(headers, answered, tightest);
      headers['RateLimit-Limit'] = integer(tightest.limit);
      headers['RateLimit-Remaining'] = integer(leftOf(tightest));
      headers['RateLimit-Reset'] = integer(effectiveSeconds(tightest));
      return;
    case 'draft-7':
      writeNameless(headers, answered, tightest);
      headers.RateLimit = `limit=${integer(tightest.limit)}, remaining=${integer(leftOf(tightest))}, reset=${integer(effectiveSeconds(tightest))}`;
      return;
    case 'draft-8':
      headers['RateLimit-Policy'] = list(answered, tightest, namedItem);
      headers.RateLimit = available(tightest);
  }
}

function writeNameless(headers: RateLimitHeaders, answered: Answered, tightest: Decision): void {
  const items = list(answered, tightest, namelessItem);
  if (items !== '') headers['RateLimit-Policy'] = items;
}

function available(decision: Decision): string {
  const { name, hasWindow } = described(decision);
  const quota = `${name};r=${integer(leftOf(decision))}`;
  return hasWindow ? `${quota};t=${integer(effectiveSeconds(decision))}` : quota;
}

function resetSeconds({ resetAfterMs }: Decision, { reset, nowMs = Date.now() }: RateLimitHeaderOptions): number {
  return wholeSeconds(reset === 'delta' ? resetAfterMs : nowMs + resetAfterMs);
}

/** What may be used. There may be room where a call was refused because it would have been held back for too long: not for the same call. */
function leftOf({ allowed, remaining, policy }: Decision): number {
  return !allowed && remaining > 0 && canDelay(policy) ? 0 : remaining;
}

/** For so many seconds what remains has to do. */
function effectiveSeconds({ allowed, retryAfterMs, resetAfterMs }: Decision): number {
  const isWait = !allowed && retryAfterMs < Number.POSITIVE_INFINITY;
  return isWait ? Math.max(1, wholeSeconds(retryAfterMs)) : wholeSeconds(resetAfterMs);
}

// The largest integer of a structured field (RFC 9651, 3.3.1).
const largest = 999_999_999_999_999;

function integer(value: number): string {
  return String(value < largest ? Math.floor(value) : largest);
}

// With more rules than this a response's head would be more header than answer, and clients bound what they read.
const maxItems = 16;

/** A list of all policies that applied; if there are too many, the first ones and the tightest. */
function list(answered: Answered, tightest: Decision, itemOf: (decision: Decision) => string): string {
  const decisions = decisionsOf(answered);
  if (decisions.length === 1) return itemOf(tightest);
  let text = '';
  let places = maxItems;
  let isTightestDue = true;
  for (const decision of decisions) {
    if (decision.shadow || (places <= 1 && isTightestDue && decision !== tightest)) continue;
    if (decision === tightest) isTightestDue = false;
    const item = itemOf(decision);
    if (item === '') continue;
    text = text === '' ? item : `${text}, ${item}`;
    places -= 1;
    if (places === 0) break;
  }
  return text;
}

/** What of a decision's headers stays the same from call to call. */
interface Described {
  readonly rule: string;
  /** Quoted. */
  readonly name: string;
  readonly hasWindow: boolean;
  readonly namedItem: string;
  /** As drafts up to 7 have it. Empty for a policy without a window, which they have no words for. */
  readonly namelessItem: string;
}

// A policy belongs to one rule as a rule; where it is shared, the rules take turns.
const descriptions = new WeakMap<Policy, Described>();

function described({ rule, policy }: Decision): Described {
  const known = descriptions.get(policy);
  if (known !== undefined && known.rule === rule) return known;
  const description = describe(rule, policy);
  descriptions.set(policy, description);
  return description;
}

function namedItem(decision: Decision): string {
  return described(decision).namedItem;
}

function namelessItem(decision: Decision): string {
  return described(decision).namelessItem;
}

function describe(rule: string, policy: Policy): Described {
  const name = quotedPolicyName(rule);
  if (policy.window === undefined) {
    const namedItem = `${name};q=${integer(policy.limit)};qu="concurrent-requests"`;
    return { rule, name, hasWindow: false, namedItem, namelessItem: '' };
  }
  // Less than one per window has no whole quota: one per as many windows as that takes.
  const isSlow = policy.limit < 1;
  const quota = integer(isSlow ? 1 : policy.limit);
  const window = integer(wholeSeconds(isSlow ? policy.window / policy.limit : policy.window));
  return {
    rule,
    name,
    hasWindow: true,
    namedItem: `${name};q=${quota};w=${window}`,
    namelessItem: `${quota};w=${window}`,
  };
}
