/**
 * The last step of reading: defaults filled in, times in milliseconds, files looked for, and what no single field shows: a port
 * used twice, a store without its address. A section whose form is wrong counts as absent: one slip is one problem.
 */
import { availableParallelism } from 'node:os';
import type { Match } from 'sluice';
import { buildGateway } from './build-gateway.ts';
import { buildStore } from './build-store.ts';
import { tlsOf } from './build-tls.ts';
import {
  addressOf,
  bytesOf,
  type Data,
  existing,
  type Given,
  isSamePlace,
  milliseconds,
  resolved,
  withDefaults,
  writable,
} from './build-values.ts';
import type { Address, Config, LogsConfig, SecurityConfig, SnapshotConfig, TracingConfig } from './config.ts';
import { gatewayProblems } from './gateway-problems.ts';
import { showValue } from './problem.ts';
import type { ReadRules } from './read-rules.ts';
import { readTokens } from './read-tokens.ts';
import { configSchema } from './schema.ts';
import { type WatchedPath, watchedPath } from './watched-content.ts';

export interface BuildInput extends Given {
  readonly rules: ReadRules;
}

export interface BuiltConfig {
  readonly config: Config;
  /** Files and folders whose change is a change of the configuration. */
  readonly watched: readonly WatchedPath[];
}

/** The result means something only while the list of problems is empty. */
export function buildConfig(input: BuildInput): BuiltConfig {
  const { rules, list } = input;
  const sound = Object.fromEntries(Object.entries(input.data).filter(([name]) => !list.has(name)));
  const build: Build = { ...input, data: sound, settings: withDefaults(sound, configSchema) as Settings };
  const { settings } = build;
  const { envoy } = settings;
  const tokenFile = settings.security?.tokenFile === undefined ? [] : [resolved(build, ['security', 'tokenFile'])];
  const directory = envoy === undefined ? [] : [existing(build, ['envoy', 'directory'], 'folder')];
  // Before any of them is read; folders and certificates are read by whoever starts what the configuration says.
  const watched = [...directory, ...tokenFile].map(watchedPath);
  gatewayProblems(input);
  const gateway = settings.gateway && buildGateway(build, settings.gateway, settings.listen.host as string);
  const config: Config = {
    ...rules,
    allow: [settings.allow].flat(),
    deny: [settings.deny].flat(),
    ipv6Subnet: settings.ipv6Subnet,
    store: buildStore(build, settings),
    listen: listenOf(build),
    security: securityOf(build, tokenFile),
    limits: limitsOf(build),
    workers: workersOf(build),
    snapshot: snapshotOf(build),
    envoy: envoy && {
      directory: directory[0] as string,
      mergeDomains: envoy.mergeDomains as boolean,
      responseHeaders: envoy.responseHeaders as boolean,
    },
    logs: settings.logs,
    tracing: tracingOf(build),
    drainMs: milliseconds(build, ['drain'], settings.drain),
    studio: settings.studio,
    gateway,
  };
  // A certificate is renewed by writing another one over it.
  const certificates = Object.values(gateway?.tls ?? {}).filter((file) => file !== undefined);
  return { config, watched: [...watched, ...certificates.map(watchedPath)] };
}

/** The file's settings with defaults, before they are turned into the configuration's units. The schema holds what this says. */
interface Settings {
  readonly allow: Match | readonly Match[];
  readonly deny: Match | readonly Match[];
  readonly ipv6Subnet: number;
  readonly store: Data;
  readonly listen: Data;
  readonly security: Data | undefined;
  readonly limits: Data;
  readonly workers: number | 'auto';
  readonly snapshot: Data | undefined;
  readonly envoy: Data | undefined;
  readonly logs: LogsConfig;
  readonly tracing: TracingConfig | undefined;
  readonly drain: unknown;
  readonly studio: boolean;
  readonly gateway: Data | undefined;
}

interface Build extends BuildInput {
  readonly settings: Settings;
}

const doors = ['http', 'grpc', 'resp', 'admin'] as const;

