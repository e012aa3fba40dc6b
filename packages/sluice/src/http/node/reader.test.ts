import { describe, expect, it } from 'vitest';
import { pathOf } from './reader.ts';

describe('the path of a target', () => {
  // biome-ignore format: aligned rows
  it.each([
    // target                             path
    [ '/',                               '/' ],
    [ '/log-in',                         '/log-in' ],
    [ '/log-in?next=/a?b',               '/log-in' ],
    [ '/a\\b',                           '/a\\b' ],       // only with a fragment is it read as a slash
    [ '/log-in#',                        '/log-in' ],
    [ '/log-in?x#y',                     '/log-in' ],
    [ '/api\\log-in#x?y',                '/api/log-in' ],
    [ 'http://any.example/log-in?x',     '/log-in' ],
    [ 'HTTPS://user@any.example:1/log-in', '/log-in' ],
    [ 'http://any.example/api\\log-in',  '/api/log-in' ],
    [ 'http:///log-in',                  '/log-in' ],
    [ 'http://any.example',              '/' ],
    [ 'http://any.example?x',            '/' ],
    [ '//log-in',                        '//log-in' ],   // an empty first step, and no host
    [ '/a/../log-in#',                   '/a/../log-in' ],  // nobody takes steps back; routers do not either
    [ '*',                               '*' ],
    [ '',                                '/' ],
  ])('%s is %s', (target, path) => {
    expect(pathOf(target)).toBe(path);
  });
});
