import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from './json-fault.ts';
import { Problem } from './problem.ts';
import { readJson } from './read-json.ts';

function detailOf(text: string): string {
  try {
    readJson(text);
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return 'fine';
}

describe('readJson', () => {
  // biome-ignore format: aligned rows
  it.each<[string, string]>([
    [ '{"a":1}',                   'fine' ],
    [ '{"a":{"a":1},"b":[{"a":1},{"a":2}]}', 'fine' ],
    [ '{"a:b":":","c":"\\":"}',    'fine' ],  // colons in strings are no fields
    [ '[1,[],{},"",null]',         'fine' ],
    [ '{"a":1,"a":1}',             'line 1, column 8: the field "a" is there twice' ],
    [ '{"a":1,"\\u0061":2}',       'line 1, column 8: the field "a" is there twice' ],
    [ '{"x":[{"b":1,"b":{}}]}',    'line 1, column 14: the field "b" is there twice' ],
    [ '{"__proto__":1,"__proto__":2}', 'line 1, column 16: the field "__proto__" is there twice' ],
    [ '{"a" 1}',                   'line 1, column 6: expected a colon, found "1"' ],
    [ '{"a":1,}',                  'line 1, column 8: expected a field name in double quotes, found "}"' ],
    [ "{'a':1}",                   `line 1, column 2: expected a field name in double quotes or }, found "'"` ],
    [ '[1,]',                      'line 1, column 4: expected a value, found "]"' ],
    [ '[1 2]',                     'line 1, column 4: expected a comma or the end of what is open, found "2"' ],
    [ '{"a":1}}',                  'line 1, column 8: expected the end, found "}"' ],
    [ '{"a":tru}',                 'line 1, column 6: expected a value, found "t"' ],
    [ '{"a":01}',                  'line 1, column 7: expected a comma or the end of what is open, found "1"' ],
    [ '{"a":NaN}',                 'line 1, column 6: expected a value, found "N"' ],
    [ '{\n  "a": "x\n"}',          'line 2, column 10: a control character in a string must be written as \\u000a' ],
    [ '{"a":"\\x"}',               'line 1, column 7: no such escape in a string' ],
    [ '{"a":"b',                   'line 1, column 8: the string that begins at position 5 does not end' ],
    [ '\ufeff{}',                  'line 1, column 1: expected a value, found "\ufeff"' ],
  ])('%s: %s', (text, fault) => {
    expect(detailOf(text)).toBe(fault === 'fine' ? 'fine' : `The body is not valid JSON at ${fault}.`);
  });

  it('finds a fault exactly where JSON.parse finds one', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"a"',
      '"b"',
      '1',
      '-0.5e3',
      'true',
      'null',
      ' ',
      '\n',
      '"\\n"',
      'x',
      '"',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (list) => {
        const text = list.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const fault = jsonFault(text);
        if (isJson) expect(fault?.message ?? '').toMatch(/^$|is there twice$/);
        else expect(fault).toBeDefined();
      }),
      { numRuns: 5000 },
    );
  });

  it('reads whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        const detail = detailOf(text);
        // Odd text is refused, and nothing else.
        if (detail === 'fine') expect(readJson(text)).toEqual(JSON.parse(text));
        else expect(detail).toMatch(/must be text without/);
      }),
      { numRuns: 2000 },
    );
  });
});