function listenOf({ list, settings: { listen, gateway } }: Build): Config['listen'] {
  const opened: Partial<Record<(typeof doors)[number], Address>> = {};
  for (const door of doors) {
    const address = addressOf(listen[door], listen.host as string);
    if (address === undefined) continue;
    if (address.port > 65_535) list.add(['listen', door], `must have a port from 0 to 65535, got ${address.port}.`);
    const [neighbour] = Object.entries(opened).find(([, other]) => isSamePlace(address, other)) ?? [];
    if (neighbour !== undefined)
      list.add(
        ['listen', door],
        `is port ${address.port}, and so is listen.${neighbour}. Each door needs a port of its own.`,
      );
    opened[door] = address;
  }
  if (gateway === undefined && Object.keys(opened).length === 0)
    list.add(['listen'], `must leave one of ${doors.join(', ')} open: nobody could ask anything.`);
  return { http: opened.http, grpc: opened.grpc, resp: opened.resp, admin: opened.admin };
}

function securityOf(build: Build, tokenFiles: readonly string[]): SecurityConfig {
  const security: Data = build.settings.security ?? {};
  const tls = security.tls as Data | undefined;
  const files = tls && tlsOf(build, ['security', 'tls'], tls);
  const tokens = [security.token ?? [], security.tokens ?? []].flat() as string[];
  for (const path of tokenFiles) {
    const read = readTokens(path);
    if ('problem' in read) build.list.add(['security', 'tokenFile'], read.problem);
    else tokens.push(...read.tokens);
  }
  return { tokens: [...new Set(tokens)], tls: files };
}

function limitsOf(build: Build): Config['limits'] {
  const { limits } = build.settings;
  return {
    bodyBytes: bytesOf(limits.bodyBytes),
    keyBytes: bytesOf(limits.keyBytes),
    batchItems: limits.batchItems as number,
    connections: limits.connections as number,
    pipelineDepth: limits.pipelineDepth as number,
    idleMs: milliseconds(build, ['limits', 'idle'], limits.idle),
    requestMs: milliseconds(build, ['limits', 'request'], limits.request),
  };
}

function tracingOf({ list, settings: { tracing } }: Build): TracingConfig | undefined {
  if (tracing === undefined) return undefined;
  if (URL.canParse(tracing.endpoint)) return { ...tracing, endpoint: withPath(tracing.endpoint) };
  // What it is instead may hold a password, and is not shown.
  list.add(
    ['tracing', 'endpoint'],
    'must be an address with a host, such as http://127.0.0.1:4318/v1/traces; this one cannot be read.',
  );
  return tracing;
}

/** An address without a path is that of a collector, which takes traces at this one. So OpenTelemetry's own variables have it. */
function withPath(endpoint: string): string {
  const address = new URL(endpoint);
  if (address.pathname !== '/') return endpoint;
  address.pathname = '/v1/traces';
  return address.href;
}

function workersOf({ data, list, settings: { workers, store } }: Build): number {
  if (store.type !== 'owned') return workers === 'auto' ? availableParallelism() : workers;
  if (data.workers !== undefined && workers !== 1)
    list.add(
      ['workers'],
      `must be 1 with the owned store, got ${showValue(workers)}. A node is one thread: run one process for each core.`,
    );
  return 1;
}

const keepsTheCounts: Readonly<Record<string, string>> = {
  redis: 'Redis keeps the counts itself',
  owned: 'nodes hand their counts over, and etcd has those of long windows',
  cluster: 'the nodes of the cluster have the counts',
};

function snapshotOf(build: Build): SnapshotConfig | undefined {
  const { list } = build;
  const { snapshot, store } = build.settings;
  if (snapshot === undefined) return undefined;
  const keeper = keepsTheCounts[store.type as string];
  if (keeper !== undefined)
    list.add(['snapshot'], `is for the memory store; ${keeper}. Remove it, or set store.type to memory.`, 'name');
  const path = writable(build, ['snapshot', 'path']);
  return { path, everyMs: milliseconds(build, ['snapshot', 'every'], snapshot.every) };
}
