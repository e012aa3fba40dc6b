import { expect, test } from 'vitest';
import { formatProblems, problemLine } from './format-problems.ts';
import type { Problem } from './problem.ts';

const problem = (line: number, column: number, message = 'a is wrong.'): Problem => ({
  file: 'sluice.yaml',
  line,
  column,
  path: 'a',
  message,
});

test('a problem is told with its line and a caret', () => {
  const sources = { 'sluice.yaml': 'rules:\n  - limit: 0\n' };
  expect(formatProblems([problem(2, 12), problem(1, 1, 'b is too.')], sources)).toBe(
    [
      'sluice.yaml:2:12  a is wrong.',
      '    2 |   - limit: 0',
      '      |            ^',
      'sluice.yaml:1:1  b is too.',
      '    1 | rules:',
      '      | ^',
    ].join('\n'),
  );
});

test('a problem without a line, or in a file that is not at hand, is told on one line', () => {
  const environment = {
    file: 'environment',
    line: 0,
    column: 0,
    path: 'SLUICE_X',
    message: 'SLUICE_X is not a setting.',
  };
  expect(formatProblems([environment, problem(3, 1)])).toBe(
    'environment  SLUICE_X is not a setting.\nsluice.yaml:3:1  a is wrong.',
  );
  expect(problemLine(problem(3, 4))).toBe('sluice.yaml:3:4  a is wrong.');
});

test('the caret stands under its letter after tabs, and in a line that had to be cut', () => {
  const tabs = formatProblems([problem(1, 3)], { 'sluice.yaml': '\ta: 1' });
  expect(tabs.split('\n').slice(1)).toEqual(['    1 | \ta: 1', '      | \t ^']);
  const long = `${'x'.repeat(500)}HERE${'y'.repeat(500)}`;
  const [, line = '', caret = ''] = formatProblems([problem(1, 501)], { 'sluice.yaml': long }).split('\n');
  expect(line.length).toBeLessThan(200);
  expect(line[caret.indexOf('^')]).toBe('H');
});

test('what a terminal would act on is made visible, and the caret still stands under its letter', () => {
  const text = 'a\u001b[2Jb: \u202e1';
  const told = formatProblems([problem(1, 6, 'a\u001b[2Jb is no field.\u0007')], { 'sluice.yaml': text });
  expect(told.split('\n')).toEqual([
    String.raw`sluice.yaml:1:6  a\x1b[2Jb is no field.\x07`,
    String.raw`    1 | a\x1b[2Jb: \u{202e}1`,
    '      |         ^',
  ]);
  expect(problemLine(problem(1, 1, 'a\nb'))).toBe(String.raw`sluice.yaml:1:1  a\x0ab`);
});

// One line each; the marked ones may hold a secret, and are not quoted.
const lines: [isSecret: boolean, text: string][] = [
  [false, 'rules:'],
  [false, '  - name: a'],
  [true, 'security:'],
  [true, '  tls: {}'],
  [true, '  tokens:'],
  [true, '  - hunter2'],
  [true, ''],
  [true, '    - hunter2'],
  [false, 'store:'],
  [true, '  url: redis://:hunter2@a'],
  [false, '  url: redis://a'],
  [false, 'listen: {}'],
  [true, '{ "security": { token: hunter2 } }'],
  [true, 'token: hunter2'],
  [false, 'algorithm: token-bucket'],
  [true, 'PASSWORD: hunter2'],
];
test('a line that may hold a secret is not quoted', () => {
  const text = lines.map(([, line]) => line).join('\n');
  lines.forEach(([isSecret, line], i) => {
    const told = formatProblems([problem(i + 1, 1)], { 'sluice.yaml': text });
    expect(told.includes('\n'), line).toBe(!isSecret);
  });
});
