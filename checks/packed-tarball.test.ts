// The package as a user gets it: packed, installed into an empty folder, loaded both ways, and type-checked against.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { read, root, runCommand, tsc } from './repository.ts';

const manifest = JSON.parse(read('packages/sluice/package.json'));
const allSubpaths = Object.keys(manifest.exports).map((subpath) => join(manifest.name, subpath));
// Middleware in the types of its framework, which is there when it is used; only Nest's needs it to be loaded.
const frameworks = ['express', 'fastify', 'hono', 'koa', 'nest', 'node'].map((name) => join(manifest.name, name));
const subpaths = allSubpaths.filter((subpath) => !frameworks.includes(subpath));
const withoutFramework = allSubpaths.filter((subpath) => subpath !== join(manifest.name, 'nest'));

let consumer: string;
let installed: string;
let packedFiles: string[];

beforeAll(() => {
  consumer = mkdtempSync(join(tmpdir(), 'packed-tarball-'));
  installed = join(consumer, 'node_modules', manifest.name);
  const packed = runCommand(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', consumer],
    join(root, 'packages/sluice'),
  );
  expect(packed.status, packed.output).toBe(0);
  const [report] = JSON.parse(packed.stdout);
  packedFiles = report.files.map(({ path }: { path: string }) => path);

  writeFileSync(join(consumer, 'package.json'), '{ "private": true }');
  // Offline proves that nothing else is needed.
  const install = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', `./${report.filename}`];
  const result = runCommand('npm', install, consumer);
  expect(result.status, result.output).toBe(0);
}, 120_000);

afterAll(() => rmSync(consumer, { recursive: true, force: true }));

test('the tarball holds the output, the sources and the papers, and no tests', () => {
  expect(packedFiles).toContain('LICENSE');
  expect(packedFiles).toContain('README.md');
  expect(packedFiles).toContain('dist/index.js');
  const allowed = /^(dist\/.+\.(js|d\.ts|js\.map|d\.ts\.map)|src\/.+|LICENSE|README\.md|package\.json)$/;
  expect(packedFiles.filter((file) => !allowed.test(file))).toEqual([]);
  expect(packedFiles.filter((file) => /\.(test|test-d|bench)\./.test(file))).toEqual([]);
});

test('every output has its declarations and maps, and every map leads to a packed source', () => {
  const outputs = packedFiles.filter((file) => /^dist\/.+\.js$/.test(file));
  expect(outputs.length).toBeGreaterThan(0);
  for (const output of outputs) {
    const declaration = output.replace(/js$/, 'd.ts');
    expect(packedFiles).toContain(declaration);
    for (const map of [`${output}.map`, `${declaration}.map`]) {
      expect(packedFiles).toContain(map);
      const { sources } = JSON.parse(readFileSync(join(installed, map), 'utf8'));
      expect(sources.map((source: string) => join(dirname(map), source))).toEqual([
        output.replace(/^dist/, 'src').replace(/js$/, 'ts'),
      ]);
      expect(packedFiles).toContain(output.replace(/^dist/, 'src').replace(/js$/, 'ts'));
    }
  }
});

test('every target of the exports map exists', () => {
  const targets = Object.values<Record<string, string>>(manifest.exports).flatMap((each) => Object.values(each));
  expect(targets.filter((target) => !existsSync(join(installed, target)))).toEqual([]);
});

test.each(withoutFramework)('%s loads by import', (subpath) => {
  const code = `import * as all from '${subpath}'; if (Object.keys(all).length === 0) throw new Error('empty')`;
  const { status, output } = runCommand(process.execPath, ['--input-type=module', '-e', code], consumer);
  expect(status, output).toBe(0);
  expect(output).toBe('');
});

test.each(withoutFramework)('%s loads by require', (subpath) => {
  const code = `if (Object.keys(require('${subpath}')).length === 0) throw new Error('empty')`;
  const { status, output } = runCommand(process.execPath, ['--input-type=commonjs', '-e', code], consumer);
  expect(status, output).toBe(0);
  expect(output).toBe(''); // Also no warning about an experimental feature.
});

const program = `
import { gcra, limiter } from 'sluice';
${subpaths.map((subpath, i) => `import * as all${i} from '${subpath}';`).join('\n')}

const limit = limiter(gcra({ limit: 100, window: '1m' }));
const allowed: boolean = limit.check('key').allowed;
console.log(allowed, ${subpaths.map((_, i) => `all${i}`).join(', ')});

// @ts-expect-error a limit is a number
gcra({ limit: '100', window: '1m' });
// @ts-expect-error not a duration
gcra({ limit: 100, window: '1 fortnight' });
// Not passed directly: then the compiler might object to a surplus property instead.
const plain = { algorithm: 'gcra', limit: 1, window: 1000, burst: 1 } as const;
// @ts-expect-error a plain object is not a policy: it carries no algorithm
limiter(plain);
`;

// A Node program has no DOM types and a page has no Node types: the declarations may need neither's extras.
const environments = [
  { module: 'NodeNext', moduleResolution: 'NodeNext', lib: ['ES2022'], types: ['node'] },
  { module: 'ESNext', moduleResolution: 'Bundler', lib: ['ES2022', 'DOM'], types: [] },
];

test.each(environments)('a consumer type-checks under $moduleResolution', (environment) => {
  const folder = join(consumer, environment.moduleResolution);
  mkdirSync(folder);
  const compilerOptions = {
    ...environment,
    strict: true,
    noEmit: true,
    target: 'ES2022',
    skipLibCheck: false,
    typeRoots: [join(root, 'node_modules/@types')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.mts'] }));
  writeFileSync(join(folder, 'program.mts'), program);
  const { status, output } = runCommand(tsc, ['-p', folder], folder);
  expect(status, output).toBe(0);
});

// Under the repository's own node_modules, where the frameworks are; the packed library is nearer.
const withFrameworks = join(root, '.cache/packed-frameworks');

test('the middleware loads and type-checks beside its framework', () => {
  rmSync(withFrameworks, { recursive: true, force: true });
  mkdirSync(join(withFrameworks, 'node_modules'), { recursive: true });
  cpSync(installed, join(withFrameworks, 'node_modules', manifest.name), { recursive: true });
  const uses = frameworks.map((subpath, i) => `import { rateLimit as limit${i} } from '${subpath}';`).join('\n');
  const calls = frameworks.map(
    (_, i) => `console.log(typeof limit${i}({ policy: gcra({ limit: 1, window: '1s' }) }));`,
  );
  const source = `import 'reflect-metadata';\nimport { gcra } from 'sluice';\n${uses}\n${calls.join('\n')}`;
  writeFileSync(join(withFrameworks, 'program.mts'), source);
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2022',
    lib: ['ES2022'],
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  };
  writeFileSync(join(withFrameworks, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.mts'] }));
  const compiled = runCommand(tsc, ['-p', withFrameworks], withFrameworks);
  expect(compiled.output).toBe('');
  const { status, stdout, output } = runCommand(process.execPath, ['program.mjs'], withFrameworks);
  expect(status, output).toBe(0);
  // Nest's is a guard, all others are functions.
  const kinds = frameworks.map((subpath) => (subpath.endsWith('nest') ? 'object' : 'function'));
  expect(stdout.trim().split('\n')).toEqual(kinds);
});
