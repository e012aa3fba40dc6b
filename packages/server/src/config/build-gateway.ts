/** The section `gateway` as the configuration has it. Its form is right; what does not fit together, `gateway-problems.ts` has said. */
import { balancers } from 'sluice/balance';
import { adaptiveSchema, admissionSchema } from './admission-schema.ts';
import { tlsOf } from './build-tls.ts';
import {
  addressOf,
  bytesOf,
  type Data,
  type Given,
  isReachedBy,
  isSamePlace,
  milliseconds,
  withDefaults,
  writable,
} from './build-values.ts';
import type { Address } from './config.ts';
import type {
  AccessLogConfig,
  AdmissionConfig,
  GatewayConfig,
  GatewayLimits,
  RouteConfig,
  Source,
  UpstreamConfig,
} from './gateway-config.ts';
import { memberAddress } from './member-address.ts';
import type { Path } from './problem.ts';
import { routeSchema } from './route-schema.ts';
import type { SettingSchema } from './schema-kinds.ts';
import { parseSource } from './source-schema.ts';
import { breakerSchema, healthSchema, memberSchema, outliersSchema, upstreamSchema } from './upstream-schema.ts';

type Named = Readonly<Record<string, Data>>;

/** `settings` is the section with its defaults; `host` that of a door that names only its port. */
export function buildGateway(given: Given, settings: Data, host: string): GatewayConfig {
  const upstreams = settings.upstreams as Named;
  const admissions = settings.admissions as Named;
  const doors = doorsOf(given, settings, host);
  for (const [name, { members }] of Object.entries(upstreams)) loopProblems(given, name, members, doors.listen);
  return {
    ...doors,
    tls: settings.tls === undefined ? undefined : tlsOf(given, ['gateway', 'tls'], settings.tls as Data),
    http2: settings.http2 as boolean,
    trustProxy:
      typeof settings.trustProxy === 'number' ? settings.trustProxy : ([settings.trustProxy].flat() as string[]),
    identify: mapped(settings.identify as Readonly<Record<string, string>>, parseSource),
    limits: limitsOf(given, settings.limits as Data),
    accessLog: settings.accessLog === undefined ? undefined : accessLogOf(given, settings.accessLog as Data),
    admissions: mapped(admissions, (data, name) => admissionOf(given, name, data)),
    routes: routesOf(given, settings.routes as readonly Data[], Object.keys(upstreams), Object.keys(admissions)),
    upstreams: mapped(upstreams, (data, name) => upstreamOf(given, name, data)),
  };
}

function doorsOf({ list, data }: Given, settings: Data, host: string): Pick<GatewayConfig, 'listen' | 'admin'> {
  const listen = addressOf(settings.listen, host) as Address;
  const admin = addressOf(settings.admin, host);
  for (const [door, address] of Object.entries({ listen, admin })) {
    if (address !== undefined && address.port > 65_535)
      list.add(['gateway', door], `must have a port from 0 to 65535, got ${address.port}.`);
  }
  if (admin !== undefined && isSamePlace(listen, admin)) {
    // Told where somebody wrote: the other may be the default.
    const isAdminOwn = Object.hasOwn(data.gateway as Data, 'admin');
    list.add(
      ['gateway', isAdminOwn ? 'admin' : 'listen'],
      `is port ${admin.port}, and so is gateway.${isAdminOwn ? 'listen' : 'admin'}. Each door needs a port of its own.`,
    );
  }
  return { listen, admin };
}

/** A request would come back until there are no connections left. */
function loopProblems({ list }: Given, upstream: string, members: unknown, listen: Address): void {
  for (const [i, member] of (members as readonly unknown[]).entries()) {
    if (!isReachedBy(listen, memberOf(member))) continue;
    list.add(
      ['gateway', 'upstreams', upstream, 'members', i, ...(typeof member === 'string' ? [] : ['address'])],
      'is where the gateway itself listens: it would ask itself. Write where your service is.',
    );
  }
}

