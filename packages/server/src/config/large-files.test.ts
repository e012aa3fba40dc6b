/**
 * Files that a program wrote, wrong in each of their thousands of lines. A reload reads in the thread that answers, and each of these held it up
 * for minutes when every problem was compared with all others.
 */
import { expect, test } from 'vitest';
import { readConfig } from './read-config.ts';

const rules = (count: number, rule: (i: number) => string) =>
  `rules:\n${Array.from({ length: count }, (_, i) => `  - ${rule(i)}\n`).join('')}`;

test.each([
  ['rules', rules(15_000, (i) => `{ name: r${i}, key: ip, algorithm: gcra, limit: 1, windw: 1m }`), '.windw is not a'],
  ['tabs', '\ta: [x\n'.repeat(30_000), 'A tab indents this line.'],
  ['aliases of nothing', rules(30_000, (i) => `*x${i}`), 'An alias (*name) needs an anchor'],
  ['merges', `base: &x { key: ip }\n${rules(15_000, (i) => `{ <<: *x, name: r${i} }`)}`, 'more than 1000 repetitions'],
])('a slip in every line is told without going through the file for each: %s', (_, text, message) => {
  const read = readConfig({ text });
  expect('problems' in read && read.problems.filter((problem) => problem.message.includes(message))).not.toEqual([]);
});
