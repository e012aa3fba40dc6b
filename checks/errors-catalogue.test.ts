import { expect, test } from 'vitest';
import { errorCodes } from '../packages/sluice/src/vocabulary/errors.ts';
import { read } from './repository.ts';

/** The codes that open a heading (### `code`) or a table row (| `code` |). */
function documentedCodes(page: string): string[] {
  return [...page.matchAll(/^(?:#+|\|)\s*`([^`]+)`/gm)].map(([, code]) => code ?? '');
}

test('the page of errors and the code list the same errors, each once', () => {
  expect(documentedCodes(read('docs/reference/errors.md')).sort()).toEqual(Object.keys(errorCodes).sort());
});

test('codes are read from headings and from table rows', () => {
  expect(documentedCodes('# Errors\n\n### `one`\n\nSee `two`.\n\n| `three` | why |\n| - | - |\n')).toEqual([
    'one',
    'three',
  ]);
});
