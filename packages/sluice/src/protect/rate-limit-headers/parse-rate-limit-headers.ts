/**
 * What a server says about its limits, read from the headers of its response, in every dialect that is spoken:
 *
 *      RateLimit-Policy: "burst";q=100;w=60          drafts 8 to 11 of draft-ietf-httpapi-ratelimit-headers
 *      RateLimit: "burst";r=50;t=30                  (and the names that may come: a, w and c)
 *      RateLimit: limit=100, remaining=50, reset=30  draft 7
 *      RateLimit-Limit: 100, 100;w=60                drafts up to 6, Docker Hub, GitLab
 *      X-RateLimit-Limit: 10, 10;w=1;name="x"        Envoy; without the list nearly everybody
 *      X-Rate-Limit-Remaining: 7                     Twitter, Okta
 *      X-RateLimit-Remaining-Tokens: 149984          OpenAI, Kong: one limit per ending
 *      Anthropic-RateLimit-Requests-Remaining: 999   one limit per middle
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
import { type BareItem, type Member, structuredMembers } from './structured-members.ts';
import { type NumberForm, readHttpDate, readNumber, readWaitMs } from './waits.ts';

export interface ParseRateLimitHeadersOptions {
  /** The time at which the response came, in milliseconds since the epoch. Default: the wall clock's. */
  readonly nowMs?: number;
  /** What the numbers of `RateLimit-Reset` and `X-RateLimit-Reset` are. Default: told by their size, which is right unless a server sends milliseconds from now. */
  readonly reset?: NumberForm;
}

/** One limit, as far as the server speaks of it. */
export interface ParsedPolicy {
  /** Its name; `default` where it has none. */
  readonly name: string;
  /** The quota: so many per window. */
  readonly limit?: number;
  /** Whole units that are left. No promise: others may use them first. */
  readonly remaining?: number;
  readonly windowMs?: number;
  /** For so long what remains has to do; in most dialects, until everything is back. */
  readonly resetAfterMs?: number;
  /** What is counted, where it is not requests: `content-bytes`, `concurrent-requests`, `tokens`. */
  readonly unit?: string;
  /** Whose quota it is, in base64, where the server tells. */
  readonly partitionKey?: string;
  /** What this request has cost, where the server tells. */
  readonly cost?: number;
}

export interface ParsedRateLimit {
  readonly policies: readonly ParsedPolicy[];
  /** Of the limits of which is known how much is left: the one with the smallest share left. */
  readonly tightest?: ParsedPolicy;
  /** What `Retry-After` says. */
  readonly retryAfterMs?: number;
  /** How long to wait before the next call: `Retry-After`, else until the last of the limits that have nothing left is back. 0: no need. */
  readonly waitMs: number;
}

type Draft = { -readonly [Field in keyof ParsedPolicy]: ParsedPolicy[Field] };

/** What remains of a limit that may have no name. */
type Reading = Omit<Draft, 'name'> & { name?: string };

const noOptions: ParseRateLimitHeadersOptions = {};
const numberForms = ['seconds', 'milliseconds', 'epoch-seconds', 'epoch-milliseconds'] as const;

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
  // What was left when a cache stored the response says nothing about now, and the draft wants it ignored.
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

const longestSkewMs = 86_400_000;

/**
 * The time by the server's clock: its dates and epoch times mean that one. `Date` has whole seconds, cut off. Within that second the
 * own clock is the better one; outside of it one of the two clocks is wrong, or the response took long, and `Date` gives the longer
 * wait. More than a day apart, it is no clock to go by.
 */
function serverTime(lines: HeaderLines, ownNowMs: number): number {
  const dateMs = readHttpDate(lines.get('date')?.[0] ?? '', ownNowMs);
  if (dateMs === undefined || Math.abs(dateMs - ownNowMs) > longestSkewMs) return ownNowMs;
  return ownNowMs >= dateMs && ownNowMs < dateMs + 1000 ? ownNowMs : dateMs;
}

function readPolicies(lines: HeaderLines, nowMs: number, form: NumberForm | undefined): readonly ParsedPolicy[] {
  const policies = readDescriptions(membersOf(lines, 'ratelimit-policy'));
  const members = membersOf(lines, 'ratelimit');
  for (const reading of readNamed(members)) addNamed(policies, reading);
  addNameless(policies, [readDictionary(members)]);
  for (const family of families) {
    if (policies.some(({ remaining }) => remaining !== undefined)) break;
    for (const readings of readFamily(family, lines, nowMs, form)) addNameless(policies, readings, family.name);
  }
  return policies;
}

function membersOf(lines: HeaderLines, name: string): readonly Member[] {
  // A list may be split over several lines.
  return structuredMembers((lines.get(name) ?? []).join(','));
}

