// What every command does first, so that each of them works on a fresh clone: dependencies, then the build.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a command with its output passed through, in the repository's root unless told otherwise.
 * Tools are called from node_modules/.bin: npx would add half a second to each.
 * @param {string} command
 * @param {string[]} args
 * @param {{ folder?: string, stdout?: 'inherit' | 2 }} [options] 2: what it prints goes to stderr
 * @returns {boolean} whether it succeeded
 */
export function run(command, args, { folder = root, stdout = 'inherit' } = {}) {
  const tool = join(root, 'node_modules/.bin', command);
  const { status, error } = spawnSync(existsSync(tool) ? tool : command, args, {
    cwd: folder,
    stdio: ['ignore', stdout, 'inherit'],
  });
  if (error) console.error(`could not run ${command}: ${error.message}`);
  return status === 0;
}

/** Installs the dependencies of a folder unless they are at least as new as its lockfile. */
export function installDependencies(folder = root) {
  const lockfile = join(folder, 'package-lock.json');
  const installed = join(folder, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return true;
  // To stderr, and npm's own words too: stdout belongs to the command, which may have been asked for JSON.
  console.error(`installing dependencies${folder === root ? '' : ` of ${relative(root, folder)}`}`);
  // Not `npm ci`: it refuses a lockfile that lacks optional packages of other platforms.
  // `--include=dev` because NODE_ENV=production would leave the tools out.
  if (!run('npm', ['install', '--no-save', '--include=dev'], { folder, stdout: 2 })) return false;
  // npm leaves the file alone when nothing changed; without this every later command would install again.
  const now = new Date();
  utimesSync(installed, now, now);
  return true;
}

/** Compiles every package into its dist, the programs of the service into few files, and the studio into its site. */
export function build() {
  removeStaleOutput();
  run('node', ['scripts/twins.mjs']);
  return run('tsc', ['-b'], { stdout: 2 }) && buildPrograms() && buildStudio();
}

// Both of the packages as they are published, so after them; not at all where nothing has changed since.
const libraries = ['packages/sluice/dist', 'packages/simulator/dist', 'packages/tuner/dist'];

function buildPrograms() {
  const folder = join(root, 'packages/server');
  if (
    isNewer(join(folder, 'program/main.js'), [
      'packages/server/dist',
      'packages/server/bundle-programs.mjs',
      ...libraries,
    ])
  )
    return true;
  return run('node', ['bundle-programs.mjs'], { folder, stdout: 2 });
}

function buildStudio() {
  const folder = join(root, 'packages/studio');
  if (isNewer(join(folder, 'site/index.html'), ['packages/studio', ...libraries])) return true;
  return run('vite', ['build', '--logLevel', 'warn'], { folder, stdout: 2 });
}

/**
 * @param {string} built
 * @param {readonly string[]} sources files and folders
 */
function isNewer(built, sources) {
  const builtMs = existsSync(built) ? statSync(built).mtimeMs : 0;
  return sources.every((source) => newestMs(join(root, source)) < builtMs);
}

/** @param {string} folder or a file */
function newestMs(folder) {
  if (statSync(folder).isFile()) return statSync(folder).mtimeMs;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const times = files
    .filter(
      (file) => file.isFile() && !/(^|\/)(site|node_modules|scenarios)(\/|$)/.test(relative(folder, file.parentPath)),
    )
    .map((file) => statSync(join(file.parentPath, file.name)).mtimeMs);
  return Math.max(0, ...times);
}

/** `tsc -b` never deletes: without this, the output of a renamed source would be published for ever. */
function removeStaleOutput() {
  for (const name of readdirSync(join(root, 'packages'))) {
    const source = join(root, 'packages', name, 'src');
    const output = join(root, 'packages', name, 'dist');
    if (!existsSync(output)) continue;
    const files = readdirSync(output, { recursive: true, encoding: 'utf8' });
    const isStale = files.some((file) => file.endsWith('.js') && !existsSync(join(source, file.replace(/js$/, 'ts'))));
    if (isStale) rmSync(output, { recursive: true });
  }
}
