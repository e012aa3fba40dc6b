import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientTable, hashOf, nameBytesKept } from './client-table.ts';

const encoder = new TextEncoder();

function numberOf(table: ClientTable, bytes: Uint8Array, hash = hashOf(bytes, 0, bytes.length)): number {
  const found = table.find(hash, bytes, 0, bytes.length);
  return found < 0 ? table.add(hash, bytes, 0, bytes.length) : found;
}

test('numbers names as a Map would', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 200 }), (names) => {
      const table = new ClientTable(4);
      const numbers = new Map<string, number>();
      for (const name of names) {
        if (!numbers.has(name)) numbers.set(name, numbers.size);
        expect(numberOf(table, encoder.encode(name))).toBe(numbers.get(name));
      }
      for (const [name, client] of numbers) expect(table.nameOf(client)).toBe(name);
    }),
  );
});

test('names of one hash are told apart by their bytes', () => {
  const table = new ClientTable(4);
  const names = ['a', 'b', 'ab', 'ba', ''].map((name) => encoder.encode(name));
  expect(names.map((name) => numberOf(table, name, 42))).toEqual([0, 1, 2, 3, 4]);
  expect(names.map((name) => numberOf(table, name, 42))).toEqual([0, 1, 2, 3, 4]);
});

test('of a very long name the beginning is kept, and it is still told from others', () => {
  const table = new ClientTable();
  const long = 'x'.repeat(10 * nameBytesKept);
  const names = [`${long}a`, `${long}b`, `${long}ab`, long].map((name) => encoder.encode(name));
  expect(names.map((name) => numberOf(table, name))).toEqual([0, 1, 2, 3]);
  expect(table.nameOf(1)).toBe(`${'x'.repeat(nameBytesKept)}…`);
  expect(table.nameBytes).toBe(4 * nameBytesKept);
  expect([...table.keepOnly((client) => client % 2 === 1)]).toEqual([-1, 0, -1, 1]);
  expect(names.map((name) => numberOf(table, name))).toEqual([2, 0, 3, 1]);
});

test('bytes that are no text are a name all the same', () => {
  const table = new ClientTable();
  expect(numberOf(table, Uint8Array.of(0xff, 0xfe))).toBe(0);
  expect(numberOf(table, Uint8Array.of(0xff, 0xfd))).toBe(1);
  expect(table.nameOf(0)).toBe('\ufffd\ufffd');
});
