import { expect, test } from 'vitest';
import { tokenProblem } from './token.ts';

test.each(['open-sesame', 'with blanks', 'a~b!"§é'])('the token %j can be sent', (token) => {
  expect(tokenProblem(token)).toBeUndefined();
  expect(() => new Headers({ Authorization: `Bearer ${token}` })).not.toThrow();
});

test.each([
  ['open–sesame', 'U+2013 as character 5'],
  ['😀', 'U+1F600 as character 1'],
  ['a\nb', 'U+000A as character 2'],
  ['a\u0000', 'U+0000 as character 2'],
  ['a\u007f', 'U+007F as character 2'],
])('the token %j cannot, and is not repeated', (token, got) => {
  expect(tokenProblem(token)).toContain(got);
  expect(tokenProblem(token)).not.toContain(token);
});
