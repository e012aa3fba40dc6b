/**
 * Problems for people: where, what, and the line itself.
 *
 *      sluice.yaml:12:12  rules[1].limit must be a number above 0, got 0. To refuse somebody always, use deny.
 *         12 |     limit: 0
 *            |            ^
 *
 * A line that may hold a secret is not quoted: problems end up in the logs of build servers. What a terminal would act on is made visible.
 */
import { visibleText } from '@sluice/tuner/visible-text';
import type { Problem } from './problem.ts';

/** Longer lines are cut around the caret. */
const widestLine = 160;

/** `sources` are the texts by the names of their files; a problem in another file is told without its line. */
export function formatProblems(problems: readonly Problem[], sources: Readonly<Record<string, string>> = {}): string {
  const linesOf = new Map(Object.entries(sources).map(([file, text]) => [file, text.split(/\r\n|\n|\r/)]));
  const secretsOf = new Map([...linesOf].map(([file, lines]) => [file, secretLines(lines)]));
  return problems
    .map((problem) => {
      const { file, line, column } = problem;
      const at = problemLine(problem);
      const quoted = linesOf.get(file)?.[line - 1];
      if (quoted === undefined || quoted.trim() === '' || secretsOf.get(file)?.has(line - 1)) return at;
      return `${at}\n${quote(quoted, line, column)}`;
    })
    .join('\n');
}

/** One line for a log, or for the answer to a reload. */
export function problemLine(problem: Problem): string {
  return visibleText(`${headOf(problem)}  ${problem.message}`);
}

function headOf({ file, line, column }: Problem): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}

function quote(text: string, line: number, column: number): string {
  const from = text.length > widestLine ? Math.max(0, Math.min(column - 80, text.length - widestLine)) : 0;
  const shown = text.slice(from, from + widestLine);
  // Tabs stay tabs, so that the caret stands under its letter however wide they are.
  const visible = (part: string) => part.split('\t').map(visibleText).join('\t');
  const before = visible(shown.slice(0, Math.max(0, column - 1 - from))).replace(/[^\t]/g, ' ');
  const number = String(line).padStart(5);
  return `${number} | ${visible(shown)}\n${' '.repeat(number.length)} | ${before}^`;
}

/** Lines of the security section, those that speak of a token (not of the bucket) or a password, and addresses with credentials in them. */
function secretLines(lines: readonly string[]): Set<number> {
  const secret = new Set<number>();
  let sectionIndent = -1;
  lines.forEach((text, at) => {
    const indent = text.search(/\S/);
    // A list may stand as far left as the name of its field.
    if (sectionIndent >= 0 && indent >= 0 && indent <= sectionIndent && text[indent] !== '-') sectionIndent = -1;
    if (sectionIndent < 0 && /^\s*["']?security["']?\s*:/.test(text)) sectionIndent = indent;
    if (sectionIndent >= 0 || /token(?!-bucket)|password|secret|:\/\/[^/\s]*@/i.test(text)) secret.add(at);
  });
  return secret;
}
