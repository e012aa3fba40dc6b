import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeyHash, Seed } from './key-hash.ts';
import { textOf } from './key-text.ts';
import { type KeyMode, Rows } from './rows.ts';
import type { Segment } from './segment.ts';

const seed: Seed = [0x01234567, 0x089abcde];
const modes: readonly KeyMode[] = ['exact', 'fingerprint'];
const encoder = new TextEncoder();

// Texts of every width in UTF-8, so that lengths in bytes and in characters differ.
const stems = ['key', 'kéy', 'ключ', '鍵', '💧'];
const keyOf = (i: number) => `${stems[i % stems.length]}-${i}`;

function bytesOf(key: string): [bytes: Uint8Array, start: number, end: number] {
  const bytes = encoder.encode(`${key.length}<${key}>`);
  const start = bytes.indexOf(0x3c) + 1;
  return [bytes, start, bytes.length - 1];
}

/** Every place there is for a row, empty or not. */
function placesOf(rows: Rows): number {
  const { segments, stride } = rows as unknown as { segments: readonly Segment[]; stride: number };
  return segments.reduce((sum, { cells }) => sum + cells.length / stride, 0);
}

/** Makes the rows fail when more of them are copied: removing many must not cost a copy of what is left for each. */
function copyAtMost(rows: Rows, most: number): void {
  const tested = rows as unknown as { copy(from: Segment, ...rest: unknown[]): Segment };
  const { copy } = tested;
  let copied = 0;
  tested.copy = (from, ...rest) => {
    copied += from.used;
    if (copied > most) throw new Error(`${copied} rows were copied`);
    return copy.call(rows, from, ...rest);
  };
}

type Command = readonly [
  what: 'set' | 'setNamed' | 'insert' | 'delete' | 'ask' | 'go on' | 'remove the next' | 'fill' | 'drain',
  key: number,
  value: number,
];

const command: fc.Arbitrary<Command> = fc.tuple(
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('set' as const, 'insert' as const, 'delete' as const, 'ask' as const) },
    { weight: 4, arbitrary: fc.constantFrom('setNamed' as const, 'go on' as const, 'remove the next' as const) },
    { weight: 1, arbitrary: fc.constantFrom('fill' as const, 'drain' as const) },
  ),
  fc.nat({ max: 400 }),
  fc.nat({ max: 1000 }),
);

/** Rows beside a map that is told the same, and asked whether it agrees. */
function compared(mode: KeyMode, cellsPerKey: number) {
  const rows = new Rows('name', cellsPerKey, mode, seed);
  const model = new Map<string, Float64Array>();
  const cellsOf = (value: number) =>
    Float64Array.from({ length: cellsPerKey || 1 + (value % 5) }, (_, i) => value + i / 8);

  /** The cells of the row found last. */
  const found = (at: number) => (cellsPerKey === 0 ? rows.cells : rows.cells.slice(at, at + cellsPerKey));

  function set(key: string, value: number): void {
    rows.set(key, cellsOf(value));
    model.set(rows.nameOf(key), cellsOf(value));
  }

  function ask(key: string): void {
    const known = model.get(rows.nameOf(key));
    expect(rows.get(key)).toEqual(known);
    // Asked again and again: what was just found is found by a short cut.
    for (let i = 0; i < 5; i += 1) {
      const at = rows.find(key);
      expect(at < 0 ? undefined : found(at)).toEqual(known);
      const atRecent = cellsPerKey > 0 ? rows.findRecent(key) : -1;
      if (atRecent >= 0) expect(found(atRecent)).toEqual(known);
    }
    const atBytes = rows.findBytes(...bytesOf(key));
    expect(atBytes < 0 ? undefined : found(atBytes)).toEqual(known);
    const atName = rows.findNamed(rows.nameOf(key));
    expect(atName < 0 ? undefined : found(atName)).toEqual(known);
    if (known) expect(rows.name()).toBe(rows.nameOf(key));
  }

  return {
    run([what, i, value]: Command): void {
      const key = keyOf(i);
      switch (what) {
        case 'set':
          set(key, value);
          break;
        case 'setNamed':
          rows.setNamed(rows.nameOf(key), cellsOf(value));
          model.set(rows.nameOf(key), cellsOf(value));
          break;
        case 'insert': {
          const own = cellsOf(value);
          const at = rows.insert(key, own);
          if (cellsPerKey > 0) rows.cells.set(own, at);
          model.set(rows.nameOf(key), own);
          break;
        }
        case 'delete':
          expect(rows.delete(key)).toBe(model.delete(rows.nameOf(key)));
          break;
        case 'go on':
        case 'remove the next': {
          const at = rows.next();
          if (at < 0) break;
          expect(found(at)).toEqual(model.get(rows.name()));
          if (what === 'go on') break;
          model.delete(rows.name());
          rows.removeNext();
          break;
        }
        case 'fill':
          for (let more = i; more < i + value; more += 1) set(keyOf(more), more);
          break;
        case 'drain':
          for (let more = i; more < i + value; more += 1) {
            expect(rows.delete(keyOf(more))).toBe(model.delete(rows.nameOf(keyOf(more))));
          }
          break;
        default:
          break;
      }
      expect(rows.size).toBe(model.size);
      ask(key);
    },
    end(): void {
      expect(new Map(rows.entries())).toEqual(model);
      while (rows.next() >= 0);
      const seen = new Set<string>();
      for (let at = rows.next(); at >= 0; at = rows.next()) {
        expect(found(at)).toEqual(model.get(rows.name()));
        seen.add(rows.name());
      }
      expect(seen).toEqual(new Set(model.keys()));
    },
  };
}

