import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
afterAll(() => rmSync(folder, { recursive: true }));

const built = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url)));

/** A real cluster: the primary forks one worker, and each makes a limit over a store. */
const program = (store: string) => `
  const cluster = await import('node:cluster');
  const { rateLimit } = await import(${built('http/node/index.js')});
  const { gcra, memoryStore } = await import(${built('index.js')});
  const warn = (message) => console.log((cluster.default.isPrimary ? 'primary: ' : 'worker: ') + message);
  rateLimit({ policy: gcra({ limit: 1, window: '1m' }), warn, ...(${store}) });
  if (cluster.default.isPrimary) cluster.default.fork();
  else process.disconnect();
`;

async function lines(store: string): Promise<string[]> {
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program(store));
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  return stdout.split('\n').filter((line) => line !== '');
}

it('a process of a cluster is warned when its limits are in its own memory', async () => {
  const told = await lines('{}');
  expect(told).toHaveLength(1);
  expect(told[0]).toMatch(/^worker: This process is one of a cluster.*README\.md#many-processes$/);
});

it('a process of a cluster with a store that answers later is not', async () => {
  const later = `{ store: { mode: 'async', clock: memoryStore().clock, apply: async () => [] } }`;
  expect(await lines(later)).toEqual([]);
});
