/**
 * What a server says about its limits, read from the headers of its response, in every dialect that is spoken:
 *
 *      RateLimit-Policy: "burst";q=100;w=60          drafts 8 to 11 of draft-ietf-httpapi-ratelimit-headers,
 *      RateLimit: "burst";r=50;t=30                  also by the names that may come: a, w and c
 *      RateLimit: limit=100, remaining=50, reset=30  draft 7
 *      RateLimit-Limit: 100, 100;w=60                drafts up to 6, Docker Hub, GitLab
 *      X-RateLimit-Limit: 10, 10;w=1;name="x"        Envoy; without the list nearly everybody
 *      X-Rate-Limit-Remaining: 7                     Twitter, Okta
 *      X-RateLimit-Remaining-Tokens: 149984          OpenAI, Kong
 *      Anthropic-RateLimit-Tokens-Remaining: 79000
 *      Retry-After: 30                               all of them
 *
 * A response may speak several dialects; they repeat each other. The newest that says how much is left is believed, and the older
 * ones are not read. Where it says only what the limits are, the next one fills in what is left of them.
 *
 * The headers are somebody else's text: what is malformed is ignored, and nothing here throws because of it or yields a NaN.
 */
import { checkTime } from '../../vocabulary/clock.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { type HeaderLines, type HeaderSource, headerLines } from './header-lines.ts';
import type { DraftPolicy, ParsedPolicy, ParsedRateLimit, Reading } from './parsed.ts';
import { prefixes, readPrefix, waitsOf } from './plain-dialects.ts';
import { readDescriptions, readDictionary, readNamed } from './structured-dialects.ts';
import { structuredMembers } from './structured-members.ts';
import { formOfRetryAfter, type NumberForm, numberForms, readHttpDate, readNumber } from './waits.ts';

export interface ParseRateLimitHeadersOptions {
  /** When the response came, in milliseconds since the epoch. Default: now, by the wall clock. */
  readonly nowMs?: number;
  /**
   * What the numbers of `RateLimit-Reset` and `X-RateLimit-Reset` are. Default: told by their size, which is right for all but
   * milliseconds from now.
   */
  readonly reset?: NumberForm;
}

const noOptions: ParseRateLimitHeadersOptions = {};

