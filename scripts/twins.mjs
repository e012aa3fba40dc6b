// Turns the Lua files of the library into a module, because browsers and bundlers read no .lua files.
// `node scripts/twins.mjs` writes it; a check compares it with the files.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './set-up.mjs';

const source = join(root, 'packages/sluice/src');
export const moduleFile = join(source, 'stores/redis/lua.generated.ts');

/** Without comments, indentation and empty lines: what a server is sent need not be read. @param {string} text */
function stripped(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n');
}

/** @param {string} folder */
function luaFiles(folder) {
  return readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .sort()
    .map((file) => ({ name: basename(file, '.lua'), text: readFileSync(join(source, folder, file), 'utf8') }));
}

/** What the module should say. */
export function moduleText() {
  const algorithms = luaFiles('algorithms');
  const fieldsOf = (/** @type {string} */ text) => text.match(/fields = \{([^}]*)\}/)?.[1]?.match(/\w+/g);
  const shared = new Map();
  /** @type {Record<string, object>} */
  const twins = {};
  for (const { name, text } of algorithms) {
    if (!text.includes("algorithms['")) shared.set(name, { fields: fieldsOf(text), source: stripped(text) });
  }
  for (const { name, text } of algorithms) {
    if (shared.has(name)) continue;
    const needs = text.match(/needs: ([\w-]+)/)?.[1];
    const fields = fieldsOf(text) ?? shared.get(needs)?.fields;
    if (!fields) throw new Error(`${name}.lua names no fields`);
    twins[name] = {
      code: Number(text.match(/code = (\d+)/)?.[1]),
      needs,
      fields,
      source: `do\n${stripped(text)}\nend`,
    };
  }
  const parts = Object.fromEntries(
    [...luaFiles('stores/redis'), ...luaFiles('layers')].map(({ name, text }) => [name, stripped(text)]),
  );
  return [
    '// Made from the .lua files by scripts/twins.mjs; change those.',
    `export const twins: Readonly<Record<string, Twin>> = ${JSON.stringify(twins, undefined, 2)};`,
    `export const shared: Readonly<Record<string, string>> = ${JSON.stringify(
      Object.fromEntries([...shared].map(([name, { source: text }]) => [name, text])),
      undefined,
      2,
    )};`,
    `export const parts = ${JSON.stringify(parts, undefined, 2)} as const;`,
    `
/** An algorithm in Lua. */
export interface Twin {
  /** What stands for it in a key's value. Never used for another. */
  readonly code: number;
  /** The shared part that it builds on. */
  readonly needs?: string;
  /** The numbers that it takes, in this order. */
  readonly fields: readonly string[];
  readonly source: string;
}
`,
  ].join('\n');
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(moduleFile, moduleText());
