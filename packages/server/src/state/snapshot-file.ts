/**
 * The state between two runs, in a file: written beside its place and renamed, so that there is always a whole one.
 *
 *      {"format":"sluice-state/1","lines":3, ...}     what the store says of itself, and how many lines follow
 *      {"name":"per-user", ...}                       a name with its blocks
 *      {"policy":{...},"sinceMs":...}                 a table of it
 *      [["key",1,2],["key",3,4], ...]                 its keys, some thousands to a line
 *
 * Lines, because one text of all keys would be longer than a string can be. It holds the seed of the keys' hash: nobody else
 * may read it.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import {
  type ActiveOverride,
  type Clock,
  type MemoryStore,
  type SharedMemoryStore,
  SluiceError,
  type Snapshot,
  sharedMemoryStore,
} from 'sluice';

const format = 'sluice-state/1';
const keysPerLine = 5000;

type Entries = Snapshot['names'][number]['tables'][number]['entries'];

interface ReadTable {
  policy: { algorithm: string };
  sinceMs: number;
  retainMs: number;
  entries: Entries[number][];
}

interface ReadName {
  name: string;
  blocked: readonly (readonly [string, number])[];
  unknownBeforeMs?: number;
  tables: ReadTable[];
}

/** Writes a file that only its owner may read, whole or not at all. */
async function replaceFile(path: string, pieces: Iterable<string | Uint8Array>): Promise<void> {
  // A name of its own for each write: two that share one would tear each other's file.
  const written = `${path}.${process.pid}.${randomBytes(8).toString('hex')}.writing`;
  try {
    const file = await open(written, 'wx', 0o600);
    try {
      for (const piece of pieces) await file.appendFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
}

/** Removes what processes that were killed while they wrote the file have left beside it. Not while this process writes it. */
export async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  // Where there is no folder nothing was left; that it is missing is said by whoever writes.
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names.filter((one) => one.startsWith(`${basename(path)}.`))) {
    const [, pid] = /^(\d+)(?:\.[0-9a-f]+)?\.writing$/.exec(name.slice(basename(path).length + 1)) ?? [];
    if (pid !== undefined && !isOther(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

/** Whether another process has this number: the one that is being replaced may still be at its last save. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What is kept beside the keys. */
export interface KeptBeside {
  readonly overrides: readonly ActiveOverride[];
}

export async function saveMemory(
  path: string,
  store: MemoryStore,
  beside: KeptBeside = { overrides: [] },
): Promise<void> {
  await replaceFile(path, lines(store.snapshot(), beside));
}

function* lines({ names, ...head }: Snapshot, beside: KeptBeside): Iterable<string> {
  // An override without an end has none in JSON either: Infinity becomes null.
  yield `${JSON.stringify({ format, lines: linesOf(names), ...head, ...beside })}\n`;
  for (const { tables, ...name } of names) {
    yield `${JSON.stringify(name)}\n`;
    for (const { entries, ...table } of tables) {
      yield `${JSON.stringify(table)}\n`;
      for (let at = 0; at < entries.length; at += keysPerLine) {
        yield `${JSON.stringify(entries.slice(at, at + keysPerLine))}\n`;
      }
    }
  }
}

function linesOf(names: Snapshot['names']): number {
  const tables = names.flatMap((name) => name.tables);
  return tables.reduce((lines, { entries }) => lines + 1 + Math.ceil(entries.length / keysPerLine), names.length);
}

/** What came back. */
export interface Restored extends KeptBeside {
  /** That state is kept under: rules, and what came with requests. */
  readonly names: readonly string[];
}

/** Puts what the file holds into a store without keys, and says what was beside them. Undefined when there is no file; throws what is no snapshot. */
export async function restoreMemory(path: string, store: MemoryStore): Promise<Restored | undefined> {
  const input = createReadStream(path);
  const names: ReadName[] = [];
  let head: Head | undefined;
  let lines = -1;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      const value: unknown = parse(path, line);
      lines += 1;
      if (head === undefined) head = headOf(path, value);
      else if (Array.isArray(value)) append(mustHave(path, mustHave(path, names.at(-1)).tables.at(-1)).entries, value);
      else if (isRecord(value) && 'policy' in value) {
        mustHave(path, names.at(-1)).tables.push({
          ...(value as Omit<ReadTable, 'entries'>),
          entries: [],
        } as ReadTable);
      } else names.push({ ...(value as Omit<ReadName, 'tables'>), tables: [] } as ReadName);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const { overrides, lines: written = lines, ...snapshot } = mustHave(path, head);
  // Cut off at the end of a line, a file looks whole, and what was used would be forgotten.
  if (lines !== written) throw noSnapshot(path, `of ${written} lines after the first, ${lines} are there`);
  store.restore({ ...snapshot, names } as unknown as Snapshot);
  return { overrides, names: names.map(({ name }) => name) };
}

interface Head extends KeptBeside {
  /** That follow. Files of before it was written have none. */
  readonly lines?: number;
}

function headOf(path: string, value: unknown): Head {
  if (!isRecord(value) || value.format !== format) throw noSnapshot(path, `it does not begin with ${format}`);
  const { format: _, overrides, ...head } = value;
  if (!Array.isArray(overrides)) throw noSnapshot(path, 'its overrides are no list');
  const endless = (one: ActiveOverride) => ({ ...one, expiresAtMs: one.expiresAtMs ?? Number.POSITIVE_INFINITY });
  return { ...head, overrides: (overrides as ActiveOverride[]).map(endless) };
}

function append<T>(list: T[], more: readonly T[]): void {
  for (const one of more) list.push(one);
}

function parse(path: string, line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw noSnapshot(path, (cause as Error).message);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mustHave<T>(path: string, value: T | undefined): T {
  if (value === undefined) throw noSnapshot(path, 'a line is missing');
  return value;
}

function noSnapshot(path: string, why: string): SluiceError {
  const message = `${path} holds no state of this version: ${why}. Remove it to start with none.`;
  return new SluiceError('invalid-snapshot', message);
}

/** Memory that threads share is saved as it is; most of it is empty, and empty packs well. */
export async function saveBytes(path: string, bytes: Uint8Array): Promise<void> {
  const packed = await promisify(gzip)(bytes, { level: constants.Z_BEST_SPEED });
  await replaceFile(path, [packed]);
}

/** The memory that was saved so. Undefined when there is no file; throws what is no snapshot, or one of another version. */
export async function restoreBytes(path: string, clock?: Clock): Promise<SharedMemoryStore | undefined> {
  const snapshot = await readBytes(path);
  if (snapshot === undefined) return undefined;
  try {
    return sharedMemoryStore({ snapshot, clock });
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw noSnapshot(path, 'what is in it is laid out differently');
  }
}

async function readBytes(path: string): Promise<Uint8Array | undefined> {
  let packed: Buffer;
  try {
    packed = await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return await promisify(gunzip)(packed);
  } catch (cause) {
    throw noSnapshot(path, (cause as Error).message);
  }
}
