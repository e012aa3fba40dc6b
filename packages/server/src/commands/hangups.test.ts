/** SIGHUP while the program starts: the built program, whose configuration comes through a pipe, so that it starts as slowly as the test wants. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, it } from 'vitest';
import { programs } from '../programs.ts';

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hangups-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function write(pipe: FileHandle, text: string): Promise<void> {
  await pipe.writeFile(text);
  await pipe.close();
}

it.each([
  ['serve', 'listen: { http: 0, grpc: false, resp: false }\nworkers: 1\n'],
  ['gateway', 'gateway: { listen: 0, admin: false, upstreams: { a: { members: ["127.0.0.1:1"] } } }\n'],
])('%s reads its configuration again once it is up, when it was told to before', async (command, config) => {
  const path = join(folder, 'sluice.yaml');
  execFileSync('mkfifo', [path]);
  const started = spawn(process.execPath, [programs.main, command, '--config', path], { cwd: folder });
  child = started;
  let said = '';
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (chunk) => (said += chunk));
  const ended = once(started, 'exit').then(([code, signal]) => {
    throw new Error(`It ended: ${code} ${signal} ${said}`);
  });
  // Opens when the program reads.
  const first = await Promise.race([open(path, 'w'), ended]);
  // Whoever reads again finds another pipe: the first may still be open.
  execFileSync('mkfifo', [`${path}.next`]);
  renameSync(`${path}.next`, path);
  started.kill('SIGHUP');
  await write(first, config);
  const second = await Promise.race([open(path, 'w'), ended]);
  await write(second, `${config}logs: { level: debug }\n`);
  const isSaid = waitUntil('it was read again', () => said.includes('the configuration was read again'));
  await Promise.race([isSaid, ended]);
  ended.catch(() => undefined);
});
