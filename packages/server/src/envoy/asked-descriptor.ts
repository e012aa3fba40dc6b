/** A request, descriptor by descriptor: which limit applies to it, and to whose count its hits go. */
import { SluiceError } from 'sluice';
import {
  type ConfiguredLimit,
  type ConfiguredRate,
  type EnvoyRules,
  type Level,
  overrideKey,
  overrideName,
} from './envoy-rules.ts';
import { findLimit } from './find-limit.ts';
import type { OverrideRates } from './override-rates.ts';
import type { Descriptor, DescriptorEntry, RateLimitRequest } from './rate-limit-message.ts';

/** A descriptor that a limit applies to. */
export interface Limited {
  readonly kind: 'limited';
  readonly domain: string;
  readonly entries: readonly DescriptorEntry[];
  readonly name: string;
  readonly key: string;
  readonly rate: ConfiguredRate;
  /** Undefined: the limit came with the request. */
  readonly limit: ConfiguredLimit | undefined;
  readonly hits: number;
  /** The hits are given back. */
  readonly isRefund: boolean;
}

export type Asked =
  | Limited
  | { readonly kind: 'unlimited'; readonly limit: ConfiguredLimit }
  | { readonly kind: 'unmatched' };

const unmatched: Asked = { kind: 'unmatched' };

/** One for each descriptor; undefined when no file has the domain. Limits that come with the request do not count then. */
export function askedDescriptors(
  request: RateLimitRequest,
  rules: EnvoyRules,
  overrides: OverrideRates,
  keyBytes: number,
): readonly Asked[] | undefined {
  mustBeAskable(request, keyBytes);
  // Who has nothing to go by is not to be told that all is well.
  if (rules.domains.size === 0) throw new SluiceError('store-unavailable', 'no rate limit configuration loaded');
  const level = rules.domains.get(request.domain);
  if (level === undefined) return undefined;
  const asked = request.descriptors.map((descriptor, place) => {
    const hits = descriptor.hitsAddend ?? (request.hitsAddend || 1);
    return askOne(descriptor, request.domain, level, hits, () => overrides(descriptor.limit!, limitAt(place)));
  });
  return withoutReplaced(asked);
}

function limitAt(place: number): string {
  return `descriptors[${place}].limit`;
}

function askOne(
  { entries, limit: override, isNegativeHits: isRefund }: Descriptor,
  domain: string,
  level: Level,
  hits: number,
  overrideRate: () => ConfiguredRate,
): Asked {
  const found = findLimit(level, entries);
  if (override === undefined) {
    if (found === undefined) return unmatched;
    const { limit, key } = found;
    if (limit.rate === undefined) return { kind: 'unlimited', limit };
    return { kind: 'limited', domain, entries, name: limit.name, key, rate: limit.rate, limit, hits, isRefund };
  }
  const rate = overrideRate();
  const own = found?.limit.rate;
  // Another limit for a count that is there already, if it counts in the same way: what was used stays used. Hits that a shadow let
  // through were held to no limit, and are not counted with those that are.
  const isSameCount =
    own?.unit === rate.unit && own.policy.algorithm === rate.policy.algorithm && !found!.limit.isShadow;
  const state = isSameCount
    ? { name: found!.limit.name, key: found!.key }
    : { name: overrideName(domain, rate.unit), key: overrideKey(entries) };
  return { kind: 'limited', domain, entries, ...state, rate, limit: undefined, hits, isRefund };
}

/** A limit that another one of the request replaces does not count. */
function withoutReplaced(asked: readonly Asked[]): readonly Asked[] {
  const replaced = new Set<string>();
  for (const one of asked) {
    if (one.kind !== 'unmatched') for (const name of one.limit?.replaces ?? []) replaced.add(name);
  }
  if (replaced.size === 0) return asked;
  return asked.map((one) => (one.kind === 'limited' && replaced.has(one.rate.current.name) ? unmatched : one));
}

function mustBeAskable({ domain, descriptors, hitsAddend }: RateLimitRequest, keyBytes: number): void {
  if (domain === '') throw wrong('rate limit domain must not be empty');
  if (descriptors.length === 0) throw wrong('rate limit descriptor list must not be empty');
  mustBeHits(hitsAddend, 'hits_addend');
  descriptors.forEach(({ entries, hitsAddend: own }, place) => {
    const what = `descriptors[${place}]`;
    if (entries.length === 0) throw wrong(`${what}.entries must not be empty`);
    const nameless = entries.findIndex(({ key }) => key === '');
    if (nameless >= 0) throw wrong(`${what}.entries[${nameless}].key must not be empty`);
    entries.forEach(({ key, value }, i) => {
      for (const [field, text] of Object.entries({ key, value })) {
        if (text.length <= keyBytes / 4) continue;
        const bytes = Buffer.byteLength(text);
        if (bytes > keyBytes)
          throw wrong(`${what}.entries[${i}].${field} must be at most ${keyBytes} bytes long, got ${bytes}`);
      }
    });
    if (own !== undefined) mustBeHits(own, `${what}.hits_addend`);
  });
}

function mustBeHits(hits: number, what: string): void {
  if (!Number.isInteger(hits) || hits < 0) throw wrong(`${what} must be a whole number of 0 or more, got ${hits}`);
}

function wrong(message: string): SluiceError {
  return new SluiceError('invalid-option', message);
}
