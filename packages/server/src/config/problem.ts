/** Something that is wrong with a configuration, and where. */

export interface Problem {
  /** The file's name as it was given; `environment` or `command line` where the value came from there. */
  readonly file: string;
  /** From 1; 0 when the problem has no line: the file cannot be read, or the value did not come from one. */
  readonly line: number;
  readonly column: number;
  /** `rules[1].limit`; empty for the file as a whole. For the environment, the variable. */
  readonly path: string;
  /** A sentence that names the field, the value and the way out. Secrets are not in it. */
  readonly message: string;
}

/** More are not told: a file that is no configuration at all would be wrong in every line. */
const mostProblems = 100;

/** The first of them, and how many more there are. */
export function firstProblems<T>(problems: readonly T[], problemOf: (message: string) => T): T[] {
  const more = problems.length - mostProblems;
  if (more <= 0) return [...problems];
  return [...problems.slice(0, mostProblems), problemOf(`There are ${more} more problems.`)];
}

export type Path = readonly (string | number)[];

/** `rules[1].tiers.free`, and `match["a b"]` for names that are not words. */
export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) text += text === '' ? shorten(part) : `.${shorten(part)}`;
    else text += `[${shorten(JSON.stringify(part))}]`;
  }
  return text;
}

export function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** A value as people wrote it. */
export function showValue(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty map' : 'a map';
  return shorten(typeof value === 'string' ? JSON.stringify(value) : String(value));
}

/** What may be said of a secret. */
export function kindOf(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'empty text' : 'other text';
  return typeof value === 'object' ? showValue(value) : `a ${typeof value}`;
}
