// The rules that imports inside the library obey, as functions over a plain graph, so that they can be tested too.
import { posix } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A request's path from top to bottom. A file may import from its own folder or from one further down. */
export const folderOrder = [
  'testing',
  'http',
  'limit',
  'schedule',
  'balance',
  'layers',
  'client',
  'protect',
  'stores',
  'algorithms',
  'vocabulary',
];

/** From a file (path inside src) to the specifiers that it imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const isTestFile = (file: string) => /\.(test|test-d|test-support|bench)\.ts$/.test(file);
const topFolder = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : '');
const resolve = (file: string, specifier: string) => posix.join(posix.dirname(file), specifier);

/** Imports, re-exports, `import()` and `import('…').Type`, read from the syntax tree. */
export function importsOf(source: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('source' in node && isStringLiteral(node.source)) found.push(node.source.value);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(source, { lang: 'ts', sourceType: 'module' }).body);
  return found;
}

function isStringLiteral(node: unknown): node is { value: string } {
  return typeof node === 'object' && node !== null && 'value' in node && typeof node.value === 'string';
}

/** One sentence per broken rule: the file, the import, the rule. */
export function importViolations(graph: ImportGraph): string[] {
  const violations: string[] = [];
  for (const [file, specifiers] of graph) {
    if (isTestFile(file)) continue;
    for (const specifier of specifiers) {
      const rule = brokenRule(file, specifier, graph);
      if (rule) violations.push(`${file} imports '${specifier}': ${rule}`);
    }
  }
  return violations;
}

/**
 * Middleware speaks in the types of its framework, which whoever uses it has. Only Nest's has to be there at run time too, and what the
 * cluster's client opens connections with.
 */
const frameworks: Readonly<Record<string, readonly string[]>> = {
  'client/': ['node:crypto', 'node:net', 'node:tls'],
  'http/express/': ['express', 'node:http'],
  'http/fastify/': ['fastify', 'node:http'],
  'http/hono/': ['hono', 'hono/http-exception'],
  'http/koa/': ['koa', 'node:http'],
  'http/nest/': ['@nestjs/common', '@nestjs/core', 'node:http'],
  'http/node/': ['node:http', 'node:http2'],
};

function brokenRule(file: string, specifier: string, graph: ImportGraph): string | undefined {
  const own = Object.entries(frameworks).find(([folder]) => file.startsWith(folder))?.[1] ?? [];
  if (own.includes(specifier)) return undefined;
  if (!specifier.startsWith('.')) return 'the library has no dependencies and runs outside Node';
  const target = resolve(file, specifier);
  if (target.startsWith('..')) return 'the library is complete in itself';
  if (!graph.has(target)) return 'there is no such file';
  if (isTestFile(target)) return 'sources do not depend on tests';
  if (file === 'index.ts') return undefined;
  const from = folderOrder.indexOf(topFolder(file));
  const to = folderOrder.indexOf(topFolder(target));
  if (from === -1) return `its folder is not one of ${folderOrder.join(', ')}`;
  if (to < from) return `imports point down this list, never up: ${folderOrder.join(' > ')}`;
  return undefined;
}

/** Each cycle as 'a.ts > b.ts > a.ts'. Types count: files that need each other's types are one idea in two places. */
export function importCycles(graph: ImportGraph): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const seenAt = path.indexOf(file);
    if (seenAt !== -1) cycles.push([...path.slice(seenAt), file].join(' > '));
    if (seenAt !== -1 || finished.has(file)) return;
    path.push(file);
    for (const specifier of graph.get(file) ?? []) {
      if (specifier.startsWith('.')) visit(resolve(file, specifier));
    }
    path.pop();
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}
