/** What a reload changes of Envoy's limits, by the names of their state: `envoy/edge|path`, and `envoy/edge` for a domain. */
import { isDeepStrictEqual } from 'node:util';
import {
  type ConfiguredDescriptor,
  type ConfiguredLimit,
  type EnvoyRules,
  type Level,
  stateName,
} from '../envoy/envoy-rules.ts';
import type { ConfigDiff } from './diff-config.ts';

export type EnvoyDiff = Pick<ConfigDiff, 'added' | 'changed' | 'removed'>;

// Files may have a million limits; a log line and an answer may not.
const mostNames = 50;

export function diffEnvoy(before: EnvoyRules, after: EnvoyRules): EnvoyDiff {
  const old = partsOf(before);
  const fresh = partsOf(after);
  return {
    added: named([...fresh.keys()].filter((name) => !old.has(name))),
    changed: named(
      [...fresh.keys()].filter((name) => old.has(name) && !isDeepStrictEqual(old.get(name), fresh.get(name))),
    ),
    removed: named([...old.keys()].filter((name) => !fresh.has(name))),
  };
}

/** Everything that can be another: the limits, and of each domain what requests are matched with. */
function partsOf({ domains, limits }: EnvoyRules): ReadonlyMap<string, ConfiguredLimit | string> {
  const parts = new Map<string, ConfiguredLimit | string>();
  for (const [domain, level] of domains) parts.set(domainName(domain), JSON.stringify(placesOf(level)));
  for (const limit of limits) parts.set(limit.name, limit);
  return parts;
}

/** A state's name without the place in the domain. */
function domainName(domain: string): string {
  return stateName(domain, '').slice(0, -1);
}

/** Its descriptors, in their order, also those without a limit: they are found instead of others. */
function placesOf(level: Level): unknown {
  const place = (value: string, { limit, children, isOneCounter }: ConfiguredDescriptor) =>
    [value, limit !== undefined, isOneCounter, placesOf(children)] as const;
  return Array.from(level, ([key, { exact, patterns, any }]) => [
    key,
    Array.from(exact, ([value, one]) => place(value, one)),
    patterns.map(([{ pattern }, one]) => place(pattern, one)),
    any && place('', any),
  ]);
}

function named(names: readonly string[]): readonly string[] {
  if (names.length <= mostNames) return names;
  return [...names.slice(0, mostNames), `and ${names.length - mostNames} more of Envoy's`];
}
