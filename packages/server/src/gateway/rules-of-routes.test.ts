import { fixedWindow, type Rule, rules } from 'sluice';
import { expect, it } from 'vitest';
import type { RouteConfig } from '../config/gateway-config.ts';
import { rulesOfRoutes } from './rules-of-routes.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const route = (name: string, own?: readonly string[]) => ({ name, rules: own }) as RouteConfig;
const routes = [route('a', ['x']), route('b', ['x', 'y']), route('c'), route('d', [])];

// Which routes a rule holds on, by what it says itself and by who names it.
const rows: [rule: Partial<Rule>, holds: string][] = [
  [{ name: 'x' }, 'abc'],
  [{ name: 'y' }, 'bc'],
  [{ name: 'z' }, 'c'],
  [{ name: 'x', match: { route: 'a' } }, 'a'],
  [{ name: 'x', match: { route: ['b', 'd'] } }, 'b'],
  [{ name: 'x', match: { route: '*' } }, 'abc'],
  [{ name: 'x', match: { route: 'nowhere' } }, ''],
  [{ name: 'x', match: ({ route: on }) => on === 'c' || on === 'd' }, 'c'],
];

it.each(rows)('%o holds on %s', (rule, holds) => {
  const asked = rules(rulesOfRoutes([{ policy, key: 'all', ...rule } as Rule], routes));
  const found = [...'abcd'].filter((name) => asked.keyOf(rule.name!, { route: name }) !== undefined);
  expect(found.join('')).toBe(holds);
});

it.each<[match: Record<string, string | string[]>, request: Record<string, string>, holds: boolean]>([
  [{ host: 'API.Example.com.' }, { host: 'api.example.com' }, true],
  [{ host: ['x', '*.Example'] }, { host: 'a.example' }, true],
  [{ method: 'post' }, { method: 'POST' }, true],
  [{ method: ['get', 'Put'] }, { method: 'PUT' }, true],
  [{ path: '/A' }, { path: '/a' }, false],
  [{ user: 'Ann' }, { user: 'ann' }, false],
])('matches %o as requests are spelled: %o, %s', (match, request, holds) => {
  const asked = rules(
    rulesOfRoutes(
      [
        { name: 'x', key: 'all', policy, match },
        { name: 'y', key: 'all', policy, skip: match },
      ],
      [route('a')],
    ),
  );
  const subject = { ...request, route: 'a' };
  expect([asked.keyOf('x', subject) !== undefined, asked.keyOf('y', subject) === undefined]).toEqual([holds, holds]);
});

it('leaves a rule alone that every route names', () => {
  const rule: Rule = { name: 'x', policy, match: { path: ['/a'] } };
  expect(rulesOfRoutes([rule], [route('a'), route('b', ['x'])])).toEqual([rule]);
});
