import { describe, expect, it } from 'vitest';
import { parseSource } from '../../config/source-schema.ts';
import { sourceReader } from './source.ts';

const headers = [
  'cookie',
  'a=1; sid="x y"; empty=; b=2',
  'x-user',
  'ann',
  'x-empty',
  '',
  'cookie',
  'late=3',
  'x-same',
  's',
  'x-same',
  's',
];
const request = { method: 'GET', target: '/p?plan=free&q=a%20b&none=#', authority: 'a.example', headers };
const subject = { ip: '203.0.113.9', route: 'api' };

describe('a source', () => {
  const rows: [source: string, value: string | undefined][] = [
    ['header:x-user', 'ann'],
    ['header:X-User', 'ann'],
    ['header:x-other', undefined],
    ['header:x-empty', undefined],
    ['header:x-same', 's'],
    ['cookie:sid', 'x y'],
    ['cookie:late', '3'],
    ['cookie:empty', undefined],
    ['cookie:Sid', undefined],
    ['query:plan', 'free'],
    ['query:q', 'a b'],
    ['query:other', undefined],
    ['ip', '203.0.113.9'],
    ['other', undefined],
  ];
  it.each(rows)('%s is %j', (source, value) => {
    expect(sourceReader(parseSource(source))(request, subject)).toBe(value);
  });

  it('has no value in a request without query and cookies', () => {
    const plain = { ...request, target: '/', headers: [] };
    for (const source of ['query:a', 'cookie:a', 'header:a'])
      expect(sourceReader(parseSource(source))(plain, subject)).toBeUndefined();
  });

  const twice: [source: string, target: string, lines: string[]][] = [
    ['header:x-user', '/', ['x-user', 'ann', 'x-user', 'bob']],
    ['header:x-user', '/', ['x-user', 'ann', 'x-user', '']],
    ['cookie:sid', '/', ['cookie', 'sid=1; sid=2']],
    ['cookie:sid', '/', ['cookie', 'sid=1', 'cookie', 'sid=2']],
    ['query:user', '/?user=1&user=2', []],
    ['query:user', '/?user=1&us%65r=2', []],
  ];
  it.each(twice)('%s of %s %j is refused: it is two', (source, target, lines) => {
    expect(() => sourceReader(parseSource(source))({ ...request, target, headers: lines }, subject)).toThrow(
      'more than once',
    );
  });
});
