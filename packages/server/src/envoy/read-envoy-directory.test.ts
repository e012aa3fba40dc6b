import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EnvoyFilesError } from './file-problem.ts';
import { readEnvoyDirectory } from './read-envoy-directory.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-envoy-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const file = (domain: string) => `domain: ${domain}\ndescriptors: [{ key: k, rate_limit: { unit: day } }]\n`;

function write(path: string, text: string): void {
  mkdirSync(join(directory, path, '..'), { recursive: true });
  writeFileSync(join(directory, path), text);
}

const domains = (mergeDomains = false) => [...readEnvoyDirectory(directory, { mergeDomains }).domains.keys()];

/** Problems, with the folder's own path left out. */
function problems(folder = directory): string[] {
  try {
    readEnvoyDirectory(folder, { mergeDomains: false });
  } catch (error) {
    if (error instanceof EnvoyFilesError) return error.message.replaceAll(directory, '.').split('\n');
    throw error;
  }
  return [];
}

it('reads .yaml and .yml of all folders, in the order of their paths', () => {
  write('c.yaml', file('third'));
  write('b/z.yml', file('second'));
  write('a.yaml', file('first'));
  write('notes.txt', 'no configuration');
  write('.hidden.yaml', 'broken: [');
  expect(domains()).toEqual(['first', 'second', 'third']);
});

it('reads upstream’s example and the folder of its integration test, whole', () => {
  const from = (path: string) => fileURLToPath(new URL(`upstream-files/${path}`, import.meta.url));
  cpSync(from('test/integration/runtime/current/ratelimit/config'), join(directory, 'integration'), {
    recursive: true,
  });
  cpSync(from('examples/ratelimit/config'), join(directory, 'example'), { recursive: true });
  const rules = readEnvoyDirectory(directory, { mergeDomains: false });
  expect([...rules.domains.keys()]).toEqual(['rl', 'another', 'basic', 'share-threshold-test']);
  expect(rules.limits).toHaveLength(28);
  expect(rules.warnings).toEqual([]);
});

it('reads a volume of Kubernetes once, and what it was swapped for', () => {
  write('..2026_01_30/api.yaml', file('old'));
  symlinkSync('..2026_01_30', join(directory, '..data'));
  symlinkSync('..data/api.yaml', join(directory, 'api.yaml'));
  expect(domains()).toEqual(['old']);
  write('..2026_01_31/api.yaml', file('new'));
  rmSync(join(directory, '..data'));
  symlinkSync('..2026_01_31', join(directory, '..data'));
  expect(domains()).toEqual(['new']);
});

it('reads a file once, whatever links lead to it, and survives links that lead round', () => {
  write('a/one.yaml', file('one'));
  symlinkSync('one.yaml', join(directory, 'a/two.yaml'));
  symlinkSync('..', join(directory, 'a/up'));
  symlinkSync('a', join(directory, 'b'));
  expect(domains()).toEqual(['one']);
});

it('may be a link itself', () => {
  write('real/one.yaml', file('one'));
  symlinkSync('real', join(directory, 'link'));
  expect([...readEnvoyDirectory(join(directory, 'link'), { mergeDomains: false }).domains.keys()]).toEqual(['one']);
});

it('merges domains when it is told to, and only then', () => {
  write('a.yaml', 'domain: d\ndescriptors: [{ key: a }]\n');
  write('b.yaml', 'domain: d\ndescriptors: [{ key: b }]\n');
  expect(problems()).toEqual(["./b.yaml:1:9: duplicate domain 'd' in config file"]);
  expect(domains(true)).toEqual(['d']);
});

it('is wrong when there is nothing to read: nothing would be limited', () => {
  expect(problems()).toEqual(['.: no rate limit configuration loaded: there is no .yaml or .yml file']);
  expect(problems(join(directory, 'nowhere'))).toEqual([expect.stringMatching(/^\.\/nowhere: cannot be read: ENOENT/)]);
});

it('tells what cannot be read beside what is wrong', () => {
  symlinkSync('gone', join(directory, 'lost.yaml'));
  write('wrong.yaml', 'domain: d\nlimits: 5\n');
  expect(problems()).toEqual([
    expect.stringMatching(/^\.\/lost\.yaml: cannot be read: ENOENT/),
    "./wrong.yaml:2:1: config error, unknown key 'limits'",
  ]);
});
