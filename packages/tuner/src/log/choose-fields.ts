/** Which fields of a log make a call: those that were named, else those of the usual names that the first lines have. */
import { combinedNames } from './combined-fields.ts';
import { momentReader } from './moment.ts';
import { type LogReaderOptions, partsOf } from './options.ts';
import {
  addressNames,
  costNames,
  forwardedNames,
  methodNames,
  requestNames,
  routeNames,
  saysMs,
  statusNames,
  targetNames,
  timeNames,
  userNames,
} from './usual-names.ts';

/**
 * A part of the key: the field, and how it is read. An address is counted by its network; of a list of forwarders the last counts, which is the
 * one that the server's own proxy wrote, and where there is none, the address.
 */
export type KeyPart =
  | { readonly kind: 'text'; readonly field: string }
  | { readonly kind: 'address'; readonly field: string }
  | { readonly kind: 'forwarded'; readonly field: string; readonly address: string | undefined }
  | { readonly kind: 'route' }
  | { readonly kind: 'all' };

export type RouteFields =
  | { readonly kind: 'none' }
  | { readonly kind: 'field' | 'request'; readonly field: string }
  | { readonly kind: 'parts'; readonly method: string | undefined; readonly target: string };

export interface ChosenFields {
  readonly time: string;
  readonly key: readonly KeyPart[];
  /** The sum of them; none: each call costs 1. */
  readonly costs: readonly string[];
  readonly status: string | undefined;
  readonly route: RouteFields;
}

/** The fields that the first lines have, each with a few of its texts. */
export type SeenFields = ReadonlyMap<string, readonly string[]>;

/** What is missing, in words that follow "has", and the option that names another. */
export interface Missing {
  readonly missing: string;
  readonly option: 'time' | 'key' | 'cost' | 'status' | 'route';
}

export function chooseFields(
  options: LogReaderOptions,
  seen: SeenFields,
  format: 'json' | 'csv',
): ChosenFields | Missing {
  const findByName = finder(seen);
  const namesThere = (usual: readonly string[]) => usual.map(findByName).filter((name) => name !== undefined);
  const findFilled: Find = (usual) => namesThere(usual).find((name) => hasText(seen, name));
  // What the first lines leave empty, later ones may fill.
  const find: Find = (usual) => findFilled(usual) ?? namesThere(usual)[0];
  // A column that the header has is there, whatever its rows say; of JSON, later lines may have what the first do not.
  const named = (name: string) => findByName(name) ?? (format === 'json' ? name : undefined);

  const time = options.time === undefined ? findTime(seen, findByName) : named(options.time);
  if (time === undefined)
    return {
      missing: options.time === undefined ? 'no field with a time' : `no field "${options.time}"`,
      option: 'time',
    };
  for (const option of ['status', 'route'] as const) {
    const name = options[option];
    if (name !== undefined && named(name) === undefined) return { missing: `no field "${name}"`, option };
  }
  const address = find(addressNames);
  const filledRoute = routeFields(options.route, findFilled, named);
  const route = filledRoute.kind === 'none' ? routeFields(options.route, find, named) : filledRoute;
  const key: KeyPart[] = [];
  for (const part of partsOf(options.key ?? 'ip')) {
    const found = keyPart(part, { address, user: find(userNames), named });
    if (found === undefined || (found.kind === 'route' && route.kind === 'none'))
      return { missing: missingPart(part), option: 'key' };
    key.push(found);
  }
  const costs: string[] = [];
  const wantedCosts =
    options.cost !== undefined ? partsOf(options.cost) : format === 'csv' ? costNames.filter(findByName) : [];
  for (const name of wantedCosts) {
    const found = named(name);
    if (found === undefined) return { missing: `no field "${name}"`, option: 'cost' };
    costs.push(found);
  }
  const status = options.status === undefined ? find(statusNames) : named(options.status);
  return { time, key, costs, status, route };
}

function missingPart(part: string): string {
  if (part === 'ip') return 'no field with an address';
  return part === 'user' ? 'no field with a user' : `no field "${part}"`;
}

type Find = (usual: readonly string[]) => string | undefined;
type FindOne = (name: string) => string | undefined;

/** The name as the log writes it: exactly the same, or but for the case of its letters. */
function finder(seen: SeenFields): FindOne {
  const byLowerCase = new Map([...seen.keys()].reverse().map((name) => [name.toLowerCase(), name]));
  return (name) => (seen.has(name) ? name : byLowerCase.get(name.toLowerCase()));
}

