/** Values of the file as the configuration has them: defaults, times in milliseconds, sizes in bytes, addresses, paths that are there. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Duration, parseDuration } from 'sluice';
import type { Address } from './config.ts';
import { type Path, showValue } from './problem.ts';
import type { ProblemList } from './problem-list.ts';
import { longestTimerMs, type SettingSchema } from './schema-kinds.ts';
import { whyNot } from './why-not.ts';

export type Data = Readonly<Record<string, unknown>>;

/** What the values come from, and where problems go. */
export interface Given {
  readonly data: Data;
  readonly list: ProblemList;
  /** Whether the file decides this setting, rather than the environment or the command line. */
  readonly isFromFile: (setting: string) => boolean;
  /** The folder that paths in the file start from. */
  readonly folder: string;
}

/** What nobody set, from the schema. Sections that need a field of their own (`required`) stay absent until somebody opens them. */
export function withDefaults(value: unknown, schema: SettingSchema): unknown {
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

export function addressOf(value: unknown, host: string): Address | undefined {
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

const everywhere: readonly string[] = ['0.0.0.0', '::'];

/** Every interface of this machine: a place to listen, and none to connect to. */
export function isEverywhere(host: string): boolean {
  return everywhere.includes(host);
}

export function isSamePlace(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || isEverywhere(a.host) || isEverywhere(b.host);
}

/** Whether who connects to the one comes to the other, on this machine. What a name leads to is not asked: only what is certain. */
export function isReachedBy(listening: Address, { host, port }: Address): boolean {
  if (listening.port !== port || port === 0) return false;
  const isOwn = host === 'localhost' || /^(127\.|::1$)/.test(host);
  return (
    listening.host === host ||
    (isOwn && isEverywhere(listening.host)) ||
    (host === 'localhost' && /^(127\.0\.0\.1|::1)$/.test(listening.host))
  );
}

const unitBytes: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

export function bytesOf(value: unknown): number {
  if (typeof value === 'number') return value;
  const [, count, unit] = /^(\d+)([a-z]+)$/.exec(String(value)) ?? [];
  return Number(count) * (unitBytes[unit ?? ''] ?? Number.NaN);
}

/** Times here drive timers, which have a longest. */
export function milliseconds({ list }: Pick<Given, 'list'>, path: Path, value: unknown): number {
  if (value === 0 || /^0+(\.0+)?[a-z]+$/.test(String(value))) return 0;
  // So many digits are Infinity, at which parseDuration throws.
  const ms = String(value).length > 32 ? Number.POSITIVE_INFINITY : parseDuration(value as Duration);
  if (ms > longestTimerMs) list.add(path, `must be at most 24 days, got ${showValue(value)}.`);
  return ms;
}

/** A path as the process will use it: in the file it starts from the file's folder, elsewhere from where the process runs. */
export function resolved({ data, folder, isFromFile }: Given, path: readonly string[]): string {
  const value = path.reduce<unknown>((at, step) => (at as Data | undefined)?.[step], data);
  return resolve(isFromFile(path.join('.')) ? folder : process.cwd(), String(value));
}

export function existing(given: Given, path: readonly string[], kind: 'file' | 'folder'): string {
  const found = resolved(given, path);
  const why = whyNotThere(found, kind);
  if (why !== undefined) given.list.add(path, `must be a ${kind} that can be read, got ${found}: ${why}`);
  return found;
}

/** A file that may not be there yet; its folder must be. */
export function writable(given: Given, path: readonly string[]): string {
  const file = resolved(given, path);
  const why = whyNotThere(dirname(file), 'folder');
  if (why !== undefined) given.list.add(path, `cannot be written to: its folder ${dirname(file)} is not there: ${why}`);
  else if (whyNotThere(file, 'folder') === undefined) given.list.add(path, `must be a file, and ${file} is a folder.`);
  return file;
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
