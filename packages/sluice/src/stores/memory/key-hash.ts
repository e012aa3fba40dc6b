/**
 * A keyed hash of keys: HalfSipHash-1-3 over the key's UTF-8 bytes, 64 bits of its final state. The key of the hash is drawn
 * once per process, so that nobody can prepare keys that all land in one place.
 *
 * A text and its UTF-8 bytes hash alike. The result is left in `low` and `high`: a pair could only be returned as an object.
 */
import { codeUnitAt } from '../../vocabulary/code-unit.ts';
import { invalid } from '../../vocabulary/errors.ts';

const encoder = new TextEncoder();
let scratch = new Uint8Array(256);

/** The UTF-8 bytes of a text (of one that is no Unicode, bytes of its own), until the next call; how many they are is `encodedBytes`. */
export function encode(text: string): Uint8Array {
  // One UTF-16 unit becomes at most three bytes.
  if (scratch.length < 3 * text.length) scratch = new Uint8Array(3 * text.length);
  encodedBytes = halves.test(text) ? encodeHalves(text) : encoder.encodeInto(text, scratch).written;
  return scratch;
}

// Half a character is no Unicode, and UTF-8 has one sign for all of them: texts of nothing else would all hash alike.
const halves = /\p{Surrogate}/u;

/** Three bytes for each UTF-16 unit, the first of which no UTF-8 has. */
function encodeHalves(text: string): number {
  for (let i = 0; i < text.length; i += 1) {
    const unit = codeUnitAt(text, i);
    scratch[3 * i] = 0xff;
    scratch[3 * i + 1] = unit & 0xff;
    scratch[3 * i + 2] = unit >>> 8;
  }
  return 3 * text.length;
}

export let encodedBytes = 0;

/** The key of the hash. */
export type Seed = readonly [number, number];

/** Drawn once per process. */
export const processSeed: Seed = [drawWord(), drawWord()];

function drawWord(): number {
  try {
    return (crypto.getRandomValues(new Int32Array(1)) as unknown as Seed)[0];
  } catch {
    // Cloudflare Workers have no such numbers when modules load, which is when limiters are made. These nobody outside can see either.
    return (Math.random() * 2 ** 32) | 0;
  }
}

/** The bytes hashed last, and the same by the word: of all hashes together, or each table would keep a buffer alive that is read no more. */
const viewed: { bytes: Uint8Array; length: number; words: DataView } = {
  bytes: scratch,
  length: 0,
  words: new DataView(new ArrayBuffer(0)),
};

function view(bytes: Uint8Array): void {
  viewed.bytes = bytes;
  viewed.length = bytes.length;
  viewed.words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export class KeyHash {
  low = 0;
  high = 0;
  /** Of bytes: whether each is a character. Their text then has the same hash. */
  isAscii = false;
  private readonly key0: number;
  private readonly key1: number;

  /** Keys of different names hash differently. */
  constructor(name: string, [key0, key1]: Seed = processSeed) {
    this.key0 = key0;
    this.key1 = key1;
    this.ofText(name, 'name');
    this.key0 ^= this.low;
    this.key1 ^= this.high;
  }

  ofText(text: string, field = 'key'): void {
    if (typeof text !== 'string') throw invalid(field, 'a string', text);
    const length = text.length;
    let v0 = this.key0;
    let v1 = this.key1;
    let v2 = 0x6c796765 ^ v0;
    let v3 = 0x74656462 ^ v1;
    let seen = 0;
    let i = 0;
    for (const whole = length & ~3; i < whole; i += 4) {
      const a = codeUnitAt(text, i);
      const b = codeUnitAt(text, i + 1);
      const c = codeUnitAt(text, i + 2);
      const d = codeUnitAt(text, i + 3);
      seen |= a | b | c | d;
      const word = a | (b << 8) | (c << 16) | (d << 24);
      v3 ^= word;
      // One round of SipHash on 32-bit words. Written out where it is used: a function would have four results.
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    let last = length << 24;
    for (let shift = 0; i < length; i += 1, shift += 8) {
      const unit = codeUnitAt(text, i);
      seen |= unit;
      last |= unit << shift;
    }
    if (seen >= 0x80) {
      const bytes = encode(text);
      this.ofBytes(bytes, 0, encodedBytes);
      // No bytes may hash like a text that has none.
      if (bytes[0] === 0xff) this.low ^= 0x5bd1e995;
      return;
    }
    v3 ^= last;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    this.finish(v0 ^ last, v1, v2 ^ 0xff, v3);
  }

  ofBytes(bytes: Uint8Array, start: number, end: number): void {
    // The same bytes may have grown or shrunk.
    if (bytes !== viewed.bytes || bytes.length !== viewed.length) view(bytes);
    const { words } = viewed;
    const length = end - start;
    let v0 = this.key0;
    let v1 = this.key1;
    let v2 = 0x6c796765 ^ v0;
    let v3 = 0x74656462 ^ v1;
    let i = start;
    let seen = 0;
    for (const whole = start + (length & ~3); i < whole; i += 4) {
      const word = words.getInt32(i, true);
      seen |= word;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    let last = length << 24;
    let rest = 0;
    for (let shift = 0; i < end; i += 1, shift += 8) rest |= bytes[i]! << shift;
    this.isAscii = ((seen | rest) & 0x80808080) === 0;
    last |= rest;
    v3 ^= last;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    this.finish(v0 ^ last, v1, v2 ^ 0xff, v3);
  }

  private finish(a: number, b: number, c: number, d: number): void {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = d;
    for (let round = 0; round < 3; round += 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    this.low = v1 ^ v3;
    // An empty place in a table has 0 here.
    this.high = v0 ^ v2 || 1;
  }
}
