import fc from 'fast-check';
import { gcra, rules } from 'sluice';
import { expect, test } from 'vitest';
import { anyGlob, covers, glob } from './glob.ts';

const rows: [pattern: string, value: string, isMatched: boolean][] = [
  ['/a', '/a', true],
  ['/a', '/a/', false],
  ['*', '', true],
  ['*', '/any/thing', true],
  ['/v1/*', '/v1/', true],
  ['/v1/*', '/v1/a/b', true], // a star goes across slashes
  ['/v1/*', '/v1', false],
  ['*.example.com', 'a.b.example.com', true],
  ['*.example.com', 'example.com', false],
  ['/*/edit', '/a/edit', true],
  ['/*/edit', '/edit', false],
  ['ab*ba', 'aba', false], // the parts may not overlap
  ['ab*ba', 'abba', true],
  ['a**b', 'ab', true],
  ['*a*b*', 'xxaxxbxx', true],
  ['*a*b*', 'ba', false],
];
test.each(rows)('%s against "%s" is %s', (pattern, value, isMatched) => expect(glob(pattern)(value)).toBe(isMatched));

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), maxLength: 8 });
const values = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 8 });

test('it decides as the match of a rule does', () => {
  fc.assert(
    fc.property(letters, values, (pattern, path) => {
      const match = { path: pattern };
      const limits = rules([{ name: 'a', policy: gcra({ limit: 1, window: '1s' }), match }], { maxKeys: 1 });
      expect(glob(pattern)(path)).toBe(limits.check({ path }).decisions.length === 1);
    }),
  );
});

test('of several, one is enough', () => {
  const matches = anyGlob(['/a', '/b/*']);
  expect(['/a', '/b/c', '/b', '/c'].map(matches)).toEqual([true, true, false, false]);
});

test('what covers a pattern matches all that the pattern does', () => {
  fc.assert(
    fc.property(letters, letters, fc.array(values, { minLength: 8, maxLength: 8 }), (outer, inner, fillings) => {
      fc.pre(covers(outer, inner));
      let next = 0;
      const value = inner.replaceAll('*', () => fillings[next++] ?? '');
      expect(glob(outer)(value)).toBe(true);
    }),
  );
});

test.each([
  ['*', '/a/*', true],
  ['/a/*', '/a/*', true],
  ['/a/*', '/a/b*', true],
  ['/a*', '/a/*', true],
  ['/a/*', '/a*', false],
  ['/a', '/*', false],
])('whether %s covers %s is %s', (outer, inner, isCovered) => expect(covers(outer, inner)).toBe(isCovered));
