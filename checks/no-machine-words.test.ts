// What is committed must mean the same on every machine: no path of the author's disk, no address of their registry.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { read, repositoryFiles, root } from './repository.ts';

// Written in pieces, so that this file does not find itself.
const forbidden: [why: string, pattern: RegExp, files: RegExp][] = [
  ['a path of one machine', new RegExp('/wo' + 'rk/'), /./],
  ['a folder outside the repository', new RegExp('\\.\\./sha' + 'red(?![\\w-])'), /./],
  ['a lockfile bound to a registry', new RegExp('"resol' + 'ved": "http'), /./],
  ['the address of a registry', new RegExp(['registry.npm' + 'js.org', 'registry.yarn' + 'pkg.com'].join('|')), /./],
  ['a test that silences the others', new RegExp('\\.on' + 'ly\\('), /\.test\.ts$/],
];

const textFiles = () => repositoryFiles().filter((file) => !/\.(png|ico|woff2?|tgz)$/.test(file));

function findings(file: string, text: string): string[] {
  return forbidden
    .filter(([, pattern, files]) => files.test(file) && pattern.test(text))
    .map(([why]) => `${file} holds ${why}`);
}

test('no committed file names a machine', () => {
  expect(textFiles().flatMap((file) => findings(file, read(file)))).toEqual([]);
});

test('no committed file names the registry that this machine installs from', () => {
  const setting = execFileSync('npm', ['config', 'get', 'registry'], { cwd: root, encoding: 'utf8' });
  const { host } = new URL(setting.trim());
  expect(textFiles().filter((file) => read(file).includes(host))).toEqual([]);
});

test('the checker finds what it looks for', () => {
  const path = ['', 'wo' + 'rk', 'main'].join('/');
  expect(findings('a.ts', `import '${path}'`)).toEqual(['a.ts holds a path of one machine']);
  expect(findings('a.test.ts', `test.on${'ly'}('x')`)).toEqual(['a.test.ts holds a test that silences the others']);
  expect(findings('a.ts', `import '../shared-memory/store.ts'`)).toEqual([]);
});
