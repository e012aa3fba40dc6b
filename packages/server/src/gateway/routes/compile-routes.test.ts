import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../config/format-problems.ts';
import type { RouteConfig } from '../../config/gateway-config.ts';
import { readConfig } from '../../config/read-config.ts';
import { compileRoutes } from './compile-routes.ts';
import { routeHost, routePath } from './route-path.ts';

function routesOf(yaml: string): readonly RouteConfig[] {
  const read = readConfig({ text: `gateway:\n  upstreams: { api: { members: [a:1] } }\n  routes:\n${yaml}` });
  if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
  return read.config.gateway?.routes ?? [];
}

const routeOf = compileRoutes(
  routesOf(`
    - { name: admin, match: { path: [/admin, /admin/*] } }
    - { name: beta, match: { path: /v1/*, headers: { X-Beta: "2*", accept: "*json*" } } }
    - { name: api, match: { host: [API.example.com, "*.api.example.com"], path: /v1/*, method: [get, POST] } }
    - { name: six, match: { host: "[::1]" } }
    - { name: options, match: { method: OPTIONS } }
    - { name: web, match: { host: "*.example.com" } }
`),
);

function taken(line: string, headers: readonly string[] = []): string | undefined {
  const [method = '', authority = '', target = ''] = line.split(' ');
  return routeOf({ method, host: routeHost(authority), path: routePath(target), headers })?.name;
}

const rows: [request: string, route: string | undefined][] = [
  ['GET api.example.com /v1/users', 'api'],
  ['POST API.Example.com:443 /v1/users?a=b', 'api'],
  ['GET eu.api.example.com. /v1/', 'api'],
  ['PUT api.example.com /v1/users', 'web'], // another method
  ['GET api.example.com /v1', 'web'], // not under /v1/
  ['GET www.example.com /', 'web'],
  ['GET example.com /', undefined],
  ['GET elsewhere /', undefined],
  ['GET [::1]:8000 /', 'six'],
  ['OPTIONS anywhere *', 'options'],
  ['get api.example.com /v1/users', 'web'], // methods are told apart by their case (RFC 9110, section 9.1)
  ['GET api.example.com /admin', 'admin'],
  ['GET elsewhere /admin/users', 'admin'],
  ['GET elsewhere /administrator', undefined],
];
test.each(rows)('%s takes %s', (request, route) => expect(taken(request)).toBe(route));

describe('no spelling goes past a route', () => {
  test.each([
    '/v1/../admin',
    '/v1/%2e%2e/admin',
    '/%61dmin',
    '//admin',
    '/./admin',
    '/v1/..%2fadmin',
    '/v1\\..\\admin',
    '/admin?x',
    '/admin%2Fusers',
  ])('%s', (target) => expect(taken(`GET api.example.com ${target}`)).toBe('admin'));
});

describe('headers', () => {
  const request = 'GET api.example.com /v1/users';
  test.each<[headers: string[], route: string]>([
    [['x-beta', '2', 'accept', 'application/json'], 'beta'],
    [['accept', 'text/html', 'x-beta', '1', 'x-beta', '2.1', 'accept', 'application/json'], 'beta'], // one line is enough
    [['x-beta', '2'], 'api'], // all of them must be there
    [['x-beta', '1', 'accept', 'application/json'], 'api'],
    [['2', 'x-beta', 'application/json', 'accept'], 'api'], // values are no names
    [[], 'api'],
  ])('%j takes %s', (headers, route) => expect(taken(request, headers)).toBe(route));
});

test('without routes nothing is taken', () => {
  expect(compileRoutes([])({ host: 'a', path: '/', method: 'GET', headers: [] })).toBeUndefined();
});

test('what is returned is the route itself', () => {
  const routes = routesOf('    - { name: all }');
  expect(compileRoutes(routes)({ host: '', path: '/', method: 'GET', headers: [] })).toBe(routes[0]);
});
