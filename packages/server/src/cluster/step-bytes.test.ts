import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { SluiceError } from 'sluice';
import { expect, test } from 'vitest';
import { StepBytes, StepWriter } from './step-bytes.ts';

type Read = [kind: number, atMs: number, cost: number, key: string] | [atMs: number, json: string];

function read(bytes: Uint8Array, start = 0, end = bytes.length): Read[] {
  const all: Read[] = [];
  new StepBytes(bytes).visit(start, end, {
    plain: (kind, atMs, cost, of, from, to) =>
      all.push([kind, atMs, cost, Buffer.from(of.subarray(from, to)).toString()]) > 0,
    batch: (atMs, json) => all.push([atMs, json]) > 0,
  });
  return all;
}

test('steps are what they were, in their order, however many', () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const plain = fc.tuple(fc.nat(0xfffe), number, number, fc.string({ unit: 'binary' }));
  const batch = fc.tuple(number, fc.json());
  fc.assert(
    fc.property(fc.array(fc.oneof(plain, batch), { maxLength: 300 }), (steps) => {
      const writer = new StepWriter();
      for (const step of steps) {
        if (step.length === 2) writer.batch(...step);
        else expect(writer.plain(...step)).toBe(true);
      }
      expect(read(writer.written)).toEqual(steps);
    }),
  );
});

test.each([
  ['a key with half of a pair of surrogates', 0, 'a\ud800'],
  ['a key that is too long', 0, 'x'.repeat(30_000)],
  ['a kind too many', 0xffff, 'ann'],
])('%s is not written as a plain check, and nothing is', (_, kind, key) => {
  const writer = new StepWriter();
  expect(writer.plain(kind, 1, 1, key)).toBe(false);
  expect(writer.length).toBe(0);
});

test('a visitor that has had enough hears of no more', () => {
  const writer = new StepWriter();
  for (let i = 0; i < 3; i += 1) writer.plain(i, 1, 1, 'ann');
  const heard: number[] = [];
  const all = { plain: (kind: number) => heard.push(kind) < 2, batch: () => true };
  expect(new StepBytes(writer.written).visit(0, writer.length, all)).toBe(false);
  expect(heard).toEqual([0, 1]);
});

test.each([
  ['shorter than the message says', 100],
  ['cut within a key', -1],
  ['cut within a number', -10],
])('steps that are %s are an error', (_, more) => {
  const writer = new StepWriter();
  writer.plain(0, 1, 1, 'ann');
  const end = writer.length + more;
  expect(() => read(writer.written, 0, end)).toThrow('steps must be at least');
});

test.each([
  ['time', 4],
  ['cost', 12],
])('a step whose %s is no number is an error', (field, at) => {
  const writer = new StepWriter();
  writer.plain(0, 1, 1, 'ann');
  const bytes = Buffer.from(writer.written);
  bytes.writeDoubleLE(Number.NaN, at);
  expect(() => read(bytes)).toThrow(`${field} of a step must be a number, got NaN`);
});

test('whatever the bytes are, they are steps or an error that says what is wrong', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        read(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(SluiceError);
      }
    }),
    { numRuns: 2000 },
  );
});