function hasText(seen: SeenFields, name: string): boolean {
  return (seen.get(name)?.length ?? 0) > 0;
}

const encoder = new TextEncoder();

/** The first usual name whose texts are moments. Of a log without a row, the first. */
function findTime(seen: SeenFields, findByName: FindOne): string | undefined {
  const names = timeNames.map(findByName).filter((name) => name !== undefined);
  return (
    names.find((name) => (seen.get(name) ?? []).some((text) => isMoment(name, text))) ??
    names.find((name) => !hasText(seen, name))
  );
}

export function isMoment(name: string, text: string): boolean {
  const bytes = encoder.encode(text);
  return Number.isFinite(momentReader({ isMs: saysMs(name) })(bytes, 0, bytes.length));
}

function routeFields(option: string | undefined, find: Find, named: FindOne): RouteFields {
  const field = option === undefined ? undefined : named(option);
  if (field !== undefined) return { kind: 'field', field };
  const target = find(targetNames);
  if (target !== undefined) return { kind: 'parts', method: find(methodNames), target };
  const request = find(requestNames);
  if (request !== undefined) return { kind: 'request', field: request };
  const route = find(routeNames);
  return route === undefined ? { kind: 'none' } : { kind: 'field', field: route };
}

interface KnownFields {
  readonly address: string | undefined;
  readonly user: string | undefined;
  readonly named: FindOne;
}

function keyPart(part: string, { address, user, named }: KnownFields): KeyPart | undefined {
  if (part === 'all' || part === 'route') return { kind: part };
  const field = part === 'ip' ? address : part === 'user' ? user : named(part);
  if (field === undefined) return undefined;
  if (isOneOf(forwardedNames, field)) return { kind: 'forwarded', field, address };
  return { kind: isOneOf(addressNames, field) ? 'address' : 'text', field };
}

function isOneOf(usual: readonly string[], name: string): boolean {
  const lowerCase = name.toLowerCase();
  return usual.some((one) => one.toLowerCase() === lowerCase);
}

const combinedAliases: readonly [usual: readonly string[], name: (typeof combinedNames)[number]][] = [
  [addressNames, 'ip'],
  [userNames, 'user'],
  [forwardedNames, 'x_forwarded_for'],
  [timeNames, 'time'],
  [statusNames, 'status'],
  [methodNames, 'method'],
  [targetNames, 'path'],
  [['host', 'vhost', 'server_name'], 'host'],
  [['bytes', 'body_bytes_sent', 'bytes_sent', 'size'], 'bytes'],
  [['http_referer', 'referrer'], 'referer'],
  [['http_user_agent', 'user-agent', 'agent'], 'user_agent'],
];

/** The fields of combined and common lines are where they are; only the key and the cost are to be chosen. */
export function chooseCombinedFields(options: LogReaderOptions): ChosenFields | Missing {
  const named = (name: string): string | undefined =>
    combinedNames.find((known) => known === name) ?? combinedAliases.find(([usual]) => isOneOf(usual, name))?.[1];
  const key: KeyPart[] = [];
  for (const part of partsOf(options.key ?? 'ip')) {
    const field = named(part);
    if (part === 'all' || part === 'route') key.push({ kind: part });
    else if (field === undefined) return { missing: `no field "${part}"`, option: 'key' };
    else if (field === 'x_forwarded_for') key.push({ kind: 'forwarded', field, address: 'ip' });
    else key.push({ kind: field === 'ip' ? 'address' : 'text', field });
  }
  const costs = options.cost === undefined ? [] : partsOf(options.cost).map((name) => named(name) ?? name);
  const [time, status] = [named(options.time ?? 'time'), named(options.status ?? 'status')];
  const route = options.route === undefined || options.route === 'route' ? 'request' : named(options.route);
  for (const [option, field, given] of [
    ['time', time, options.time],
    ['status', status, options.status],
    ['route', route, options.route],
    ...costs.map((cost) => ['cost', named(cost), cost] as const),
  ] as const)
    if (field === undefined) return { missing: `no field "${given}"`, option };
  return {
    time: time!,
    key,
    costs,
    status,
    route: { kind: route === 'request' ? 'request' : 'field', field: route! },
  };
}
