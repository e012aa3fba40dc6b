// Every code block that a reader may paste is checked by machine: programs are compiled and run, commands must exist,
// data must parse. A block that cannot be checked is called `text`.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RedisServer, type SluiceService, startRedis, startSluice } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Block, codeBlocks, promisedLines, shellProblem } from './markdown-blocks.ts';
import { read, repositoryFiles, root, runCommand, tsc } from './repository.ts';
import { commandsOf, isTyped, runSession } from './shell-session.ts';

const pages = repositoryFiles().filter((file) =>
  /^((packages|examples)\/.*)?README\.md$|^docs\/guides\/.*\.md$/.test(file),
);
const blocks = pages.flatMap((file) => codeBlocks(file, read(file)));
const titled = (languages: string[]) =>
  blocks
    .filter(({ language }) => languages.includes(language))
    .map((block) => ({ title: `${block.file}:${block.line}`, block }));

// Inside the repository, so that `sluice` resolves to the built package.
const folder = join(root, '.cache/snippets');
const nameOf = ({ file, line, language }: Block) =>
  `${file.replace(/[^a-zA-Z]+/g, '-')}-${line}.${language === 'ts' ? 'mts' : 'mjs'}`;

let compilerOutput = '';
let redis: RedisServer;
let service: SluiceService;
afterAll(() => Promise.all([redis?.stop(), service?.stop()]));
beforeAll(async () => {
  // What a reader has running. A service of its own is a cluster of one node.
  redis = await startRedis();
  process.env.REDIS_URL = `redis://127.0.0.1:${redis.port}`;
  service = await startSluice({ args: ['--config', join(root, 'examples/sluice.yaml')] });
  process.env.CLUSTER_NODES = `127.0.0.1:${service.respPort}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { block } of titled(['ts', 'js'])) writeFileSync(join(folder, nameOf(block)), block.code);
  const compilerOptions = {
    strict: true,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: 'NodeNext',
    types: ['node'],
    skipLibCheck: true,
    // Nest's.
    experimentalDecorators: true,
    moduleDetection: 'force',
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }));
  if (titled(['ts']).length > 0) compilerOutput = runCommand(tsc, ['-p', folder, '--pretty', 'false'], folder).output;
});

test('there is a README, and every code block says what it is', () => {
  expect(pages).toContain('README.md');
  const known = ['ts', 'js', 'sh', 'bash', 'yaml', 'json', 'text'];
  const unknown = blocks.filter(({ language }) => !known.includes(language));
  expect(unknown.map(({ file, line, language }) => `${file}:${line} is "${language}", not ${known}`)).toEqual([]);
});

test.each(titled(['ts', 'js']))('$title compiles, runs, and prints what it says', ({ block }) => {
  const name = nameOf(block);
  expect(compilerOutput.split('\n').filter((line) => line.startsWith(name))).toEqual([]);
  expect(existsSync(join(root, 'packages/sluice/dist/index.js')), 'run `npm run build` first').toBe(true);
  const { status, stdout, output } = runCommand(process.execPath, [name.replace('.mts', '.mjs')], folder);
  expect(status, output).toBe(0);
  const promised = promisedLines(block.code);
  if (promised.length > 0) expect(stdout.trimEnd().split('\n')).toEqual(promised);
});

test.each(titled(['sh', 'bash']))(
  '$title names commands that exist, and what is typed at a service works',
  async ({ block }) => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts);
    const { name } = JSON.parse(read('packages/sluice/package.json'));
    const problems = commandsOf(block.code)
      .filter((line) => !isTyped(line))
      .map((line) => [line, shellProblem(line, scripts, name)] as const)
      .filter(([, problem]) => problem !== undefined);
    expect(problems).toEqual([]);
    expect(await runSession(block.code, folder)).toEqual([]);
  },
);

test.each(titled(['json']))('$title parses', ({ block }) => {
  JSON.parse(block.code);
});

test.each(titled(['yaml']))('$title parses, and its rules are rules', async ({ block }) => {
  const document = parse(block.code);
  if (!document?.rules) return;
  const sluice: Record<string, unknown> = await import('sluice');
  expect(sluice.parseRules, 'sluice exports parseRules').toBeTypeOf('function');
  (sluice.parseRules as (document: unknown) => unknown)(document);
});

describe('the checker', () => {
  test('finds blocks, also indented and nested ones', () => {
    const page = 'a\n```ts\nx\n```\n1. b\n   ```sh\n   npm test\n   ```\n````text\n```js\n````\n';
    expect(codeBlocks('a.md', page)).toEqual([
      { file: 'a.md', line: 2, language: 'ts', code: 'x\n' },
      { file: 'a.md', line: 6, language: 'sh', code: 'npm test\n' },
      { file: 'a.md', line: 9, language: 'text', code: '```js\n' },
    ]);
    expect(() => codeBlocks('a.md', '```ts\nx\n')).toThrow('a.md:1');
  });

  test('reads the promised output', () => {
    expect(promisedLines('console.log(1); // → 1\nf();\n// → two words\n')).toEqual(['1', 'two words']);
  });

  test('refuses commands that it cannot vouch for', () => {
    const rows: [line: string, isTrusted: boolean][] = [
      ['npm install sluice', true],
      ['npm start', true],
      ['npm run bench -- gcra   # one file', true],
      ['# only a comment', true],
      ['git clone https://example.com/sluice.git', true],
      ['npm install slice', false],
      ['npm run nonsense', false],
      ['curl localhost:8080', false],
      ['npm test && rm -rf .', false],
    ];
    for (const [line, isTrusted] of rows) {
      expect([line, shellProblem(line, ['start', 'test', 'bench'], 'sluice') === undefined]).toEqual([line, isTrusted]);
    }
  });
});
