/**
 * A YAML file as plain data, with the line and column of every field.
 *
 * What the parser says is turned into our words, and never quotes the file: what stands there may be a secret.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
} from 'yaml';
import { firstProblems, type Path, pathText } from './problem.ts';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface SourceProblem extends Position {
  readonly path: string;
  readonly message: string;
}

export interface YamlSource {
  /** Undefined when the text is not YAML. */
  readonly data: unknown;
  readonly problems: readonly SourceProblem[];
  /** Where a field is, or the nearest thing around it that the file has. */
  positionOf(path: Path, part: 'name' | 'value'): Position;
}

/** Larger files are not read: no list of rules is, and a wrong path may lead anywhere. */
export const largestFileBytes = 4 * 1024 * 1024;

/** Some editors begin a file with it. Nobody sees it, and no column counts it. */
export const byteOrderMark = /^\uFEFF/;

/** How often aliases may repeat what they stand for; a few lines of aliases of aliases could fill the memory. */
const mostAliases = 1000;

const wordsByCode: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'A tab indents this line. YAML takes spaces only.',
  BAD_INDENT: 'This line is not indented as its neighbours are. Fields of one map begin in the same column.',
  MULTIPLE_DOCS: 'A second document begins here. Remove the line ---: a file is one configuration.',
  BAD_SCALAR_START: 'A value cannot begin with this character. Put it in quotes.',
  BAD_DQ_ESCAPE: 'The text has an escape that YAML does not know. In single quotes a backslash is only a backslash.',
  BAD_ALIAS: 'An alias (*name) needs an anchor (&name) of that name before it.',
  ALIAS_PROPS: 'An alias (*name) stands for itself: it takes no anchor and no tag.',
  TAG_RESOLVE_FAILED: 'The tag (!name) is not known here. Remove it.',
  BAD_COLLECTION_TYPE: 'The tag (!name) does not fit what follows. Remove it.',
  MULTILINE_IMPLICIT_KEY: 'The name of a field must be on one line, with a colon and a space after it.',
  BLOCK_AS_IMPLICIT_KEY:
    'A second field begins on this line. Put it on a line of its own; text with ": " in it needs quotes.',
  BLOCK_IN_FLOW: 'Inside brackets, entries need commas between them, and maps and lists need brackets of their own.',
  KEY_OVER_1024_CHARS: 'The name of a field is longer than 1024 characters. Is a quote missing?',
  MULTIPLE_ANCHORS: 'A value can have one anchor (&name) only.',
  MULTIPLE_TAGS: 'A value can have one tag (!name) only.',
  BAD_DIRECTIVE: 'A line that begins with % is a directive, and this one is not known. Remove it.',
  RESOURCE_EXHAUSTION: 'The file is nested too deeply.',
};

export function readYaml(text: string): YamlSource {
  const lineCounter = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const broken = (path: string, offset: number, message: string): YamlSource => ({
    data: undefined,
    problems: [{ ...at(offset), path, message }],
    positionOf: () => at(0),
  });
  try {
    // Fields given twice are looked for below, where their path is known. The parser's own warnings would quote the file.
    const document = parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: false,
      merge: true,
      logLevel: 'error',
    });
    // After the first slip the parser guesses; what it finds in the same line is an echo of it.
    const wrong = [...document.errors, ...document.warnings].map((error) => ({
      ...at(pastBlanks(text, error.pos[0])),
      path: '',
      message: syntaxMessage(error),
    }));
    // What each alias stands for: asked one by one, the parser would go through the whole file for each.
    const meanings: Meanings = new Map();
    const anchored = new Map<string, Node>();
    const merges: { readonly key: Scalar; readonly value: unknown }[] = [];
    visit(document, {
      Value(place, node) {
        if (node.anchor) anchored.set(node.anchor, node);
        // With its tag the merge key can stand where it is none. What the parser makes of it there is nothing that data can hold.
        if (place !== 'key' && isMergeKey(node))
          wrong.push({ ...at(node.range?.[0] ?? 0), path: '', message: wordsByCode.BAD_COLLECTION_TYPE as string });
      },
      Alias(_, alias) {
        const meant = anchored.get(alias.source);
        if (meant !== undefined) meanings.set(alias, meant);
        else wrong.push({ ...at(alias.range?.[0] ?? 0), path: '', message: wordsByCode.BAD_ALIAS as string });
      },
      Pair(_, { key, value }) {
        if (isMergeKey(key)) merges.push({ key, value });
      },
    });
    // The parser takes any value after the merge key, and would find out only later, when it no longer knows where.
    for (const { key, value } of merges) {
      if (!canBeMerged(value, meanings)) wrong.push({ ...at(key.range?.[0] ?? 0), path: '<<', message: wrongMerge });
    }
    const lines = new Set<number>();
    const problems = wrong.filter(({ line }) => !lines.has(line) && lines.add(line));
    if (problems.length > 0) return { data: undefined, problems: told(problems), positionOf: () => at(0) };
    return {
      data: document.toJS({ maxAliasCount: mostAliases }),
      problems: fieldsGivenTwice(document, at),
      positionOf: (path, part) => at(offsetOf(document.contents, path, part, meanings)),
    };
  } catch (error) {
    // The parser descends by calls: brackets in brackets in brackets end at the bottom of the stack.
    if (error instanceof RangeError) return broken('', 0, 'The file is nested too deeply.');
    if (error instanceof ReferenceError)
      return broken(
        '',
        0,
        `The file has aliases that stand for more than ${mostAliases} repetitions. Write them out, or fewer.`,
      );
    throw error;
  }
}

