import { expect, test } from 'vitest';
import { helpText, parseArguments } from './arguments.ts';

test('without arguments it draws the default traffic', () => {
  expect(parseArguments([])).toEqual({ kind: 'run', options: { seed: 1, seconds: 40, format: 'text' } });
});

test('a value may follow its name or an equals sign', () => {
  const options = { seed: 7, seconds: 60, format: 'json' };
  expect(parseArguments(['--seed', '7', '--seconds=60', '--json'])).toEqual({ kind: 'run', options });
});

test('the overload is asked for by its name', () => {
  expect(parseArguments(['overload'])).toEqual({ kind: 'overload', options: { seed: 1, format: 'text' } });
  const options = { seed: 7, format: 'json' };
  expect(parseArguments(['overload', '--seed=7', '--json'])).toEqual({ kind: 'overload', options });
});

test('and so is balance', () => {
  expect(parseArguments(['balance'])).toEqual({ kind: 'balance', options: { seed: 1, format: 'text' } });
  expect(parseArguments(['balance', '--json'])).toEqual({ kind: 'balance', options: { seed: 1, format: 'json' } });
});

test.each([['--help'], ['-h'], ['--json', '--help'], ['overload', '--help']])('%s asks for help', (...args) => {
  expect(parseArguments(args)).toEqual({ kind: 'help' });
});

test('the help names every argument', () => {
  for (const name of ['overload', 'balance', '--seed', '--seconds', '--json', '--help', 'NO_COLOR'])
    expect(helpText).toContain(name);
});

test.each([
  { args: ['--fast'], message: 'There is no argument "--fast". See --help.' },
  { args: ['--json=yes'], message: 'There is no argument "yes". See --help.' },
  { args: ['overload', '--seconds', '20'], message: '--seconds is not for overload. See --help.' },
  { args: ['overload', '--seconds=20'], message: '--seconds is not for overload. See --help.' },
  { args: ['balance', '--seconds=20'], message: '--seconds is not for balance. See --help.' },
  { args: ['overload', 'overload'], message: 'There is no argument "overload". See --help.' },
  { args: ['--json', 'overload'], message: 'There is no argument "overload". See --help.' },
  { args: ['extra'], message: 'There is no argument "extra". See --help.' },
  { args: ['--seconds', '9'], message: '--seconds must be a whole number from 10 to 120, got "9". See --help.' },
  { args: ['--seconds', '121'], message: '--seconds must be a whole number from 10 to 120, got "121". See --help.' },
  { args: ['--seconds=1e1'], message: '--seconds must be a whole number from 10 to 120, got "1e1". See --help.' },
  { args: ['--seed'], message: '--seed must be a whole number from 0 to 9007199254740991, got nothing. See --help.' },
  { args: ['--seed', ''], message: '--seed must be a whole number from 0 to 9007199254740991, got "". See --help.' },
])('$args is refused with a sentence', ({ args, message }) => {
  expect(parseArguments(args)).toEqual({ kind: 'error', message });
});
