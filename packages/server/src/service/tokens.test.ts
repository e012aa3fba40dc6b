import { describe, expect, it } from 'vitest';
import { Tokens, tokenPattern } from './tokens.ts';

describe('tokens', () => {
  it('open the door, and nothing that only resembles one does', () => {
    const tokens = new Tokens(['first', 'second']);
    expect(tokens.areNeeded).toBe(true);
    expect(['first', 'second', 'firs', 'first ', 'FIRST', ''].map((token) => tokens.has(token))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it.each([
    ['Bearer first', true],
    ['bearer   first  ', true],
    ['Bearer', false],
    ['Bearer first second', false],
    ['Basic first', false],
    ['first', false],
    [undefined, false],
  ])('come in the header %j: %s', (header, isKnown) => {
    expect(new Tokens(['first']).hasBearer(header)).toBe(isKnown);
  });

  it.each([
    ['0aZ!"#,;~', true],
    ['a b', false],
    [' a', false],
    ['a\n', false],
    ['pässwort', false],
    ['\u007f', false],
    ['', false],
  ])('are made of what a header carries: %j, %s', (token, isToken) => {
    expect(new RegExp(tokenPattern).test(token)).toBe(isToken);
    if (isToken) expect(new Tokens([token]).hasBearer(`Bearer ${token}`)).toBe(true);
  });

  it('may change, and may be none', () => {
    const tokens = new Tokens(['old']);
    tokens.set(['new']);
    expect([tokens.has('old'), tokens.has('new')]).toEqual([false, true]);
    tokens.set([]);
    expect(tokens.areNeeded).toBe(false);
  });
});
