/**
 * A `rate_limit`. It is a fixed window unless our own key `algorithm` says otherwise:
 *
 *      rate_limit: { unit: minute, requests_per_unit: 100, algorithm: gcra, burst: 20 }
 */
import { fixedWindow, type Policy, parsePolicy, SluiceError } from 'sluice';
import type { Node } from 'yaml';
import { type ConfiguredLimit, type ConfiguredRate, type DetailLevel, placeOf, stateName } from './envoy-rules.ts';
import { type KnownUnit, unitOf, unitSeconds } from './unit.ts';
import { extensionKeys, fieldsOf, rateLimitKeys, replacesKeys } from './upstream-keys.ts';
import type { Field, YamlFile } from './yaml-file.ts';

/** Where a descriptor stands. */
export interface Place {
  readonly domain: string;
  /** As `envoyproxy/ratelimit` calls it. */
  readonly compositeKey: string;
  readonly levels: readonly PlaceLevel[];
}

export interface PlaceLevel {
  readonly key: string;
  /** Empty: any. */
  readonly value: string;
  readonly isShared: boolean;
  readonly isInMetric: boolean;
}

/** What a descriptor says beside its `rate_limit`. */
export interface Modes {
  readonly isShadow: boolean;
  readonly isQuota: boolean;
  readonly isDetailed: boolean;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

type Fields = ReadonlyMap<string, Field>;

export const largestUint32 = 2 ** 32 - 1;

// Those that say yes or no. Envoy cannot be told to wait (smooth), and does not come back to release (concurrency).
const algorithms = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'sliding-slots',
  'token-bucket',
  'gcra',
  'leaky-bucket',
];

export function loadLimit(file: YamlFile, node: Node | null, place: Place, modes: Modes): ConfiguredLimit | undefined {
  if (file.isNothing(node)) return undefined;
  const fields = fieldsOf(file, node, 'rate_limit', [...rateLimitKeys, ...extensionKeys]);
  if (fields === undefined) return undefined;
  const name = file.text(nodeOf(fields, 'name'), 'name') ?? '';
  const replaces = replacesOf(file, nodeOf(fields, 'replaces'), name);
  const isUnlimited = file.flag(nodeOf(fields, 'unlimited'), 'unlimited');
  if (isUnlimited) mustBeBare(file, fields);
  const rate = isUnlimited ? undefined : rateOf(file, node, fields, name);
  const { isDetailed, ...rest } = modes;
  const descriptor = placeOf(place.levels);
  return {
    domain: place.domain,
    descriptor,
    name: stateName(place.domain, descriptor),
    compositeKey: place.compositeKey,
    rate,
    replaces,
    detail: detailOf(place, isDetailed),
    ...rest,
  };
}

function nodeOf(fields: Fields, name: string): Node | null {
  return fields.get(name)?.value ?? null;
}

/** What has no limit has no window, and no way to count in it. */
function mustBeBare(file: YamlFile, fields: Fields): void {
  const unit = nodeOf(fields, 'unit');
  const text = file.text(unit, 'unit') ?? '';
  if (unitOf(text)) file.problem(unit, 'should not specify rate limit unit when unlimited');
  else if (text !== '') file.warning(unit, `'unit' has no effect when unlimited`);
  for (const name of extensionKeys) {
    const field = fields.get(name);
    if (field) file.problem(field.keyNode, `should not specify ${name} when unlimited`);
  }
}

function replacesOf(file: YamlFile, node: Node | null, name: string): string[] {
  return (file.maps(node, 'replaces') ?? []).flatMap((item) => {
    const fields = fieldsOf(file, item, 'replaces', replacesKeys);
    const replaced = fields && file.text(nodeOf(fields, 'name'), 'name');
    if (replaced === undefined) return [];
    if (replaced === '') file.problem(item, 'should not have an empty replaces entry');
    else if (replaced === name) file.problem(item, 'replaces should not contain name of same descriptor');
    return [replaced];
  });
}

function rateOf(file: YamlFile, node: Node | null, fields: Fields, name: string): ConfiguredRate | undefined {
  const unitText = file.text(nodeOf(fields, 'unit'), 'unit');
  const unit = unitOf(unitText ?? '');
  if (unit === undefined) {
    if (unitText !== undefined) file.problem(nodeOf(fields, 'unit') ?? node, `invalid rate limit unit '${unitText}'`);
    return undefined;
  }
  const count = nodeOf(fields, 'requests_per_unit');
  const requestsPerUnit = file.wholeNumber(count, 'requests_per_unit', largestUint32);
  const policy = requestsPerUnit === undefined ? undefined : policyOf(file, fields, unit, requestsPerUnit);
  if (requestsPerUnit === undefined || policy === undefined) return undefined;
  return { unit, requestsPerUnit, policy, current: { requestsPerUnit, unit, name } };
}

/** The policy of so many per unit, where nothing else is said. */
export function plainPolicy(unit: KnownUnit, requestsPerUnit: number): Policy {
  // A policy of nothing at all there is not. Hits are whole: half a hit lets none pass, and a question of none.
  return fixedWindow({ limit: requestsPerUnit || 0.5, window: unitSeconds[unit] * 1000 });
}

function policyOf(file: YamlFile, fields: Fields, unit: KnownUnit, requestsPerUnit: number): Policy | undefined {
  const used = extensionKeys.filter((name) => fields.has(name));
  if (used.length === 0) return plainPolicy(unit, requestsPerUnit);
  const { algorithm = 'fixed-window', ...numbers } = Object.fromEntries(
    used.map((name) => [name, file.data(nodeOf(fields, name), name)]),
  ) as { algorithm?: unknown; burst?: unknown; slots?: unknown };
  const algorithmNode = fields.get('algorithm')?.value ?? fields.get(used[0]!)!.keyNode;
  if (!algorithms.includes(algorithm as string)) {
    const got = file.show(nodeOf(fields, 'algorithm'));
    file.problem(algorithmNode, `algorithm must be one of ${algorithms.join(', ')}, got ${got}`);
    return undefined;
  }
  try {
    const policy = parsePolicy({
      algorithm,
      limit: requestsPerUnit || 1,
      window: unitSeconds[unit] * 1000,
      ...numbers,
      // What is in the bucket passes at once: nobody can be told to wait.
      ...(algorithm === 'leaky-bucket' && { delay: 'none' }),
    });
    return requestsPerUnit === 0 ? plainPolicy(unit, 0) : policy;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    const named = Object.keys(numbers).find((name) => new RegExp(`^${name} |"${name}"`).test(error.message));
    file.problem(named ? fields.get(named)!.keyNode : algorithmNode, error.message);
    return undefined;
  }
}

/** Levels with the request's values in place of the configured ones, as far as the metric may show them. */
function detailOf({ levels }: Place, isDetailed: boolean): readonly DetailLevel[] | undefined {
  const isOpen = ({ value, isShared, isInMetric }: PlaceLevel): boolean =>
    (isDetailed || isInMetric) && !isShared && (value === '' || value.includes('*'));
  if (!levels.some(isOpen)) return undefined;
  return levels.map((level) => ({ key: level.key, value: isOpen(level) ? undefined : level.value }));
}
