// What nobody can be faster than: a loop that does nothing, a bare map, a hash and one touch of memory.
import { monotonicClock } from 'sluice';

/**
 * @typedef {import('../contender.mjs').Contender} Contender
 *
 * A typed array whose elements need no test for being there, which would be measured too.
 * @typedef {Record<number, any>} Elements
 */

/** @type {Contender} */
export const nothing = {
  create: () => ({ check: () => true, checkBytes: () => true }),
  createRules: () => ({ check: () => true }),
};

/** @returns {Map<string, number>} */
const counts = () => new Map();

/** @type {Contender} */
export const bareMap = {
  create() {
    const map = counts();
    return {
      fill: (key) => map.set(key, 1),
      check: (key) => map.get(key) === 1,
      size: () => map.size,
    };
  },
};

/** @type {Contender} */
export const bareMapWithClock = {
  create() {
    const map = counts();
    return {
      fill: (key) => map.set(key, 1),
      check: (key) => map.get(key) === 1 && monotonicClock.now() > 0,
    };
  },
};

/**
 * A keyed hash of the same kind and strength (a multiply and a xor-shift per four bytes are not; this is HalfSipHash-1-3), and
 * one random place in a memory as large as our table of so many keys.
 * @type {Contender}
 */
export const hashAndTouch = {
  create({ keys }) {
    const places = Math.ceil(keys / 0.8);
    // Written to once, else the first touch of each page would be the kernel's time.
    /** @type {Elements} */
    const cells = new Float64Array(3 * places).fill(0);
    return {
      checkBytes(bytes, start, end) {
        const hash = halfSip(bytes, start, end);
        const at = 3 * Math.floor(((hash >>> 0) / 2 ** 32) * places);
        cells[at] += 1;
        return true;
      },
    };
  },
};

/**
 * @param {Elements} bytes
 * @param {number} start
 * @param {number} end
 */
function halfSip(bytes, start, end) {
  let v0 = 0x12345678;
  let v1 = 0x1abcdef0;
  let v2 = 0x6c796765 ^ v0;
  let v3 = 0x74656462 ^ v1;
  let i = start;
  let word = 0;
  for (const whole = start + ((end - start) & ~3); i < whole; i += 4) {
    word = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
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
  word = (end - start) << 24;
  for (let shift = 0; i < end; i += 1, shift += 8) word |= bytes[i] << shift;
  v3 ^= word;
  for (let round = 0; round < 4; round += 1) {
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
    if (round === 0) {
      v0 ^= word;
      v2 ^= 0xff;
    }
  }
  return v1 ^ v3;
}
