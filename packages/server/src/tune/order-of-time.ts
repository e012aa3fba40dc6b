/**
 * Files in the order of their first calls. `access.log*` names the newest first, and what a policy would have refused depends on what came before.
 * Only the beginning of each is read for it.
 */
import { stat } from 'node:fs/promises';
import { type LogReaderOptions, logReader } from '@sluice/tuner';
import { SluiceError } from 'sluice';
import { readLog, standardInput } from './log-file.ts';

// A file whose first calls lie behind more than this stays where it was named.
const mostBytes = 4 * 1024 * 1024;

/** What has no beginning that could be read twice, as a pipe, and what cannot be read at all, stays in its place. */
export async function inOrderOfTime(paths: readonly string[], options: LogReaderOptions): Promise<readonly string[]> {
  if (paths.length < 2) return paths;
  const files: { path: string; firstMs: number | undefined }[] = [];
  for (const path of paths) files.push({ path, firstMs: await firstMomentOf(path, options) });
  const dated = files.filter(({ firstMs }) => firstMs !== undefined).sort((a, b) => a.firstMs! - b.firstMs!);
  return files.map((file) => (file.firstMs === undefined ? file : dated.shift()!).path);
}

async function firstMomentOf(path: string, options: LogReaderOptions): Promise<number | undefined> {
  const isFile = path !== standardInput && (await stat(path).catch(() => undefined))?.isFile();
  if (!isFile) return undefined;
  const enough = new Error('enough was read');
  let firstMs: number | undefined;
  const reader = logReader({ ...options, key: 'all' }, ({ atMs }) => {
    firstMs ??= atMs;
  });
  try {
    await readLog([path], (chunk) => {
      reader.push(chunk);
      if (firstMs !== undefined || reader.report().bytes > mostBytes) throw enough;
    });
    reader.end();
  } catch (error) {
    // What is wrong with a file is said when all of it is read.
    if (error !== enough && !(error instanceof SluiceError)) throw error;
  }
  return firstMs;
}