function limitsOf(given: Given, limits: Data): GatewayLimits {
  const at = (field: string) => milliseconds(given, ['gateway', 'limits', field], limits[field]);
  return {
    headBytes: bytesOf(limits.headBytes),
    headers: limits.headers as number,
    bodyBytes: bytesOf(limits.bodyBytes),
    connections: limits.connections as number,
    streams: limits.streams as number,
    headMs: at('head'),
    idleMs: at('idle'),
  };
}

function accessLogOf(given: Given, { path, format }: Data): AccessLogConfig {
  return {
    path: path === '-' ? '-' : writable(given, ['gateway', 'accessLog', 'path']),
    format: format as AccessLogConfig['format'],
  };
}

function admissionOf(given: Given, name: string, data: Data): AdmissionConfig {
  const settings = withDefaults(data, admissionSchema) as Data;
  const path: Path = ['gateway', 'admissions', name];
  const { concurrency = {} } = settings;
  return {
    name,
    concurrency:
      typeof concurrency === 'number'
        ? concurrency
        : (withDefaults(concurrency, adaptiveSchema) as AdmissionConfig['concurrency']),
    queue: settings.queue as number,
    queueTimeoutMs: milliseconds(given, [...path, 'queueTimeout'], settings.queueTimeout),
    tenant: sourceOf(settings.tenant),
    weights: byCallersWord(settings.weights as Record<string, number>),
    defaultWeight: settings.defaultWeight as number,
    priority: sourceOf(settings.priority),
    priorities: byCallersWord(settings.priorities as Record<string, number>),
    ageingMs: milliseconds(given, [...path, 'ageing'], settings.ageing),
  };
}

/** The way of every request where no routes are written. */
const onlyRoute: Data = { name: 'default' };

function routesOf(
  given: Given,
  written: readonly Data[],
  upstreams: readonly string[],
  admissions: readonly string[],
): RouteConfig[] {
  const isWritten = written.length > 0;
  // An admission that nothing goes through is surely not what it was written for.
  const onlyAdmission = !isWritten && admissions.length === 1 ? admissions[0] : undefined;
  return (isWritten ? written : [onlyRoute]).map((data, i) => {
    const settings = withDefaults(data, routeSchema) as Data;
    const match = (settings.match ?? {}) as Data;
    return {
      name: settings.name as string,
      host: listed(match.host)?.map((host) => host.toLowerCase().replace(/\.$/, '')),
      path: listed(match.path),
      method: listed(match.method)?.map((method) => method.toUpperCase()),
      headers: headersOf((match.headers ?? {}) as Data),
      upstream: (settings.upstream ?? upstreams[0]) as string,
      rules: listed(settings.rules),
      admission: (settings.admission as string | undefined) ?? onlyAdmission,
      priority: settings.priority as number,
      stripPrefix: settings.stripPrefix as string | undefined,
      maxDelayMs: milliseconds(given, ['gateway', 'routes', i, 'maxDelay'], settings.maxDelay),
    };
  });
}

function headersOf(headers: Data): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function upstreamOf(given: Given, name: string, data: Data): UpstreamConfig {
  const settings = withDefaults(data, upstreamSchema) as Data;
  const part = (field: string, schema: SettingSchema) =>
    partOf(given, ['gateway', 'upstreams', name, field], settings[field], schema);
  const { timeouts, retries } = upstreamSchema.properties as Record<string, SettingSchema>;
  const members = (settings.members as readonly unknown[]).map(memberOf);
  const balancer = settings.balancer as UpstreamConfig['balancer'];
  balancerProblems(given, name, balancer, members);
  return {
    name,
    members,
    balancer,
    stickyBy: sourceOf(settings.stickyBy),
    health: healthOf(part('health', healthSchema)),
    outliers: outliersOf(part('outliers', outliersSchema), given),
    breaker: breakerOf(part('breaker', breakerSchema)),
    slowStartMs: milliseconds(given, ['gateway', 'upstreams', name, 'slowStart'], settings.slowStart),
    timeouts: timeoutsOf(part('timeouts', timeouts as SettingSchema) as Part),
    retries: retriesOf(part('retries', retries as SettingSchema) as Part),
    connections: settings.connections as number,
    host: settings.host as UpstreamConfig['host'],
  };
}

