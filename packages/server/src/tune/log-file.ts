/**
 * The bytes of logs, one file after the other, as fast as they are taken and never more than a few chunks ahead. `-` is standard input.
 * What is gzipped is known by its first bytes, not by its name: so a pipe may be, and `access.log.2` may be.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { SluiceError } from 'sluice';

export interface ReadLogOptions {
  /** After each chunk: how much was read of the files as they lie there, and of how much; undefined where that cannot be known, as of a pipe. */
  readonly onProgress?: (bytesRead: number, bytesTotal: number | undefined) => void;
  /** Hears of a gzipped file that was cut off, once what is there of it was taken: so many bytes, unpacked. Default: that is an error. */
  readonly onCutOff?: (path: string, bytes: number) => void;
  /** Who could read a log from a pipe that unpacks it, such as `sluice tune -`: told where one is packed as it cannot be read. Default: nobody. */
  readonly pipeInto?: string;
  /** What `-` reads. Default `process.stdin`. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

export const standardInput = '-';

const chunkBytes = 256 * 1024;

/** `file`: the place of the chunk's file in the list. */
export type TakeChunk = (chunk: Uint8Array, file: number) => void;

/** Throws a `SluiceError` that names the file; a missing one is found before the first is read. What `take` throws comes through as it is. */
export async function readLog(paths: readonly string[], take: TakeChunk, options: ReadLogOptions = {}): Promise<void> {
  const { onProgress, stdin = process.stdin } = options;
  if (paths.length === 0) throw bad('There is no log to read. Name a file, several, or - for standard input.');
  if (paths.filter((path) => path === standardInput).length > 1)
    throw bad('Standard input (-) can be read once, and is named more often.');
  const bytesTotal = await sizeOf(paths);
  let bytesRead = 0;
  const counted = (chunk: Uint8Array) => {
    bytesRead += chunk.length;
    onProgress?.(bytesRead, bytesTotal);
  };
  for (const [file, path] of paths.entries()) {
    const takeOne = (chunk: Uint8Array) => {
      if (chunk.length > 0) take(chunk, file);
    };
    await readOne(path, counting(bytesOf(path, stdin), counted), takeOne, options);
  }
}

/** Undefined: one of them has no size. */
async function sizeOf(paths: readonly string[]): Promise<number | undefined> {
  let total: number | undefined = 0;
  for (const path of paths) {
    const found =
      path === standardInput ? undefined : await stat(path).catch((error) => Promise.reject(unreadable(path, error)));
    if (found?.isDirectory())
      throw bad(`${path} is a directory. Name the files in it, such as ${join(path, '*.log')}.`);
    // A pipe that has a name (`<(zcat access.log.gz)`) has no size either.
    total = found?.isFile() && total !== undefined ? total + found.size : undefined;
  }
  return total;
}

async function* bytesOf(path: string, stdin: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (path === standardInput) {
    yield* stdin;
    return;
  }
  const stream = createReadStream(path, { highWaterMark: chunkBytes });
  try {
    yield* stream;
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function* counting(source: AsyncIterable<Uint8Array>, count: (chunk: Uint8Array) => void) {
  for await (const chunk of source) {
    yield chunk;
    count(chunk);
  }
}

/** What logs are packed with, by the bytes that it begins with. */
const compressions: readonly { readonly name: string; readonly magic: readonly number[]; readonly unpack?: string }[] =
  [
    { name: 'gzip', magic: [0x1f, 0x8b] },
    { name: 'zstd', magic: [0x28, 0xb5, 0x2f, 0xfd], unpack: 'zstd -dc' },
    { name: 'bzip2', magic: [0x42, 0x5a, 0x68], unpack: 'bzip2 -dc' },
    { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], unpack: 'xz -dc' },
    { name: 'lz4', magic: [0x04, 0x22, 0x4d, 0x18], unpack: 'lz4 -dc' },
    { name: 'zip', magic: [0x50, 0x4b, 0x03, 0x04], unpack: 'unzip -p' },
  ];
const longestMagic = 6;

async function readOne(
  path: string,
  source: AsyncGenerator<Uint8Array>,
  take: (chunk: Uint8Array) => void,
  { onCutOff, pipeInto }: ReadLogOptions,
): Promise<void> {
  const head = await headOf(source);
  const packed = compressions.find(({ magic }) => magic.every((byte, i) => head[i] === byte));
  if (packed?.unpack !== undefined) {
    // Whoever writes into a pipe must not go on waiting for a reader.
    await source.return(undefined);
    const name = path === standardInput ? '' : ` ${path}`;
    const wayOut =
      pipeInto === undefined
        ? `Unpack it into a file first, with ${packed.unpack}${name}`
        : `Unpack it on the way: ${packed.unpack}${name} | ${pipeInto}`;
    throw bad(`${titleOf(path)} is packed with ${packed.name}. ${wayOut}`);
  }
  const whole = following(head, source);
  if (packed === undefined) for await (const chunk of whole) take(chunk);
  else await readGzip(path, whole, take, onCutOff);
}

/** The first bytes, as many as it takes to know a compression. A pipe may hand them over one by one. */
async function headOf(source: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  let head = Buffer.alloc(0);
  while (head.length < longestMagic) {
    const { done, value } = await source.next();
    if (done) break;
    head = head.length === 0 && value instanceof Buffer ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* following(head: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}

async function readGzip(
  path: string,
  source: AsyncGenerator<Uint8Array>,
  take: (chunk: Uint8Array) => void,
  onCutOff: ReadLogOptions['onCutOff'],
): Promise<void> {
  let bytes = 0;
  // Takes each chunk at once: what waits in a stream is lost when the one before it fails.
  const taker = new Writable({
    highWaterMark: 4 * chunkBytes,
    write(chunk: Uint8Array, _encoding, done) {
      try {
        bytes += chunk.length;
        take(chunk);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  try {
    await pipeline(source, createGunzip({ chunkSize: chunkBytes }), taker);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'Z_BUF_ERROR' && onCutOff !== undefined) return onCutOff(path, bytes);
    if (code === 'Z_BUF_ERROR')
      throw bad(`${titleOf(path)} is gzipped and ends before its end: it was cut off.`, error);
    if (code.startsWith('Z_'))
      throw bad(`${titleOf(path)} is gzipped and damaged: ${(error as Error).message}.`, error);
    throw error;
  }
}

function unreadable(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === 'ENOENT') return bad(`There is no file ${path}.`, error);
  if (code === 'EACCES' || code === 'EPERM') return bad(`${path} may not be read by this user.`, error);
  return code.startsWith('E') ? bad(`${path} cannot be read: ${(error as Error).message}.`, error) : error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function titleOf(path: string): string {
  return path === standardInput ? 'Standard input' : path;
}

function bad(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid-option', message, { cause });
}
