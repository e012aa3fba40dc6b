/**
 * The last step of reading: defaults filled in, times in milliseconds, files looked for, and what no single field shows: a port
 * used twice, a store without its address. A section whose form is wrong counts as absent: one slip is one problem.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { type Duration, type Match, parseDuration } from 'sluice';
import type {
  Address,
  Config,
  LogsConfig,
  SecurityConfig,
  SnapshotConfig,
  StoreConfig,
  TlsConfig,
  TracingConfig,
} from './config.ts';
import { type Path, showValue } from './problem.ts';
import type { ProblemList } from './problem-list.ts';
import type { ReadRules } from './read-rules.ts';
import { readTokens } from './read-tokens.ts';
import { configSchema } from './schema.ts';
import { longestTimerMs, type SettingSchema } from './schema-kinds.ts';
import { whyNot } from './why-not.ts';

type Data = Readonly<Record<string, unknown>>;

export interface BuildInput {
  readonly data: Data;
  readonly rules: ReadRules;
  readonly list: ProblemList;
  /** Whether the file decides this setting, rather than the environment or the command line. */
  readonly isFromFile: (setting: string) => boolean;
  /** The folder that paths in the file start from. */
  readonly folder: string;
}

export interface BuiltConfig {
  readonly config: Config;
  /** Files and folders whose change is a change of the configuration. */
  readonly watched: readonly string[];
}

/** The result means something only while the list of problems is empty. */
export function buildConfig(input: BuildInput): BuiltConfig {
  const { rules, list } = input;
  const sound = Object.fromEntries(Object.entries(input.data).filter(([name]) => !list.has(name)));
  const build: Build = { ...input, data: sound, settings: withDefaults(sound, configSchema) as Settings };
  const { settings } = build;
  const { envoy, tracing } = settings;
  const tokenFile = settings.security?.tokenFile === undefined ? [] : [resolved(build, ['security', 'tokenFile'])];
  const directory = envoy === undefined ? [] : [existing(build, ['envoy', 'directory'], 'folder')];
  const config: Config = {
    ...rules,
    allow: [settings.allow].flat(),
    deny: [settings.deny].flat(),
    ipv6Subnet: settings.ipv6Subnet,
    store: storeOf(build),
    listen: listenOf(build),
    security: securityOf(build, tokenFile),
    limits: limitsOf(build),
    workers: settings.workers === 'auto' ? availableParallelism() : settings.workers,
    snapshot: snapshotOf(build),
    envoy: envoy && {
      directory: directory[0] as string,
      mergeDomains: envoy.mergeDomains as boolean,
      responseHeaders: envoy.responseHeaders as boolean,
    },
    logs: settings.logs,
    tracing,
    drainMs: milliseconds(build, ['drain'], settings.drain),
  };
  return { config, watched: [...directory, ...tokenFile] };
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
}

interface Build extends BuildInput {
  readonly settings: Settings;
}

/** What nobody set, from the schema. Sections that need a field of their own (`required`) stay absent until somebody opens them. */
function withDefaults(value: unknown, schema: SettingSchema): unknown {
  if (value === undefined && schema.default !== undefined) return schema.default;
  const isSection = schema.type === 'object' && schema.properties !== undefined;
  if (!isSection || (value !== undefined && (typeof value !== 'object' || value === null))) return value;
  if (value === undefined && schema.required !== undefined) return undefined;
  const own = (value ?? {}) as Data;
  const filled = Object.entries(schema.properties as Record<string, SettingSchema>).map(([name, field]) => [
    name,
    withDefaults(own[name], field),
  ]);
  return Object.fromEntries(filled.filter(([, field]) => field !== undefined));
}

const fieldsOfRedis = ['url', 'prefix', 'cluster', 'fenced', 'timeout', 'onFailure'];
const fieldsOfMemory = ['maxKeys'];

function storeOf(build: Build): StoreConfig {
  const { list, data } = build;
  const { store } = build.settings;
  const isRedis = store.type === 'redis';
  // A variable that sends a service to another store for once need not rewrite the file.
  if (build.isFromFile('store.type')) {
    for (const field of isRedis ? fieldsOfMemory : fieldsOfRedis) {
      if (!Object.hasOwn((data.store ?? {}) as Data, field)) continue;
      const other = isRedis ? 'memory' : 'redis';
      list.add(
        ['store', field],
        `is a setting of the ${other} store, and store.type is ${store.type}. Set store.type to ${other}, or remove it.`,
        'name',
      );
    }
  }
  if (!isRedis) return { type: 'memory', maxKeys: store.maxKeys as number };
  if (store.url === undefined)
    list.add(
      ['store', 'url'],
      'is missing; the redis store needs the address of its server, such as redis://127.0.0.1:6379.',
    );
  else if (!URL.canParse(String(store.url)))
    list.add(
      ['store', 'url'],
      'is not an address. It is written redis://user:password@host:port, special characters percent-encoded.',
    );
  return {
    type: 'redis',
    url: store.url as string,
    prefix: store.prefix as string,
    isCluster: store.cluster as boolean,
    isFenced: store.fenced as boolean,
    timeoutMs: milliseconds(build, ['store', 'timeout'], store.timeout),
    onFailure: store.onFailure as 'closed' | 'open' | 'local',
  };
}

