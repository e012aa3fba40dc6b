/** A wall clock of its own for one server: the library from `shiftable-clock.c`, built once, and the file it reads. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureCompiler } from './debian-package.ts';

export interface ShiftableClock {
  /** What the server must be started with. */
  readonly env: Readonly<Record<string, string>>;
  /** How far the clock stands from the true time from now on. */
  shift(offsetMs: number): void;
}

// The same path from src, where tests load this, and from dist, where scripts do.
const source = fileURLToPath(new URL('../src/shiftable-clock.c', import.meta.url));
/** In the repository and not in a folder that others can write: what lies here is loaded into servers. */
const cache = fileURLToPath(new URL('../../../.cache/test-servers/', import.meta.url));

/** A hundred years: beyond that the nanoseconds leave 64 bits sooner or later, and no test means it. */
const mostOffsetMs = 100 * 365 * 86_400_000;

export async function shiftableClock(folder: string): Promise<ShiftableClock> {
  const library = await builtLibrary();
  const file = join(folder, 'clock-offset');
  const bytes = Buffer.alloc(8);
  writeFileSync(file, bytes);
  return {
    env: { LD_PRELOAD: library, SLUICE_CLOCK_FILE: file },
    shift(offsetMs) {
      if (!(Math.abs(offsetMs) <= mostOffsetMs)) {
        throw new RangeError(`offsetMs must be a number within ${mostOffsetMs} of 0, got ${offsetMs}.`);
      }
      bytes.writeBigInt64LE(BigInt(Math.round(offsetMs * 1000)) * 1000n);
      // In place and not truncated first: the server has these bytes mapped and reads them at any moment.
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, bytes, 0, bytes.length, 0);
      closeSync(descriptor);
    },
  };
}

/** Named by its content, so that a changed source is built anew and parallel tests share one. */
async function builtLibrary(): Promise<string> {
  if (process.platform !== 'linux') throw new Error(`shiftableClock needs Linux, got ${process.platform}.`);
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16);
  const library = join(cache, `shiftable-clock-${hash}.so`);
  if (existsSync(library)) return library;
  const compiler = await ensureCompiler();
  mkdirSync(cache, { recursive: true });
  const unfinished = `${library}.${process.pid}.${performance.now()}`;
  await promisify(execFile)(compiler, ['-shared', '-fPIC', '-O2', '-Wall', '-o', unfinished, source]);
  // Whole or not at all: a parallel test must never load half of it.
  renameSync(unfinished, library);
  return library;
}