/** What only a balancer itself knows: weights that it has no room for. */
function balancerProblems(
  { list }: Given,
  upstream: string,
  balancer: UpstreamConfig['balancer'],
  members: UpstreamConfig['members'],
): void {
  const path: Path = ['gateway', 'upstreams', upstream, 'members'];
  if (list.has('gateway', 'upstreams', upstream)) return;
  try {
    balancers[balancer](members);
  } catch (error) {
    list.add(path, `cannot be used by ${balancer}: ${(error as Error).message}`, 'name');
  }
}

/** A section of an upstream that is on. */
interface Part {
  readonly path: Path;
  readonly settings: Data;
  /** A time of it, in milliseconds. */
  readonly ms: (field: string) => number;
}

function partOf(given: Given, path: Path, value: unknown, schema: SettingSchema): Part | undefined {
  if (value === undefined || value === false) return undefined;
  const settings = withDefaults(value === true ? {} : value, asSection(schema)) as Data;
  return { path, settings, ms: (field) => milliseconds(given, [...path, field], settings[field]) };
}

function memberOf(member: unknown): UpstreamConfig['members'][number] {
  const own = typeof member === 'string' ? { address: member } : member;
  const { address, weight } = withDefaults(own, asSection(memberSchema)) as { address: string; weight: number };
  return { ...memberAddress(address), weight };
}

function healthOf(part: Part | undefined): UpstreamConfig['health'] {
  if (part === undefined) return undefined;
  const { path, status, unhealthyAfter, healthyAfter } = part.settings;
  const [statusFrom = 0, statusTo = statusFrom] = String(status).split('-').map(Number);
  return {
    path: path as string,
    intervalMs: part.ms('interval'),
    timeoutMs: part.ms('timeout'),
    unhealthyAfter: unhealthyAfter as number,
    healthyAfter: healthyAfter as number,
    statusFrom,
    statusTo,
  };
}

function outliersOf(part: Part | undefined, { list }: Given): UpstreamConfig['outliers'] {
  if (part === undefined) return undefined;
  const { consecutiveFailures, mostEjectedShare } = part.settings;
  const [ejectionMs, longestEjectionMs] = [part.ms('ejection'), part.ms('longestEjection')];
  if (longestEjectionMs < ejectionMs)
    list.add(
      [...part.path, 'longestEjection'],
      `must be at least ejection (${ejectionMs} ms), got ${longestEjectionMs} ms.`,
    );
  return {
    consecutiveFailures: consecutiveFailures as number,
    ejectionMs,
    longestEjectionMs,
    mostEjectedShare: mostEjectedShare as number,
  };
}

function breakerOf(part: Part | undefined): UpstreamConfig['breaker'] {
  if (part === undefined) return undefined;
  const { failureRatio, minimumCalls, halfOpenCalls } = part.settings;
  return {
    failureRatio: failureRatio as number,
    minimumCalls: minimumCalls as number,
    windowMs: part.ms('window'),
    openMs: part.ms('open'),
    halfOpenCalls: halfOpenCalls as number,
  };
}

function timeoutsOf({ ms }: Part): UpstreamConfig['timeouts'] {
  return { connectMs: ms('connect'), responseMs: ms('response'), idleMs: ms('idle') };
}

function retriesOf({ settings: { attempts, on, budget, bodyBytes } }: Part): UpstreamConfig['retries'] {
  return {
    attempts: attempts as number,
    statuses: on as number[],
    budgetRatio: budget as number,
    bodyBytes: bytesOf(bodyBytes),
  };
}

/** What is a map or something else, as a map. */
function asSection(schema: SettingSchema): SettingSchema {
  return { ...schema, type: 'object' };
}

function sourceOf(text: unknown): Source | undefined {
  return text === undefined ? undefined : parseSource(String(text));
}

function listed(value: unknown): string[] | undefined {
  return value === undefined ? undefined : ([value].flat() as string[]);
}

function mapped<From, To>(
  map: Readonly<Record<string, From>>,
  each: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, each(value, name)]));
}

/** Looked up by what callers send, who may send `constructor`. */
function byCallersWord(map: Readonly<Record<string, number>>): Record<string, number> {
  return Object.assign(Object.create(null), map);
}
