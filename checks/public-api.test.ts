import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listPublicApi, publicNames } from '../scripts/public-api.mjs';
import { read, root } from './repository.ts';

test('the committed list of public names is the truth (npm run api rewrites it)', () => {
  expect(listPublicApi(join(root, 'packages/sluice'))).toBe(read('docs/reference/api.txt'));
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'public-api-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function namesOf(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return publicNames(join(folder, 'index.ts'));
}

test('names are followed to what they are', () => {
  const names = namesOf({
    'index.ts': `export { a, B, type C } from './one.ts';\nexport type { D } from './two.ts';\nexport { e as f } from './two.ts';`,
    'one.ts': `export function a() {}\nexport class B {}\nexport { type C } from './two.ts';`,
    'two.ts': `export interface C {}\ntype D = string;\nexport type { D };\nexport const e = 1;`,
  });
  expect(names.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'class B',
    'interface C',
    'type D',
    'function a',
    'const f',
  ]);
});

test('an index file that does more than list names is refused', () => {
  expect(() => namesOf({ 'index.ts': `export * from './one.ts';` })).toThrow('ExportAllDeclaration');
  expect(() => namesOf({ 'index.ts': `export const a = 1;` })).toThrow('may hold only');
  expect(() => namesOf({ 'index.ts': `export { gone } from './one.ts';` })).toThrow('does not declare gone');
});
