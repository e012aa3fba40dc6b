import { expect, test } from 'vitest';
import { encodeCommand, parseReply, ReplyError } from './resp.ts';

const rows: [wire: string, value: unknown][] = [
  ['+OK\r\n', 'OK'],
  [':-7\r\n', -7],
  ['$-1\r\n', null],
  ['*-1\r\n', null],
  ['$0\r\n\r\n', ''],
  ['$4\r\na\r\nb\r\n', 'a\r\nb'],
  ['$3\r\n☀\r\n', '☀'], // lengths are in bytes
  ['*0\r\n', []],
  ['*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n', [1, ['x'], null]],
];

test.for(rows)('%j is read as %j, and as nothing while a byte is missing', ([wire, value]) => {
  const bytes = Buffer.from(wire);
  expect(parseReply(bytes, 0)).toEqual({ value, end: bytes.length });
  for (let length = 0; length < bytes.length; length += 1) {
    expect(parseReply(bytes.subarray(0, length), 0)).toBeUndefined();
  }
});

test('an error inside an array is the answer to the whole', () => {
  const bytes = Buffer.from('*2\r\n:1\r\n-ERR no\r\n+next\r\n');
  const parsed = parseReply(bytes, 0);
  expect(parsed?.value).toEqual(new ReplyError('ERR no'));
  expect(parseReply(bytes, parsed!.end)?.value).toBe('next');
});

test('what is not RESP2 is an error', () => {
  expect(() => parseReply(Buffer.from('%1\r\n'), 0)).toThrow('Not a RESP2 reply: %1');
});

test('commands are counted in bytes', () => {
  expect(encodeCommand(['SET', '☀', 5])).toBe('*3\r\n$3\r\nSET\r\n$3\r\n☀\r\n$1\r\n5\r\n');
});
