import { seededRandom } from 'sluice/testing';
import { describe, expect, inject, test } from 'vitest';
import { CommandReader, complete, incomplete, malformed, mostArguments, type ReaderLimits } from './command-reader.ts';
import { frame } from './resp-door.test-support.ts';

const limits: ReaderLimits = { arguments: mostArguments, argumentBytes: 1000, commandBytes: 2000 };

function read(input: string | Buffer, within = limits) {
  const reader = new CommandReader();
  const buffer = Buffer.from(input);
  reader.begin(buffer);
  const found = reader.read(0, buffer.length, within);
  const args = Array.from({ length: reader.count }, (_, i) =>
    buffer.toString('latin1', reader.starts[i]!, reader.stops[i]!),
  );
  return { found, args, end: reader.end, needed: reader.needed, problem: reader.problem };
}

describe('a command that is whole', () => {
  test.each([
    ['*1\r\n$4\r\nPING\r\n', ['PING']],
    ['*2\r\n$4\r\nECHO\r\n$0\r\n\r\n', ['ECHO', '']],
    ['*2\r\n$4\r\nECHO\r\n$4\r\na\r\nb\r\n', ['ECHO', 'a\r\nb']],
    ['*2\r\n$4\r\nECHO\r\n$3\r\n\0\xff*\r\n', ['ECHO', '\0\xff*']],
    ['*02\r\n$004\r\nECHO\r\n$010\r\n0123456789\r\n', ['ECHO', '0123456789']],
    ['PING\r\n', ['PING']],
    ['PING\n', ['PING']],
    ['  SET\tkey   value  \r\n', ['SET', 'key', 'value']],
    ['ECHO "two words"\r\n', ['ECHO', 'two words']],
    ['ECHO "a\\n\\t\\"\\x41\\xzz\\\\"\r\n', ['ECHO', 'a\n\t"Axzz\\']],
    ["ECHO 'it\\'s \\n'\r\n", ['ECHO', "it's \\n"]],
    ['ECHO ""\r\n', ['ECHO', '']],
    ['ECHO pre"quoted"\r\n', ['ECHO', 'prequoted']],
    ['\r\n', []],
    ['*0\r\n', []],
    ['*-1\r\n', []],
  ])('%j', (input, args) => {
    const bytes = Buffer.from(input, 'latin1');
    expect(read(bytes)).toMatchObject({ found: complete, args, end: bytes.length });
  });

  test('may be followed by others', () => {
    expect(read('*1\r\n$4\r\nPING\r\n*1\r\n$4\r\n').end).toBe(14);
  });
});

test('every beginning of a command is incomplete, and never asks for more bytes than the whole has', () => {
  const commands = [
    frame('CL.THROTTLE', 'user:1', 15, 30, 60),
    frame('ECHO', ''),
    frame('ECHO', 'x'.repeat(300)),
    frame('COMMAND', 'INFO', ...Array.from({ length: 50 }, () => '')),
    Buffer.from('ECHO "a b" c\r\n'),
    Buffer.from('*-1\r\n'),
  ];
  for (const command of commands) {
    for (let length = 0; length < command.length; length += 1) {
      const { found, needed } = read(command.subarray(0, length));
      expect([length, found]).toEqual([length, incomplete]);
      expect(needed).toBeGreaterThan(length);
      expect(needed).toBeLessThanOrEqual(command.length);
    }
  }
});

test('every beginning of a pipeline yields the commands that are whole, and the rest yields the others', () => {
  const commands = [
    frame('PING'),
    frame('CL.THROTTLE', 'user:1', 15, 30, 60),
    Buffer.from('ECHO "a b"\r\n'),
    frame('ECHO', 'a\r\nb'),
  ];
  const pipeline = Buffer.concat(commands);
  const whole = readAll(Buffer.from(pipeline)).commands;
  expect(whole).toHaveLength(commands.length);
  for (let split = 0; split <= pipeline.length; split += 1) {
    // A copy: inline commands are unescaped in place.
    const bytes = Buffer.from(pipeline);
    const first = readAll(bytes.subarray(0, split));
    const second = readAll(bytes.subarray(first.end));
    expect([...first.commands, ...second.commands]).toEqual(whole);
  }
});

