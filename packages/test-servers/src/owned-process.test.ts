// Needs a process of its own that dies, so the sources are bundled for a plain Node to run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis } from './redis-server.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { waitUntil } from './wait-until.ts';

const folder = temporaryFolder('owned-process-test');
const bundle = join(folder, 'redis-server.mjs');
beforeAll(() =>
  build({
    input: fileURLToPath(new URL('./redis-server.ts', import.meta.url)),
    platform: 'node',
    output: { file: bundle, format: 'esm' },
    logLevel: 'silent',
  }),
);
afterAll(() => removeFolder(folder));

/** Starts a process that starts one server and pauses another, and tells about them. */
async function owner(ending: string): Promise<{ process: ChildProcess; pids: number[]; folders: string[] }> {
  const program = `
    import { startRedis } from ${JSON.stringify(bundle)};
    const servers = await Promise.all([startRedis(), startRedis()]);
    await servers[1].pause();
    const story = { pids: servers.map(({ pid }) => pid), folders: servers.map(({ folder }) => folder) };
    process.stdout.write(JSON.stringify(story) + '\\n', () => { ${ending} });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout!.setEncoding('utf8'), 'data');
  return { process: child, ...JSON.parse(line) };
}

/** One that has ended stays in the table until somebody asks how; its owner is dead, and not every container has another. */
function isAlive(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

test('servers and folders are gone when their owner exits, paused ones too', async () => {
  const { pids, folders } = await owner('process.exit(0);');
  await waitUntil('both servers have ended', () => !pids.some(isAlive));
  expect(folders.length).toBe(2);
  // The servers go first; their owner may still be at it.
  await waitUntil('both folders are gone', () => !folders.some((path) => existsSync(path)));
});

test('servers are gone when their owner is killed without a goodbye', async () => {
  const { process: child, pids, folders } = await owner('setInterval(() => {}, 1000);');
  expect(pids.every(isAlive)).toBe(true);
  child.kill('SIGKILL');
  await waitUntil('both servers have ended', () => !pids.some(isAlive));
  // Nobody was left to remove them.
  for (const path of folders) rmSync(path, { recursive: true });
});

test('an owner that forgets its servers still ends by itself', async () => {
  const { process: child, pids } = await owner('');
  await waitUntil('the owner has ended', () => child.exitCode !== null || child.signalCode !== null);
  await waitUntil('both servers have ended', () => !pids.some(isAlive));
});

test('a server that is ended by a signal while paused ends', async () => {
  const server = await startRedis();
  await server.pause();
  await server.kill('SIGTERM');
  expect(server.state).toBe('ended');
  await expect(server.pause()).rejects.toThrow('has ended and cannot be paused');
  await server.stop();
});
