// Reads the public names of the library from its hand-written index files: for each subpath, each name and its kind.
// The names are taken from the syntax tree, because TypeScript 7 offers no programming interface of its own.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/**
 * The committed list as text: one block per subpath, one line per name.
 * @param {string} packageFolder
 */
export function listPublicApi(packageFolder) {
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  const blocks = Object.entries(manifest.exports).map(([subpath, conditions]) => {
    const names = publicNames(join(packageFolder, conditions['@sluice/source']));
    const lines = names.map(({ kind, name }) => `  ${kind.padEnd(9)} ${name}`);
    return [join(manifest.name, subpath), ...lines].join('\n');
  });
  return `# Every public name, by subpath. Written by \`npm run api\`.\n\n${blocks.join('\n\n')}\n`;
}

/**
 * @param {string} indexFile
 * @returns {{ name: string, kind: string }[]} sorted by name
 */
export function publicNames(indexFile) {
  const names = [];
  for (const node of parse(indexFile).body) {
    if (node.type !== 'ExportNamedDeclaration' || !node.source) {
      throw new Error(`${indexFile} may hold only "export { a, type B } from './x.ts'", found a ${node.type}`);
    }
    for (const specifier of node.specifiers) {
      const name = nameOf(specifier.exported);
      names.push({ name, kind: kindOf(join(dirname(indexFile), node.source.value), nameOf(specifier.local)) });
    }
  }
  return names.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Follows a name to the file that declares it.
 * @param {string} file
 * @param {string} name
 * @returns {string}
 */
function kindOf(file, name) {
  if (!existsSync(file)) throw new Error(`${name} is exported from ${file}, which does not exist`);
  const { body } = parse(file);
  for (const node of body) {
    const declaration = node.type === 'ExportNamedDeclaration' && node.declaration ? node.declaration : node;
    const kind = declaredKind(declaration, name);
    if (kind) return kind;
  }
  for (const node of body) {
    if (node.type !== 'ExportNamedDeclaration' || !node.source) continue;
    const specifier = node.specifiers.find(({ exported }) => nameOf(exported) === name);
    if (specifier) return kindOf(join(dirname(file), node.source.value), nameOf(specifier.local));
  }
  throw new Error(`${relative(process.cwd(), file)} does not declare ${name}`);
}

/**
 * @param {import('rolldown/utils').ESTree.Statement | import('rolldown/utils').ESTree.Declaration} node
 * @param {string} name
 */
function declaredKind(node, name) {
  switch (node.type) {
    case 'VariableDeclaration':
      return node.declarations.some(({ id }) => id.type === 'Identifier' && id.name === name) ? node.kind : undefined;
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return node.id?.name === name ? 'function' : undefined;
    case 'ClassDeclaration':
      return node.id?.name === name ? 'class' : undefined;
    case 'TSInterfaceDeclaration':
      return node.id.name === name ? 'interface' : undefined;
    case 'TSTypeAliasDeclaration':
      return node.id.name === name ? 'type' : undefined;
    case 'TSEnumDeclaration':
      return node.id.name === name ? 'enum' : undefined;
    default:
      return undefined;
  }
}

/** @param {string} file */
function parse(file) {
  return parseAst(readFileSync(file, 'utf8'), { lang: 'ts', sourceType: 'module' }, file);
}

/** @param {import('rolldown/utils').ESTree.ModuleExportName} node */
function nameOf(node) {
  return node.type === 'Literal' ? node.value : node.name;
}
