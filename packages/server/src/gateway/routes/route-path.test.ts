import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodedPath } from '../../../../sluice/src/http/middleware/decoded-path.ts';
import { routeHost, routePath, withoutPrefix } from './route-path.ts';

const paths: [target: string, path: string][] = [
  ['/', '/'],
  ['/a/b', '/a/b'],
  ['/a/b/', '/a/b/'],
  ['/a?b=/../c', '/a'],
  ['/a#b', '/a'],
  ['/a?b#c', '/a'],
  ['', '/'],
  ['?a', '/'],
  ['*', '*'],
  // Escapes
  ['/%61dmin', '/admin'],
  ['/%41', '/A'],
  ['/caf%C3%A9', '/café'],
  ['/a%2Fb', '/a/b'],
  ['/a%3Fb', '/a?b'],
  ['/%2561dmin', '/%2561dmin'], // decoded once
  ['/100%', '/100%'],
  ['/%zz', '/%zz'],
  ['/%ff', '/%ff'],
  ['/%ff%61', '/%ffa'], // what is no character hides nothing that is one
  ['/%C3%61', '/%C3a'],
  ['/%e2%82', '/%e2%82'],
  ['/%00', '/\0'],
  // Steps
  ['/a/../admin', '/admin'],
  ['/a/%2e%2e/admin', '/admin'],
  ['/a/.%2E/admin', '/admin'],
  ['/a%2F..%2Fadmin', '/admin'],
  ['/a/..\\admin', '/admin'],
  ['/../../admin', '/admin'],
  ['/a/./b', '/a/b'],
  ['//admin', '/admin'],
  ['/a//b', '/a/b'],
  ['/a/..', '/'],
  ['/a/b/..', '/a/'],
  ['/a/b/.', '/a/b/'],
  ['/a/...', '/a/...'],
  ['/.hidden', '/.hidden'],
  ['/a..b/..c', '/a..b/..c'],
];
test.each(paths)('%s is seen as %s', (target, path) => expect(routePath(target)).toBe(path));

const piece = fc.oneof(
  fc.constantFrom(
    '/',
    '.',
    '..',
    '%',
    '%25',
    '%2',
    '%2e',
    '%2F',
    '%5c',
    '\\',
    'a',
    'admin',
    ';',
    '?',
    '%C3%A9',
    '%ff',
    '%e2%82',
  ),
  fc.integer({ min: 0, max: 255 }).map((byte) => `%${byte.toString(16).padStart(2, '0')}`),
);
const anyTarget = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`);

describe('whatever the target', () => {
  test('what is seen of it is a path without steps, and is seen as itself', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const path = routePath(target);
        expect(path).toMatch(/^\//);
        expect(path.split('/').filter((step) => step === '.' || step === '..')).toEqual([]);
        expect(path).not.toMatch(/\/\/|\\/);
        // A question mark that was an escape would begin a query, were it read again.
        if (!/[?#]/.test(path)) expect(routePath(path)).toBe(path);
      }),
      { numRuns: 2000 },
    );
  });

  test('escapes are decoded as the middleware does, so that a rule holds in both alike', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const path = target
          .replace(/[?#].*/s, '')
          .replaceAll('.', 'x')
          .replaceAll(/%2e/gi, 'x');
        const steps = decodedPath(path).replaceAll(/\/+/g, '/');
        expect(routePath(path)).toBe(steps);
      }),
      { numRuns: 2000 },
    );
  });
});

const stripped: [target: string, forwarded: string][] = [
  ['/v1/users', '/users'],
  ['/v1/users?a=/v1', '/users?a=/v1'],
  ['/v1', '/'],
  ['/v1/', '/'],
  ['/v1?a', '/?a'],
  ['/v11', '/v11'],
  ['/v2/users', '/v2/users'],
  // What the client wrote stays as it was
  ['/v1/a%2Fb', '/a%2Fb'],
  ['/v1/caf%C3%A9', '/caf%C3%A9'],
  // By detours
  ['/%76%31/users', '/users'],
  ['/v1/../v1/users', '/users'],
  ['/x/../v1/a b', '/a%20b'],
  ['/x/../v1/caf%C3%A9', '/caf%C3%A9'],
  ['/x/../v1/100%25', '/100%25'],
  ['/x/../v1/a%3Fb', '/a%3Fb'],
  ['/v1/../admin', '/v1/../admin'], // seen as /admin, which is not under /v1
  ['/v1//users', '/users'], // two slashes at the front of a target would be a host to some
  ['//v1/users', '/users'],
];
test.each(stripped)('%s without /v1 is %s', (target, forwarded) =>
  expect(withoutPrefix(target, '/v1')).toBe(forwarded),
);

test('a member sees under the prefix what the route saw under it', () => {
  fc.assert(
    fc.property(anyTarget, (rest) => {
      const target = `/v1${rest}`;
      const seen = routePath(target);
      fc.pre(seen === '/v1' || seen.startsWith('/v1/'));
      expect(routePath(withoutPrefix(target, '/v1'))).toBe(seen.slice(3) || '/');
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['Example.COM', 'example.com'],
  ['example.com:8080', 'example.com'],
  ['example.com.', 'example.com'],
  ['example.com.:80', 'example.com'],
  ['example.com:', 'example.com'],
  ['[::1]:80', '[::1]'],
  ['[::1]', '[::1]'],
  ['127.0.0.1:80', '127.0.0.1'],
  ['', ''],
])('the host of "%s" is seen as "%s"', (authority, host) => expect(routeHost(authority)).toBe(host));
