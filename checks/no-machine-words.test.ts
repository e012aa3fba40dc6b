// What is committed must mean the same on every machine: no path of the author's disk, no address of their registry.
import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { read, repositoryFiles, root } from './repository.ts';

// The pattern is written in pieces, so that this file does not find itself.
const silencer = new RegExp('\\.on' + 'ly\\(');
const lockedAddress = new RegExp('"resol' + 'ved": "http');

const textFiles = () => repositoryFiles().filter((file) => !/\.(png|ico|woff2?|tgz)$/.test(file));

/** Where this copy lies, and where its author does; a top-level folder such as / or /tmp says nothing. */
const machinePaths = [root, dirname(root), homedir()].filter((path) => path.split('/').length > 2);

function findings(file: string, text: string): string[] {
  const found = [
    machinePaths.some((path) => text.includes(`${path}/`)) && 'a path of this machine',
    lockedAddress.test(text) && 'a lockfile bound to a registry',
    /\.test\.ts$/.test(file) && silencer.test(text) && 'a test that silences the others',
  ];
  return found.flatMap((why) => (why ? [`${file} holds ${why}`] : []));
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
  expect(findings('a.ts', `import '${root}/x.ts'`)).toEqual(['a.ts holds a path of this machine']);
  expect(findings('a.test.ts', `test.on${'ly'}('x')`)).toEqual(['a.test.ts holds a test that silences the others']);
  expect(findings('lock.json', `"resol${'ved'}": "https://x"`)).toEqual([
    'lock.json holds a lockfile bound to a registry',
  ]);
  expect(findings('a.ts', `import './store.ts'`)).toEqual([]);
});
