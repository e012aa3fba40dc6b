/** Pictures of problems: under a line of the file, a caret where the problem is, and what is said there. */
import { expect } from 'vitest';
import { readConfig } from './read-config.ts';

/** The text without its carets, and what they say as `line:column message`. */
function readPicture(picture: string): { readonly text: string; readonly expected: string[] } {
  const lines: string[] = [];
  const expected: string[] = [];
  for (const line of picture.split('\n')) {
    const [, indent, message] = /^( *)\^ (.*)$/.exec(line) ?? [];
    if (indent === undefined) lines.push(line);
    else expected.push(`${lines.length}:${indent.length + 1} ${message}`);
  }
  return { text: lines.join('\n'), expected };
}

export function told(text: string): string[] {
  const result = readConfig({ path: 'sluice.yaml', text });
  const problems = 'problems' in result ? result.problems : [];
  for (const { file } of problems) expect(file).toBe('sluice.yaml');
  // The path is what the message begins with, unless the problem is the file's own.
  for (const { path, message } of problems) expect(message.startsWith(path)).toBe(true);
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

/** Pictures with a line of `=====` between them. */
export function readPictures(pictures: string) {
  return pictures.split('\n=====\n').map((picture) => readPicture(picture.trim()));
}
