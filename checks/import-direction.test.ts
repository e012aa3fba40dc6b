import { expect, test } from 'vitest';
import { folderOrder, type ImportGraph, importCycles, importsOf, importViolations } from './import-graph.ts';
import { read, repositoryFiles } from './repository.ts';

const sourceFolder = 'packages/sluice/src/';

const library: ImportGraph = new Map(
  repositoryFiles()
    .filter((file) => file.startsWith(sourceFolder) && file.endsWith('.ts'))
    .map((file) => [file.slice(sourceFolder.length), importsOf(read(file))]),
);

test('imports of the library point down, and nowhere else', () => {
  expect(library.size).toBeGreaterThan(0);
  expect(importViolations(library)).toEqual([]);
});

test('no two files of the library need each other', () => {
  expect(importCycles(library)).toEqual([]);
});

test('every folder of the library has its place in the order', () => {
  const folders = [...library.keys()].filter((file) => file.includes('/')).map((file) => file.split('/')[0]);
  expect([...new Set(folders)].filter((folder) => !folderOrder.includes(folder ?? ''))).toEqual([]);
});

test('no folder is a drawer for odds and ends', () => {
  // The paths of a public protocol are its own.
  const own = repositoryFiles().filter((file) => !file.startsWith('packages/server/protos/'));
  const drawers = own.filter((file) => /(^|\/)(utils?|helpers?|common)\//.test(file));
  expect(drawers).toEqual([]);
});

test('the library has no runtime dependencies', () => {
  const manifest = JSON.parse(read('packages/sluice/package.json'));
  expect(manifest.dependencies).toBeUndefined();
  // The frameworks that there is middleware for: nobody needs one that he does not use.
  expect(Object.keys(manifest.peerDependencies)).toEqual(Object.keys(manifest.peerDependenciesMeta));
  for (const peer of Object.values(manifest.peerDependenciesMeta)) expect(peer).toEqual({ optional: true });
  expect(manifest.optionalDependencies).toBeUndefined();
});

test('the checker finds every kind of import', () => {
  const source = `
    import './a.ts';
    import { type B } from './b.ts';
    import type { C } from './c.ts';
    export { d } from './d.ts';
    export * from './e.ts';
    type F = import('./f.ts').F;
    const g = () => import('./g.ts');
    // import './comment.ts';
    const text = "import './text.ts'";
  `;
  expect(importsOf(source)).toEqual(['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts', './f.ts', './g.ts']);
});

test('the checker fails a graph that breaks the rules, and only where it does', () => {
  const graph: ImportGraph = new Map([
    ['index.ts', ['./http/headers.ts', './limit/limiter.ts']],
    ['http/headers.ts', ['../limit/limiter.ts', './missing.ts']],
    ['limit/limiter.ts', ['../stores/memory/store.ts', '../http/headers.ts', 'lodash']],
    ['limit/limiter.test.ts', ['../http/headers.ts', 'vitest']],
    ['http/express/index.ts', ['express', 'fastify']],
    ['stores/memory/store.ts', ['node:fs', '../../limit/limiter.test.ts']],
    ['extras/odd.ts', ['../stores/memory/store.ts']],
  ]);
  expect(importViolations(graph).map((sentence) => sentence.split(': ')[0])).toEqual([
    "http/headers.ts imports './missing.ts'",
    "limit/limiter.ts imports '../http/headers.ts'",
    "limit/limiter.ts imports 'lodash'",
    "http/express/index.ts imports 'fastify'",
    "stores/memory/store.ts imports 'node:fs'",
    "stores/memory/store.ts imports '../../limit/limiter.test.ts'",
    "extras/odd.ts imports '../stores/memory/store.ts'",
  ]);
  expect(importCycles(graph)).toContain('http/headers.ts > limit/limiter.ts > http/headers.ts');
});
