/** SIGTERM while the service starts: the built program, whose saved state comes through a pipe, so that it starts as slowly as the test wants. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { programs } from '../programs.ts';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-until-ended-'));
  writeFileSync(
    join(folder, 'sluice.yaml'),
    `listen: { http: 0, grpc: false, resp: false }
workers: 1
drain: 0
store: { type: memory, maxKeys: 1000 }
snapshot: { path: state }
`,
  );
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** @param before a program that is run first, in the same process */
function serve(before = '') {
  const options = ['--import', `data:text/javascript,${encodeURIComponent(before)}`];
  const args = [...options, programs.main, 'serve', '--config', 'sluice.yaml'];
  const child = spawn(process.execPath, args, { cwd: folder });
  children.push(child);
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said.text += chunk));
  return { child, said, ended: once(child, 'exit') as Promise<[code: number | null, signal: string | null]> };
}

type Served = ReturnType<typeof serve>;

async function addressOf({ said }: Served): Promise<string> {
  const pattern = /"listening":\{"http":"([^"]+)"/;
  await waitUntil('it listens', () => pattern.test(said.text));
  return pattern.exec(said.text)![1]!;
}

/** What is left to a key after one more call. */
async function ask(served: Served): Promise<number> {
  const response = await fetch(`http://${await addressOf(served)}/v1/check`, {
    method: 'POST',
    body: JSON.stringify({ policy: { algorithm: 'gcra', limit: 10, window: '1d' }, key: 'ann' }),
  });
  return ((await response.json()) as { remaining: number }).remaining;
}

async function end({ child, ended }: Served): Promise<unknown> {
  child.kill('SIGTERM');
  return (await ended)[0];
}

/** A service that waits for its state, and where to write it. */
async function starting(): Promise<{ served: Served; pipe: FileHandle; state: Buffer }> {
  const first = serve();
  expect(await ask(first)).toBe(9);
  expect(await end(first)).toBe(0);
  const path = join(folder, 'state');
  const state = readFileSync(path);
  execFileSync('mkfifo', [`${path}.pipe`]);
  renameSync(`${path}.pipe`, path);
  const served = serve();
  // Opens when the program reads.
  return { served, pipe: await open(path, 'w'), state };
}

it('a signal while it starts ends it well once it has started, and its state stays whole', async () => {
  const { served, pipe, state } = await starting();
  served.child.kill('SIGTERM');
  await waitUntil('the signal is seen', () => served.said.text.includes('SIGTERM') || served.child.signalCode !== null);
  await pipe.writeFile(state);
  await pipe.close();
  expect([await served.ended, served.said.text]).toEqual([[0, null], expect.stringContaining('"ending"')]);
  const next = serve();
  expect(await ask(next)).toBe(8);
  expect(await end(next)).toBe(0);
});

it('a signal that comes twice at a time ends it well', async () => {
  const served = serve();
  expect(await ask(served)).toBe(9);
  served.child.kill('SIGINT');
  served.child.kill('SIGTERM');
  expect(await served.ended).toEqual([0, null]);
  const next = serve();
  expect(await ask(next)).toBe(8);
});

it('a signal that comes twice at a time ends it well, also when the thread is too busy to hear the second', async () => {
  // As it is while it saves the state of many keys.
  const served = serve(`
    import { writeSync } from 'node:fs';
    const never = new Int32Array(new SharedArrayBuffer(4));
    process.once('SIGINT', () => setImmediate(() => {
      writeSync(2, 'busy');
      Atomics.wait(never, 0, 0, 600);
    }));
  `);
  expect(await ask(served)).toBe(9);
  served.child.kill('SIGINT');
  await waitUntil('it is busy', () => served.said.text.includes('busy'));
  served.child.kill('SIGTERM');
  expect([await served.ended, served.said.text]).toEqual([[0, null], expect.not.stringContaining('at once')]);
  const next = serve();
  expect(await ask(next)).toBe(8);
});

it('another signal ends it at once, and what was saved stays', async () => {
  const { served, pipe, state } = await starting();
  served.child.kill('SIGINT');
  await waitUntil('the signal is seen', () => served.said.text.includes('SIGINT') || served.child.signalCode !== null);
  await waitUntil('so is another', () => {
    served.child.kill('SIGTERM');
    return served.said.text.includes('at once') || served.child.signalCode !== null;
  });
  // Node ends only when its threads have; one of them reads the pipe.
  await pipe.close();
  expect(await served.ended).toEqual([1, null]);
  rmSync(join(folder, 'state'));
  writeFileSync(join(folder, 'state'), state);
  const next = serve();
  expect(await ask(next)).toBe(8);
});
