/** What is wrong with a file, and where. */
export interface FileProblem {
  readonly file: string;
  /** From 1; 0 where the whole file or folder is meant. */
  readonly line: number;
  readonly column: number;
  /** In the words of `envoyproxy/ratelimit` where it has any, without the file's name. */
  readonly message: string;
}

/** `limits/api.yaml:4:7: invalid rate limit unit 'foo'`, which editors and terminals turn into a link. */
export function problemText({ file, line, column, message }: FileProblem): string {
  return line === 0 ? `${file}: ${message}` : `${file}:${line}:${column}: ${message}`;
}

// A file that is wrong throughout need not be told so a million times.
const mostShown = 50;

/** The files cannot be used. All of the problems at once: whoever mends them one by one waits for one start after the other. */
export class EnvoyFilesError extends Error {
  readonly problems: readonly FileProblem[];

  constructor(problems: readonly FileProblem[]) {
    const shown = problems.slice(0, mostShown).map(problemText);
    if (problems.length > mostShown) shown.push(`and ${problems.length - mostShown} more`);
    super(shown.join('\n'));
    this.name = 'EnvoyFilesError';
    this.problems = problems;
  }
}
