/**
 * What the files say, ready to be asked.
 *
 *      domain ──► key ──► exact value │ patterns, in the order of the files │ any value ──► limit, and the next level
 *
 * State belongs to (name, key). The name is the place of the limit in the files, so there are as many as the operator wrote; what
 * came with a request is in the key only. Neither is made by gluing texts together: (`a_b`, `c`) and (`a`, `b_c`) are two.
 */
import type { Policy } from 'sluice';
import type { FileProblem } from './file-problem.ts';
import type { CurrentLimit, DescriptorEntry } from './rate-limit-message.ts';
import type { KnownUnit } from './unit.ts';
import type { Wildcard } from './wildcard.ts';

export interface EnvoyRules {
  readonly domains: ReadonlyMap<string, Level>;
  /** Every limit of every domain, in the order of the files. */
  readonly limits: readonly ConfiguredLimit[];
  /** What loads, and is most likely not what was meant. */
  readonly warnings: readonly FileProblem[];
}

/** The descriptors of one level, by their key. */
export type Level = ReadonlyMap<string, Choices>;

/** The descriptors of one key. */
export interface Choices {
  readonly exact: ReadonlyMap<string, ConfiguredDescriptor>;
  readonly patterns: readonly (readonly [Wildcard, ConfiguredDescriptor])[];
  readonly any: ConfiguredDescriptor | undefined;
}

export interface ConfiguredDescriptor {
  readonly limit: ConfiguredLimit | undefined;
  readonly children: Level;
  /** All values that it matches are counted together: there is only one, or `share_threshold` says so. */
  readonly isOneCounter: boolean;
}

export interface ConfiguredLimit {
  readonly domain: string;
  /** Its place below the domain, such as `source=proxy|destination`. */
  readonly descriptor: string;
  /** The name of its state. */
  readonly name: string;
  /** As `envoyproxy/ratelimit` calls it in its configuration dump. */
  readonly compositeKey: string;
  /** Undefined: unlimited. */
  readonly rate: ConfiguredRate | undefined;
  /** Names of limits that do not count beside this one. */
  readonly replaces: readonly string[];
  readonly isShadow: boolean;
  readonly isQuota: boolean;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  /** How its counts are told apart; undefined where all of them are one. */
  readonly detail: readonly DetailLevel[] | undefined;
}

export interface ConfiguredRate {
  readonly unit: KnownUnit;
  readonly requestsPerUnit: number;
  readonly policy: Policy;
  /** As statuses show it; one object for all of them. */
  readonly current: CurrentLimit;
}

/** A level of a limit whose counts are told apart by the values of requests (`detailed_metric`, `value_to_metric`). */
export interface DetailLevel {
  readonly key: string;
  /** The configured value; undefined where the request's counts. */
  readonly value: string | undefined;
}

/** Levels joined so that no two places have the same text: `source=proxy|destination`. */
export function placeOf(levels: readonly DetailLevel[]): string {
  return levels
    .map(({ key, value = '' }) => (value === '' ? keyText(key) : `${keyText(key)}=${escaped(value)}`))
    .join('|');
}

/** The first `=` ends the key. */
function keyText(key: string): string {
  return escaped(key).replaceAll('=', '%3D');
}

function escaped(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('|', '%7C');
}

/** The name of a limit's state. */
export function stateName(domain: string, descriptor: string): string {
  return `envoy/${escaped(domain)}|${descriptor}`;
}

/**
 * The name of the state of limits that came with requests and are configured nowhere. No key is empty, so two bars are no limit
 * of the files. One name for each unit: a count of a day that was carried to an hour and back would have been forgotten.
 */
export function overrideName(domain: string, unit: KnownUnit): string {
  return `envoy/${escaped(domain)}||${unit.toLowerCase()}`;
}

/** Whose count it is: the values that the place of the limit leaves open. */
export function stateKey(values: readonly string[]): string {
  if (values.length === 0) return 'all';
  return values.length === 1 ? values[0]! : values.map(escaped).join('|');
}

/** Whose count it is where nothing is configured: every entry. */
export function overrideKey(entries: readonly DescriptorEntry[]): string {
  return entries.map(({ key, value }) => `${keyText(key)}=${escaped(value)}`).join('|');
}
