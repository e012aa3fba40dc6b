import { expect, test } from 'vitest';
import { ReplyWriter } from './reply-writer.ts';

function written(write: (writer: ReplyWriter) => void, isResp3 = false): string {
  const writer = new ReplyWriter();
  writer.isResp3 = isResp3;
  write(writer);
  return writer.cut(0).toString();
}

test.each([
  [0, '0'],
  [7, '7'],
  [-1, '-1'],
  [10, '10'],
  [99, '99'],
  [100, '100'],
  [-12_345, '-12345'],
  [999_999_999, '999999999'],
  [1_000_000_000, '1000000000'],
  [-999_999_999, '-999999999'],
  [2 ** 31, '2147483648'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [2 ** 62, '4611686018427387904'],
  [2 ** 63, '9223372036854775807'],
  [-(2 ** 70), '-9223372036854775807'],
  [Number.POSITIVE_INFINITY, '9223372036854775807'],
  [2.9, '2'],
  [-0, '0'],
])('the integer %d is written as %s', (value, text) => {
  expect(written((writer) => writer.integer(value))).toBe(`:${text}\r\n`);
});

test('every integer of up to five digits is written as JavaScript writes it', () => {
  const writer = new ReplyWriter();
  for (let value = -99_999; value <= 99_999; value += 1) writer.integer(value);
  const lines = writer.cut(0).toString().split('\r\n').slice(0, -1);
  expect(lines).toHaveLength(199_999);
  expect(lines.every((line, i) => line === `:${i - 99_999}`)).toBe(true);
});

test.each([
  [0, 101, 98, -1, 3],
  [1, 2 ** 40, 0, 999_999_999, -999_999_999],
  [1_000_000_000, 5.9, -0, 2 ** 63, 10],
])('five integers are written as an array of them: %d %d %d %d %d', (...values) => {
  const one = written((writer) => writer.fiveIntegers(...values));
  const other = written((writer) => {
    writer.array(5);
    for (const value of values) writer.integer(value);
  });
  expect(one).toBe(other);
});

test('five integers find room at the end of what was written before', () => {
  const text = written((writer) => {
    for (let i = 0; i < 5000; i += 1) writer.fiveIntegers(0, 101, 98, -1, i);
  });
  expect(text).toBe(Array.from({ length: 5000 }, (_, i) => `*5\r\n:0\r\n:101\r\n:98\r\n:-1\r\n:${i}\r\n`).join(''));
});

test('a number that is none is not written', () => {
  expect(() => written((writer) => writer.integer(Number.NaN))).toThrow('a reply must be a number, got NaN');
});

test('RESP2 and RESP3 differ in maps, sets, texts and nothing', () => {
  const all = (writer: ReplyWriter) => {
    writer.map(1);
    writer.bulk('größe');
    writer.set(2);
    writer.none();
    writer.verbatim('text');
    writer.array(0);
    writer.bytes(Buffer.from('abc'), 1, 3);
  };
  expect(written(all)).toBe('*2\r\n$7\r\ngröße\r\n*2\r\n$-1\r\n$4\r\ntext\r\n*0\r\n$2\r\nbc\r\n');
  expect(written(all, true)).toBe('%1\r\n$7\r\ngröße\r\n~2\r\n_\r\n=8\r\ntxt:text\r\n*0\r\n$2\r\nbc\r\n');
});

test('a line end within an error cannot forge another reply', () => {
  expect(written((writer) => writer.error('ERR a\r\n+OK'))).toBe('-ERR a  +OK\r\n');
});

/** Takes as much as it is told to, as a socket whose peer reads slowly. */
class SlowSink {
  writableLength = 0;
  readonly chunks: Buffer[] = [];
  isStuck = false;

  write(bytes: Buffer): boolean {
    // Gone to the kernel when it is not stuck: then the writer may use the memory again.
    this.chunks.push(this.isStuck ? bytes : Buffer.from(bytes));
    if (this.isStuck) this.writableLength += bytes.length;
    return !this.isStuck;
  }
}

test('replies that a socket still holds are not overwritten by later ones', () => {
  const writer = new ReplyWriter();
  const sink = new SlowSink();
  const flush = (text: string) => {
    writer.simple(text);
    writer.flush(sink);
  };
  flush('one');
  sink.isStuck = true;
  flush('two');
  flush('three');
  sink.isStuck = false;
  sink.writableLength = 0;
  flush('four');
  flush('five');
  expect(Buffer.concat(sink.chunks).toString()).toBe('+one\r\n+two\r\n+three\r\n+four\r\n+five\r\n');
});

test('a reply larger than the buffer goes out whole', () => {
  const writer = new ReplyWriter();
  const sink = new SlowSink();
  writer.simple('before');
  writer.bulk('x'.repeat(1_000_000));
  writer.flush(sink);
  expect(Buffer.concat(sink.chunks).toString()).toBe(`+before\r\n$1000000\r\n${'x'.repeat(1_000_000)}\r\n`);
  expect(writer.length).toBe(0);
});
