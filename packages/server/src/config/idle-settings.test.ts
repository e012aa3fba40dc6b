import { expect, it } from 'vitest';
import { idleSettings } from './idle-settings.ts';
import { readConfig } from './read-config.ts';

const nobody = 'rule x limits nobody here:';

// A rule in the words of the file, and what is said of it beside the routes a and b, of which b names its rules.
const rows: [rule: string, said: string[]][] = [
  ['key: ip', []],
  ['key: [user, path]', []],
  ['key: plan', [`${nobody} gateway.identify does not say where plan comes from`]],
  ['key: [ip, plan], match: { plan: paid }', [`${nobody} gateway.identify does not say where plan comes from`]],
  ['match: { usr: ann }', [`${nobody} gateway.identify does not say where usr comes from`]],
  ['match: { user: ann, method: get, host: A.Example }', []],
  ['match: { route: a }', []],
  ['match: { route: [c, "b*"] }', []],
  ['match: { route: c }', [`${nobody} there is no route c`]],
  ['match: { path: [/v1/*, "*.js"] }', []],
  ['match: { path: v1/* }', [`${nobody} no path is written v1/*: they begin with /, without a query, decoded`]],
  ['match: { path: /a%20b }', [`${nobody} no path is written /a%20b: they begin with /, without a query, decoded`]],
  ['match: { path: "/a?b=*" }', [`${nobody} no path is written /a?b=*: they begin with /, without a query, decoded`]],
  ['match: { path: [/a, //b] }', []],
];

it.each(rows)('{ %s }: %o', (rule, said) => {
  expect(
    idleOf(`
rules: [{ name: x, algorithm: gcra, limit: 1, window: 1m, ${rule} }]
gateway:
  identify: { user: header:x-user }
  routes: [{ name: b, match: { path: /b }, rules: [] }, { name: a }]
  upstreams: { app: { members: [a:1] } }`),
  ).toEqual(said);
});

it('tells of rules that no route names, and of admissions that no route has', () => {
  expect(
    idleOf(`
rules: [{ name: x, algorithm: gcra, limit: 1, window: 1m }, { name: y, algorithm: gcra, limit: 1, window: 1m }]
gateway:
  routes: [{ name: a, rules: [y], admission: used }]
  admissions: { used: { concurrency: 1 }, main: { concurrency: 1 } }
  upstreams: { app: { members: [a:1] } }`),
  ).toEqual([`${nobody} no route names it`, 'admission main holds back nobody: no route has it']);
});

function idleOf(text: string): string[] {
  const read = readConfig({ text });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return idleSettings(read.config.gateway!, read.config.rules);
}
