import { describe, expect, it } from 'vitest';
import { joinKey, keyReader, matcher } from './subject.ts';

describe('a key', () => {
  it('is a field of the subject', () => {
    expect(keyReader('user', 56)({ user: 42 })).toBe('42');
  });

  it('joins several fields so that no two subjects share a key', () => {
    const read = keyReader(['user', 'path'], 56);
    expect(read({ user: 'a|b', path: 'c' })).toBe('a%7Cb|c');
    expect(read({ user: 'a', path: 'b|c' })).toBe('a|b%7Cc');
    expect(read({ user: 'a%7Cb', path: 'c' })).toBe('a%257Cb|c');
    expect(joinKey(['plain'])).toBe('plain');
  });

  it.each([undefined, null, ''])('is missing when the field is %s', (user) => {
    expect(keyReader('user', 56)({ user })).toBeUndefined();
    expect(keyReader(['path', 'user'], 56)({ user, path: '/' })).toBeUndefined();
  });

  it('takes 0 and false for values', () => {
    expect(keyReader('user', 56)({ user: 0 })).toBe('0');
    expect(keyReader('user', 56)({ user: false })).toBe('false');
  });

  it('is one for all with "all"', () => {
    expect(keyReader('all', 56)({})).toBe('all');
    expect(keyReader(['all', 'path'], 56)({ path: '/a' })).toBe('all|/a');
  });

  it('of a function is there at once: a promise would be one key for everybody', () => {
    const later = keyReader((async () => 'alice') as never, 56);
    expect(() => later({})).toThrow('key must be answered at once, got "[object Promise]".');
  });

  it('has a text for what has none of its own', () => {
    const circular: unknown[] = [];
    circular.push(circular);
    const silent = { toJSON: () => undefined };
    const read = keyReader('user', 56);
    expect([circular, silent].map((user) => read({ user }))).toEqual(['object', 'object']);
    expect(keyReader(['user', 'ip'], 56)({ user: silent, ip: circular })).toBe('object|object');
    expect([1n, { id: 1n }, { id: 2n }].map((user) => read({ user }))).toEqual(['1', '{"id":"1"}', '{"id":"2"}']);
  });

  it('groups IPv6 addresses by subnet', () => {
    const read = keyReader('ip', 64);
    expect(read({ ip: '2001:db8::1' })).toBe(read({ ip: '2001:db8::ffff:1' }));
    expect(read({ ip: '2001:db8::1' })).not.toBe(read({ ip: '2001:db8:0:1::1' }));
  });

  it.each([[[]], [['']], [42], [[1]]])('refuses %j', (key) => {
    expect(() => keyReader(key as never, 56)).toThrow('key must be a field, a list of fields, "all" or a function');
  });
});