type Meanings = Map<Alias, Node>;

function told(problems: readonly SourceProblem[]): SourceProblem[] {
  return firstProblems(problems, (message) => ({ line: 0, column: 0, path: '', message }));
}

const wrongMerge = 'What is merged with "<<" must be a map, or an alias of one.';

/** The parser's own mark: in quotes it is a name like any other. */
function isMergeKey(key: unknown): key is Scalar {
  return isScalar(key) && typeof key.value === 'symbol';
}

/** A map, or a list of maps; each may be an alias. */
function canBeMerged(value: unknown, meanings: Meanings): boolean {
  const meant = isAlias(value) ? meanings.get(value) : value;
  // An alias of nothing is a problem of its own.
  if (meant === undefined || isMap(meant)) return true;
  return isSeq(meant) && meant.items.every((item) => isMap(isAlias(item) ? meanings.get(item) : item));
}

function syntaxMessage({ code, message }: YAMLError): string {
  if (code === 'MISSING_CHAR') {
    if (message.includes('quote')) return 'A quote is opened and not closed.';
    if (/implicit map keys/i.test(message)) return 'A field needs a colon and a space after its name.';
    if (message.includes('space after :')) return 'A colon after the name of a field needs a space after it.';
    if (message.includes('Missing ,')) return 'A comma is missing between two entries.';
    if (message.includes('Comments must')) return 'A comment needs a space before its #. A # inside text needs quotes.';
    if (message.includes('- indicator')) return 'This line stands in a list and does not begin with "- ".';
  }
  if (code === 'BAD_INDENT' && /flow/i.test(message)) return 'A bracket is opened and not closed before this line.';
  return (
    wordsByCode[code] ??
    'Something stands here that is no YAML. Look for a bracket, quote or colon too many or too few.'
  );
}

/** A line that is indented wrongly is wrong where it begins, not where its blanks do. */
function pastBlanks(text: string, offset: number): number {
  const blanks = /^ +/.exec(text.slice(offset, offset + 1024))?.[0].length ?? 0;
  return offset + blanks;
}

/** YAML forbids it, and whichever of the two was meant, the other would be silently lost. */
function fieldsGivenTwice(document: Document, at: (offset: number) => Position): SourceProblem[] {
  const problems: SourceProblem[] = [];
  const walk = (node: unknown, path: Path): void => {
    if (isSeq(node)) for (const [i, item] of node.items.entries()) walk(item, [...path, i]);
    if (!isMap(node)) return;
    const first = new Map<string, number>();
    for (const { key, value } of node.items) {
      const name = nameOf(key);
      const own = [...path, name];
      const offset = (key as Node | null)?.range?.[0] ?? 0;
      const firstOffset = first.get(name);
      if (firstOffset === undefined) first.set(name, offset);
      else
        problems.push({
          ...at(offset),
          path: pathText(own),
          message: `${pathText(own)} is given twice, first on line ${at(firstOffset).line}. Keep one of them.`,
        });
      walk(value, own);
    }
  };
  walk(document.contents, []);
  return problems;
}

function nameOf(key: unknown): string {
  return String(isScalar(key) ? (key.value ?? '') : (key ?? ''));
}

/**
 * The field's name, or its value where that begins on the line of the name. What is missing is told at the map it is missing in;
 * what a merge (`<<`) or an alias brought along, at the nearest place that the file itself has.
 */
function offsetOf(contents: unknown, path: Path, part: 'name' | 'value', meanings: Meanings): number {
  let node = contents;
  let offset = (node as Node | null)?.range?.[0] ?? 0;
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = meanings.get(node);
    const isLast = depth === path.length - 1;
    if (isSeq(node)) {
      node = node.items[Number(step)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.filter((item: Pair) => nameOf(item.key) === String(step)).at(-1) as
        | Pair<Node, Node>
        | undefined;
      if (pair === undefined) return offset;
      offset = pair.key?.range?.[0] ?? offset;
      node = pair.value;
      const isBlock = (isMap(node) || isSeq(node)) && !node.flow;
      const isEmpty = isScalar(node) && node.source === '';
      if (isLast && part === 'value' && !isBlock && !isEmpty) offset = pair.value?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
