// What the checks share: where the repository is, which files belong to it, and how to run a command in it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Every file that is, or would be, committed; paths from the root. */
export function repositoryFiles(): string[] {
  try {
    // The setting lets root read a clone that belongs to someone else, as on many build machines.
    const list = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const output = execFileSync('git', list, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return output.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  } catch {
    return walk(''); // No git on this machine, or a copy without its history.
  }
}

function walk(folder: string): string[] {
  const ignored = new Set(['.git', 'node_modules', 'dist', 'coverage', '.cache']);
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (ignored.has(entry.name)) return [];
    return entry.isDirectory() ? walk(path) : [path];
  });
}

export interface CommandResult {
  status: number | null;
  stdout: string;
  /** Standard output and standard error, for messages. */
  output: string;
}

// However slow the machine, a command that has not ended by then never will.
const longestMs = 300_000;

export function runCommand(command: string, args: string[], cwd: string = root): CommandResult {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: longestMs });
  return { status, stdout, output: `${stdout}${stderr}${error?.message ?? ''}` };
}

export const tsc = join(root, 'node_modules/.bin/tsc');
