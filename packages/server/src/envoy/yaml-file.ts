/**
 * A YAML file whose values know where they stand. Read as `envoyproxy/ratelimit` reads it: YAML 1.1, where `yes` is true and anchors
 * and merges work, and text is what is written (`value: 0123` is those four letters, not the number 83).
 *
 * Files are the operator's, and may still be broken or made by a script that ran wild: how deep and how large is bounded before
 * anything walks through them.
 */
import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  visit,
} from 'yaml';
import type { FileProblem } from './file-problem.ts';

// The YAML parser recurses, and at the end of the stack some of what it does ends the process instead of throwing.
const deepest = 128;
// Aliases can make a small file large; this many values, counted as often as they are referred to, are enough for any.
const mostValues = 1_000_000;
const mostCharacters = 16 * 2 ** 20;

/** A value with the key it was found under. */
export interface Field {
  /** Where to point at when the value itself is not there. */
  readonly keyNode: Node;
  readonly value: Node | null;
}

/** What is read of one file; `undefined` values were told of as problems. */
export class YamlFile {
  readonly root: Node | null = null;
  readonly problems: FileProblem[] = [];
  readonly warnings: FileProblem[] = [];
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #targets = new Map<Alias, Node>();
  readonly #endless = new Set<Alias>();
  #values = 0;
  #isTooLarge = false;

