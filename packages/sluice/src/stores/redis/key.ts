/**
 * What keys are called in Redis.
 *
 *      sluice:{alice}per-user            the state of (per-user, alice)
 *      sluice:{alice}}["42", …]          the answer to request 42
 *
 *      sluice:{p7}alice}per-user         behind a fence: the same, in partition 7
 *      sluice:{p7}alice}}["42", …]
 *      sluice:{p7}                       the guard of partition 7
 *
 * The braces make everything about one key share a slot of a cluster, so that rules about the same user are one round trip,
 * and a counter that many share (one IP, everybody) stays one counter. What is inside them has no brace of its own.
 */
import { slotOf } from '../slot.ts';

export interface RedisKeys {
  record(name: string, key: string): string;
  request(key: string, requestId: string): string;
  /** Keys in Redis with the same place can be asked for by one command of a cluster. */
  placeOf(redisKey: string): number;
}

export interface FencedKeys extends RedisKeys {
  /** The guards of all partitions. */
  readonly guards: readonly string[];
  guardOf(redisKey: string): string;
}

/** Without braces; never empty, because an empty tag is none. Halves of letters, which UTF-8 would make all the same, are spelt out. */
function plain(text: string): string {
  if (text === '') return '%';
  if (!/[%{}\p{Surrogate}]/u.test(text)) return text;
  return text.replace(/[%{}\p{Surrogate}]/gu, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

/** `plain`, remembered: names are few. Should they not be, they are worked out each time. */
function plainNames(): (name: string) => string {
  const names = new Map<string, string>();
  return (name) => {
    const known = names.get(name);
    if (known !== undefined) return known;
    if (names.size < 1000) names.set(name, plain(name));
    return plain(name);
  };
}

export function redisKeys(prefix: string): RedisKeys {
  const plainName = plainNames();
  return {
    record: (name, key) => `${prefix}{${plain(key)}}${plainName(name)}`,
    request: (key, requestId) => `${prefix}{${plain(key)}}}${requestId}`,
    placeOf: slotOf,
  };
}

/** Keys in so many partitions; the prefix has no braces. */
export function fencedKeys(prefix: string, partitions: number): FencedKeys {
  const plainName = plainNames();
  const guards = Array.from({ length: partitions }, (_, partition) => `${prefix}{p${partition}}`);

  function guardFor(key: string): string {
    return guards[slotOf(plain(key)) % partitions] as string;
  }

  function guardOf(redisKey: string): string {
    return redisKey.slice(0, redisKey.indexOf('}') + 1);
  }

  return {
    record: (name, key) => `${guardFor(key)}${plain(key)}}${plainName(name)}`,
    request: (key, requestId) => `${guardFor(key)}${plain(key)}}}${requestId}`,
    placeOf: (redisKey) => Number(guardOf(redisKey).slice(prefix.length + 2, -1)),
    guards,
    guardOf,
  };
}