describe.each(modes)('rows with %s keys', (mode) => {
  it.each([0, 1, 2, 5])('do what a map would, with %d cells each', (cellsPerKey) => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60, size: 'max' }), (commands) => {
        const { run, end } = compared(mode, cellsPerKey);
        for (const one of commands) run(one);
        end();
      }),
      { numRuns: 25 },
    );
  });

  it('are all found after segments were split, and take little room when they are gone', () => {
    const rows = new Rows('name', 2, mode, seed);
    const count = 200_000;
    let wrong = 0;
    for (let i = 0; i < count; i += 1) rows.set(keyOf(i), Float64Array.of(i, -i));
    expect(rows.size).toBe(count);
    expect(placesOf(rows)).toBeLessThan(2 * count);
    for (let i = 0; i < count; i += 1) {
      const at = i % 2 === 0 ? rows.find(keyOf(i)) : rows.findBytes(...bytesOf(keyOf(i)));
      if (at < 0 || rows.cells[at] !== i || rows.cells[at + 1] !== -i) wrong += 1;
    }
    for (let i = count; i < 2 * count; i += 1) if (rows.find(keyOf(i)) >= 0) wrong += 1;
    expect(wrong).toBe(0);

    const seen = new Uint8Array(count);
    for (let at = rows.next(); at >= 0; at = rows.next()) seen[rows.cells[at]!]! += 1;
    expect(seen.every((times) => times === 1)).toBe(true);

    copyAtMost(rows, 20 * count);
    for (let i = 0; i < count; i += 1) if (i % 100 !== 0 && !rows.delete(keyOf(i))) wrong += 1;
    for (let i = 0; i < count; i += 1) if (rows.find(keyOf(i)) >= 0 !== (i % 100 === 0)) wrong += 1;
    expect(wrong).toBe(0);
    expect(rows.size).toBe(count / 100);
    expect(placesOf(rows)).toBeLessThan(count / 10);
    for (let i = 0; i < count; i += 100) rows.delete(keyOf(i));
    expect([...rows.entries()]).toEqual([]);
    expect(placesOf(rows)).toBeLessThan(count / 100);
  });

  it('are moved a few at a time as they become more, into what others have grown out of', () => {
    const rows = new Rows('name', 2, mode, seed);
    const { segments, spares } = rows as unknown as { segments: readonly Segment[]; spares: readonly Segment[] };
    const arrays = () => new Set(segments.map(({ cells }) => cells));
    const known = new Set<unknown>();
    let before = arrays();
    let mostMoved = 0;
    let reused = 0;
    for (let i = 0; i < 600_000; i += 1) {
      rows.set(keyOf(i), Float64Array.of(i, -i));
      if (i % 4000 !== 0) continue;
      const now = arrays();
      const others = [...now].filter((cells) => !before.has(cells));
      // From here on, each time about one key has come for each hundred that were there.
      if (i > 300_000) mostMoved = Math.max(mostMoved, others.length / now.size);
      reused += others.filter((cells) => known.has(cells)).length;
      before = now;
      for (const cells of now) known.add(cells);
      expect(spares.reduce((places, { capacity }) => places + capacity, 0)).toBeLessThanOrEqual(rows.size / 16);
      for (const { used, keys = [] } of spares) expect([used, keys.join('')]).toEqual([0, '']);
    }
    expect(mostMoved).toBeLessThan(0.25);
    expect(reused).toBeGreaterThan(20);
    let wrong = 0;
    for (let i = 0; i < rows.size; i += 1) {
      const at = rows.find(keyOf(i));
      if (rows.cells[at] !== i) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  it('are found by keys that come again and again, among any number that do not', () => {
    const rows = new Rows('name', 1, mode, seed);
    for (let i = 0; i < 40_000; i += 1) rows.set(keyOf(i), Float64Array.of(i));
    let wrong = 0;
    // Of the keys asked for, ever more come only once: what remembers the recent ones has to forget, close and open.
    for (let step = 0; step < 200_000; step += 1) {
      const i = step % 7 < 4 ? step % 50 : (step * 7919) % 40_000;
      if (step % 1000 === 0) {
        // Rows move when others go and come.
        rows.delete(keyOf(i));
        if (rows.find(keyOf(i)) >= 0) wrong += 1;
        rows.set(keyOf(i), Float64Array.of(i));
      }
      const at = rows.find(keyOf(i));
      if (at < 0 || rows.cells[at] !== i) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  it.each([6000, 10_000, 16_000])('are soon all found by the short cut when %d come in turn', (count) => {
    const rows = new Rows('name', 1, mode, seed);
    const keys = Array.from({ length: count }, (_, i) => keyOf(i));
    const isRecent = (key: string) => rows.findRecent(key) >= 0;
    // As a caller does: the first time it is not there.
    for (const key of keys) if (!isRecent(key) && rows.findOther(key) < 0) rows.set(key, Float64Array.of(1));
    for (let round = 0; round < 20; round += 1) for (const key of keys) if (!isRecent(key)) rows.findOther(key);
    expect(keys.filter(isRecent).length).toBeGreaterThan(0.95 * count);
  });

  it('are not remembered where nobody wants that, however often they come', () => {
    const rows = new Rows('name', 1, mode, seed, false);
    for (let i = 0; i < 100; i += 1) rows.set(keyOf(i), Float64Array.of(i));
    for (let call = 0; call < 20_000; call += 1) expect(rows.find(keyOf(call % 100))).toBeGreaterThan(0);
    for (let i = 0; i < 100; i += 1)
      expect([rows.findRecent(keyOf(i)), rows.get(keyOf(i))]).toEqual([-1, Float64Array.of(i)]);
  });

  it('that are gone leave no texts behind, and their seats to others', () => {
    const rows = new Rows('name', 1, mode, seed);
    const { byKey, keys } = (rows as unknown as { recent: { byKey: Map<string, number>; keys: string[] } }).recent;
    let mostRemembered = 0;
    for (let i = 0; i < 20_000; i += 1) {
      rows.set(keyOf(i), Float64Array.of(i));
      for (let again = 0; again < 8; again += 1) rows.find(keyOf(i));
      if (i >= 10) rows.delete(keyOf(i - 10));
      mostRemembered = Math.max(mostRemembered, byKey.size);
    }
    expect(mostRemembered).toBeGreaterThan(5);
    expect(mostRemembered).toBeLessThanOrEqual(11);
    expect(keys.length).toBeLessThanOrEqual(12);
    expect(keys.filter((key) => key !== '').sort()).toEqual([...byKey.keys()].sort());
  });

  it('are found where they are now, when more came again and again than can be remembered', () => {
    const rows = new Rows('name', 1, mode, seed);
    const count = 40_000;
    for (let i = 0; i < count; i += 1) rows.set(keyOf(i), Float64Array.of(i));
    // Often enough for each to be remembered; at some time all are forgotten, and others are remembered in their stead.
    for (let i = 0; i < count; i += 1) for (let again = 0; again < 16; again += 1) rows.find(keyOf(i));
    // Those that go move the others.
    for (let i = 0; i < count; i += 3) rows.delete(keyOf(i));
    let wrong = 0;
    for (let i = count - 1; i >= 0; i -= 1) {
      const at = rows.find(keyOf(i));
      if (i % 3 === 0 ? at >= 0 : rows.cells[at] !== i) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  it.each([1, 8, 1000, 60_000])('of which most are removed in passing are seen all the same: %d', (count) => {
    for (const isKept of [() => false, (i: number) => i % 5 === 0, (i: number) => i % 2 === 0]) {
      const rows = new Rows('name', 1, mode, seed);
      for (let i = 0; i < count; i += 1) rows.set(keyOf(i), Float64Array.of(i));
      copyAtMost(rows, 20 * count);
      const seen = new Uint8Array(count);
      for (let at = rows.next(); at >= 0; at = rows.next()) {
        const i = rows.cells[at]!;
        seen[i] = 1;
        if (!isKept(i)) rows.removeNext();
      }
      expect(seen.indexOf(0)).toBe(-1);
      expect(rows.size).toBe(Array.from({ length: count }, (_, i) => i).filter(isKept).length);
    }
  });

  it('that come and go beside many that went in passing are not copied each time', () => {
    for (const left of [100, 1000, 4000]) {
      // Around a power of two, and elsewhere.
      for (const size of [left, 2 ** Math.floor(Math.log2(left))]) {
        const rows = new Rows('name', 1, mode, seed);
        for (let i = 0; i < 20_000; i += 1) rows.set(keyOf(i), Float64Array.of(i));
        copyAtMost(rows, 400_000);
        while (rows.size > size) {
          rows.next();
          rows.removeNext();
        }
        for (let i = 0; i < 1000; i += 1) {
          rows.set(keyOf(20_000 + i), Float64Array.of(i));
          if (rows.next() < 0) rows.next();
          rows.removeNext();
        }
        expect(rows.size).toBe(size);
      }
    }
  });

  it('know the empty key, long ones and ones that differ by little', () => {
    const rows = new Rows('name', 1, mode, seed);
    const keys = ['', ' ', '\u0000', '\u0000\u0000', 'e\u0301', 'é', '__proto__', '\ufeffx', 'x', 'x'.repeat(100_000)];
    for (const [i, key] of keys.entries()) rows.set(key, Float64Array.of(i));
    expect(rows.size).toBe(keys.length);
    for (const [i, key] of keys.entries()) {
      expect(rows.get(key)).toEqual(Float64Array.of(i));
      expect(rows.cells[rows.findBytes(...bytesOf(key))]).toBe(i);
    }
  });
});

describe('exact keys', () => {
  /** Rows whose keys all have one hash, or one of two. */
  function colliding(cellsPerKey: number, hashes: number): Rows {
    const rows = new Rows('name', cellsPerKey, 'exact', seed);
    const { hash } = rows as unknown as { hash: KeyHash };
    let next = 0;
    const lows = new Map<string, number>();
    hash.ofText = (key) => {
      if (!lows.has(key)) lows.set(key, 0x1234_0000 + (next++ % hashes));
      hash.low = lows.get(key)!;
      hash.high = 7;
    };
    hash.ofBytes = (bytes, start, end) => hash.ofText(textOf(bytes.subarray(start, end)));
    return rows;
  }

  it.each([
    [0, 1],
    [2, 1],
    [2, 3],
  ])('are told apart though they collide: %d cells, %d hashes', (cellsPerKey, hashes) => {
    const rows = colliding(cellsPerKey, hashes);
    const keys = Array.from({ length: 12 }, (_, i) => keyOf(i));
    for (const [i, key] of keys.entries()) rows.set(key, Float64Array.of(i, i));
    expect(rows.size).toBe(keys.length);
    const gone = new Set<number>();
    // Each time one goes, others move to where it was: nobody may be taken for who was there before.
    for (const going of [undefined, 0, 5, 11, 6]) {
      if (going !== undefined) expect(rows.delete(keys[going]!)).toBe(true);
      if (going !== undefined) gone.add(going);
      for (const [i, key] of keys.entries()) {
        const cell = gone.has(i) ? undefined : i;
        expect(rows.get(key)?.[0]).toBe(cell);
        for (let again = 0; again < 6; again += 1) {
          const at = rows.find(key);
          expect(at < 0 ? undefined : rows.cells[at]).toBe(cell);
        }
        const atBytes = rows.findBytes(...bytesOf(key));
        expect(atBytes < 0 ? undefined : rows.cells[atBytes]).toBe(cell);
      }
    }
    expect(rows.find('a stranger')).toBe(-1);
    expect(rows.findBytes(...bytesOf('a stranger'))).toBe(-1);
  });

  it('that are no Unicode are told apart, and from what stands for them in UTF-8', () => {
    const rows = new Rows('name', 1, 'exact', seed);
    const keys = ['\ud800', '\ud801', '\udfff', '\ufffd', '\udc00\ud800', '\ufffd\ufffd', 'a\ud800', 'a\ufffd'];
    for (const [i, key] of keys.entries()) rows.set(key, Float64Array.of(i));
    for (const [i, key] of keys.entries()) expect(rows.get(key)).toEqual(Float64Array.of(i));
    expect(rows.cells[rows.findBytes(encoder.encode('\ufffd'), 0, 3)]).toBe(3);
    expect(rows.findBytes(Uint8Array.of(0xed, 0xa0, 0x80), 0, 3)).toBe(-1);
  });

  it('are their text wherever they are called by a name', () => {
    const rows = new Rows('name', 1, 'exact', seed);
    rows.setNamed('0123456789abcdef', Float64Array.of(1));
    expect(rows.nameOf('0123456789abcdef')).toBe('0123456789abcdef');
    expect(rows.find('0123456789abcdef')).toBeGreaterThan(0);
    expect([...rows.entries()]).toEqual([['0123456789abcdef', Float64Array.of(1)]]);
  });
});

describe('fingerprints', () => {
  const hex = (half: number) => (half >>> 0).toString(16).padStart(8, '0');

  it('are told apart though they belong in one place, or are alike by half', () => {
    const rows = new Rows('name', 1, 'fingerprint', seed);
    const names = Array.from({ length: 30 }, (_, i) => hex(i < 15 ? 0xabcdef01 : 0xabcdef01 + i) + hex(0x12340000 + i));
    for (const [i, name] of names.entries()) rows.setNamed(name, Float64Array.of(i));
    expect(rows.size).toBe(names.length);
    const left = names.filter((_, i) => i % 4 !== 1);
    for (const name of names) {
      if (left.includes(name)) continue;
      expect(rows.findNamed(name)).toBeGreaterThan(0);
      rows.remove();
    }
    for (const [i, name] of names.entries()) {
      const at = rows.findNamed(name);
      expect(at < 0 ? undefined : rows.cells[at]).toBe(left.includes(name) ? i : undefined);
    }
    expect(rows.findNamed(hex(0xabcdef01) + hex(0x1234ffff))).toBe(-1);
  });

  it('that would be no number, read as one, survive growth and removal', () => {
    for (const cellsPerKey of [0, 1, 3]) {
      const rows = new Rows('name', cellsPerKey, 'fingerprint', seed);
      // Exponents of all ones, quiet and signalling, with either sign.
      const highs = [0x7ff00000, 0x7ff80000, 0xfff00000, 0xfff80000];
      const names = Array.from(
        { length: 4000 },
        (_, i) => hex(highs[i % 4]! + (i >> 2)) + hex(Math.imul(i, 0x9e3779b1)),
      );
      for (const [i, name] of names.entries()) rows.setNamed(name, new Float64Array(cellsPerKey || 2).fill(i));
      for (const name of names.slice(0, 3000)) {
        expect(rows.findNamed(name)).toBeGreaterThanOrEqual(0);
        rows.remove();
      }
      const left = Array.from(rows.entries(), ([name, cells]) => [name, cells[0]]).sort();
      expect(left).toEqual(
        names
          .map((name, i) => [name, i])
          .slice(3000)
          .sort(),
      );
    }
  });

  it('lead from a key to its row and from the row to its name', () => {
    const rows = new Rows('name', 1, 'fingerprint', seed);
    rows.set('key', Float64Array.of(5));
    const name = rows.nameOf('key');
    expect(name).toMatch(/^[\da-f]{16}$/);
    expect([...rows.entries()]).toEqual([[name, Float64Array.of(5)]]);
    const other = new Rows('name', 1, 'fingerprint', seed);
    other.setNamed(name, Float64Array.of(6));
    expect(other.get('key')).toEqual(Float64Array.of(6));
    expect(new Rows('name', 1, 'fingerprint', [1, 2]).nameOf('key')).not.toBe(name);
    expect(new Rows('another', 1, 'fingerprint', seed).nameOf('key')).not.toBe(name);
  });
});

describe('the text of bytes', () => {
  it('is what they say in UTF-8, the byte order mark too', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(textOf(encoder.encode(text))).toBe(text);
      }),
    );
    expect(textOf(encoder.encode('\ufeffkey'))).toBe('\ufeffkey');
  });

  it('is another for other bytes, UTF-8 or not', () => {
    const bytes = fc.uint8Array({ maxLength: 6 });
    fc.assert(
      fc.property(bytes, bytes, (one, two) => {
        expect(textOf(one) === textOf(two)).toBe(String(one) === String(two));
      }),
    );
    const single = Array.from({ length: 256 }, (_, byte) => textOf(Uint8Array.of(byte)));
    expect(new Set(single).size).toBe(256);
  });
});
