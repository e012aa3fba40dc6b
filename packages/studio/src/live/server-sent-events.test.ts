import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventReader } from './server-sent-events.ts';

function readAll(pieces: readonly string[]): [name: string, data: string][] {
  const reader = eventReader();
  return pieces.flatMap((piece) => reader.read(piece)).map(({ name, data }) => [name, data]);
}

const rows: [what: string, text: string, events: [name: string, data: string][]][] = [
  ['a named event', 'event: snapshot\ndata: {}\n\n', [['snapshot', '{}']]],
  ['an event without a name is a message', 'data: a\n\n', [['message', 'a']]],
  [
    'a name holds for one event',
    'event: a\ndata: 1\n\ndata: 2\n\n',
    [
      ['a', '1'],
      ['message', '2'],
    ],
  ],
  ['several lines of data are joined', 'data: a\ndata: b\ndata\n\n', [['message', 'a\nb\n']]],
  ['comments are passed over', ': alive\n\n:\ndata: a\n: more\n\n', [['message', 'a']]],
  ['one space after the colon belongs to the colon', 'data:  a\ndata:b\n\n', [['message', ' a\nb']]],
  ['colons in the data stay', 'data: {"a":1}\n\n', [['message', '{"a":1}']]],
  ['lines may end with CRLF', 'event: a\r\ndata: 1\r\n\r\n', [['a', '1']]],
  [
    'or with CR, of which the last is known to be one when something follows',
    'event: a\rdata: 1\r\rdata',
    [['a', '1']],
  ],
  ['an event without data is none', 'event: a\nid: 3\nretry: 1000\n\ndata: 1\n\n', [['message', '1']]],
  ['unknown fields are passed over', 'colour: red\nData: no\ndata: 1\n\n', [['message', '1']]],
  ['an event that was not ended is none', 'data: 1\n', []],
  ['a byte order mark is passed over', '\uFEFFdata: 1\n\n', [['message', '1']]],
];

describe('server-sent events', () => {
  test.each(rows)('%s', (_, text, events) => {
    expect(readAll([text])).toEqual(events);
    expect(readAll([...text])).toEqual(events);
  });

  test('are the same wherever the text is cut', () => {
    const line = fc.constantFrom('data: x', 'data', 'event: y', ': z', '', 'data:  {"a":1}', 'id: 4');
    const end = fc.constantFrom('\n', '\r\n', '\r');
    const text = fc.array(fc.tuple(line, end), { maxLength: 20 }).map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 8 }), (whole, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = places.slice(1).map((place, i) => whole.slice(places[i], place));
        expect(readAll(pieces)).toEqual(readAll([whole]));
      }),
    );
  });

  test.each([
    ['a line that never ends', 'data: aaaaaaaaaaaa'],
    ['data that never ends', 'data: aaaa\ndata: aaaa\ndata: aaaa\n'],
  ])('%s is given up', (_, text) => {
    expect(() => eventReader(10).read(text)).toThrow('at most 10 characters');
  });
});
