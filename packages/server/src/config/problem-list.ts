/** The problems of one reading, each told where its value came from: a line of the file, a variable, or the command line. */
import { type Path, type Problem, pathText } from './problem.ts';
import type { YamlSource } from './yaml-source.ts';

/** Where a setting came from that the file does not decide. */
export interface Origin {
  readonly file: 'environment' | 'command line';
  /** What people wrote there. */
  readonly name: string;
}

export interface ProblemList {
  add(path: Path, message: string, part?: 'name' | 'value'): void;
  /** Whether something is wrong at this place, or inside it. */
  has(...path: Path): boolean;
  /** Those of the file first, from its top. */
  all(): Problem[];
}

export function problemList(
  file: string,
  source: YamlSource | undefined,
  origins: ReadonlyMap<string, Origin>,
): ProblemList {
  const problems: Problem[] = [];
  const places: Path[] = [];

  function originOf(path: Path): Origin | undefined {
    const own = origins.get(pathText(path));
    if (own !== undefined) return own;
    // What is missing in a section that the file does not have is missing to the variable that opened the section.
    if (hasIn(source?.data, path[0])) return undefined;
    for (const [setting, origin] of origins) if (setting.startsWith(`${path[0]}.`)) return origin;
    return undefined;
  }

  return {
    add(path, message, part = 'value') {
      places.push(path);
      const origin = originOf(path);
      if (origin !== undefined) {
        const isOwn = origins.has(pathText(path));
        const name = isOwn ? origin.name : pathText(path);
        problems.push({ file: origin.file, line: 0, column: 0, path: name, message: `${name} ${message}` });
        return;
      }
      const position = source?.positionOf(path, part) ?? { line: 0, column: 0 };
      const field = pathText(path);
      problems.push({ file, ...position, path: field, message: field === '' ? message : `${field} ${message}` });
    },
    has: (...path) => places.some((place) => path.every((step, i) => place[i] === step)),
    all() {
      return [...problems].sort((a, b) => rank(a, file) - rank(b, file) || a.line - b.line || a.column - b.column);
    },
  };
}

function rank(problem: Problem, file: string): number {
  return problem.file === file ? 0 : 1;
}

function hasIn(data: unknown, name: string | number | undefined): boolean {
  return typeof data === 'object' && data !== null && name !== undefined && Object.hasOwn(data, name);
}