const doors = ['http', 'grpc', 'resp', 'admin'] as const;

function listenOf({ list, settings: { listen } }: Build): Config['listen'] {
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
  return { http: opened.http, grpc: opened.grpc, resp: opened.resp, admin: opened.admin };
}

function addressOf(value: unknown, host: string): Address | undefined {
  if (value === false || value === undefined) return undefined;
  if (typeof value === 'number') return { host, port: value };
  if (typeof value === 'string') {
    const [, own, port] = /^(?:(.+):)?(\d+)$/.exec(value) ?? [];
    // Brackets are how an IPv6 address is told from its port; the address itself has none.
    return { host: own?.replace(/^\[(.*)\]$/, '$1') ?? host, port: Number(port) };
  }
  const { host: own = host, port } = value as Partial<Address>;
  return { host: own, port: port as number };
}

const everywhere = ['0.0.0.0', '::'];

function isSamePlace(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || everywhere.includes(a.host) || everywhere.includes(b.host);
}

function securityOf(build: Build, tokenFiles: readonly string[]): SecurityConfig {
  const security: Data = build.settings.security ?? {};
  const tls = security.tls as Data | undefined;
  const files: TlsConfig | undefined = tls && {
    certificate: existing(build, ['security', 'tls', 'certificate'], 'file'),
    key: existing(build, ['security', 'tls', 'key'], 'file'),
    clientAuthority:
      tls.clientAuthority === undefined ? undefined : existing(build, ['security', 'tls', 'clientAuthority'], 'file'),
  };
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

const unitBytes: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

function bytesOf(value: unknown): number {
  if (typeof value === 'number') return value;
  const [, count, unit] = /^(\d+)([a-z]+)$/.exec(String(value)) ?? [];
  return Number(count) * (unitBytes[unit ?? ''] ?? Number.NaN);
}

/** Times here drive timers, which have a longest. */
function milliseconds({ list }: BuildInput, path: Path, value: unknown): number {
  if (value === 0 || /^0+(\.0+)?[a-z]+$/.test(String(value))) return 0;
  // So many digits are Infinity, at which parseDuration throws.
  const ms = String(value).length > 32 ? Number.POSITIVE_INFINITY : parseDuration(value as Duration);
  if (ms > longestTimerMs) list.add(path, `must be at most 24 days, got ${showValue(value)}.`);
  return ms;
}

function snapshotOf(build: Build): SnapshotConfig | undefined {
  const { list } = build;
  const { snapshot, store } = build.settings;
  if (snapshot === undefined) return undefined;
  if (store.type === 'redis')
    list.add(
      ['snapshot'],
      'is for the memory store; Redis keeps the counts itself. Remove it, or set store.type to memory.',
      'name',
    );
  const path = resolved(build, ['snapshot', 'path']);
  const why = whyNotThere(dirname(path), 'folder');
  if (why !== undefined)
    list.add(['snapshot', 'path'], `cannot be written to: its folder ${dirname(path)} is not there: ${why}`);
  else if (whyNotThere(path, 'folder') === undefined)
    list.add(['snapshot', 'path'], `must be a file, and ${path} is a folder.`);
  return { path, everyMs: milliseconds(build, ['snapshot', 'every'], snapshot.every) };
}

/** A path as the process will use it: in the file it starts from the file's folder, elsewhere from where the process runs. */
function resolved({ data, folder, isFromFile }: BuildInput, path: readonly string[]): string {
  const value = path.reduce<unknown>((at, step) => (at as Data | undefined)?.[step], data);
  return resolve(isFromFile(path.join('.')) ? folder : process.cwd(), String(value));
}

function existing(build: Build, path: readonly string[], kind: 'file' | 'folder'): string {
  const found = resolved(build, path);
  const why = whyNotThere(found, kind);
  if (why !== undefined) build.list.add(path, `must be a ${kind} that can be read, got ${found}: ${why}`);
  return found;
}

function whyNotThere(path: string, kind: 'file' | 'folder'): string | undefined {
  try {
    const isFolder = statSync(path).isDirectory();
    if (isFolder !== (kind === 'folder')) return isFolder ? 'it is a folder.' : 'it is not a folder.';
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return whyNot(error);
  }
}
