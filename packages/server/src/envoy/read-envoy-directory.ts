/**
 * The files of a folder, and of the folders in it, in the order of their paths.
 *
 * Kubernetes mounts a volume of files so that it can be swapped in one step:
 *
 *      limits/api.yaml ──► ..data/api.yaml          what is read
 *      limits/..data ──► ..2026_01_30/              the same once more, and so is this
 *      limits/..2026_01_30/api.yaml
 *
 * Links are followed; hidden names (a leading dot) are not looked at; and whatever way leads to a file, it is read once.
 */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvoyRules } from './envoy-rules.ts';
import { EnvoyFilesError, type FileProblem } from './file-problem.ts';
import { type EnvoyFile, type EnvoyFilesOptions, loadEnvoyFiles } from './load-envoy-files.ts';

const mostFiles = 10_000;
const mostFolders = 10_000;
const mostBytes = 64 * 2 ** 20;

/** Throws an `EnvoyFilesError` with everything that is wrong; also when there is no file, because then nothing is limited. */
export function readEnvoyDirectory(directory: string, options: EnvoyFilesOptions): EnvoyRules {
  const files: EnvoyFile[] = [];
  const problems: FileProblem[] = [];
  const seen = new Set<string>();
  let folders = 0;
  let bytes = 0;

  function readFolder(folder: string): void {
    folders += 1;
    if (folders > mostFolders) throw new Error(`there are more than ${mostFolders} folders`);
    for (const name of readdirSync(folder).sort()) {
      if (!name.startsWith('.')) attempt(join(folder, name), read);
    }
  }

  function read(path: string): void {
    const found = statSync(path);
    const isFile = found.isFile() && /\.ya?ml$/.test(path);
    if (!isFile && !found.isDirectory()) return;
    const real = realpathSync(path);
    if (seen.has(real)) return;
    seen.add(real);
    if (!isFile) {
      readFolder(path);
      return;
    }
    bytes += found.size;
    if (files.length === mostFiles) throw new Error(`there are more than ${mostFiles} files`);
    if (bytes > mostBytes) throw new Error(`the files are larger than ${mostBytes} bytes together`);
    files.push({ path, text: readFileSync(path, 'utf8') });
  }

  /** What cannot be read is a problem like any other, beside those of the files that can. */
  function attempt(path: string, run: (path: string) => void): void {
    try {
      run(path);
    } catch (error) {
      problems.push({ file: path, line: 0, column: 0, message: `cannot be read: ${(error as Error).message}` });
    }
  }

  attempt(directory, (path) => {
    seen.add(realpathSync(path));
    readFolder(path);
  });
  if (problems.length === 0 && files.length === 0) {
    const message = 'no rate limit configuration loaded: there is no .yaml or .yml file';
    problems.push({ file: directory, line: 0, column: 0, message });
  }
  if (problems.length > 0) throw new EnvoyFilesError([...problems, ...problemsOf(files, options)]);
  return loadEnvoyFiles(files, options);
}

function problemsOf(files: readonly EnvoyFile[], options: EnvoyFilesOptions): readonly FileProblem[] {
  try {
    loadEnvoyFiles(files, options);
    return [];
  } catch (error) {
    if (error instanceof EnvoyFilesError) return error.problems;
    throw error;
  }
}