describe('a match', () => {
  it.each([
    [{ path: '/upload' }, { path: '/upload' }, true],
    [{ path: '/upload' }, { path: '/upload/1' }, false],
    [{ path: '/upload*' }, { path: '/upload/1' }, true],
    [{ path: '/a/*/c' }, { path: '/a/b/c' }, true],
    [{ path: '/a/*/c' }, { path: '/a/c' }, false],
    [{ path: '*.png' }, { path: '/img/x.png' }, true],
    [{ path: '/a.b' }, { path: '/aXb' }, false], // a dot is a dot
    [{ path: '/*', method: 'POST' }, { path: '/x', method: 'GET' }, false],
    [{ method: ['GET', 'HEAD'] }, { method: 'HEAD' }, true],
    [{ method: ['GET', 'HEAD'] }, { method: 'POST' }, false],
    [{ user: '*' }, {}, false], // a field that is not there matches nothing
    [{ status: 500 }, { status: 500 }, true],
    [{}, { anything: 1 }, true],
  ])('%j on %j is %s', (match, subject, expected) => {
    expect(matcher(match as never)(subject as never)).toBe(expected);
  });

  // biome-ignore format: aligned rows
  it.each([
    // pattern                        address                     matches
    ['192.0.2.1',                     '::ffff:192.0.2.1',         true ],
    ['192.0.2.1',                     '::FFFF:c000:0201',         true ],
    ['192.0.2.1',                     '192.0.2.10',               false],
    ['::ffff:192.0.2.1',              '192.0.2.1',                true ],
    ['2001:db8::1',                   '2001:DB8::1',              true ],
    ['2001:db8::1',                   '2001:db8:0:0:0:0:0:1',     true ],
    ['2001:DB8:0:0:0:0:0:1',          '2001:db8::1',              true ],
    ['2001:db8::1',                   '2001:db8::2',              false],
    ['fe80::1',                       'fe80::1%eth0',             true ],
    ['10.0.0.0/8',                    '10.9.8.7',                 true ],
    ['10.0.0.0/8',                    '::ffff:10.9.8.7',          true ],
    ['10.0.0.0/8',                    '110.9.8.7',                false],
    ['2001:db8::/32',                 '2001:db8:1::1',            true ],
    ['2001:db8::/32',                 '2001:db9::1',              false],
    ['192.0.2.*',                     '::ffff:192.0.2.9',         true ],
    ['192.0.2.*',                     '192.0.20.9',               false],
    ['10.*.1',                        '10.2.3.1',                 true ],
    ['2001:0DB8:*',                   '2001:db8::1',              true ],
    ['2001:db8:0:*',                  '2001:db8::1',              true ],
    ['2001:db8:*',                    '2001:db80::1',             false],
    ['2001:*:1',                      '2001:db8::1',              true ],
    ['*',                             '2001:db8::1',              true ],
    ['*',                             'unknown',                  true ],
    ['0.0.0.0/0',                     'unknown',                  false],
    [['192.0.2.1', '10.0.0.0/8'],     '10.0.0.1',                 true ],
  ])('of the address %j on %s is %s', (ip, address, expected) => {
    expect(matcher({ ip })({ ip: address })).toBe(expected);
    // Whatever was asked before.
    expect(matcher({ ip: '0.0.0.0/0' })({ ip: '192.0.2.77' })).toBe(true);
    expect(matcher({ ip })({ ip: address })).toBe(expected);
  });

  it.each([
    '10.0.0.0/33',
    '192.0.2',
    '192.0.2.256',
    'everybody',
    '',
    '2001:db8::*',
    '10.0.0.*/8',
    '*.example',
    42,
    null,
  ])('refuses %j for an address', (ip) => {
    expect(() => matcher({ ip } as never)).toThrow('match.ip must be an address, a network such as');
  });

  it('compares addresses in other fields as the texts they are', () => {
    expect(matcher({ peer: '10.0.0.0/8' })({ peer: '10.0.0.1' })).toBe(false);
    expect(matcher({ peer: '10.0.0.0/8' })({ peer: '10.0.0.0/8' })).toBe(true);
  });

  it('may be a function', () => {
    expect(matcher(({ user }) => user === 'a')({ user: 'a' })).toBe(true);
  });

  it('that is a function answers at once: a promise would be a yes to everything', () => {
    const later = matcher((async () => false) as never);
    expect(() => later({})).toThrow('match must be answered at once, got "[object Promise]".');
    // One that fails as well is nobody's unhandled rejection: the test runner would tell of it.
    const failing = matcher((async () => Promise.reject(new Error('no'))) as never, 'skip');
    expect(() => failing({})).toThrow('skip must be answered at once');
  });

  it('refuses what is neither', () => {
    expect(() => matcher('path' as never)).toThrow('match must be an object of fields, or a function, got "path".');
    expect(() => matcher({ path: /x/ } as never)).toThrow('match.path must be text, or a list of texts');
  });

  it('reads a hostile value in no time', () => {
    expect(matcher({ path: '*a*a*a*a*a*b' })({ path: 'a'.repeat(2000) })).toBe(false);
  });
});
