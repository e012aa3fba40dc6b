import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { frame } from './grpc-door.test-support.ts';
import { type Encoding, RequestBody } from './message-frame.ts';
import { statusCodes } from './status.ts';

const bytesMax = 1000;

function messageOf(pieces: readonly Uint8Array[], encoding: Encoding = 'identity'): string {
  const body = new RequestBody(bytesMax);
  for (const piece of pieces) body.add(Buffer.from(piece));
  return body.message(encoding).toString();
}

const hello = frame(Buffer.from('hello'));

test('a message is the same however it was cut', () => {
  for (let first = 0; first <= hello.length; first++) {
    for (let second = first; second <= hello.length; second++) {
      const pieces = [hello.subarray(0, first), hello.subarray(first, second), hello.subarray(second)];
      expect(messageOf(pieces)).toBe('hello');
    }
  }
  expect(messageOf([...hello].map((byte) => Buffer.of(byte)))).toBe('hello');
});

test('an empty message is a message', () => {
  expect(messageOf([frame(Buffer.alloc(0))])).toBe('');
});

test('the largest message is taken, in one piece and in bytes', () => {
  const largest = frame(Buffer.alloc(bytesMax, 'a'));
  expect(messageOf([largest])).toHaveLength(bytesMax);
  expect(messageOf([...largest].map((byte) => Buffer.of(byte)))).toHaveLength(bytesMax);
});

test('gzip is unpacked, and only where the flag says so', () => {
  expect(messageOf([frame(gzipSync('packed'), 1)], 'gzip')).toBe('packed');
  expect(messageOf([frame(Buffer.from('plain'))], 'gzip')).toBe('plain');
});

describe('refuses', () => {
  const rows: readonly [what: string, pieces: readonly Uint8Array[], encoding: Encoding, status: number][] = [
    ['no message', [], 'identity', statusCodes.unimplemented],
    ['two messages', [hello, hello], 'identity', statusCodes.unimplemented],
    ['half a head', [hello.subarray(0, 4)], 'identity', statusCodes.invalidArgument],
    ['half a message', [hello.subarray(0, 7)], 'identity', statusCodes.invalidArgument],
    ['a flag of 2', [frame(Buffer.from('hello'), 2)], 'identity', statusCodes.invalidArgument],
    ['a compressed message without an encoding', [frame(gzipSync('x'), 1)], 'identity', statusCodes.internal],
    ['what is not gzip', [frame(Buffer.from('hello'), 1)], 'gzip', statusCodes.invalidArgument],
    ['gzip that is cut off', [frame(gzipSync('hello').subarray(0, 15), 1)], 'gzip', statusCodes.invalidArgument],
    [
      'a few bytes that become many',
      [frame(gzipSync(Buffer.alloc(900_000)).subarray(), 1)],
      'gzip',
      statusCodes.resourceExhausted,
    ],
    [
      'an announced length beyond the limit',
      [Buffer.from('00ffffffff', 'hex')],
      'identity',
      statusCodes.resourceExhausted,
    ],
    [
      'the same in single bytes',
      [...Buffer.from('00ffffffff', 'hex')].map((byte) => Buffer.of(byte)),
      'identity',
      statusCodes.resourceExhausted,
    ],
    ['more bytes than the limit', [Buffer.alloc(bytesMax + 6)], 'identity', statusCodes.resourceExhausted],
  ];
  test.each(rows)('%s', (_what, pieces, encoding, status) => {
    expect(() => messageOf(pieces, encoding)).toThrow(expect.objectContaining({ status }));
  });
});
