/**
 * Programs that tests need, found or installed.
 *
 * On the PATH: used. Missing and root on a Debian: installed, by one process at a time. Otherwise an error that says
 * what to do: a test that needs a server and silently does without one proves nothing.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The path of a program, or undefined. A path is looked at as it is, so that a header file can be asked for too. */
export function findOnPath(binary: string): string | undefined {
  if (isAbsolute(binary)) return existsSync(binary) ? binary : undefined;
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, binary)).find(isExecutable);
}

/** The path of the program, or the file; installs the packages when it is missing and this process may. */
export async function ensureDebianPackage(binary: string, packages: readonly string[]): Promise<string> {
  const found = findOnPath(binary);
  if (found) return found;
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !findOnPath('apt-get')) {
    throw new Error(`${binary} is missing. Install it, on Debian with (as root): ${command}`);
  }
  const output = await installAlone(binary, packages);
  const installed = findOnPath(binary);
  if (installed) return installed;
  throw new Error(`${binary} is missing, and \`${command}\` did not bring it:\n${output}`);
}

/** A Redis server: `SLUICE_REDIS_BIN` when it is set, else the one on the PATH, else Debian's. */
export async function ensureRedis(): Promise<string> {
  const chosen = process.env.SLUICE_REDIS_BIN;
  if (!chosen) return ensureDebianPackage('redis-server', ['redis-server']);
  if (isExecutable(chosen)) return chosen;
  throw new Error(
    `SLUICE_REDIS_BIN must be the path of a redis-server that can be run, got "${chosen}". ` +
      'Unset it to use the one on the PATH.',
  );
}

/** A C compiler with the headers of the C library, which it only recommends. */
export async function ensureCompiler(): Promise<string> {
  const compiler = await ensureDebianPackage('gcc', ['gcc', 'libc6-dev']);
  await ensureDebianPackage('/usr/include/stdio.h', ['libc6-dev']);
  return compiler;
}

/**
 * The lock is the kernel's, so one who dies while installing holds up nobody; whoever waited finds the work done.
 * The lists are fetched only if the install fails without: they are often there, and fetching takes seconds.
 */
const installScript = `
  wanted=$1; shift
  command -v "$wanted" >/dev/null && exit 0
  [ -e "$wanted" ] && exit 0
  install() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"; }
  install "$@" || { apt-get update && install "$@"; }
`;

/** Only root gets as far as to need it, and may write there. */
const installLock = '/run/sluice-test-servers-install.lock';

function installAlone(wanted: string, packages: readonly string[]): Promise<string> {
  const shell = ['sh', '-c', installScript, 'install', wanted, ...packages];
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-w', '600', installLock, ...shell], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (text: string) => {
      output = (output + text).slice(-4000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Not there, or not ours to run: either way not this one.
  }
}
