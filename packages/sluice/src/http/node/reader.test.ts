import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodedPath } from '../middleware/decoded-path.ts';
import { pathOf, resolvedPathOf } from './reader.ts';

describe('the path of a target', () => {
  // biome-ignore format: aligned rows
  it.each([
    // target                             to routers         to `new URL`
    [ '/',                               '/',               '/' ],
    [ '/log-in',                         '/log-in',         '/log-in' ],
    [ '/log-in?next=/a?b',               '/log-in',         '/log-in' ],
    [ '/log-in?x=/../%2e\\',             '/log-in',         '/log-in' ],
    [ '/%6cog%2Din',                     '/log-in',         '/log-in' ],
    [ '/log-in%3Fx',                     '/log-in?x',       '/log-in?x' ],
    [ '/a\\b',                           '/a/b',            '/a/b' ],
    [ '/log-in#',                        '/log-in',         '/log-in' ],
    [ '/log-in?x#y',                     '/log-in',         '/log-in' ],
    [ '/api\\log-in#x?y',                '/api/log-in',     '/api/log-in' ],
    [ 'http://any.example/log-in?x',     '/log-in',         '/log-in' ],
    [ 'HTTPS://user@any.example:1/log-in', '/log-in',       '/log-in' ],
    [ 'http://any.example/api\\log-in',  '/api/log-in',     '/api/log-in' ],
    [ 'http://any.example/%6cog-in',     '/log-in',         '/log-in' ],
    [ 'http://any.example',              '/',               '/' ],
    [ 'http://any.example?x',            '/',               '/' ],
    [ 'http:///log-in',                  '/log-in',         '/' ],         // a host of that name
    [ '//log-in',                        '//log-in',        '/' ],
    [ '//any.example/log-in',            '//any.example/log-in', '/log-in' ],
    [ '/\\any.example/log-in',           '//any.example/log-in', '/log-in' ],
    [ '/./log-in',                       '/./log-in',       '/log-in' ],
    [ '/x/../log-in#',                   '/x/../log-in',    '/log-in' ],
    [ '/x/%2E%2e/log-in',                '/x/../log-in',    '/log-in' ],
    [ '/x\\..\\log-in',                  '/x/../log-in',    '/log-in' ],
    [ '/api/..%2Flog-in',                '/api/../log-in',  '/api/../log-in' ],  // an encoded slash takes no step
    [ '/../../log-in',                   '/../../log-in',   '/log-in' ],
    [ '/.well-known/caf%C3%A9 x',        '/.well-known/café x', '/.well-known/café x' ],
    [ '//no host/log-in',                '//no host/log-in', '//no host/log-in' ],  // `new URL` throws
    [ '*',                               '*',               '*' ],
    [ '',                                '/',               '/' ],
    [ '?x',                              '/',               '/' ],
  ])('%s is %s to routers, %s to new URL', (target, toRouters, toUrl) => {
    expect([pathOf(target), resolvedPathOf(target)]).toEqual([toRouters, toUrl]);
  });

  it('is never more or less than what `new URL` makes of it, where that is asked', () => {
    const pieces = constantFrom(
      '/',
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2F',
      '%5c',
      'a',
      'log-in',
      '?',
      '#',
      '%',
      ':',
      '@',
      '\t',
    );
    assert(
      property(string({ unit: pieces, maxLength: 12 }), (rest) => {
        const target = `/${rest}`;
        if (!URL.canParse(target, 'https://any.example')) return;
        const { pathname } = new URL(target, 'https://any.example');
        expect(resolvedPathOf(target)).toBe(decodedPath(pathname));
      }),
      { numRuns: 2000 },
    );
  });
});
