import { describe, expect, it } from 'vitest';
import { type Member, structuredMembers } from './structured-members.ts';

/** `key=value;name=value`, with the type of each value before it. */
function show({ key, item, parameters }: Member): string {
  const rest = [...parameters].map(([name, { type, value }]) => `;${name}=${type} ${value}`);
  return `${key === undefined ? '' : `${key}=`}${item.type} ${item.value}${rest.join('')}`;
}

describe('structured fields', () => {
  // biome-ignore format: aligned rows
  it.each<[string, string[]]>([
    [ '',                           [] ],
    [ '  \t ',                      [] ],
    [ '"a"',                        [ 'text a' ] ],
    [ '"a \\"b\\" \\\\ c"',         [ 'text a "b" \\ c' ] ],
    [ '"a, b;c"',                   [ 'text a, b;c' ] ],  // separators inside a string
    [ 'token/1:x',                  [ 'text token/1:x' ] ],
    [ '10, 10;w=1;name="x"',        [ 'number 10', 'number 10;w=number 1;name=text x' ] ],
    [ '-5, 1.5, -0.125, 007',       [ 'number -5', 'number 1.5', 'number -0.125', 'number 7' ] ],
    [ '999999999999999',            [ 'number 999999999999999' ] ],
    [ ':AQI=:, ::',                 [ 'bytes AQI=', 'bytes ' ] ],
    [ '?1, ?0',                     [ 'boolean true', 'boolean false' ] ],
    [ '@1659578233, %"f%c3%bc"',    [ 'other @1659578233', 'other %"f%c3%bc"' ] ],
    [ '"a";x, "b"; y=1;\tz=?0',     [ 'text a;x=boolean true', 'text b;y=number 1;z=boolean false' ] ],
    [ '"a" ; x=1\t,\t"b"',          [ 'text a;x=number 1', 'text b' ] ],  // spaces before a semicolon are a liberty
    [ '"a";X=1;x=2',                [ 'text a;x=number 2' ] ],  // the last one counts
    [ 'limit=100, Reset=30',        [ 'limit=number 100', 'reset=number 30' ] ],
    [ 'limit=100;w=1, *a="b"',      [ 'limit=number 100;w=number 1', '*a=text b' ] ],
  ])('%j is %j', (text, members) => {
    expect(structuredMembers(text).map(show)).toEqual(members);
  });

  it('parameters are counted, also those that say the same again', () => {
    expect(structuredMembers(`"a"${';x'.repeat(64)}`)).toHaveLength(1);
    expect(structuredMembers(`"a"${';x'.repeat(65)}`)).toEqual([]);
  });

  it.each([
    '"a',
    '"a"b',
    '"a" "b"',
    '"a",',
    ',"a"',
    '"a",,"b"',
    '"a";',
    '"a";1=2',
    '"a";x=',
    '"a";x=;y=1',
    '"a\\n"',
    '"für"',
    '(1 2)',
    '1.',
    '1.2345',
    '1.2.3',
    '1000000000000000',
    '--1',
    '1e5',
    'NaN=NaN=1',
    ':A:B:',
    '?2',
    'a=',
    '=1',
    '"a"\n',
    '\u00a0"a"',
  ])('%j is ignored as a whole', (text) => {
    expect(structuredMembers(text)).toEqual([]);
    expect(structuredMembers(`"good";r=1, ${text}`)).toEqual([]);
  });
});
