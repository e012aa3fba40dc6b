import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { KeyHash, processSeed, type Seed } from './key-hash.ts';
import { Rows } from './rows.ts';
import type { Segment } from './segment.ts';

const seedA: Seed = [0x01234567, 0x89abcdef | 0];
const seedB: Seed = [0x243f6a88, 0x85a308d3 | 0];

const encoder = new TextEncoder();
// Every code point, and now and then a long text: it is hashed by way of a buffer that has to grow.
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary', minLength: 300, maxLength: 400 }));

function hashOf(key: string, { name = 'name', seed = seedA } = {}): [high: number, low: number] {
  const hash = new KeyHash(name, seed);
  hash.ofText(key);
  return [hash.high, hash.low];
}

function hashesOf(keys: readonly string[], seed: Seed): [high: number, low: number][] {
  const hash = new KeyHash('name', seed);
  return keys.map((key) => {
    hash.ofText(key);
    return [hash.high, hash.low];
  });
}

const distinct = (hashes: readonly [number, number][]) => new Set(hashes.map(String)).size;

describe('the hash of a key', () => {
  it('is the same for a text and its UTF-8 bytes, wherever they lie', () => {
    const hash = new KeyHash('name', seedA);
    fc.assert(
      fc.property(text, fc.nat({ max: 9 }), (key, before) => {
        const encoded = encoder.encode(key);
        const bytes = new Uint8Array(before + encoded.length + 3).fill(0xaa);
        bytes.set(encoded, before);
        hash.ofBytes(bytes, before, before + encoded.length);
        const ofBytes = [hash.high, hash.low];
        hash.ofText(key);
        expect([hash.high, hash.low]).toEqual(ofBytes);
      }),
    );
  });

  it.each([
    '',
    'a',
    'abc',
    'abcd',
    'abcde',
    '\u007f',
    '\u0080',
    '\u07ff',
    '\u0800',
    '\uffff',
    '\u{10ffff}',
    'aé',
    '💧',
  ])('is the same for %j and its bytes in a view of a larger buffer', (key) => {
    const encoded = encoder.encode(key);
    const bytes = new Uint8Array(new ArrayBuffer(64), 5, 50);
    bytes.set(encoded, 7);
    const hash = new KeyHash('name', seedA);
    hash.ofBytes(bytes, 7, 7 + encoded.length);
    expect([hash.high, hash.low]).toEqual(hashOf(key));
  });

  it('follows the bytes where their buffer grows and shrinks', () => {
    // Not known to the types yet.
    type Resizable = ArrayBuffer & { resize(bytes: number): void };
    const Resizable = ArrayBuffer as unknown as new (bytes: number, options: object) => Resizable;
    const buffer = new Resizable(4, { maxByteLength: 64 });
    const bytes = new Uint8Array(buffer);
    const hash = new KeyHash('name', seedA);
    for (const key of ['four', 'a key of much more', 'four', 'longer', 'a key of much more']) {
      buffer.resize(key.length);
      bytes.set(encoder.encode(key));
      hash.ofBytes(bytes, 0, key.length);
      expect([hash.high, hash.low]).toEqual(hashOf(key));
    }
  });

  it('depends on every character and on the length', () => {
    const key = 'abcdefghijkl';
    const changed = Array.from(key, (_, i) => `${key.slice(0, i)}#${key.slice(i + 1)}`);
    const zeros = Array.from({ length: 600 }, (_, length) => '\u0000'.repeat(length));
    expect(distinct(hashesOf([key, ...changed, ...zeros], seedA))).toBe(1 + changed.length + zeros.length);
  });

  it('is another under another name, and the same under the same', () => {
    fc.assert(
      fc.property(text, fc.string(), fc.string(), (key, one, two) => {
        expect(hashOf(key, { name: one })).toEqual(hashOf(key, { name: one }));
        if (one !== two) expect(hashOf(key, { name: one })).not.toEqual(hashOf(key, { name: two }));
      }),
    );
  });

  it('is another under another seed', () => {
    fc.assert(
      fc.property(text, (key) => {
        expect(hashOf(key)).not.toEqual(hashOf(key, { seed: seedB }));
        expect(hashOf(key)).not.toEqual(hashOf(key, { seed: [seedA[0], seedA[1] + 1] }));
      }),
    );
    expect(hashOf('key', { seed: processSeed })).toEqual(hashOf('key', { seed: [...processSeed] }));
  });

  it('has a seed of its own in each process, also where a platform draws no numbers while modules load', async () => {
    const draw = vi.spyOn(crypto, 'getRandomValues').mockImplementation(() => {
      throw new Error('Disallowed operation called within global scope.');
    });
    const seeds = new Set<string>();
    for (let i = 0; i < 3; i += 1) {
      vi.resetModules();
      const { processSeed: seed } = await import('./key-hash.ts');
      expect(seed.every((word) => word === (word | 0))).toBe(true);
      seeds.add(seed.join());
    }
    draw.mockRestore();
    expect(seeds.size).toBe(3);
  });

  it('never has a high of 0, by which a table knows an empty place', () => {
    const hash = new KeyHash('name', seedA);
    // The halves of a state whose rounds end in 0: no key is known to lead there, so its end is taken from behind.
    const { finish } = hash as unknown as { finish(a: number, b: number, c: number, d: number): void };
    finish.call(hash, 0, 0, 0, 0);
    expect(hash.high).toBe(1);
    for (let key = 0; key < 100_000; key += 1) {
      hash.ofText(`key-${key}`);
      if (hash.high === 0) expect.fail(`the high of key-${key} is 0`);
    }
  });

  it.each([
    ['the first 8 bits of high', (high: number, _low: number) => high >>> 24],
    ['the last 8 bits of high', (high: number, _low: number) => high & 0xff],
    ['the first 8 bits of low', (_high: number, low: number) => low >>> 24],
    ['the 8 bits of low after those', (_high: number, low: number) => (low >>> 16) & 0xff],
    ['the last 8 bits of low', (_high: number, low: number) => low & 0xff],
    ['bits of both', (high: number, low: number) => (high ^ low) & 0xff],
  ])('spreads keys that count up evenly over %s', (_, bucketOf) => {
    const counts = new Uint32Array(256);
    for (const [high, low] of hashesOf(
      Array.from({ length: 65_536 }, (_, i) => `user-${i}`),
      seedA,
    ))
      counts[bucketOf(high, low)]! += 1;
    const chiSquare = counts.reduce((sum, count) => sum + (count - 256) ** 2 / 256, 0);
    // 255 on average, with a deviation of 23: this is five of those to either side.
    expect(chiSquare).toBeGreaterThan(140);
    expect(chiSquare).toBeLessThan(370);
  });
});

