import { type ConfiguredLimit, type Level, stateKey } from './envoy-rules.ts';
import type { DescriptorEntry } from './rate-limit-message.ts';

export interface FoundLimit {
  readonly limit: ConfiguredLimit;
  /** Whose count it is. */
  readonly key: string;
}

/**
 * The limit of a descriptor. At each level the exact value goes before the patterns, these in the order of the files, and any
 * value comes last. There is no way back from a level, and a descriptor that is shorter or longer than the place of a limit does
 * not meet it.
 */
export function findLimit(domain: Level, entries: readonly DescriptorEntry[]): FoundLimit | undefined {
  let level = domain;
  let limit: ConfiguredLimit | undefined;
  const values: string[] = [];
  for (const { key, value } of entries) {
    const choices = level.get(key);
    const found =
      choices?.exact.get(value) ?? choices?.patterns.find(([pattern]) => pattern.matches(value))?.[1] ?? choices?.any;
    if (found === undefined) return undefined;
    if (!found.isOneCounter) values.push(value);
    limit = found.limit;
    level = found.children;
  }
  return limit && { limit, key: stateKey(values) };
}