/** `"burst";q=100;w=60`, or as drafts up to 7 and Envoy have it: `100;w=60;name="burst"`. */
function readDescriptions(members: readonly Member[]): Draft[] {
  const policies: Draft[] = [];
  for (const { key, item, parameters } of members) {
    const limit = item.type === 'text' ? amount(parameters.get('q')) : amount(item);
    if (key !== undefined || limit === undefined) continue;
    const windowMs = durationMs(parameters.get('w'));
    const usual = members.length === 1 ? 'default' : `${limit};w=${(windowMs ?? 0) / 1000}`;
    policies.push(
      present({
        name: item.type === 'text' ? item.value : (text(parameters.get('name')) ?? usual),
        limit,
        // A window that has no length is none.
        windowMs: windowMs || undefined,
        unit: unitOf(text(parameters.get('qu'))),
        partitionKey: bytes(parameters.get('pk')),
      }),
    );
  }
  return policies;
}

/** `"burst";r=50;t=30`, with the coming names `a`, `w` and `c` as well. */
function readNamed(members: readonly Member[]): Draft[] {
  const readings: Draft[] = [];
  for (const { key, item, parameters } of members) {
    if (key !== undefined || item.type !== 'text') continue;
    readings.push(
      present({
        name: item.value,
        limit: amount(parameters.get('q')),
        remaining: whole(amount(parameters.get('r') ?? parameters.get('a'))),
        resetAfterMs: durationMs(parameters.get('t') ?? parameters.get('w')),
        partitionKey: bytes(parameters.get('pk')),
        cost: amount(parameters.get('c')),
      }),
    );
  }
  return readings;
}

/** `limit=100, remaining=50, reset=30`; some write semicolons. */
function readDictionary(members: readonly Member[]): Reading {
  const said = new Map<string, BareItem>();
  for (const { key, item, parameters } of members) {
    if (key === undefined) continue;
    for (const [name, value] of parameters) said.set(name, value);
    said.set(key, item);
  }
  return present({
    limit: amount(said.get('limit')),
    remaining: whole(amount(said.get('remaining'))),
    resetAfterMs: durationMs(said.get('reset')),
  });
}

function addNamed(policies: Draft[], reading: Draft): void {
  const same = policies.filter(({ name }) => name === reading.name);
  const described = same.find(({ partitionKey }) => partitionKey === reading.partitionKey) ?? same[0];
  if (described) Object.assign(described, reading, { limit: described.limit ?? reading.limit });
  else if (reading.remaining !== undefined || reading.resetAfterMs !== undefined) policies.push(reading);
}

/** What is left of limits without a name: of those that the server has described, where it can be told which. */
function addNameless(policies: Draft[], readings: readonly Reading[], usual = 'default'): void {
  for (const [i, reading] of readings.entries()) {
    if (Object.keys(reading).every((field) => field === 'name' || field === 'unit')) continue;
    const described = readings.length === 1 ? describedAs(policies, reading) : undefined;
    const { name = usual, limit, ...rest } = reading;
    if (described) Object.assign(described, rest, reading.name !== undefined && { name });
    else if (limit !== undefined || rest.remaining !== undefined)
      policies.push(present({ name: i === 0 ? name : `${name}-${i + 1}`, limit, ...rest }));
  }
}

function describedAs(policies: readonly Draft[], { name, limit, resetAfterMs = 0 }: Reading): Draft | undefined {
  // One that has a name of its own was not described by a list without names.
  const open = name === undefined ? policies.filter(({ remaining }) => remaining === undefined) : [];
  const equal = open.filter((policy) => policy.limit === limit);
  // Of two with the same quota, one that ends before the reset is not meant.
  const fitting = equal.find(({ windowMs = 0 }) => windowMs >= resetAfterMs);
  return fitting ?? equal[0] ?? (policies.length === 1 ? open[0] : undefined);
}

/** Headers that have a beginning in common, and limit, remaining and reset at the end or in the middle. */
interface Family {
  readonly prefix: string;
  readonly name: string;
}

// Newest first.
const families: readonly Family[] = ['ratelimit-', 'x-ratelimit-', 'x-rate-limit-', 'rate-limit-', 'anthropic-ratelimit-'].map(
  (prefix) => ({ prefix, name: 'default' }),
);

const fieldNames = ['limit', 'remaining', 'reset', 'used', 'observed'] as const;
type FieldName = (typeof fieldNames)[number];

/** The lines of one limit. */
type Fields = Map<FieldName | 'reset-after' | 'name', readonly string[]>;

function readFamily({ prefix }: Family, lines: HeaderLines, nowMs: number, form: NumberForm | undefined): Reading[][] {
  const limits = new Map<string, Fields>();
  for (const [header, values] of lines) {
    const [field, limit] = header.startsWith(prefix) ? placeOf(header.slice(prefix.length)) : [];
    if (field === undefined || limit === undefined) continue;
    const fields: Fields = limits.get(limit) ?? new Map();
    fields.set(field, values);
    limits.set(limit, fields);
  }
  return [...limits].map(([limit, fields]) => readLimit(limit, fields, nowMs, form));
}