/** How far the rows are from where they belong, on average. */
function pushedOn(rows: Rows): number {
  const { segments, stride } = rows as unknown as { segments: readonly Segment[]; stride: number };
  let sum = 0;
  for (const { hashes, capacity } of segments) {
    for (let place = 0; place * 2 * stride < hashes.length; place += 1) {
      const at = place * 2 * stride;
      if (hashes[at + 1] !== 0) sum += place - (((hashes[at]! >>> 16) * capacity) >>> 16);
    }
  }
  return sum / rows.size;
}

function filled(keys: readonly string[], seed: Seed): Rows {
  const rows = new Rows('name', 1, 'exact', seed);
  for (const key of keys) rows.set(key, Float64Array.of(1));
  return rows;
}

// A table that is as full as it may be has its rows two places on, on average.
const few = 4;

describe('keys made to collide', () => {
  /** Thue and Morse's sequence and its opposite, in two letters: alike to a polynomial hash, whatever it multiplies by. */
  function thueMorse(length: number): [string, string] {
    let [one, two] = ['a', 'b'];
    while (one!.length < length) [one, two] = [one! + two, two! + one];
    return [one!, two!];
  }

  function polynomial(key: string, multiplier: number): number {
    let hash = 0;
    for (let i = 0; i < key.length; i += 1) hash = (Math.imul(hash, multiplier) + key.charCodeAt(i)) | 0;
    return hash;
  }

  it('by Thue and Morse collide under polynomials, and not here', () => {
    const blocks = thueMorse(1024);
    const keys = Array.from({ length: 256 }, (_, bits) =>
      Array.from({ length: 8 }, (_, i) => blocks[(bits >>> i) & 1]).join(''),
    );
    for (const multiplier of [31, 33, 0x01000193, 0x5bd1e995]) {
      expect(new Set(keys.map((key) => polynomial(key, multiplier))).size).toBe(1);
    }
    expect(distinct(hashesOf(keys, seedA))).toBe(keys.length);
    expect(pushedOn(filled(keys, seedA))).toBeLessThan(few);
  });

  it('under one seed are spread by another', () => {
    // Looked for as somebody would who knows the seed: all belong in one place of any table of up to 4096.
    const hash = new KeyHash('name', seedA);
    const keys: string[] = [];
    for (let i = 0; keys.length < 200; i += 1) {
      hash.ofText(`key-${i}`);
      if (hash.low >>> 20 === 0x123) keys.push(`key-${i}`);
    }
    expect(pushedOn(filled(keys, seedA))).toBeGreaterThan(50);
    expect(pushedOn(filled(keys, seedB))).toBeLessThan(few);
    expect(new Set(hashesOf(keys, seedB).map(([, low]) => low >>> 20)).size).toBeGreaterThan(150);
  });

  it('under one name are spread under another', () => {
    const hash = new KeyHash('another', seedA);
    const keys: string[] = [];
    for (let i = 0; keys.length < 200; i += 1) {
      hash.ofText(`key-${i}`);
      if (hash.low >>> 20 === 0x123) keys.push(`key-${i}`);
    }
    expect(pushedOn(filled(keys, seedA))).toBeLessThan(few);
  });

  it('by being no Unicode do not: every text has a hash of its own', () => {
    // JSON may hold half of a surrogate pair. UTF-8 cannot, and writes all 2048 of them alike.
    const keys = Array.from({ length: 2048 }, (_, i) => JSON.parse(`"\\u${(0xd800 + i).toString(16)}"`) as string);
    expect(distinct(hashesOf([...keys, '\ufffd'], seedA))).toBe(2049);
    expect(pushedOn(filled(keys, seedA))).toBeLessThan(few);
  });
});
