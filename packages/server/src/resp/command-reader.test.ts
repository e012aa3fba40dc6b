import { describe, expect, test } from 'vitest';
import { CommandReader, complete, incomplete, malformed, mostArguments, type ReaderLimits } from './command-reader.ts';
import { frame } from './resp-door.test-support.ts';

const limits: ReaderLimits = { arguments: mostArguments, argumentBytes: 1000, commandBytes: 2000 };

function read(input: string | Buffer, within = limits) {
  const reader = new CommandReader();
  const buffer = Buffer.from(input);
  const found = reader.read(buffer, 0, buffer.length, within);
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
  let at = 0;
  while (reader.read(buffer, at, buffer.length, limits) === complete) {
    commands.push(
      Array.from({ length: reader.count }, (_, i) => buffer.toString('latin1', reader.starts[i]!, reader.stops[i]!)),
    );
    at = reader.end;
  }
  return { commands, end: at };
}

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