function readAll(buffer: Buffer) {
  const reader = new CommandReader();
  const commands: string[][] = [];
  const shapes: number[] = [];
  let at = 0;
  reader.begin(buffer);
  let found = reader.read(at, buffer.length, limits);
  while (found === complete) {
    commands.push(
      Array.from({ length: reader.count }, (_, i) => buffer.toString('latin1', reader.starts[i]!, reader.stops[i]!)),
    );
    shapes.push(reader.shape);
    at = reader.end;
    found = reader.read(at, buffer.length, limits);
  }
  return { commands, shapes, end: at, found, needed: reader.needed - at, problem: reader.problem };
}

describe('a command that repeats the one before with another key', () => {
  const first = frame('CL.THROTTLE', 'user:1', 15, 30, 60);

  test.each([
    ['another key', frame('CL.THROTTLE', 'user:2', 15, 30, 60), true],
    ['a longer key', frame('CL.THROTTLE', 'somebody else', 15, 30, 60), true],
    ['a key of nothing', frame('CL.THROTTLE', '', 15, 30, 60), true],
    ['a key that looks like what follows', frame('CL.THROTTLE', 'k\r\n$2\r\n15', 15, 30, 60), true],
    ['another number', frame('CL.THROTTLE', 'user:2', 16, 30, 60), false],
    ['another number at the end', frame('CL.THROTTLE', 'user:2', 15, 30, 61), false],
    ['one argument more', frame('CL.THROTTLE', 'user:2', 15, 30, 60, 1), false],
    ['another case', frame('cl.throttle', 'user:2', 15, 30, 60), false],
    ['another command', frame('SL.THROTTLE', 'user:2', 15, 30, 60), false],
  ])('%s', (_, second, isRepeated) => {
    const { commands, shapes } = readAll(Buffer.concat([first, second, second]));
    const alone = readAll(second).commands[0];
    expect(commands).toEqual([readAll(first).commands[0], alone, alone]);
    expect(shapes[1] === shapes[0]).toBe(isRepeated);
  });

  test('is not taken for it when something came between, or in other bytes', () => {
    const [one, , other] = readAll(Buffer.concat([first, frame('PING'), first])).shapes;
    expect(other).not.toBe(one);
    const reader = new CommandReader();
    const shapes = [first, frame('CL.THROTTLE', 'user:1', 15, 31, 60)].map((bytes) => {
      reader.begin(bytes);
      reader.read(0, bytes.length, limits);
      return reader.shape;
    });
    expect(shapes[1]).not.toBe(shapes[0]);
  });

  test.each([
    [{ argumentBytes: 10 }, 'invalid bulk length'],
    [{ arguments: 1 }, 'invalid multibulk length'],
    [{ commandBytes: 30 }, 'request longer than 30 bytes'],
  ])('is held to the limits that hold now: %j', (narrow, problem) => {
    const reader = new CommandReader();
    const bytes = Buffer.concat([frame('ECHO', 'a'), frame('ECHO', 'x'.repeat(20)), frame('ECHO', 'b')]);
    reader.begin(bytes);
    expect(reader.read(0, bytes.length, limits)).toBe(complete);
    expect(reader.read(reader.end, bytes.length, { ...limits, ...narrow })).toBe(malformed);
    expect(reader.problem).toBe(`Protocol error: ${problem}`);
  });

  test('is read anew where there is much around the key', () => {
    const long = frame('CL.THROTTLE', 'k', 15, 30, '0'.repeat(300));
    const { commands, shapes } = readAll(Buffer.concat([long, long]));
    expect(commands[1]).toEqual(commands[0]);
    expect(shapes[1]).not.toBe(shapes[0]);
  });

  test.each([
    ['a key longer than an argument may be', '*2\r\n$4\r\nECHO\r\n$1001\r\n'],
    ['a length below zero', '*2\r\n$4\r\nECHO\r\n$-1\r\n\r\n'],
    ['no length', '*2\r\n$4\r\nECHO\r\n$x\r\n\r\n'],
    ['a key longer than its length', '*2\r\n$4\r\nECHO\r\n$1\r\nabc\r\n'],
  ])('and has %s is as malformed as alone', (_, malformedOne) => {
    const { found, problem } = readAll(Buffer.concat([frame('ECHO', 'a'), Buffer.from(malformedOne)]));
    expect({ found, problem }).toEqual({ found: malformed, problem: read(malformedOne).problem });
  });

  test('and has not come whole needs as much as alone', () => {
    const second = frame('CL.THROTTLE', 'user:27', 15, 30, 60);
    for (let length = 1; length < second.length; length += 1) {
      const part = second.subarray(0, length);
      const { found, needed, end } = readAll(Buffer.concat([first, part]));
      expect([length, found, needed, end]).toEqual([length, incomplete, read(part).needed, first.length]);
    }
  });

  test('reads as alone, whatever stands in the pipeline', () => {
    const random = seededRandom(inject('propertySeed'));
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
    for (let round = 0; round < 500; round += 1) {
      const pieces = Array.from({ length: 1 + Math.floor(random() * 12) }, () =>
        pick([
          frame('CL.THROTTLE', pick(['a', 'bc', 'd'.repeat(11), '\r\n', '$2\r\n15']), pick([15, 16]), 30, 60),
          frame('CL.THROTTLE', 'a', 15, 30, 60, pick([1, 2])),
          frame('ECHO', pick(['', 'x'])),
          frame('PING'),
          Buffer.from('ECHO "a b"\r\n'),
        ]),
      );
      const alone = pieces.map((piece) => readAll(Buffer.from(piece)).commands[0]);
      expect(readAll(Buffer.concat(pieces)).commands).toEqual(alone);
    }
  });
});

