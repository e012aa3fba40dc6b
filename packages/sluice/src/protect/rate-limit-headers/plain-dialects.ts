/**
 * Dialects of one header per number. They have a beginning in common; what follows says which number, and of which limit:
 *
 *      X-RateLimit-Remaining: 50                     of the only one
 *      X-RateLimit-Remaining-Tokens: 149984          of `tokens`
 *      Anthropic-RateLimit-Tokens-Remaining: 79000   of `tokens`
 */
import type { HeaderLines } from './header-lines.ts';
import { type DraftPolicy, present, type Reading } from './parsed.ts';
import { amountOf, readDescriptions, wholeOf } from './structured-dialects.ts';
import { type Member, structuredMembers } from './structured-members.ts';
import { type GuessForm, type NumberForm, readWaitMs } from './waits.ts';

/** What the headers with this beginning say: limits that they describe, and what is left of limits. */
export interface Said {
  readonly descriptions: readonly DraftPolicy[];
  readonly readings: readonly Reading[];
}

/** Newest first. */
export const prefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit', 'rate-limit', 'anthropic-ratelimit'] as const;

export type Prefix = (typeof prefixes)[number];

const fieldNames = ['limit', 'remaining', 'reset', 'used', 'observed'] as const;
const whole = {
  // Discord's, beside an epoch time of its own: always seconds from now.
  'reset-after': 'reset-after',
  resource: 'name',
  name: 'name',
} as const;

type Field = (typeof fieldNames)[number] | (typeof whole)[keyof typeof whole];

/** The lines of one limit. */
type Fields = Map<Field, readonly string[]>;

const maxLimits = 16;

export function readPrefix(prefix: Prefix, lines: HeaderLines, nowMs: number, form: NumberForm | undefined): Said[] {
  const limits = new Map<string, Fields>();
  for (const [header, values] of lines) {
    const place = header.startsWith(prefix) ? placeOf(header.slice(prefix.length)) : undefined;
    if (place === undefined) continue;
    const fields: Fields = limits.get(place.limit) ?? new Map();
    if (fields.size === 0 && limits.size === maxLimits) continue;
    limits.set(place.limit, fields.set(place.field, values));
  }
  // By name: whether the headers come sorted is up to whoever hands them over.
  const sorted = [...limits].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([limit, fields]) => readLimit(limit, fields, nowMs, form));
}

/** Which number of which limit. The only limit is called ''. */
function placeOf(rest: string): { readonly field: Field; readonly limit: string } | undefined {
  // `X-Rate-Limit: 700` is Zendesk's limit; `RateLimit` alone is a structured field, and no number.
  if (rest === '') return { field: 'limit', limit: '' };
  if (!rest.startsWith('-')) return undefined;
  const name = rest.slice(1);
  if (isKeyOf(whole, name)) return { field: whole[name], limit: '' };
  for (const field of fieldNames) {
    if (name === field) return { field, limit: '' };
    if (name.startsWith(`${field}-`)) return { field, limit: name.slice(field.length + 1) };
    if (name.endsWith(`-${field}`)) return { field, limit: name.slice(0, -field.length - 1) };
  }
  return undefined;
}

function readLimit(limit: string, fields: Fields, nowMs: number, form: NumberForm | undefined): Said {
  const quotas = membersOf(fields.get('limit'));
  const left = membersOf(fields.get('remaining'));
  const used = amountOf(membersOf(fields.get('used') ?? fields.get('observed'))[0]?.item);
  const resets =
    waitsOf(fields.get('reset-after'), nowMs, 'seconds') ?? waitsOf(fields.get('reset'), nowMs, form) ?? [];
  const name = limit || fields.get('name')?.[0] || undefined;
  const common = { name, unit: limit.includes('token') ? 'tokens' : undefined, windowMs: windowOf(limit) };
  if (left.length > 1) {
    // Several limiters have each added theirs. Which belong together can be told only where all of them wrote everything.
    const readings = left.map(({ item }, i) =>
      present<Reading>({
        ...common,
        limit: quotas.length === left.length ? amountOf(quotas[i]!.item) : undefined,
        remaining: wholeOf(item),
        resetAfterMs: resets.length === left.length ? resets[i] : resets[0],
      }),
    );
    return { descriptions: [], readings };
  }
  const quota = amountOf(quotas[0]?.item);
  const remaining = wholeOf(left[0]?.item) ?? unused(quota, used);
  const reading = present<Reading>({ ...common, limit: quota, remaining, resetAfterMs: resets[0] });
  return { descriptions: readDescriptions(quotas.filter(hasWindow)), readings: [reading] };
}

function membersOf(lines: readonly string[] = []): readonly Member[] {
  return structuredMembers(lines.join(',')).filter(({ key }) => key === undefined);
}

function hasWindow({ parameters }: Member): boolean {
  return parameters.has('w');
}

function unused(quota: number | undefined, used: number | undefined): number | undefined {
  return quota === undefined || used === undefined ? undefined : Math.floor(Math.max(0, quota - used));
}

/** One wait a line; or a line of several, if it is none itself (a date has a comma too). */
export function waitsOf(
  lines: readonly string[] | undefined,
  nowMs: number,
  form?: NumberForm | GuessForm,
): readonly number[] | undefined {
  const waits = (lines ?? []).flatMap((line) => {
    const wait = readWaitMs(line, nowMs, form);
    return wait === undefined ? line.split(',').map((part) => readWaitMs(part.trim(), nowMs, form)) : [wait];
  });
  // With one that cannot be read, it is not known which is which.
  return waits.length > 0 && waits.every((wait) => wait !== undefined) ? waits : undefined;
}

const namedWindows = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Kong calls its limits by their windows. */
function windowOf(limit: string): number | undefined {
  for (const word of limit.split('-')) if (isKeyOf(namedWindows, word)) return namedWindows[word];
  return undefined;
}

/** Its own: headers may be called `constructor`. */
function isKeyOf<T extends object>(table: T, key: string): key is keyof T & string {
  return Object.hasOwn(table, key);
}
