// The service as a user gets it: it and what it needs of this repository packed, installed into an empty folder, and the command run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { read, root, runCommand } from './repository.ts';

let consumer: string;
let packedFiles: string[];

function pack(name: string): { filename: string; files: { path: string }[] } {
  const folder = join(root, 'packages', name);
  const packed = runCommand('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', consumer], folder);
  expect(packed.status, packed.output).toBe(0);
  return JSON.parse(packed.stdout)[0];
}

beforeAll(() => {
  consumer = mkdtempSync(join(tmpdir(), 'packed-server-'));
  const others = ['sluice', 'simulator', 'tuner', 'studio'].map(pack);
  const server = pack('server');
  packedFiles = server.files.map(({ path }) => path);
  writeFileSync(join(consumer, 'package.json'), '{ "private": true }');
  const tarballs = [...others, server].map(({ filename }) => `./${filename}`);
  const install = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs];
  const result = runCommand('npm', install, consumer);
  expect(result.status, result.output).toBe(0);
}, 300_000);

afterAll(() => rmSync(consumer, { recursive: true, force: true }));

const sluice = (...args: string[]) => runCommand(join(consumer, 'node_modules/.bin/sluice'), args, consumer);

test('the tarball holds the command, the schema, the protocol and the papers, and no tests', () => {
  for (const file of ['program/main.js', 'sluice.schema.json', 'LICENSE', 'README.md'])
    expect(packedFiles).toContain(file);
  expect(packedFiles).toContain('protos/envoy/service/ratelimit/v3/rls.proto');
  expect(packedFiles.filter((file) => /\.(test|test-support)\.|upstream-files/.test(file))).toEqual([]);
});

test('the command runs, says its version and decides', () => {
  const { version } = JSON.parse(read('packages/server/package.json'));
  expect(sluice('--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
  expect(sluice('--help').stdout).toMatch(/serve[\s\S]+check[\s\S]+validate[\s\S]+bench/);
  const policy = JSON.stringify({ algorithm: 'gcra', limit: 1, window: '1m' });
  expect(sluice('check', '--policy', policy, '--times', '2').status).toBe(1);
  expect(sluice('nonsense').status).toBe(2);
});

test('the schema of the package validates, and completes, what the guide configures', () => {
  const schema = JSON.parse(readFileSync(join(consumer, 'node_modules/sluice-server/sluice.schema.json'), 'utf8'));
  expect(Object.keys(schema.properties)).toContain('rules');
  const file = join(root, 'examples/saas/sluice.yaml');
  expect(sluice('validate', file)).toMatchObject({ status: 0 });
});