  constructor(file: string, text: string) {
    this.#file = file;
    if (text.length > mostCharacters) {
      this.problems.push(this.#at(0, loading(`more than ${mostCharacters} characters`)));
      return;
    }
    const tokens = [...new Parser(this.#lines.addNewLine).parse(text)];
    if (isTooDeep(tokens)) {
      this.problems.push(this.#at(0, loading(`values are nested deeper than ${deepest}`)));
      return;
    }
    // A key that stands twice is told of below, with both places in one file and no reason to refuse what loads elsewhere.
    const composer = new Composer({ version: '1.1', uniqueKeys: false });
    const [document, second] = [...composer.compose(tokens, true, text.length)];
    if (document === undefined) return;
    for (const { code, message, pos } of document.errors) {
      const isOpen = code === 'MISSING_CHAR' && message.includes('quote');
      const { line } = this.#lines.linePos(pos[0]);
      const what = isOpen ? 'found unexpected end of stream' : message;
      this.problems.push(this.#at(pos[0], loading(`yaml: line ${line}: ${what}`)));
    }
    if (second) {
      this.warnings.push(this.#at(second.range[0], 'only the first document of a file is read'));
    }
    if (this.problems.length > 0) return;
    this.#findTargets(document);
    this.root = document.contents;
  }

  problem(node: Node | null, message: string): void {
    this.problems.push(this.#at(node?.range?.[0] ?? 0, message));
  }

  warning(node: Node | null, message: string): void {
    this.warnings.push(this.#at(node?.range?.[0] ?? 0, message));
  }

  /** Whether there is nothing: no value, or null. */
  isNothing(node: Node | null): boolean {
    return isEmpty(isAlias(node) ? (this.#targets.get(node) ?? node) : node);
  }

  /** The fields of a map; null is an empty one. Undefined where it is none. Of a free one, numbers may be keys too. */
  map(node: Node | null, what: string, isFree = false): Map<string, Field> | undefined {
    const found = this.#resolve(node);
    if (found === undefined) return undefined;
    if (isEmpty(found)) return new Map();
    if (!isMap(found)) {
      this.problem(node, loading(`${what} must be a map, got ${this.show(node)}`));
      return undefined;
    }
    const fields = new Map<string, Field>();
    const merged: Field[] = [];
    for (const { key, value } of found.items as Pair<Node, Node | null>[]) {
      const name = isScalar(key) && isFree && typeof key.value !== 'symbol' ? this.show(key) : scalarOf(key);
      if (typeof name === 'symbol') merged.push({ keyNode: key, value });
      else if (typeof name !== 'string') {
        this.problem(key, `config error, key is not of type string: ${this.show(key)}`);
        return undefined;
      } else {
        if (fields.has(name)) this.warning(key, `'${name}' is given twice; the last one counts`);
        fields.set(name, { keyNode: key, value });
      }
    }
    for (const { value } of merged) this.#merge(value, fields, what, isFree);
    return fields;
  }

  /** `<<`: fields of another map, or of several, that are not given here. */
  #merge(value: Node | null, fields: Map<string, Field>, what: string, isFree: boolean): void {
    const source = this.#resolve(value);
    for (const one of isSeq(source) ? (source.items as Node[]) : [value]) {
      for (const [name, field] of this.map(one, `what is merged into ${what}`, isFree) ?? []) {
        if (!fields.has(name)) fields.set(name, field);
      }
    }
  }

  /** The values of a list; null is an empty one. Undefined where it is none. */
  list(node: Node | null, what: string): (Node | null)[] | undefined {
    const found = this.#resolve(node);
    if (found === undefined) return undefined;
    if (isEmpty(found)) return [];
    if (isSeq(found)) return found.items as (Node | null)[];
    this.problem(node, loading(`${what} must be a list, got ${this.show(node)}`));
    return undefined;
  }

  /** A list of maps. The first value that is none is told of. */
  maps(node: Node | null, what: string): Node[] | undefined {
    const values = this.list(node, what);
    const other = values?.findIndex((value) => !isMap(this.#resolve(value))) ?? -1;
    if (values === undefined || other < 0) return values as Node[] | undefined;
    const message = `config error, yaml file contains list of type other than map: ${this.show(values[other]!)}`;
    this.problem(values[other] ?? node, message);
    return undefined;
  }

  /** Text, as it is written; null is the empty text. */
  text(node: Node | null, what: string): string | undefined {
    const found = this.#resolve(node);
    if (found === undefined) return undefined;
    if (isEmpty(found)) return '';
    if (isScalar(found)) return typeof found.value === 'string' ? found.value : (found.source ?? String(found.value));
    this.problem(node, loading(`${what} must be text, got ${this.show(node)}`));
    return undefined;
  }

  /** True or false; null is false. */
  flag(node: Node | null, what: string): boolean | undefined {
    const found = this.#resolve(node);
    if (found === undefined) return undefined;
    if (isEmpty(found)) return false;
    if (isScalar(found) && typeof found.value === 'boolean') return found.value;
    this.problem(node, loading(`${what} must be true or false, got ${this.show(node)}`));
    return undefined;
  }

  /** A whole number from 0 to `most`; null is 0. */
  wholeNumber(node: Node | null, what: string, most: number): number | undefined {
    const found = this.#resolve(node);
    if (found === undefined) return undefined;
    if (isEmpty(found)) return 0;
    const value = isScalar(found) ? found.value : undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
    this.problem(node, loading(`${what} must be a whole number from 0 to ${most}, got ${this.show(node)}`));
    return undefined;
  }

  /** Any data, as JSON has it. What JSON has not (dates, for example) is the text that is written. */
  data(node: Node | null, what: string): unknown {
    const found = this.#resolve(node);
    if (found === undefined || isEmpty(found)) return null;
    if (isSeq(found)) return (found.items as (Node | null)[]).map((item) => this.data(item, what));
    if (isMap(found)) {
      const pairs = [...(this.map(node, what, true) ?? [])].map(([name, { value }]) => [name, this.data(value, what)]);
      return Object.fromEntries(pairs);
    }
    const { value, source } = found as { value?: unknown; source?: string };
    if (typeof value === 'number' && !Number.isFinite(value)) {
      this.problem(node, `error parsing metadata: ${source ?? value} is no number that JSON has`);
    }
    const isPlain = typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string';
    return isPlain ? value : (source ?? String(value));
  }

  /** A value, for a message. */
  show(node: Node | null): string {
    const found = isAlias(node) ? this.#targets.get(node) : node;
    if (isMap(found)) return 'a map';
    if (isSeq(found)) return 'a list';
    const text = isScalar(found) ? (found.source ?? String(found.value)) : 'nothing';
    return text.length > 80 ? `${text.slice(0, 77)}...` : text;
  }

  /** What stands there, or what an alias stands for. Undefined where that cannot be read any further. */
  #resolve(node: Node | null): Node | null | undefined {
    this.#values += 1;
    if (this.#values > mostValues) {
      if (!this.#isTooLarge) this.problem(node, loading(`more than ${mostValues} values`));
      this.#isTooLarge = true;
      return undefined;
    }
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target === undefined) {
      const why = this.#endless.has(node)
        ? `anchor '${node.source}' value contains itself`
        : `unknown anchor '${node.source}' referenced`;
      this.problem(node, loading(`yaml: ${why}`));
    }
    return target;
  }

  /** An alias stands for the latest value of its name before it; one inside of that value would never end. */
  #findTargets(document: Document): void {
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_, node, path) => {
        if (isAlias(node)) {
          const target = anchors.get(node.source);
          if (target && path.includes(target)) this.#endless.add(node);
          else if (target) this.#targets.set(node, target);
        } else if (node.anchor) anchors.set(node.anchor, node);
      },
    });
  }

  #at(offset: number, message: string): FileProblem {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line: Math.max(1, line), column: Math.max(1, col), message };
  }
}

function scalarOf(node: Node): unknown {
  return isScalar(node) ? node.value : node;
}

function loading(message: string): string {
  return `error loading config file: ${message}`;
}

function isEmpty(node: Node | null): boolean {
  return node === null || (isScalar(node) && (node.value === null || node.value === undefined));
}

/** Whether values are nested deeper than may be; looked for without recursion, level by level. */
function isTooDeep(tokens: readonly CST.Token[]): boolean {
  let level: readonly CST.Token[] = tokens;
  // Each level of values is at most two of tokens: a document, or a collection and what it holds.
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) return true;
    level = level.flatMap((token) => {
      if (token.type === 'document') return token.value ? [token.value] : [];
      if (!('items' in token)) return [];
      return token.items.flatMap((item) => [item.key, item.value].filter((one) => one !== null && one !== undefined));
    });
  }
  return false;
}
