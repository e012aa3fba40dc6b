/**
 * MD5 (RFC 1321), for the rings of others that are built on it: browsers have no such function that answers at once. It protects
 * nothing here and must not.
 */

const rounds = 64;
// By quarter of the rounds, then in turns.
const shifts = Uint8Array.of(7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21);
// No sine comes closer to a whole number here than a hundredth: an engine whose sines differ in the last bit finds the same.
const sines = new Int32Array(rounds).map((_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32));

const start = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
const blockBytes = 64;
// Used within a call only: a ring may ask for a million digests.
const block = new Int32Array(16);

/** The digest as its four words; a word's bytes are in little-endian order, as everywhere in MD5. */
export function md5(bytes: Uint8Array): Uint32Array {
  const state = new Uint32Array(start);
  // A one, then zeros, then the length in bits, to the end of a block.
  const end = Math.ceil((bytes.length + 9) / blockBytes) * blockBytes;
  for (let from = 0; from < end; from += blockBytes) {
    fill(bytes, from);
    if (from + blockBytes === end) {
      block[14] = 8 * bytes.length;
      block[15] = Math.floor(bytes.length / 2 ** 29);
    }
    mix(state);
  }
  return state;
}

function fill(bytes: Uint8Array, from: number): void {
  block.fill(0);
  const length = Math.min(bytes.length - from, blockBytes);
  for (let i = 0; i < length; i += 1) block[i >> 2]! |= bytes[from + i]! << (8 * (i & 3));
  if (length >= 0 && length < blockBytes) block[length >> 2]! |= 0x80 << (8 * (length & 3));
}

function mix(state: Uint32Array): void {
  let a = state[0]! | 0;
  let b = state[1]! | 0;
  let c = state[2]! | 0;
  let d = state[3]! | 0;
  for (let i = 0; i < rounds; i += 1) {
    const quarter = i >> 4;
    let word: number;
    let chosen: number;
    if (quarter === 0) {
      chosen = (b & c) | (~b & d);
      word = i;
    } else if (quarter === 1) {
      chosen = (d & b) | (~d & c);
      word = 5 * i + 1;
    } else if (quarter === 2) {
      chosen = b ^ c ^ d;
      word = 3 * i + 5;
    } else {
      chosen = c ^ (b | ~d);
      word = 7 * i;
    }
    const sum = (a + chosen + sines[i]! + block[word & 15]!) | 0;
    const shift = shifts[4 * quarter + (i & 3)]!;
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
}
