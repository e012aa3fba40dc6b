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

  it('may be a function', () => {
    expect(matcher(({ user }) => user === 'a')({ user: 'a' })).toBe(true);
  });

  it('refuses what is neither', () => {
    expect(() => matcher('path' as never)).toThrow('match must be an object of fields, or a function, got "path".');
    expect(() => matcher({ path: /x/ } as never)).toThrow('match.path must be text, or a list of texts');
  });

  it('reads a hostile value in no time', () => {
    expect(matcher({ path: '*a*a*a*a*a*b' })({ path: 'a'.repeat(2000) })).toBe(false);
  });
});