describe('a command that is malformed says what is wrong', () => {
  test.each([
    ['*x\r\n', 'invalid multibulk length'],
    ['*\r\n', 'invalid multibulk length'],
    ['*1025\r\n', 'invalid multibulk length'],
    ['*99999999999999999999', 'invalid multibulk length'],
    ['*1\rx', 'invalid multibulk length'],
    ['*1\n$4\r\nPING\r\n', 'invalid multibulk length'],
    ['*1\r\n:5\r\n', "expected '$', got ':'"],
    ['*1\r\n*1\r\n', "expected '$', got '*'"],
    ['*1\r\n\0', "expected '$', got '\\x00'"],
    ['*1\r\n$-1\r\n', 'invalid bulk length'],
    ['*1\r\n$-5\r\nPING', 'invalid bulk length'],
    ['*1\r\n$1001\r\n', 'invalid bulk length'],
    ['*1\r\n$999999999999\r\n', 'invalid bulk length'],
    ['*1\r\n$3\r\nPING\r\n', 'bulk string longer than its length'],
    [`*3\r\n$900\r\n${'x'.repeat(900)}\r\n$900\r\n${'x'.repeat(900)}\r\n$900\r\n`, 'request longer than 2000 bytes'],
    ['ECHO "open\r\n', 'unbalanced quotes in request, or too many arguments'],
    ['ECHO "a"b\r\n', 'unbalanced quotes in request, or too many arguments'],
    ['x'.repeat(2000), 'too big inline request'],
    ['POST /v1/check HTTP/1.1\r\n', 'this port speaks the protocol of Redis, not HTTP'],
  ])('row %#', (input, problem) => {
    expect(read(input)).toMatchObject({ found: malformed, problem: `Protocol error: ${problem}` });
  });
});