export function parseRateLimitHeaders(
  headers: HeaderSource,
  options: ParseRateLimitHeadersOptions = noOptions,
): ParsedRateLimit {
  knownFields('parseRateLimitHeaders options', options, 'nowMs reset');
  const form = oneOf('reset', options.reset, numberForms);
  const ownNowMs = options.nowMs === undefined ? Date.now() : checkTime(options.nowMs, 'nowMs');
  const lines = headerLines(headers);
  const nowMs = serverTime(lines, ownNowMs);
  const ageMs = (readNumber(lines.get('age')?.[0] ?? '') ?? 0) * 1000;
  // What was left when a cache stored the response says nothing about now; the draft wants it ignored.
  const policies = ageMs > 0 ? [] : readPolicies(lines, nowMs, form);
  const tightest = tightestOf(policies);
  const retryAfterMs = readRetryAfter(lines, nowMs, ageMs);
  return {
    policies,
    ...(tightest && { tightest }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    waitMs: retryAfterMs ?? exhaustedForMs(policies),
  };
}

/**
 * The time by the server's clock: its dates and epoch times mean that one. `Date` has whole seconds, cut off. Within its second the
 * own clock is the better one. Outside, one of the two clocks is wrong or the response took long, and `Date` gives the longer wait.
 * However far they are apart: a clock that stands still while the machine sleeps is days behind after a long weekend.
 */
function serverTime(lines: HeaderLines, ownNowMs: number): number {
  const dateMs = readHttpDate(lines.get('date')?.[0] ?? '', ownNowMs);
  if (dateMs === undefined) return ownNowMs;
  return ownNowMs >= dateMs && ownNowMs < dateMs + 1000 ? ownNowMs : dateMs;
}

function readPolicies(lines: HeaderLines, nowMs: number, form: NumberForm | undefined): readonly ParsedPolicy[] {
  // A list may be split over several lines.
  const policies = readDescriptions(structuredMembers((lines.get('ratelimit-policy') ?? []).join(',')));
  const members = structuredMembers((lines.get('ratelimit') ?? []).join(','));
  for (const reading of readNamed(members)) addNamed(policies, reading);
  addNameless(policies, [readDictionary(members)]);
  for (const prefix of prefixes) {
    if (policies.some(({ remaining }) => remaining !== undefined)) break;
    for (const { descriptions, readings } of readPrefix(prefix, lines, nowMs, form)) {
      if (policies.length === 0) policies.push(...descriptions);
      addNameless(policies, readings);
    }
  }
  return policies;
}

function addNamed(policies: DraftPolicy[], reading: DraftPolicy): void {
  const same = policies.filter(({ name }) => name === reading.name);
  const described = same.find(({ partitionKey }) => partitionKey === reading.partitionKey) ?? same[0];
  // The quota that was described is the policy's; beside what is left some repeat it.
  if (described) Object.assign(described, reading, described.limit !== undefined && { limit: described.limit });
  else if (reading.remaining !== undefined || reading.resetAfterMs !== undefined) policies.push(reading);
}

/** What is left of limits without a name: of those that were described, where it can be told which. */
function addNameless(policies: DraftPolicy[], readings: readonly Reading[]): void {
  for (const [i, reading] of readings.entries()) {
    const { name = 'default', limit, ...rest } = reading;
    if (limit === undefined && rest.remaining === undefined) continue;
    const described = readings.length === 1 ? describedAs(policies, reading) : undefined;
    if (described) Object.assign(described, rest);
    else policies.push({ ...reading, name: i === 0 ? name : `${name}-${i + 1}` });
  }
}

function describedAs(policies: readonly DraftPolicy[], reading: Reading): DraftPolicy | undefined {
  const { name, limit, resetAfterMs = 0 } = reading;
  // What has a name of its own was not described by a list without.
  const open = policies.filter((policy) => policy.remaining === undefined && (name ?? policy.name) === policy.name);
  const equal = open.filter((policy) => policy.limit === limit);
  // Of two with the same quota, one that ends before the reset is not the one.
  const fitting = equal.find(({ windowMs = 0 }) => windowMs >= resetAfterMs);
  return fitting ?? equal[0] ?? (policies.length === 1 ? open[0] : undefined);
}

/** Where several say it, the longest; what a cache held for a while has that much less to go. */
function readRetryAfter(lines: HeaderLines, nowMs: number, ageMs: number): number | undefined {
  const waits =
    waitsOf(lines.get('retry-after-ms'), nowMs, 'milliseconds') ??
    waitsOf(lines.get('retry-after'), nowMs, formOfRetryAfter);
  return waits && Math.max(0, Math.max(...waits) - ageMs);
}

function tightestOf(policies: readonly ParsedPolicy[]): ParsedPolicy | undefined {
  let tightest: ParsedPolicy | undefined;
  for (const policy of policies) {
    if (policy.remaining !== undefined && (tightest === undefined || isTighter(policy, tightest))) tightest = policy;
  }
  return tightest;
}

/** Of equal shares, the one that lasts longer. */
function isTighter(one: ParsedPolicy, other: ParsedPolicy): boolean {
  const difference = shareOf(one) - shareOf(other);
  return difference < 0 || (difference === 0 && (one.resetAfterMs ?? 0) > (other.resetAfterMs ?? 0));
}

function shareOf({ remaining = 0, limit }: ParsedPolicy): number {
  if (remaining === 0) return 0;
  return limit === undefined || limit === 0 ? 1 : remaining / limit;
}

/** Time gives places in flight back to nobody, so those do not count. */
function exhaustedForMs(policies: readonly ParsedPolicy[]): number {
  const waits = policies
    .filter(({ remaining, unit }) => remaining === 0 && unit !== 'concurrent-requests')
    .map(({ resetAfterMs = 0 }) => resetAfterMs);
  return Math.max(0, ...waits);
}
