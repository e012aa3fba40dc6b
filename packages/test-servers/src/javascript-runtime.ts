/**
 * Another JavaScript runtime, serving a program on a free loopback port: Bun, Deno, or workerd, which Cloudflare Workers run on.
 *
 * They come as packages, and are installed beside this one when the first test asks: they are large, and few tests need them.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loopback, reservePort } from './free-port.ts';
import { type OwnedProcess, startProcess } from './owned-process.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

export type RuntimeName = 'bun' | 'deno' | 'workerd';

export interface RuntimeOptions {
  readonly name: RuntimeName;
  /**
   * The file to run. Bun and Deno: a program that serves HTTP on `process.env.PORT` of 127.0.0.1. workerd: a module whose default export has
   * `fetch`, with everything that it imports in it.
   */
  readonly program: string;
}

export interface Runtime {
  readonly url: string;
  readonly version: string;
  /** All that it has said. */
  log(): string;
  /** Ends it, and waits for the end. */
  stop(): Promise<void>;
}

const packages = fileURLToPath(new URL('../runtimes', import.meta.url));
let installed: Promise<void> | undefined;

export async function startRuntime({ name, program }: RuntimeOptions): Promise<Runtime> {
  installed ??= install();
  await installed;
  const reserved = await reservePort();
  const { port } = reserved;
  const folder = temporaryFolder(name);
  const logFile = join(folder, 'log');
  const url = `http://${loopback}:${port}`;
  const command = join(packages, 'node_modules/.bin', name);
  let running: OwnedProcess | undefined;

  async function stop(): Promise<void> {
    await running?.end('SIGKILL');
    removeFolder(folder);
    reserved.release();
  }

  try {
    const args = argsOf[name](program, folder, port);
    // Nothing of theirs stays on this machine, and they ask nobody for a newer one.
    const env = { PORT: String(port), DENO_DIR: folder, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' };
    const started = await startProcess({ command, args, folder, logFile, env });
    running = started;
    await waitUntil(`${name} answers on port ${port}`, async () => {
      if (started.state === 'ended') throw new GaveUp(`${name} ended at once:\n${started.log()}`);
      await (await fetch(url)).arrayBuffer();
      return true;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, version: versionOf(name), log: () => readFileSync(logFile, 'utf8'), stop };
}

const argsOf: Record<RuntimeName, (program: string, folder: string, port: number) => string[]> = {
  bun: (program) => ['run', program],
  deno: (program) => ['run', '--no-lock', '--allow-net', '--allow-read', '--allow-env', program],
  workerd(program, folder, port) {
    copyFileSync(program, join(folder, 'program.js'));
    writeFileSync(join(folder, 'config.capnp'), workerdConfig(port));
    return ['serve', 'config.capnp'];
  },
};

/** As on Cloudflare, where what is known of a request's origin comes with it: here in a header. */
const workerdConfig = (port: number) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "program", worker = .program)],
  sockets = [(name = "http", address = "${loopback}:${port}", http = (cfBlobHeader = "cf-blob"), service = "program")]
);
const program :Workerd.Worker = (
  modules = [(name = "program.js", esModule = embed "program.js")],
  compatibilityDate = "2026-04-01"
);
`;

function versionOf(name: RuntimeName): string {
  const { version } = JSON.parse(readFileSync(join(packages, 'node_modules', name, 'package.json'), 'utf8'));
  return version;
}

async function install(): Promise<void> {
  const lockfile = join(packages, 'package-lock.json');
  const done = join(packages, 'node_modules/.package-lock.json');
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(lockfile).mtimeMs) return;
  await npmInstall();
  // npm leaves the file alone when nothing changed; without this every later run would install again.
  const now = new Date();
  utimesSync(done, now, now);
}

function npmInstall(): Promise<void> {
  return new Promise((resolve, reject) => {
    // Not `npm ci`: it refuses a lockfile that lacks optional packages of other platforms.
    const child = spawn('npm', ['install', '--no-save'], { cwd: packages, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (text: string) => {
      output = (output + text).slice(-4000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`\`npm install\` in ${packages} failed:\n${output}`));
    });
  });
}
